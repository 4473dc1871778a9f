//! An agent whose store cannot be opened, and one that has lost what was in it.

use std::time::Duration;

use agent_shell::{Config, Ending, Incarnation};
use host::Exit;
use inventory::DeclarationNumber;
use store::MemoryStore;
use tokio::sync::oneshot;
use wire::{DeclareReply, RefusedDeclaration, ResourceState, ResourceStatement};

use crate::declared::{A, B, build};
use crate::simulated::{machine, running, runs};

#[tokio::test(start_paused = true)]
async fn without_a_store_what_runs_is_looked_after_and_nothing_is_taken() {
    let host = machine();
    let (mut controller, agent) = running(&host).await;
    let before = host.alive()[0].identity.clone();
    agent.crash().await;

    let config = Config::new(crate::declared::machine(), "test".to_owned(), Incarnation(2));
    let (end, ended) = oneshot::channel();
    let ended = async { ended.await.unwrap_or(Ending::Stop) };
    let (bus, why) = (controller.bus.clone(), "no room for the store".to_owned());
    let (book, said) = (controller.shelf.book(&host), why.clone());
    let agent =
        tokio::spawn(agent_shell::run_without_store(config, bus, said, book, host.clone(), ended));
    let is_stated = |row: &ResourceStatement| row.state == ResourceState::Healthy;
    let row = controller.until_row("it goes on", is_stated).await;
    assert_eq!(row.process.as_ref(), Some(&before));
    let refused = controller.declare(runs(B, 2)).await;
    assert_eq!(refused, DeclareReply::Refused(RefusedDeclaration::NotKept { why }));
    assert_eq!(host.alive()[0].identity, before);

    // It is supervised as ever.
    host.kill(&before, Exit::Signal(9));
    let again = |row: &ResourceStatement| {
        row.process.as_ref().is_some_and(|process| *process != before)
            && row.state == ResourceState::Healthy
    };
    let row = controller.until_row("it was started again", again).await;
    assert_eq!((row.build, host.alive().len()), (build(A), 1));

    end.send(Ending::Leave).unwrap();
    agent.await.unwrap().unwrap();
    let _agent = controller.start(&host, 3);
    let is_third = |row: &ResourceStatement| row.state == ResourceState::Healthy;
    controller.until_row("the next one goes on", is_third).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(host.alive().len(), 1);
    assert_eq!(controller.declare(runs(B, 2)).await, DeclareReply::Taken);
}

#[tokio::test(start_paused = true)]
async fn what_a_lost_store_held_is_not_taken_back_to_anything_older() {
    let host = machine();
    let (mut controller, agent) = running(&host).await;
    controller.declare(runs(B, 2)).await;
    let is_b =
        |row: &ResourceStatement| row.build == build(B) && row.state == ResourceState::Healthy;
    controller.until_row("B is healthy", is_b).await;
    agent.crash().await;

    controller.store = MemoryStore::new();
    let _agent = controller.start(&host, 2);
    let refused = |held, offered| {
        let (held, offered) = (DeclarationNumber(held), DeclarationNumber(offered));
        DeclareReply::Refused(RefusedDeclaration::OlderNumber { held, offered })
    };
    assert_eq!(controller.declare(runs(A, 1)).await, refused(2, 1));
    assert_eq!(controller.declare(runs(B, 2)).await, DeclareReply::Taken);
    let started: Vec<_> = host.started().into_iter().map(|one| one.spec.build).collect();
    assert_eq!(started, [build(A), build(B)], "what ran goes on");
}
