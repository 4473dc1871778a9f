//! What a shim does beside holding its workload: output whatever becomes of it, orphans, words of its own, and its size.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::machine::{
    Machine, Memory, artifact, bundle, is_alive, memory_of, pids, program, shim_of, spec, until,
    until_gone,
};
use host::{Exit, Host, Process, ProcessSpec};
use inventory::Limits;
use machine_os::{Bounds, OsConfig, OsHost};

/// A host whose workloads end soon after their engine.
fn hasty(machine: &Machine) -> OsHost {
    let config = OsConfig {
        root: machine.root(),
        artifacts: machine.folder.path().join("artifacts"),
        shim: vec![program().into(), "shim".into()],
        path: None,
        bounds: Bounds::open(),
        router: None,
        orphan_after: Some(Duration::from_millis(300)),
    };
    OsHost::open(config).unwrap()
}

#[tokio::test]
async fn an_orphan_ends_whole_when_its_time_is_up_and_not_before() {
    let machine = Machine::new();
    let host = hasty(&machine);
    let script = b"#!/bin/sh\nsetsid sleep 1000 & echo $!; echo $$; wait\n";
    let run = artifact(machine.folder.path(), "run", script);
    host.install(&bundle(vec![run])).await.unwrap();
    let process = host.start(&spec()).await.unwrap();
    let pids = pids(&process, 2).await;
    // As long as it has an engine, time does not count.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    drop(process);
    until_gone(&pids).await;
    let exit = machine.shim_folder().join("exit");
    until("its end is written", || exit.exists().then_some(())).await;
    let [ended] = &host.adopt().await.unwrap()[..] else { unreachable!("its end is not heard") };
    assert_eq!(ended.process.ended().await, Exit::Signal(15));
}

#[tokio::test]
async fn an_orphan_that_nobody_can_find_ends_at_once() {
    let machine = Machine::new();
    let process = machine.run("setsid sleep 1000 & echo $!; echo $$; wait").await;
    let pids = pids(&process, 2).await;
    let shim = shim_of(&process);
    drop(process);
    drop(machine);
    until_gone(&[&pids[..], &[shim]].concat()).await;
}

#[tokio::test]
async fn a_limit_that_cannot_be_kept_is_said_in_the_log() {
    let machine = Machine::new();
    let limits = Limits { memory: Some(1 << 40), tasks: None, files: None };
    let process = machine.run_as("exec sleep 1000", ProcessSpec { limits, ..spec() }).await;
    let log = machine.root().join("output/blog/blog-1/web.log");
    let log = until("it is written", || {
        fs::read_to_string(&log).ok().filter(|log| log.lines().count() > 0)
    });
    let is_kept = || {
        let group = fs::read_to_string(format!("/proc/{}/cgroup", process.identity().pid)).unwrap();
        let group = group.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
        ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
            .map(|mount| Path::new(mount).join(group).join("memory.max"))
            .iter()
            .any(|file| {
                fs::read_to_string(file).is_ok_and(|max| max.trim() == (1_u64 << 40).to_string())
            })
    };
    let is_said = log.await.contains("its limit on memory (1099511627776) is not kept here");
    assert_ne!(is_kept(), is_said);
}

#[tokio::test]
async fn a_shim_is_small() {
    const OWN_KIB_MAX: u64 = 1024;
    // Optimised it is 2 MiB at most; what is built for tests takes more.
    const RESIDENT_KIB_MAX: u64 = 3 * 1024;
    let machine = Machine::new();
    let process = machine.run("exec sleep 1000").await;
    let shim = shim_of(&process);
    let is_small =
        |memory: &Memory| memory.own_kib <= OWN_KIB_MAX && memory.resident_kib <= RESIDENT_KIB_MAX;
    // What starting needed is given back a moment after the workload runs.
    until("it is small", || Some(memory_of(shim)).filter(is_small)).await;
}
