//! `node-agent logs`: what programs wrote, read from the files that their shims write. It needs no engine.

mod follow;
mod place;
mod tail;

use serde::Serialize;
use terminal::{
    failure::Failure,
    output::{Format, Output, Reader},
    paint::{Tone, harmless},
};
use tokio::signal::unix::{SignalKind, signal};

use self::{
    follow::Followed,
    place::{Place, Source},
};
use crate::{
    command_line::{Everywhere, Logs},
    folder::Folder,
};

/// Says the last lines, and with `--follow` what comes after them.
pub(crate) async fn logs(
    logs: &Logs,
    everywhere: &Everywhere,
    output: &Output,
) -> Result<(), Failure> {
    let place = Place::find(&Folder::find(everywhere)?.output(), &logs.instance)?;
    let sources = place.sources(logs.resource.as_ref())?;
    let mut teller = Teller { output, width: width(&sources) };
    let mut followed = Vec::new();
    for source in sources {
        let (lines, end) = tail::last_lines(&source.path, logs.lines).map_err(|error| {
            Failure::because(format!("{} cannot be read", source.path.display()), &error)
        })?;
        if teller.say(&source, &lines)? == Reader::Gone {
            return Ok(());
        }
        followed.push(Followed::new(source, end));
    }
    if !logs.follow {
        return Ok(());
    }
    let interrupted = async {
        let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
        let [interrupt, terminate] = kinds.map(signal);
        let (Ok(mut interrupt), Ok(mut terminate)) = (interrupt, terminate) else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    tokio::select! {
        outcome = go_on(&place, logs, followed, &mut teller) => outcome,
        // Whoever follows has seen enough.
        () = interrupted => Ok(()),
    }
}

/// Says what is written from now on, also by resources that come later, until nobody reads it any more.
async fn go_on(
    place: &Place,
    logs: &Logs,
    mut followed: Vec<Followed>,
    teller: &mut Teller<'_>,
) -> Result<(), Failure> {
    loop {
        tokio::time::sleep(follow::LOOKS_EVERY).await;
        for source in place.sources(logs.resource.as_ref()).unwrap_or_default() {
            if !followed.iter().any(|one| one.source() == &source) {
                followed.push(Followed::from_the_beginning(source));
            }
        }
        teller.width = followed.iter().map(|one| one.source().name.len()).max().unwrap_or(0);
        if followed.len() < 2 {
            teller.width = 0;
        }
        for one in &mut followed {
            let lines = one.look();
            if teller.say(one.source(), &lines)? == Reader::Gone {
                return Ok(());
            }
        }
    }
}

/// Says lines, each behind its resource where there are several.
struct Teller<'a> {
    output: &'a Output,
    /// Of the prefix; 0: none is needed.
    width: usize,
}

/// A line as programs read it.
#[derive(Serialize)]
struct Written<'a> {
    resource: &'a str,
    line: &'a str,
}

impl Teller<'_> {
    fn say(&self, source: &Source, lines: &[String]) -> Result<Reader, Failure> {
        for line in lines {
            let text = match self.output.format {
                Format::Table => self.line(source, line),
                Format::Json => {
                    let written = Written { resource: &source.name, line };
                    serde_json::to_string(&written).map_err(|error| {
                        Failure::because("a line cannot be written as JSON", &error)
                    })?
                }
            };
            if self.output.line(&text)? == Reader::Gone {
                return Ok(Reader::Gone);
            }
        }
        Ok(Reader::Listens)
    }

    fn line(&self, source: &Source, line: &str) -> String {
        let paint = self.output.data;
        let tone = if line.starts_with(MARK) { Tone::Faint } else { Tone::Plain };
        // It is what a program wrote, and could be written to harm whoever reads it.
        let text = paint.tone(tone, harmless(line));
        match self.width {
            0 => text,
            width => {
                let prefix = format!("{:<width$} │", source.name);
                format!("{} {text}", paint.tone(Tone::Faint, prefix))
            }
        }
    }
}

/// Begins the lines that a shim writes between those of a program.
const MARK: &str = "=== bellwether: ";

fn width(sources: &[Source]) -> usize {
    match sources {
        [] | [_] => 0,
        several => several.iter().map(|source| source.name.len()).max().unwrap_or(0),
    }
}
