//! `node-agent book export` and `import`: a machine takes its history along, as the interchange document.

use std::{
    fs::File,
    io::{self, ErrorKind, Read, Write},
    path::Path,
};

use failure_book::{BookId, Kept, NotImported, Step};
use serde::Serialize;
use tempfile::NamedTempFile;
use terminal::{
    failure::{Failure, FailureKind},
    output::Output,
    words::count,
};

use super::{
    keeping::{self, Found, Opened},
    new_identity, reconciled_text, shown,
};
use crate::{
    clock,
    command_line::{Existing, Export, Import},
    folder::Folder,
};

/// The largest document that is read: some hundred thousand records.
const DOCUMENT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Writes all of the book as a document. It only looks.
pub(super) fn export(folder: &Folder, export: &Export, output: &Output) -> Result<(), Failure> {
    let Found { kept: Some(kept), doubts } = keeping::look(folder)? else {
        let what = format!("there is no failure book in {} yet", folder.path().display());
        return Err(
            Failure::failed(what).hint("is it the folder that was meant? see --dir and --config")
        );
    };
    for doubt in &doubts {
        output.status(&format!("warning: {doubt}"));
    }
    let document = kept
        .to_document()
        .map_err(|error| Failure::because("the book cannot be written as a document", &error))?;
    let path = match export.file.as_deref() {
        Some(path) if path != Path::new("-") => path,
        Some(_) | None => return output.line(&document).map(drop),
    };
    write(path, document.as_bytes(), export.existing())?;
    output.status(&format!("exported {} to {}", contents(&kept), path.display()));
    Ok(())
}

/// Writes a file whole or not at all.
fn write(path: &Path, document: &[u8], existing: Existing) -> Result<(), Failure> {
    let failure = |error: io::Error| {
        Failure::because(format!("{} cannot be written", path.display()), &error)
    };
    match path.symlink_metadata() {
        Ok(found) if !found.is_file() => {
            let what =
                format!("{} is there, and is no file that could be replaced", path.display());
            return Err(Failure::new(FailureKind::Refused, what)
                .hint("another name, or: node-agent book export > FILE"));
        }
        Ok(_) | Err(_) => {}
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    let mut file = NamedTempFile::new_in(folder).map_err(failure)?;
    file.write_all(document).and_then(|()| file.write_all(b"\n")).map_err(failure)?;
    file.as_file().sync_all().map_err(failure)?;
    let placed = match existing {
        Existing::Replace => file.persist(path),
        Existing::Keep => file.persist_noclobber(path),
    };
    match placed {
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => {
            let what = format!("{} is there already, and was left as it is", path.display());
            Err(Failure::new(FailureKind::Refused, what).hint("replace it: --force"))
        }
        Err(error) => Err(failure(error.error)),
        Ok(_) => File::open(folder).and_then(|folder| folder.sync_all()).map_err(failure),
    }
}

/// What an import answers.
#[derive(Debug, Serialize)]
struct Imported {
    records: usize,
    markers: usize,
    intents: usize,
    /// The identity of the document's book, if it had one that counted.
    was: Option<BookId>,
    book: BookId,
    doubts: Vec<String>,
}

/// Takes over what a document holds, in an empty book.
pub(super) async fn import(
    folder: &Folder,
    import: &Import,
    output: &Output,
) -> Result<(), Failure> {
    let document = read(&import.file)?;
    if import.dry_run {
        return would_come(folder, &document, output);
    }
    let place =
        Folder::create(folder.path()).map_err(|failure| super::owner::hint(failure, folder))?;
    let folder = &place;
    let _lock = super::lock(folder).await?;
    // Looked at first: a book that takes no document is not touched.
    is_empty(folder, keeping::look(folder)?.kept.as_ref())?;
    let mut opened = Opened::open(folder)?;
    let id = new_identity()?;
    let (records, markers, intents) =
        (document.records().len(), document.markers().len(), document.intents().len());
    let was = document.id();
    let mut taken = Ok(());
    let doubts = opened.change(|book| {
        taken = match book.import(document, clock::now(), id) {
            Step::Done(answer) => answer.value,
            Step::Land(_, _) => Ok(()),
        };
    })?;
    taken.map_err(|why| refused(folder, why))?;
    let imported = Imported { records, markers, intents, was, book: id, doubts };
    output.answer(&imported, |imported, _| text(imported, folder))?;
    super::done(output);
    Ok(())
}

/// Says what an import would bring, and whether the book would take it.
fn would_come(folder: &Folder, document: &Kept, output: &Output) -> Result<(), Failure> {
    // Where there is no folder yet, an import makes it.
    if folder.path().exists() {
        is_empty(folder, keeping::look(folder)?.kept.as_ref())?;
    }
    let shown = shown::Shown::of_document(document);
    output.answer(&shown, |shown, paint| shown::text(shown, clock::now(), paint))?;
    output.status(&format!("a dry run: nothing was changed; {} would come", contents(document)));
    Ok(())
}

fn is_empty(folder: &Folder, kept: Option<&Kept>) -> Result<(), Failure> {
    let [records, markers, intents] = kept
        .map(|kept| [kept.records().len(), kept.markers().len(), kept.intents().len()])
        .unwrap_or_default();
    if records + markers + intents == 0 {
        return Ok(());
    }
    Err(refused(folder, NotImported::NotEmpty { records, markers, intents }))
}

fn refused(folder: &Folder, why: NotImported) -> Failure {
    let place = folder.book();
    let place = place.display();
    let what = format!("{why}; {place} is as it was");
    let failure = Failure::new(FailureKind::Refused, what);
    match why {
        NotImported::NotEmpty { .. } => failure.hint(format!(
            "what it holds: node-agent book show; to go on without it: stop the engine, move {place} elsewhere, and \
             import again"
        )),
        NotImported::Exhausted => failure
            .hint(format!("stop the engine, move {place} elsewhere, and import again")),
    }
}

/// Reads a document.
fn read(file: &Path) -> Result<Kept, Failure> {
    let name = if file == Path::new("-") {
        "the standard input".to_owned()
    } else {
        file.display().to_string()
    };
    let text =
        bytes(file).map_err(|error| Failure::because(format!("{name} cannot be read"), &error))?;
    if text.len() as u64 > DOCUMENT_BYTES_MAX {
        let mib = DOCUMENT_BYTES_MAX / (1024 * 1024);
        let what = format!("{name} has more than {mib} MiB, and no failure book is that large");
        return Err(Failure::failed(what));
    }
    Kept::from_document(&text).map_err(|error| {
        Failure::because(format!("{name} cannot be imported, and nothing was changed"), &error)
    })
}

fn bytes(file: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let bound = DOCUMENT_BYTES_MAX + 1;
    if file == Path::new("-") {
        io::stdin().lock().take(bound).read_to_end(&mut text)?;
    } else {
        File::open(file)?.take(bound).read_to_end(&mut text)?;
    }
    Ok(text)
}

/// How much there is of each kind.
fn contents(kept: &Kept) -> String {
    of_each(kept.records().len(), kept.markers().len(), kept.intents().len())
}

pub(super) fn of_each(records: usize, markers: usize, intents: usize) -> String {
    format!(
        "{}, {}, {}",
        count(records, "failure record"),
        count(markers, "marker"),
        count(intents, "intent")
    )
}

fn text(imported: &Imported, folder: &Folder) -> String {
    let Imported { records, markers, intents, was: _, book, doubts } = imported;
    let mut lines = super::doubted(doubts);
    lines.push(format!(
        "imported {} into {}",
        of_each(*records, *markers, *intents),
        folder.book().display()
    ));
    lines.push(format!(
        "the book is {book}, a new identity: every retry grant that was issued before is void here"
    ));
    lines.join("\n") + &reconciled_text(*intents)
}
