//! Real processes at the two ends.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use bus::{Bus, Bytes, RequestError};
use bus_socket::SocketBus;
use tempfile::TempDir;
use tokio::process::Command;

use crate::peer::{Peer, program};
use crate::served::{PATIENCE, Served, ask, connected, lost, subject};

#[tokio::test]
async fn another_process_serves_until_it_is_killed() {
    let served = Served::start().await;
    let path = served.path();
    let peer = Peer::ready(&["echo", path.to_str().unwrap(), "peer.*"]).await;
    let expected = format!("hello by {}", peer.id());
    assert_eq!(ask(&served.hub, "peer.one", "hello").await, expected);
    assert_eq!(ask(&served.client().await, "peer.two", "hello").await, expected);
    peer.kill().await;
    // That nobody serves is said at once as soon as its end was noticed, without any time-out.
    loop {
        match served.hub.request(&subject("peer.one"), Bytes::new(), PATIENCE / 60).await {
            Err(RequestError::NoResponder) => break,
            Err(RequestError::TimedOut(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// What is left of a killed server, its socket, is in nobody's way.
#[tokio::test]
async fn a_server_that_is_killed_is_replaced_and_its_clients_find_the_new_one() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("bus");
    let start = async || Peer::ready(&["server", path.to_str().unwrap()]).await;
    let mut server = start().await;
    let client = SocketBus::connect(&path);
    for _ in 0..3 {
        assert_eq!(ask(&client, "echo", "1").await, format!("1 by {}", server.id()));
        server.kill().await;
        assert!(path.exists());
        lost(&client, |_| true).await;
        let asking = tokio::spawn({
            let client = client.clone();
            async move { ask(&client, "echo", "meanwhile").await }
        });
        server = start().await;
        assert_eq!(asking.await.unwrap(), format!("meanwhile by {}", server.id()));
        connected(&client).await;
    }
}

/// Even where the file would let everybody in.
#[tokio::test]
async fn another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can start a process of another user");
        return;
    }
    let served = Served::start().await;
    let open = |path: &std::path::Path, mode| {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    open(served.folder.path(), 0o755);
    // Where the tests are built may be hidden from others. Another process copies it: a file that this one still writes,
    // or a child that it is just about to start, cannot be run.
    let program_for_all = served.folder.path().join("peer");
    let copied = Command::new("cp").arg(program()).arg(&program_for_all).status().await;
    assert!(copied.unwrap().success());
    open(&program_for_all, 0o755);
    let why = async || {
        let mut command = Command::new(&program_for_all);
        command.args(["why", served.path().to_str().unwrap()]).uid(65534).gid(65534);
        Peer::start(command).line().await.unwrap()
    };
    assert_eq!(why().await, "the socket cannot be reached");
    open(&served.path(), 0o666);
    assert_eq!(
        why().await,
        "the server ended the connection: user 65534 is neither user 0 nor root"
    );

    // And its server is not believed.
    let theirs = served.folder.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    open(&theirs, 0o777);
    let path = theirs.join("bus");
    let mut command = Command::new(&program_for_all);
    command.args(["server", path.to_str().unwrap()]).uid(65534).gid(65534);
    let mut server = Peer::start(command);
    assert_eq!(server.line().await.as_deref(), Some("ready"));
    let client = SocketBus::connect(&path);
    let why = lost(&client, |_| true).await;
    assert_eq!(why, "the server is not trusted");
    let asked = client.request(&subject("echo"), "secret".into(), Duration::from_millis(100)).await;
    assert!(matches!(asked, Err(RequestError::TimedOut(_))), "{asked:?}");
}
