//! What an agent tells the people who look after its machine, as a transcript of one bad night.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_shell::{Config, Ending, Incarnation, Log, Severity};
use bus::InProcessBus;
use host::Exit;
use host::simulated::{BuildScript, Install, Life, Obstacle};
use tokio::sync::oneshot;
use wire::{DeclareReply, ModuleOutcome, ResourceState};

use crate::controller::Controller;
use crate::declared::{A, B};
use crate::simulated::{machine, runs};

const C: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAC";

/// Between a full disk and a build that crashes.
const NIGHT: [&str; 13] = [
    "info declaration 2 is taken",
    "info build 9G5FAB of blog is brought onto the disk",
    "warning build 9G5FAB of blog cannot be installed; what runs goes on, and it is tried again: no \
     space is left on the disk for build 01ARZ3NDEKTSV4RRFFQ69G5FAB",
    "warning declaration 1 is refused: number 2 is held here, newer than 1",
    "info declaration 3 is taken",
    "info build 9G5FAC of blog is brought onto the disk",
    "info blog-1/web runs build abc 9G5FAC as process 1001 on 127.0.0.1:20002",
    "warning blog-1/web (process 1001) ended with exit status 3; its last lines: web of build 9G5FAC was here",
    "info blog-1/web runs build abc 9G5FAC as process 1002 on 127.0.0.1:20003",
    "warning blog-1/web (process 1002) ended with exit status 3; its last lines: web of build 9G5FAC was here",
    "info blog-1/web runs build abc 9G5FAC as process 1003 on 127.0.0.1:20004",
    "warning blog-1/web (process 1003) ended with exit status 3; its last lines: web of build 9G5FAC was here",
    "error declaration 3: blog failed on blog-1: resource `web`: given up after 3 restarts within 1m of health: \
     it ended with exit status 3; its last lines: web of build 9G5FAC was here",
];

/// Keeps every line, as `severity line`.
#[derive(Debug, Default, Clone)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn config(&self, incarnation: u64) -> Config {
        let told = self.clone();
        let log = Log::new(move |severity, line| {
            let severity = match severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Info => "info",
            };
            told.0.lock().unwrap().push(format!("{severity} {line}"));
        });
        let machine = crate::declared::machine();
        Config { log, ..Config::new(machine, "test".to_owned(), Incarnation(incarnation)) }
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

#[tokio::test(start_paused = true)]
async fn one_bad_night_reads_like_this() {
    let told = Told::default();
    let host = machine();
    let mut controller = Controller::new().await;
    let agent = controller.start_as(told.config(1), &host);
    controller.declare(runs(A, 1)).await;
    let healthy = |row: &wire::ResourceStatement| row.state == ResourceState::Healthy;
    controller.until_row("A is healthy", healthy).await;
    let applied = |_, outcome: &ModuleOutcome| *outcome == ModuleOutcome::Applied;
    controller.until_report("A is applied", applied).await;
    assert_eq!(
        told.take(),
        [
            "info nothing was found running",
            "info no declaration is held",
            "info the controller answers",
            "info declaration 1 is taken",
            "info build 9G5FAA of blog is brought onto the disk",
            "info blog-1/web runs build abc 9G5FAA as process 1000 on 127.0.0.1:20001",
            "info blog-1/web is healthy",
            "info declaration 1: blog is applied",
        ]
    );

    let install = Install::Fails(Obstacle::Full);
    host.script(B.parse().unwrap(), BuildScript { install, ..Default::default() });
    controller.declare(runs(B, 2)).await;
    let unable = |number, outcome: &ModuleOutcome| {
        number == 2 && matches!(outcome, ModuleOutcome::Unable { .. })
    };
    controller.until_report("B cannot be tried", unable).await;
    let refused = controller.declare(runs(A, 1)).await;
    assert!(matches!(refused, DeclareReply::Refused(_)));
    let life = Life::EndsAfter(Duration::from_millis(50), Exit::Status(3));
    host.script(C.parse().unwrap(), BuildScript { life, ..Default::default() });
    controller.declare(runs(C, 3)).await;
    let failed = |number, outcome: &ModuleOutcome| {
        number == 3 && matches!(outcome, ModuleOutcome::Failed { .. })
    };
    controller.until_report("C failed", failed).await;
    assert_eq!(told.take(), NIGHT);

    controller.declare(runs(A, 4)).await;
    controller.until_row("A is back", healthy).await;
    agent.crash().await;
    told.take();

    // The next one finds nobody on its bus.
    let (end, ended) = oneshot::channel();
    let ended = async { ended.await.unwrap_or(Ending::Stop) };
    let (bus, store) = (InProcessBus::new(), controller.store.clone());
    let (config, book) = (told.config(2), controller.shelf.book(&host));
    let agent = tokio::spawn(agent_shell::run(config, bus, store, book, host.clone(), ended));
    tokio::time::sleep(Duration::from_secs(10)).await;
    end.send(Ending::Leave).unwrap();
    agent.await.unwrap().unwrap();
    assert_eq!(
        told.take(),
        [
            "info 1 process was found and goes on: blog-1/web (process 1000)",
            "info declaration 4 is held",
            "info declaration 4: blog is applied",
            "warning the controller does not answer; what runs goes on, and it is asked again",
            "info blog-1/web is healthy",
            "info it ends; what runs goes on, and the next engine finds it",
        ]
    );
    assert_eq!(host.alive().len(), 1);
}
