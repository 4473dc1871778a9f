//! The process that keeps this machine's listeners: see [`route`].

use std::io::{Write, stdout};

use agent_shell::Severity;
use route::{Config, Ended, READY, Router};
use terminal::{
    failure::{ExitStatus, Failure},
    output::Output,
};

use tokio::runtime::Builder;

use crate::{
    command_line::{Everywhere, Route},
    engine::{VERSION, ending::Ending, journal::Journal},
    folder::Folder,
};

/// Runs a router until it is asked to end, or hands over to another.
///
/// Whoever started it reads one line from its standard output: that it works, or why it does not.
pub(crate) fn route(route: &Route, everywhere: &Everywhere, output: &Output) -> ExitStatus {
    // A session of its own keeps away the terminal's signals. Who leads a group already has started it by hand, in a shell, and
    // wants them.
    let _ = rustix::process::setsid();
    let journal = match Journal::begin(output.status) {
        Ok(journal) => journal,
        Err(error) => return output.ended(Err(Failure::because("no thread for lines", &error))),
    };
    // One thread: connections that waited go on in the order in which they came.
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::because("the router cannot start", &error));
    let ended = runtime.and_then(|runtime| runtime.block_on(run(route, everywhere, &journal)));
    let status = match ended {
        Ok(()) => ExitStatus::Done,
        Err(failure) => {
            // Whoever started it may have gone.
            let _ = writeln!(stdout(), "{}", failure.message.replace('\n', " "));
            journal.log().say(Severity::Error, &failure.message);
            failure.kind.exit_status()
        }
    };
    journal.finish();
    status
}

async fn run(route: &Route, everywhere: &Everywhere, journal: &Journal) -> Result<(), Failure> {
    let broken = |what: &'static str| move |error| Failure::because(what, &error);
    let socket = match &route.socket {
        Some(socket) => socket.clone(),
        None => Folder::find(everywhere)?.router(),
    };
    let mut ending = Ending::listen(None).map_err(broken("signals cannot be listened to"))?;
    let log = journal.log();
    let lines = log.clone();
    let config = Config {
        socket: socket.clone(),
        version: VERSION.to_owned(),
        orphan_after: route.orphan_after.map(inventory::Span::as_duration),
        say: Box::new(move |line| lines.say(Severity::Warning, line)),
    };
    let router = Router::begin(config).await;
    let router = router.map_err(|error| Failure::because("this router does not begin", &error))?;
    log.say(Severity::Info, &format!("router {VERSION} begins at {}", socket.display()));
    let _ = writeln!(stdout(), "{READY}").and_then(|()| stdout().flush());
    let asked = async {
        let _ = ending.asked().await;
    };
    let ended = router.run(asked).await;
    let why = match ended {
        Ended::Asked => "it was asked to",
        Ended::HandedOver => "another has taken its place",
        Ended::Orphaned => "no engine has come for too long",
    };
    log.say(Severity::Info, &format!("the router ends: {why}"));
    Ok(())
}
