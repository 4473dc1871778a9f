//! Whoever says what they should not, and machines that have not enough.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use route::{RouterClient, Start, Table};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpStream, UnixStream};
use tokio::process::Command;

use crate::raw::{ENGINE, message, said};
use crate::world::{Bed, Process, Server, ask, forward, program, soon, until};

#[tokio::test]
async fn what_cannot_be_read_ends_the_conversation_with_the_reason_and_changes_nothing() {
    let bed = Bed::new().await;
    let server = Server::start("a").await;
    bed.set(forward(&[server.address])).await;
    for (greets, bytes, part) in [
        (false, message("{}"), "missing field `protocol`"),
        (false, message(r#"{"protocol":9,"role":"engine"}"#), r#""other":9"#),
        (false, b"\xff\xff\xff\xff".to_vec(), "4294967295 bytes is too long"),
        (false, b"GET / HTTP/1.1\r\n\r\n".to_vec(), "is too long"),
        (true, message("[]"), "no such form"),
        (true, message(r#"{"id":1,"ask":{"set":{"nowhere":{"refuse":"close"}}}}"#), "no such form"),
        (true, message(r#"{"id":1,"ask":"burn"}"#), "unknown variant"),
    ] {
        let mut peer = UnixStream::connect(bed.socket()).await.unwrap();
        if greets {
            peer.write_all(&message(ENGINE)).await.unwrap();
            let welcome = said(&mut peer).await.unwrap();
            assert!(welcome.contains(r#""welcome":{"version":"1""#), "{welcome}");
        }
        peer.write_all(&bytes).await.unwrap();
        let goodbye = said(&mut peer).await.unwrap();
        assert!(goodbye.contains("goodbye") && goodbye.contains(part), "{part}: {goodbye}");
        assert_eq!(said(&mut peer).await, None);
        assert_eq!(ask(bed.at, "hello").await.unwrap(), "a hello");
    }
    // A table that breaks off is none.
    let mut peer = UnixStream::connect(bed.socket()).await.unwrap();
    peer.write_all(&message(ENGINE)).await.unwrap();
    let whole = message(r#"{"id":1,"ask":{"set":{}}}"#);
    peer.write_all(&whole[..whole.len() - 1]).await.unwrap();
    drop(peer);
    let engine = RouterClient::connect(&bed.socket()).await.unwrap();
    assert!(engine.counts().await.unwrap().0.contains_key(&bed.at));
    assert_eq!(ask(bed.at, "hello").await.unwrap(), "a hello");
}

#[tokio::test]
async fn an_engine_that_asks_too_much_or_does_not_read_is_dismissed() {
    let bed = Bed::new().await;
    let server = Server::start("a").await;
    bed.set(forward(&[server.address])).await;
    let _open = TcpStream::connect(bed.at).await.unwrap();
    until("it is open", async || bed.open(server.address).await == 1).await;
    let mut peer = UnixStream::connect(bed.socket()).await.unwrap();
    peer.write_all(&message(ENGINE)).await.unwrap();
    let backend = server.address;
    let drain = format!(
        r#"{{"id":1,"ask":{{"drain":{{"backend":"{backend}","limit":{{"secs":600,"nanos":0}}}}}}}}"#
    );
    for _ in 0..=256 {
        peer.write_all(&message(&drain)).await.unwrap();
    }
    assert!(said(&mut peer).await.unwrap().contains("welcome"));
    let goodbye = said(&mut peer).await.unwrap();
    assert!(goodbye.contains("more than 256 backends"), "{goodbye}");

    let mut peer = UnixStream::connect(bed.socket()).await.unwrap();
    peer.write_all(&message(ENGINE)).await.unwrap();
    let counts = message(r#"{"id":1,"ask":"counts"}"#);
    // It reads nothing, until the router does not listen any more.
    let asking = async { while peer.write_all(&counts).await.is_ok() {} };
    soon("the end", asking).await;
    assert_eq!(ask(bed.at, "hello").await.unwrap(), "a hello");
    let again = RouterClient::connect(&bed.socket()).await.unwrap();
    assert_eq!(again.counts().await.unwrap().open_to(backend), 1);
}

/// Also where the file would let everybody in.
#[tokio::test]
async fn another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can start a process of another user");
        return;
    }
    let bed = Bed::new().await;
    let mode = fs::metadata(bed.socket()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let open = |path: &std::path::Path, mode| {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    open(bed.folder.path(), 0o755);
    // Another process copies it: a file that this one still writes, or a child that it is about to start, cannot be run.
    let program_for_all = bed.folder.path().join("process");
    let copied = Command::new("cp").arg(program()).arg(&program_for_all).status().await;
    assert!(copied.unwrap().success());
    open(&program_for_all, 0o755);
    let why = async || {
        let mut command = Command::new(&program_for_all);
        command.args(["engine", bed.socket().to_str().unwrap(), "127.0.0.1:1", "127.0.0.1:2"]);
        command.uid(65534).gid(65534);
        Process::start(command).line().await
    };
    assert_eq!(why().await, "the router's socket cannot be used");
    open(&bed.socket(), 0o666);
    // Its own side trusts root's router; the router does not trust it.
    assert_eq!(why().await, "user 65534 is neither the router's own user nor root");
    assert!(bed.engine.counts().await.is_ok());
}

#[tokio::test]
async fn where_descriptors_run_out_accepting_pauses_and_is_said_and_goes_on() {
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("route.sock");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "ulimit -n 128; exec \"$0\" router \"$1\" 1"]);
    command.arg(program()).arg(&socket).stderr(Stdio::piped());
    command.stdout(Stdio::piped()).kill_on_drop(true);
    let mut router = command.spawn().unwrap();
    let mut said = BufReader::new(router.stderr.take().unwrap()).lines();
    let mut ready = BufReader::new(router.stdout.take().unwrap()).lines();
    assert_eq!(soon("ready", ready.next_line()).await.unwrap().as_deref(), Some("ready"));
    let engine = RouterClient::connect(&socket).await.unwrap();
    let (at, server) = (crate::world::free("127.0.0.1"), Server::start("a").await);
    let table = Table(BTreeMap::from([(at, forward(&[server.address]))]));
    assert_eq!(engine.set(&table).await.unwrap(), BTreeMap::new());
    let mut clients = Vec::new();
    for _ in 0..100 {
        let mut client = TcpStream::connect(at).await.unwrap();
        client.write_all(b"x\n").await.unwrap();
        clients.push(client);
    }
    let line = soon("a line", said.next_line()).await.unwrap().unwrap();
    assert!(line.starts_with("accepting pauses, and new connections wait in the kernel"), "{line}");
    let open = async || engine.counts().await.unwrap().open_to(server.address);
    // Of 128 descriptors half are kept, and some are for pipes; a connection takes two.
    until("there is no more room", async || open().await == 24).await;
    let counts = engine.counts().await.unwrap().0.remove(&at).unwrap();
    assert_eq!((counts.total, counts.queued, counts.refused), (24, 0, 0));
    // All are answered, as those before them end.
    for mut client in clients {
        let mut answer = [0; 4];
        soon("an answer", client.read_exact(&mut answer)).await.unwrap();
        assert_eq!(&answer, b"a x\n");
    }
    until("all are over", async || open().await == 0).await;
}

#[tokio::test]
async fn a_router_goes_on_without_an_engine_until_its_time_is_up_or_nobody_can_find_it() {
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("route.sock");
    let start = |orphan: &str| {
        let words = ["router", socket.to_str().unwrap(), "1", orphan].map(Into::into);
        let command = [program().into_os_string()].into_iter().chain(words).collect();
        route::start(Start { command, socket: socket.clone(), lines: Stdio::null() })
    };
    let alive = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
    };
    let engine = start("300").await.unwrap();
    let pid = engine.about().pid;
    // Longer than its time: it has an engine.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(alive(pid));
    drop(engine);
    until("it has ended", async || !alive(pid)).await;

    let engine = start("100000000").await.unwrap();
    let pid = engine.about().pid;
    // A socket that is removed is made anew.
    fs::remove_file(&socket).unwrap();
    until("it can be found again", async || {
        route::find(&socket).await.is_ok_and(|one| one.is_some())
    })
    .await;
    drop(engine);
    drop(folder);
    until("it has ended", async || !alive(pid)).await;
}
