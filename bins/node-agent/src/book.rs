//! `node-agent book`: the machine's failure book, looked at and changed by hand.
//!
//! A book has one writer, and an engine is one for as long as it runs. So what changes the book takes the folder as an
//! engine does, and is refused beside one; what only looks works beside it.

mod bring;
mod freed;
mod freeing;
mod keeping;
mod owner;
mod shown;

use std::io;

use failure_book::BookId;
use serde::Serialize;
use terminal::{
    failure::{Failure, FailureKind},
    output::Output,
    words::count,
};

use self::keeping::{Found, Opened};
use crate::{
    clock,
    command_line::{Book, Everywhere},
    folder::{Folder, FolderLock},
};

/// Does what a command about the book says.
pub(crate) async fn book(
    book: &Book,
    everywhere: &Everywhere,
    output: &Output,
) -> Result<(), Failure> {
    let folder = Folder::find(everywhere)?;
    match book {
        Book::Show => show(&folder, output),
        Book::Export(export) => bring::export(&folder, export, output),
        Book::Import(import) => bring::import(&folder, import, output).await,
        Book::RotateIdentity => rotate_identity(&folder, output).await,
        Book::Free(free) => freeing::free(&folder, free, output).await,
    }
}

fn show(folder: &Folder, output: &Output) -> Result<(), Failure> {
    let found = keeping::look(folder)?;
    let engine = folder.is_held().map_err(|error| {
        let what = format!("it cannot be told who holds {}", folder.path().display());
        Failure::because(what, &error)
    })?;
    let freed = freed::newest(&folder.freed());
    let shown = shown::Shown::new(folder, &found, engine, freed);
    output.answer(&shown, |shown, paint| shown::text(shown, clock::now(), paint))
}

/// What a new identity answers.
#[derive(Debug, Serialize)]
struct Rotated {
    was: BookId,
    book: BookId,
    records: usize,
    markers: usize,
    /// Executions that an engine left without an outcome, which count as failed from now on.
    reconciled: usize,
    doubts: Vec<String>,
}

async fn rotate_identity(folder: &Folder, output: &Output) -> Result<(), Failure> {
    let _lock = lock(folder).await?;
    let Found { kept: Some(kept), .. } = keeping::look(folder)? else {
        let what = format!("there is no failure book in {} yet", folder.path().display());
        return Err(
            Failure::failed(what).hint("the first thing that is kept in it gives it an identity")
        );
    };
    let mut opened = Opened::open(folder)?;
    // The one on the disk, whatever the open has made of it.
    let was = kept.id().unwrap_or(opened.book().id());
    let id = new_identity()?;
    let doubts = opened.change(|book| drop(book.rotate_identity(id)))?;
    let kept = opened.book().kept();
    let rotated = Rotated {
        was,
        book: id,
        records: kept.records().len(),
        markers: kept.markers().len(),
        reconciled: opened.book().reconciled(),
        doubts,
    };
    output.answer(&rotated, |rotated, _| {
        let Rotated { was, book, records, markers, reconciled, doubts } = rotated;
        let doubts: String = doubts.iter().map(|doubt| format!("{doubt}\n")).collect();
        format!(
            "{doubts}the failure book in {} was {was}, and is {book} now\n\
             every retry grant that was issued before is void here\n\
             nothing was freed: {} and {} stand{}",
            folder.book().display(),
            count(*records, "record"),
            count(*markers, "marker"),
            reconciled_text(*reconciled),
        )
    })?;
    done(output);
    Ok(())
}

/// Takes the folder as an engine does. Refused beside one, with what to do.
async fn lock(folder: &Folder) -> Result<FolderLock, Failure> {
    keeping::is_a_folder(folder)?;
    folder.lock().await.map_err(|failure| match failure.kind {
        FailureKind::Refused => {
            let holder =
                folder.holder().map_or_else(String::new, |pid| format!(" (process {pid})"));
            let what = format!(
                "an engine{holder} runs on {}, and the failure book has one writer; nothing was changed",
                folder.path().display()
            );
            Failure::new(FailureKind::Refused, what)
                .hint("stop it: systemctl stop node-agent; what runs goes on, unless the config says at_stop = \"stop\"")
                .hint("do this again, and then: systemctl start node-agent")
        }
        FailureKind::Failed | FailureKind::Usage | FailureKind::GateFailed
        | FailureKind::Unreachable => owner::hint(failure, folder),
    })
}

/// An identity from the operating system's secure source.
fn new_identity() -> Result<BookId, Failure> {
    drawn().map_err(|error| Failure::because("no identity can be drawn for the book", &error))
}

pub(crate) fn drawn() -> io::Result<BookId> {
    let (high, low) = (machine_os::draw()?, machine_os::draw()?);
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&high.to_ne_bytes());
    bytes[8..].copy_from_slice(&low.to_ne_bytes());
    Ok(BookId::from_random(bytes))
}

/// What an open made of executions whose outcome nobody wrote; nothing where there were none.
fn reconciled_text(reconciled: usize) -> String {
    match reconciled {
        0 => String::new(),
        number => format!(
            "\n{} had no outcome when its engine ended, and counts as failed now",
            count(number, "execution")
        ),
    }
}

/// What is said when nobody could tell whether the newest changes are there.
fn doubted(doubts: &[String]) -> Vec<String> {
    let mut lines = doubts.to_vec();
    if !doubts.is_empty() {
        lines.push(
            "so the book has a new identity, and every retry grant that was issued before is void here"
                .to_owned(),
        );
    }
    lines
}

/// Reminds of what was stopped for this.
fn done(output: &Output) {
    output.status("note: start the engine again: systemctl start node-agent");
}
