//! A machine by script: it has a failure book, takes signed words as its owner told it, and runs what nothing holds.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bus::{Bus as _, InProcessBus};
use inventory::Declaration;
use keys::SecretKey;
use names::{BookId, BuildId, MachineName};
use serde::de::DeserializeOwned;
use tokio::time::sleep;
use wire::{
    BookAsked, BookState, BookStatus, BootId, Declare, DeclareReply, EngineNonce, Envelope, Freed,
    HeldBy, HeldInstance, HeldMode, Hello, HelloReply, Lifted, ModuleOutcome, ModuleReport, OnDisk,
    RefusedBecause, Report, ReportReply, ResourceState, ResourceStatement, Statement, Word,
    WordReply,
    signed::{Generation, Pointer, RetryGrant, Signer, TrustedKeys, verify},
    subject,
};

use super::stand::{message, now};

/// What a machine does, and what became of it.
pub(crate) struct Script {
    name: MachineName,
    book: BookId,
    pub(crate) held: Vec<HeldInstance>,
    pub(crate) disk: OnDisk,
    pub(crate) trusted: TrustedKeys,
    /// The book changes right after it was asked, so often.
    pub(crate) changes: u32,
    /// Whether anybody serves its book and its words.
    pub(crate) serves: bool,
    /// Whether it says anything.
    pub(crate) is_on: bool,
    /// Whether it fails when it is tried.
    pub(crate) fails: bool,
    /// The grants and pointers that it took.
    pub(crate) grants: Vec<RetryGrant>,
    pub(crate) pointers: Vec<Pointer>,
    generation: u64,
    declared: Option<Declaration>,
    revision: u64,
    reported: Option<Report>,
}

impl Script {
    pub(super) fn new(name: MachineName, trusts: &SecretKey) -> Self {
        Self {
            name,
            // Of the form that a book draws, and only for tests.
            book: "65a6b958f8fc0329e3503992f3e40e10".parse().unwrap_or_else(|_| unreachable!()),
            held: Vec::new(),
            disk: OnDisk::All,
            trusted: TrustedKeys::new([trusts.public_key().clone()]),
            changes: 0,
            serves: true,
            is_on: true,
            fails: false,
            grants: Vec::new(),
            pointers: Vec::new(),
            generation: 7,
            declared: None,
            revision: 0,
            reported: None,
        }
    }

    /// Its book holds `blog-1` against this build.
    pub(crate) fn holds(&mut self, build: &BuildId, rule: HeldBy) {
        let held = HeldInstance {
            instance: "blog-1".parse().unwrap_or_else(|_| unreachable!()),
            account: Default::default(),
            module: "blog".parse().unwrap_or_else(|_| unreachable!()),
            build: build.clone(),
            rule,
            since: Some(now()),
            mode: Some(HeldMode::Hold),
            reason: Some("it ended with exit status 3".into()),
            generation: None,
            book: self.book.clone(),
        };
        self.held.push(held);
    }

    fn generation(&self) -> Option<Generation> {
        Some(Generation(self.generation.try_into().ok()?)).filter(|_| self.disk == OnDisk::All)
    }

    fn status(&mut self) -> BookStatus {
        let generation = self.generation();
        let held = self.held.iter().map(|held| HeldInstance { generation, ..held.clone() });
        let status = BookStatus {
            machine: self.name.clone(),
            clock: now(),
            book: BookState::Open {
                book: self.book.clone(),
                disk: self.disk,
                held: held.collect(),
            },
        };
        if let Some(less) = self.changes.checked_sub(1) {
            self.changes = less;
            self.generation += 1;
        }
        status
    }

    fn hear(&mut self, word: &Word) -> WordReply {
        match word {
            Word::Grant(signed) => match verify::<RetryGrant>(signed, &self.trusted, now()) {
                Err(error) => WordReply::refused(&error),
                Ok(grant) if Some(grant.generation) != self.generation() => WordReply::Refused {
                    because: RefusedBecause::OtherGeneration,
                    why: "the book has changed since".into(),
                },
                Ok(grant) => {
                    self.grants.push(grant.clone().into_word());
                    self.free(&grant.build.clone())
                }
            },
            Word::Pointer(signed) => match verify::<Pointer>(signed, &self.trusted, now()) {
                Err(error) => WordReply::refused(&error),
                Ok(pointer) => {
                    self.pointers.push(pointer.clone().into_word());
                    self.free(&pointer.build.clone())
                }
            },
            Word::Rotation(_) => WordReply::Taken { freed: Vec::new() },
        }
    }

    fn free(&mut self, build: &BuildId) -> WordReply {
        let (freed, held) = self.held.drain(..).partition::<Vec<_>, _>(|it| it.build == *build);
        self.held = held;
        self.generation += 1;
        let freed = freed.into_iter().map(|held| Freed {
            account: held.account,
            module: held.module,
            build: held.build,
            instance: Some(held.instance),
            lifted: Lifted::Record,
        });
        WordReply::Taken { freed: freed.collect() }
    }

    fn statement(&self, sequence: u64) -> Statement {
        let runs = self.declared.iter().filter(|_| self.held.is_empty() && !self.fails);
        let resources =
            runs.flat_map(|declared| &declared.modules).map(|(name, module)| ResourceStatement {
                module: name.clone(),
                instance: "blog-1".parse().unwrap_or_else(|_| unreachable!()),
                resource: "web".parse().unwrap_or_else(|_| unreachable!()),
                build: module.build.clone(),
                execution: "a1-1".parse().ok(),
                process: None,
                state: ResourceState::Healthy,
                since: now(),
                restarts: 0,
                why: None,
                address: None,
            });
        Statement {
            machine: self.name.clone(),
            boot: BootId("boot".into()),
            engine: EngineNonce("engine".into()),
            sequence,
            declaration: self.declared.as_ref().map(|declared| declared.number),
            resources: resources.collect(),
            troubles: Vec::new(),
        }
    }

    /// What came of what it was declared, when that is news.
    fn report(&mut self) -> Option<Report> {
        let declared = self.declared.as_ref()?;
        let outcome = match (self.held.first(), self.fails) {
            (Some(_), _) => ModuleOutcome::Refused { rule: "blog-1 is held".into() },
            (None, true) => ModuleOutcome::Failed {
                instance: "blog-1".parse().ok()?,
                why: "exit status 3 again".into(),
            },
            (None, false) => ModuleOutcome::Applied,
        };
        let modules = declared.modules.iter().map(|(name, module)| {
            let report = ModuleReport {
                build: Some(module.build.clone()),
                executions: module
                    .instances
                    .keys()
                    .filter_map(|it| Some((it.clone(), "a1-1".parse().ok()?)))
                    .collect(),
                held: Some(self.held.clone()),
                outcome: outcome.clone(),
            };
            (name.clone(), report)
        });
        let modules = modules.collect();
        let same = self.reported.as_ref();
        if same.is_some_and(|it| it.declaration == declared.number && it.modules == modules) {
            return None;
        }
        self.revision += 1;
        let (machine, declaration) = (self.name.clone(), declared.number);
        Some(Report { machine, declaration, revision: self.revision, modules })
    }
}

/// Lives until the test ends.
pub(super) async fn live(bus: InProcessBus, script: Arc<Mutex<Script>>) {
    // Whatever goes wrong here, the test that waits for this machine says so.
    let _ = go(bus, script).await;
}

async fn go(bus: InProcessBus, script: Arc<Mutex<Script>>) -> Option<()> {
    let name = script.lock().ok()?.name.clone();
    let mut declared = bus.serve(&subject::declare(&name).parse().ok()?).await.ok()?;
    let mut served = None;
    for sequence in 1.. {
        sleep(Duration::from_millis(50)).await;
        let (serves, is_on) = script.lock().ok().map(|it| (it.serves, it.is_on))?;
        if !is_on {
            continue;
        }
        if !serves {
            served = None;
        } else if served.is_none() {
            let words = bus.serve(&subject::grant(&name).parse().ok()?).await.ok()?;
            let books = bus.serve(&subject::book(&name).parse().ok()?).await.ok()?;
            served = Some((words, books));
        }
        while let Some(request) = declared.try_next() {
            script.lock().ok()?.declared = Some(body::<Declare>(&request.payload)?.declaration);
            let _ = request.responder.respond(message(&name, DeclareReply::Taken));
        }
        if let Some((words, books)) = &mut served {
            while let Some(request) = words.try_next() {
                let reply = script.lock().ok()?.hear(&body::<Word>(&request.payload)?);
                let _ = request.responder.respond(message(&name, reply));
            }
            while let Some(request) = books.try_next() {
                let _: BookAsked = body(&request.payload)?;
                let status = script.lock().ok()?.status();
                let _ = request.responder.respond(message(&name, status));
            }
        }
        speak(&bus, &script, &name, sequence).await?;
    }
    None
}

async fn speak(
    bus: &InProcessBus,
    script: &Mutex<Script>,
    name: &MachineName,
    sequence: u64,
) -> Option<()> {
    let hello = Hello {
        machine: name.clone(),
        agent: "test".into(),
        boot: BootId("boot".into()),
        engine: EngineNonce("engine".into()),
        held: script.lock().ok()?.declared.as_ref().map(|held| wire::Held {
            number: held.number,
            epoch: held.epoch,
            digest: held.digest(),
        }),
        clock: now(),
    };
    let within = Duration::from_secs(1);
    let hello = message(name, hello);
    if let Ok(answer) = bus.request(&subject::hello(name).parse().ok()?, hello, within).await
        && let Some(declaration) = body::<HelloReply>(&answer)?.declaration
    {
        script.lock().ok()?.declared = Some(declaration);
    }
    let statement = script.lock().ok()?.statement(sequence);
    let _ = bus.publish(&subject::health(name).parse().ok()?, message(name, statement)).await;
    let report = script.lock().ok()?.report();
    if let Some(report) = report {
        let said = message(name, report.clone());
        if let Ok(kept) = bus.request(&subject::report(name).parse().ok()?, said, within).await {
            let _: ReportReply = body(&kept)?;
            script.lock().ok()?.reported = Some(report);
        }
    }
    Some(())
}

fn body<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    Some(Envelope::<T>::decode(bytes).ok()?.body)
}
