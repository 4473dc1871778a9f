//! What the machine's owner allows, on a real machine.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::machine::{Machine, STOP, is_alive, open_within, spec};
use host::{Host, Process, ProcessSpec, StartError};
use inventory::Listen;
use machine_os::{Allowed, Bounds, OsHost, Users};
use rustix::process::geteuid;

fn said(bounds: Bounds) -> Bounds {
    Bounds { said_in: "/etc/bellwether/agent.toml".into(), ..bounds }
}

fn within(machine: &Machine, bounds: Bounds) -> OsHost {
    open_within(said(bounds), machine.folder.path(), &machine.root())
}

/// Asserts that a start is refused, before and at the time, by this key of the owner's file.
async fn is_forbidden(host: &OsHost, spec: &ProcessSpec, key: &str) {
    let found = [host.verify(spec, &[]).await.unwrap_err(), host.start(spec).await.unwrap_err()];
    for error in found {
        let StartError::Forbidden { why, .. } = &error else { unreachable!("{error}") };
        assert!(why.contains(key) && why.contains("/etc/bellwether/agent.toml"), "{why}");
    }
}

fn command(program: &str) -> ProcessSpec {
    ProcessSpec { command: vec![program.to_owned(), "1000".to_owned()], ..spec() }
}

#[tokio::test]
async fn only_programs_of_the_build_and_of_allowed_folders_are_started() {
    let machine = Machine::new();
    let run = machine.artifact("run", b"#!/bin/sh\nexec sleep 1000\n");
    machine.install(vec![run]).await.unwrap();
    let allowed = machine.folder.path().join("allowed");
    fs::create_dir(&allowed).unwrap();
    symlink("/bin/sleep", allowed.join("rest")).unwrap();
    let programs = Allowed::Only(vec![allowed.clone()]);
    let host = within(&machine, Bounds { programs, ..Bounds::open() });

    let climbing = format!("{}bin/sleep", "../".repeat(30));
    let stepping = format!("{}/../../../../../../bin/sleep", allowed.display());
    for program in ["sleep", "/bin/sleep", &climbing, &stepping] {
        is_forbidden(&host, &command(program), "`programs`").await;
    }
    // Where a manifest says that programs are to be looked for is where they are looked for.
    let environment = [("PATH".to_owned(), allowed.display().to_string())].into();
    let elsewhere = ProcessSpec { environment, ..command("rest") };
    let by_path = command(&allowed.join("rest").display().to_string());
    let own_by_path = command(&machine.build().join("run").display().to_string());
    for spec in [spec(), elsewhere, by_path, own_by_path] {
        host.verify(&spec, &[]).await.unwrap();
        host.start(&spec).await.unwrap().stop(STOP).await;
    }
}

#[tokio::test]
async fn only_allowed_addresses_are_listened_on() {
    let machine = Machine::new();
    let run = machine.artifact("run", b"#!/bin/sh\nexec sleep 1000\n");
    machine.install(vec![run]).await.unwrap();
    let listen = Allowed::Only(vec!["127.0.0.0/8".parse().unwrap()]);
    let host = within(&machine, Bounds { listen, ..Bounds::open() });
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let everywhere = ([0, 0, 0, 0], free.port()).into();
    is_forbidden(&host, &ProcessSpec { listen: Listen::Direct(everywhere), ..spec() }, "`listen`")
        .await;
    for spec in [ProcessSpec { listen: Listen::Direct(free), ..spec() }, spec()] {
        host.verify(&spec, &[]).await.unwrap();
        host.start(&spec).await.unwrap().stop(STOP).await;
    }
}

#[tokio::test]
async fn root_runs_nothing_unless_the_owner_names_it() {
    if !geteuid().is_root() {
        return;
    }
    let machine = Machine::new();
    fs::set_permissions(machine.folder.path(), Permissions::from_mode(0o755)).unwrap();
    let run = machine.artifact("run", b"#!/bin/sh\nid -un\n");
    machine.install(vec![run]).await.unwrap();
    let users = |names: &[&str]| Users::Only(names.iter().map(|name| (*name).into()).collect());
    let as_user = |user: &str| ProcessSpec { user: Some(user.to_owned()), ..spec() };

    let closed = within(&machine, Bounds { users: Users::AllButRoot, ..Bounds::open() });
    is_forbidden(&closed, &spec(), "`default_user`").await;
    is_forbidden(&closed, &as_user("root"), "`users`").await;
    let web = within(&machine, Bounds { users: users(&["nobody"]), ..Bounds::open() });
    is_forbidden(&web, &as_user("daemon"), "`users`").await;

    let default_user = Some("nobody".to_owned());
    let default = Bounds { users: users(&["nobody"]), default_user, ..Bounds::open() };
    let root = Bounds { users: users(&["root"]), ..Bounds::open() };
    for (bounds, spec, expected) in [
        (default, spec(), "nobody"),
        (root.clone(), spec(), "root"),
        (root, as_user("root"), "root"),
    ] {
        let process = within(&machine, bounds).start(&spec).await.unwrap();
        process.ended().await;
        assert_eq!(process.last_lines().await, [expected]);
    }
}

#[tokio::test]
async fn what_runs_already_is_left_alone_by_new_bounds() {
    let machine = Machine::new();
    let process = machine.run("exec sleep 1000").await;
    let pid = process.identity().pid;
    drop(process);
    let closed = Bounds {
        users: Users::Only(Default::default()),
        programs: Allowed::Only(Vec::new()),
        listen: Allowed::Only(Vec::new()),
        ..Bounds::open()
    };
    let [adopted] = &within(&machine, closed).adopt().await.unwrap()[..] else {
        unreachable!("one runs")
    };
    assert!(adopted.process.identity().pid == pid && is_alive(pid));
}
