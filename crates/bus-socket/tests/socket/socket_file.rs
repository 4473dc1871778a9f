//! The socket as a file: what it replaces, who may use it, and that it goes with its server.

use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use bus::{Bus, InProcessBus};
use bus_socket::{BindError, SocketBus, SocketServer};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, listen, socket};
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::served::{Served, ask, connected, echo, pattern};
async fn bind(path: &Path) -> Result<SocketServer<InProcessBus>, BindError> {
    SocketServer::bind(path, InProcessBus::new()).await
}

/// What a server that was killed leaves.
fn leave_dead(path: &Path) {
    drop(UnixListener::bind(path).unwrap());
    assert!(path.metadata().unwrap().file_type().is_socket());
}

fn names(folder: &TempDir) -> Vec<PathBuf> {
    fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test]
async fn the_socket_is_for_its_user_alone_and_goes_with_its_server() {
    let mut served = Served::start().await;
    let there = served.path().metadata().unwrap();
    assert!(there.file_type().is_socket());
    assert_eq!(there.mode() & 0o777, 0o600);
    assert_eq!(names(&served.folder), [served.path()], "nothing else is left in the folder");
    served.stop().await;
    assert!(names(&served.folder).is_empty());
}

#[tokio::test]
async fn a_long_path_and_a_long_name_have_their_socket_too() {
    let folder = TempDir::new().unwrap();
    let deep = folder.path().join("x".repeat(200)).join("y".repeat(200));
    fs::create_dir_all(&deep).unwrap();
    let path = deep.join("z".repeat(200));
    for _ in 0..2 {
        let hub = InProcessBus::new();
        echo(hub.serve(&pattern("echo")).await.unwrap(), "hub");
        let server = SocketServer::bind(&path, hub).await.unwrap();
        assert!(matches!(bind(&path).await, Err(BindError::Taken)));
        let serving = tokio::spawn(server.serve());
        let client = SocketBus::connect(&path);
        assert_eq!(ask(&client, "echo", "deep").await, "deep by hub");
        serving.abort();
        assert!(serving.await.is_err());
        leave_dead_at_a_long_path(&deep, &path);
    }
}

fn leave_dead_at_a_long_path(folder: &Path, path: &Path) {
    let short = TempDir::new_in("/tmp").unwrap();
    let dead = short.path().join("dead");
    leave_dead(&dead);
    fs::rename(dead, path).unwrap();
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
}

#[tokio::test]
async fn a_living_server_is_left_alone_and_a_dead_ones_socket_is_replaced() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("bus");
    leave_dead(&path);
    // A start that was killed halfway.
    leave_dead(&folder.path().join(".bus-socket.new"));
    let server = bind(&path).await.unwrap();
    let inode = path.metadata().unwrap().ino();
    for _ in 0..3 {
        assert!(matches!(bind(&path).await, Err(BindError::Taken)));
    }
    assert_eq!(path.metadata().unwrap().ino(), inode);
    drop(server);
    drop(bind(&path).await.unwrap());
    assert!(names(&folder).is_empty());
}

#[tokio::test]
async fn a_server_so_busy_that_nobody_can_wait_for_it_is_a_living_one() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("bus");
    let stopped = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&stopped, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    listen(&stopped, 0).unwrap();
    let _waits = std::os::unix::net::UnixStream::connect(&path).unwrap();
    assert!(matches!(bind(&path).await, Err(BindError::Taken)));
}

#[tokio::test]
async fn what_is_no_socket_is_never_replaced() {
    let folder = TempDir::new().unwrap();
    let (file, link, inner) =
        (folder.path().join("file"), folder.path().join("link"), folder.path().join("folder"));
    fs::write(&file, "kept").unwrap();
    fs::create_dir(&inner).unwrap();
    let dead = folder.path().join("dead");
    leave_dead(&dead);
    symlink(&dead, &link).unwrap();
    for path in [&file, &link, &inner] {
        let refused = bind(path).await;
        assert!(matches!(refused, Err(BindError::InTheWay)), "{path:?}: {refused:?}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
    assert_eq!(fs::read_link(&link).unwrap(), dead);
    assert!(matches!(bind(Path::new("/")).await, Err(BindError::NoName)));
    let nowhere = bind(&folder.path().join("no/such/folder/bus")).await;
    assert!(matches!(nowhere, Err(BindError::Io(_))), "{nowhere:?}");
}

/// The file of a server was removed by hand, and another server stands there now.
#[tokio::test]
async fn a_server_takes_only_its_own_socket_along() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("bus");
    let first = bind(&path).await.unwrap();
    fs::remove_file(&path).unwrap();
    let second = bind(&path).await.unwrap();
    drop(first);
    assert!(path.exists(), "the second server's socket was removed");
    let serving = tokio::spawn(second.serve());
    connected(&SocketBus::connect(&path)).await;
    serving.abort();
    assert!(serving.await.is_err());
    assert!(!path.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_that_start_at_once_one_is_there() {
    for _ in 0..10 {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("bus");
        leave_dead(&path);
        let mut starting = JoinSet::new();
        for _ in 0..8 {
            let path = path.clone();
            starting.spawn(async move { bind(&path).await });
        }
        let mut there = Vec::new();
        for one in starting.join_all().await {
            match one {
                Ok(server) => there.push(server),
                Err(error) => assert!(matches!(error, BindError::Taken), "{error:?}"),
            }
        }
        assert_eq!(there.len(), 1);
        let serving = tokio::spawn(there.remove(0).serve());
        connected(&SocketBus::connect(&path)).await;
        serving.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_stays_locked_is_said_to_be() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("bus");
    let held = File::open(folder.path()).unwrap();
    held.lock().unwrap();
    assert!(matches!(bind(&path).await, Err(BindError::Locked)));
    drop(held);
    bind(&path).await.unwrap();
}
