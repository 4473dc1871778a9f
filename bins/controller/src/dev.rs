//! `controller dev`: a whole fleet in one process, a story told with it, and then service until somebody ends it.

mod agents;
mod chapter;
mod ending;
mod fleet;
mod home;
mod keys;
mod story;
mod summary;
mod tell;
mod visit;

use std::path::Path;

use controller_shell::Handle;
use wire::api::{Answer, Refusal, RefusalKind};

use self::{
    ending::{Ending, Signals},
    fleet::Fleet,
    home::Home,
    summary::Summary,
    tell::Teller,
};
use crate::{
    command_line::Dev,
    failure::Failure,
    output::Output,
    paint::{Paint, Tone},
    socket::Server,
    surroundings::Surroundings,
};

/// Runs a fleet in the folder, or in a temporary one.
pub(crate) async fn run(
    dev: &Dev,
    dir: Option<&Path>,
    surroundings: &Surroundings,
    output: &Output,
) -> Result<(), Failure> {
    let signals = Signals::listen()
        .map_err(|error| Failure::because("signals cannot be listened to", &error))?;
    let home = Home::make(dir, dev.machines, surroundings)?;
    for note in &home.notes {
        output.status(&format!("note: {note}"));
    }
    let mut ending = signals.take(home.remains());
    let server = Server::bind(&home.folder)?;
    let mut fleet = Fleet::start(&home, output).await?;
    if let Err(error) = home.is_last_started() {
        let folder = home.folder.path().display();
        output.status(&format!("note: other commands need --dir {folder}, since {error}"));
    }
    let handle = fleet.handle();
    let outcome = tokio::select! {
        () = server.serve(move |ask, sender| answer(handle.clone(), ask, sender)) => Ok(()),
        failure = fleet.broken() => Err(failure),
        outcome = work(dev, &home, &mut ending, output) => outcome,
    };
    // Nobody is answered any more; then everything stops, and only then the folder goes.
    drop(server);
    fleet.stop().await;
    drop(home);
    outcome
}

async fn answer(handle: Handle, ask: wire::api::Ask, sender: String) -> Answer {
    handle.ask(&sender, ask).await.unwrap_or_else(|gone| {
        let (kind, why) = (RefusalKind::NotKept, gone.to_string());
        Answer::Refused(Refusal { kind, why, hint: None })
    })
}

/// Tells the story, and stays until somebody ends it.
async fn work(dev: &Dev, home: &Home, ending: &mut Ending, output: &Output) -> Result<(), Failure> {
    let told = tokio::select! {
        told = story(home, output) => told,
        () = ending.asked() => {
            let early = "ended before the story was told";
            return if dev.exit { Err(Failure::failed(early)) } else { Ok(()) };
        }
    };
    match (told, dev.exit) {
        (told, true) => return told,
        (Ok(()), false) => {}
        (Err(failure), false) => output.failure(&failure),
    }
    let folder = home.folder.path().display();
    let fate = if home.is_kept() { "kept" } else { "removed at the end" };
    let serving = format!("serving until Ctrl-C; the folder {folder} is {fate}");
    output.status(&output.status.tone(Tone::Faint, serving));
    ending.asked().await;
    Ok(())
}

async fn story(home: &Home, output: &Output) -> Result<(), Failure> {
    let mut teller = Teller::new(&home.folder, &home.machines, output).await?;
    let told = teller.tell().await?;
    let visits = visit::visit_all(&told, &home.folder).await?;
    let summary = Summary::new(&told, visits, &home.folder);
    output.answer(&summary, |summary, paint: Paint| summary.text(paint))
}
