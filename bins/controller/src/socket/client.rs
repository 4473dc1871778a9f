//! A command's end of the socket.

use std::{fmt, io::ErrorKind, time::Duration};

use names::{MachineName, ModuleName, PlanId};
use tokio::{
    io::{AsyncWriteExt, BufReader},
    net::UnixStream,
    time::timeout,
};
use wire::api::{
    Answer, Ask, BuildView, InstanceView, MachineView, ModuleView, PlanView, PointerView, Question,
    Registered, Registration,
};
use wire::{BookAsked, BookStatus, WordReply, signed::Signed};

use super::{
    line::{self, ANSWER_BYTES_MAX, LineError, Reply, Request},
    place::ShortPath,
};
use crate::{
    failure::{Failure, FailureKind, chain},
    folder::{Folder, SOCKET},
};

/// How long a controller may take to answer: far above what its slowest write takes on a loaded disk.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection to a running controller.
#[derive(Debug)]
pub(crate) struct Client {
    stream: BufReader<UnixStream>,
    folder: Folder,
}

impl Client {
    /// Connects to the controller that runs on this folder.
    pub(crate) async fn connect(folder: &Folder) -> Result<Self, Failure> {
        let connect = async {
            let short = ShortPath::to(folder)?;
            UnixStream::connect(short.join(SOCKET)).await
        };
        match connect.await {
            Ok(stream) => Ok(Self { stream: BufReader::new(stream), folder: folder.clone() }),
            Err(error) => {
                let path = folder.path().display();
                let gone = [ErrorKind::NotFound, ErrorKind::ConnectionRefused];
                let what = if gone.contains(&error.kind()) {
                    format!("no controller runs on {path}")
                } else {
                    format!("the controller on {path} cannot be reached: {error}")
                };
                Err(Failure::new(FailureKind::Unreachable, what)
                    .hint(format!("start it: controller dev --dir {path}")))
            }
        }
    }

    /// Asks, and waits for the answer; a refusal is a failure.
    pub(crate) async fn ask(&mut self, ask: Ask) -> Result<Answer, Failure> {
        let folder = self.folder.path().display().to_string();
        let unreachable = |why: &dyn fmt::Display| {
            let what = format!("the controller on {folder} does not answer: {why}");
            Failure::new(FailureKind::Unreachable, what)
                .hint("whether it did what was asked is not known; look before asking again")
        };
        let request =
            line::encode(&Request { request: ask }).map_err(|error| unreachable(&chain(&error)))?;
        match timeout(PATIENCE, self.exchange(&request)).await {
            Err(_) => Err(unreachable(&format!("it took more than {} s", PATIENCE.as_secs()))),
            Ok(Err(error)) => Err(unreachable(&chain(&error))),
            Ok(Ok(None)) => Err(unreachable(&"it hung up")),
            Ok(Ok(Some(Answer::Refused(refusal)))) => Err(refusal.into()),
            Ok(Ok(Some(answer))) => Ok(answer),
        }
    }

    async fn exchange(&mut self, request: &[u8]) -> Result<Option<Answer>, LineError> {
        // A server that refuses at once hangs up while this is still being written; its reason is there to be read.
        let written = self.stream.get_mut().write_all(request).await;
        match line::read(&mut self.stream, ANSWER_BYTES_MAX).await? {
            Some(line) => Ok(Some(line::decode::<Reply>(&line)?.answer)),
            None => {
                written?;
                Ok(None)
            }
        }
    }
}

/// A request that has an answer of one kind, as a method: what the answer brings, or the failure.
macro_rules! asks {
    ($($(#[doc = $doc:literal])+ $name:ident($($field:ident: $type:ty),*) $ask:expr => $kind:ident($brings:ty);)+) => {
        impl Client {
            $(
                $(#[doc = $doc])+
                pub(crate) async fn $name(&mut self, $($field: $type),*) -> Result<$brings, Failure> {
                    let Answer::$kind(brought) = self.ask($ask).await? else {
                        return Err(Failure::failed("the controller answered something else than was asked"));
                    };
                    Ok(brought)
                }
            )+
        }
    };
}

asks! {
    /// Every machine.
    machines() Ask::Machines => Machines(Vec<MachineView>);
    /// Every module.
    modules() Ask::Modules => Modules(Vec<ModuleView>);
    /// Every kept build.
    builds() Ask::Builds { module: None } => Builds(Vec<BuildView>);
    /// Every kept build of one module.
    builds_of(module: ModuleName) Ask::Builds { module: Some(module) } => Builds(Vec<BuildView>);
    /// Every instance, of one module and machine or of all.
    instances(module: Option<ModuleName>, machine: Option<MachineName>)
        Ask::Instances { module, machine } => Instances(Vec<InstanceView>);
    /// What a machine's failure book holds.
    book(machine: MachineName, module: Option<ModuleName>)
        Ask::OfMachine { machine, question: Question::Book(BookAsked { module }) } => Book(Box<BookStatus>);
    /// What a machine says to a signed word.
    say(machine: MachineName, question: Question) Ask::OfMachine { machine, question } => Said(WordReply);
    /// Has a pointer kept and handed to every machine of its module.
    point(pointer: Signed) Ask::Point { pointer } => Pointed(Box<PointerView>);
    /// The pointers of a module.
    pointers(module: ModuleName) Ask::Pointers { module: Some(module) } => Pointers(Vec<PointerView>);
    /// Every plan, the newest first.
    plans() Ask::Plans => Plans(Vec<PlanView>);
    /// One plan.
    plan(plan: PlanId) Ask::Plan { plan } => Plan(Box<PlanView>);
    /// Registers a build.
    register(registration: Registration) Ask::Register(Box::new(registration)) => Registered(Registered);
}
