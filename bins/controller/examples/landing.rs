//! What `tests/landing.rs` looks at from outside: a controller and an agent with stores on disk, between them a bus that
//! writes down everything that is sent, and one release that passes and one that is put back.
//!
//! `landing FOLDER` keeps the stores in `FOLDER/controller` and `FOLDER/agent`, writes what is sent to `FOLDER/sent`, and the
//! ids of the builds to `FOLDER/good` and `FOLDER/bad`.

use std::{
    error::Error,
    fs::{self, File},
    io::Write,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use agent_shell::{Ending, Incarnation, KeptBook};
use bus::{
    Bus, Bytes, InProcessBus, Pattern, PublishError, RequestError, Requests, Responder, Subject,
    SubscribeError, Subscription, queue,
};
use chrono::{DateTime, TimeDelta, Utc};
use controller_core::Reading;
use controller_shell::{Clock, Config, Controller, Handle, Ids};
use failure_book::{BookId, MemoryJournal};
use host::{
    Exit, Host as _,
    simulated::{BuildScript, Life, SimHost},
};
use inventory::{Instances, Machine, Manifest};
use store_sled::{Options, SledStore};
use tokio::time::{Instant, sleep};
use wire::{
    BootId,
    api::{Answer, Ask, Pace, Registered, Registration, Run},
};

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// A gate that ends as soon as it can.
const MANIFEST: &str = r#"
[module]
name = "blog"
[[resource]]
name = "web"
command = ["./blog"]
health = { http = "/", every = "200ms", timeout = "1s", passes = 1 }
restart = { limit = 1, within = "1m", backoff = "100ms..100ms" }
[gate]
passes = 1
every = "200ms"
settle = "200ms"
bound = "1m"
"#;

fn main() -> Outcome {
    let folder = std::env::args_os().nth(1).ok_or("usage: landing FOLDER")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run(Path::new(&folder)))
}

async fn run(folder: &Path) -> Outcome {
    let sent = Arc::new(Mutex::new(File::create(folder.join("sent"))?));
    let bus = Overheard { bus: InProcessBus::new(), sent };
    let host = SimHost::new(BootId("boot".to_owned()), DateTime::UNIX_EPOCH);
    tokio::spawn(move_on(host.clone()));

    let store = SledStore::open(Options::new(folder.join("controller"))).await?.store;
    let config = Config { tick: Duration::from_millis(100), ..Config::default() };
    let clock = Uptime(Instant::now());
    let controller = Controller::start(config, store, bus.clone(), clock, Counted(0)).await?;
    let machine = Machine {
        name: "box-1".parse()?,
        labels: Default::default(),
        public_key: None,
        enrolled_at: DateTime::UNIX_EPOCH,
        roles: Default::default(),
        hold: None,
    };
    controller.handle().enroll(machine).await?.map_err(|refused| refused.why)?;

    let store = SledStore::open(Options::new(folder.join("agent"))).await?.store;
    let config = agent_shell::Config {
        statement_every: Duration::from_millis(100),
        ..agent_shell::Config::new("box-1".parse()?, "test".to_owned(), Incarnation(1))
    };
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let stopped = async {
        // Whoever drops it wants the same.
        let _ = stopped.await;
        Ending::Stop
    };
    let fresh = || Ok::<_, std::convert::Infallible>(BookId::from_random([7; 16]));
    let book = KeptBook::load(MemoryJournal::new(), host.clock().wall, fresh);
    let agent = tokio::spawn(agent_shell::run(config, bus, store, book, host.clone(), stopped));

    let handle = controller.handle();
    let good = register(&handle, "good").await?;
    fs::write(folder.join("good"), good.build.as_str())?;
    release(&handle, good, "done").await?;
    let bad = register(&handle, "bad").await?;
    fs::write(folder.join("bad"), bad.build.as_str())?;
    let crashes = Life::EndsAfter(Duration::from_millis(100), Exit::Status(3));
    host.script(bad.build.clone(), BuildScript { life: crashes, ..BuildScript::default() });
    release(&handle, bad, "failed").await?;
    controller.stop().await;
    drop(stop);
    agent.await??;
    Ok(())
}

async fn register(handle: &Handle, commit: &str) -> Outcome<Registered> {
    let registration = Registration {
        commit: commit.parse()?,
        // Another content, since verdicts go by that.
        manifest: Manifest::from_toml(MANIFEST.replace("./blog", &format!("./blog-{commit}")))
            .map_err(|faults| format!("{faults:?}"))?,
        artifacts: Vec::new(),
        source_fingerprint: None,
    };
    let answer = handle.ask("test", Ask::Register(Box::new(registration))).await?;
    let Answer::Registered(registered) = answer else {
        return Err(format!("not registered: {answer:?}").into());
    };
    Ok(registered)
}

/// Releases a build, and waits until its plan has come to this end.
async fn release(handle: &Handle, build: Registered, end: &str) -> Outcome {
    let assign = Ask::Assign {
        module: "blog".parse()?,
        to: "box-1".parse()?,
        instances: Instances::default(),
    };
    handle.ask("test", assign).await?;
    let builds = vec![format!("blog@{}", build.build).parse()?];
    let release = Ask::Release { builds, pace: Pace::InTurn, run: Run::Real };
    let answer = handle.ask("test", release).await?;
    let Answer::Released(released) = answer else {
        return Err(format!("not released: {answer:?}").into());
    };
    loop {
        let answer = handle.ask("test", Ask::Plan { plan: released.plan.plan.clone() }).await?;
        let Answer::Plan(plan) = answer else { return Err(format!("no plan: {answer:?}").into()) };
        if plan.ended {
            let ended = format!("the plan ended as {}, {}", plan.state, plan.note);
            return if plan.state == end { Ok(()) } else { Err(ended.into()) };
        }
        sleep(Duration::from_millis(50)).await;
    }
}

async fn move_on(host: SimHost) {
    const STEP: Duration = Duration::from_millis(20);
    loop {
        sleep(STEP).await;
        host.advance(STEP);
    }
}

/// A bus on which everything that is sent is a line in a file, before it is sent.
#[derive(Debug, Clone)]
struct Overheard {
    bus: InProcessBus,
    sent: Arc<Mutex<File>>,
}

impl Overheard {
    fn say(&self, what: &str, subject: &Subject, payload: &[u8]) {
        let line = format!("{what} {subject} {}\n", String::from_utf8_lossy(payload));
        if let Ok(mut sent) = self.sent.lock() {
            // One call for the line, so that the trace has it whole.
            let written = sent.write_all(line.as_bytes());
            assert!(written.is_ok(), "what is sent cannot be written down: {written:?}");
        }
    }
}

impl Bus for Overheard {
    async fn publish(&self, subject: &Subject, payload: Bytes) -> Result<(), PublishError> {
        self.say("publish", subject, &payload);
        self.bus.publish(subject, payload).await
    }

    async fn subscribe(&self, pattern: &Pattern) -> Result<Subscription, SubscribeError> {
        self.bus.subscribe(pattern).await
    }

    async fn request(
        &self,
        subject: &Subject,
        payload: Bytes,
        timeout: Duration,
    ) -> Result<Bytes, RequestError> {
        self.say("request", subject, &payload);
        self.bus.request(subject, payload, timeout).await
    }

    async fn serve(&self, pattern: &Pattern) -> Result<Requests, SubscribeError> {
        let mut inner = self.bus.serve(pattern).await?;
        let (feed, requests) = queue();
        let overheard = self.clone();
        tokio::spawn(async move {
            while let Some(mut request) = inner.next().await {
                let (overheard, subject) = (overheard.clone(), request.subject.clone());
                let respond = request.responder;
                request.responder = Responder::new(move |answer| {
                    overheard.say("answer", &subject, &answer);
                    // It is the size that was checked already.
                    let _ = respond.respond(answer);
                });
                let _ = feed.feed(request);
            }
        });
        Ok(requests)
    }
}

/// A clock that was started with the program.
#[derive(Debug, Clone)]
struct Uptime(Instant);

impl Clock for Uptime {
    fn read(&self) -> Reading {
        let since_boot_ms = u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX);
        let wall = DateTime::UNIX_EPOCH
            .checked_add_signed(TimeDelta::from_std(self.0.elapsed()).unwrap_or(TimeDelta::MAX));
        Reading { wall: wall.unwrap_or_default(), since_boot_ms, boot: "boot".to_owned() }
    }
}

struct Counted(u64);

impl Ids for Counted {
    fn fresh(&mut self, _wall: DateTime<Utc>) -> String {
        self.0 += 1;
        format!("01{:024}", self.0)
    }
}
