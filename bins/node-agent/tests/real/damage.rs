//! Each file of a running engine's folder damaged, one after the other: the next engine begins, says which file it was, and
//! what runs goes on as the process that it was.
//!
//! The files are those that are found, so one that is added later is damaged here too.

use std::{
    fs,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};

use crate::machine::{A, Bed, Outcome, eventually, healthy};

/// What becomes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damage {
    Emptied,
    Cut,
    Overwritten,
    Replaced,
}

/// What nobody reads: what is in it cannot be wrong.
const UNREAD: [&str; 1] = ["store/lock"];

/// What others write into it, or wrote: a program its output, a build its files. Whatever is in it is right.
const OTHERS: [&str; 2] = ["output", "builds"];

/// Every file and socket below a folder, by its path within.
pub(crate) fn files(dir: &Path) -> Outcome<Vec<PathBuf>> {
    let (mut found, mut folders) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.symlink_metadata()?.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(dir)?.to_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Damages a file; nothing when it would be the same afterwards.
fn damage(path: &Path, damage: Damage) -> Outcome<bool> {
    let is_socket = path.symlink_metadata()?.file_type().is_socket();
    let content = if is_socket { Vec::new() } else { fs::read(path)? };
    let damaged = match damage {
        Damage::Emptied => Vec::new(),
        // In the middle of what is in it: a store keeps room for more at its end.
        Damage::Cut => {
            let end = content.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            content[..end / 2].to_vec()
        }
        // The constants are Knuth's; what matters is that no file of ours looks like this.
        Damage::Overwritten => {
            let next = |seed: &u64| {
                Some(seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040))
            };
            let random = std::iter::successors(Some(7), next).map(|seed| (seed >> 33) as u8);
            random.take(content.len()).collect()
        }
        Damage::Replaced => {
            fs::remove_file(path)?;
            fs::create_dir(path)?;
            fs::write(path.join("file"), "in a folder")?;
            return Ok(true);
        }
    };
    if damaged == content {
        return Ok(false);
    }
    fs::write(path, damaged)?;
    Ok(true)
}

fn is_of(path: &Path, places: &[&str]) -> bool {
    places.iter().any(|place| path.starts_with(place))
}

/// Does this to each file, one engine after the other, each of which is killed.
fn each_file(how: Damage) -> Outcome {
    let mut bed = Bed::new()?;
    bed.controller.hands_out();
    let dir = bed.machine.dir().to_owned();
    bed.engine.kill()?;
    let files = files(&dir)?;
    assert!(files.len() > 12, "{files:?}");
    for file in files {
        let path = dir.join(&file);
        let book = Book::of(&dir)?;
        if path.symlink_metadata().is_err() || !damage(&path, how)? {
            continue;
        }
        one_file(&mut bed, &dir, &file, how).map_err(|error| {
            format!("{how:?} {}: {error}\n{:#?}", file.display(), bed.engine.said)
        })?;
        if file.starts_with("book") {
            // What is damaged of the book is never set aside: somebody puts a copy back.
            book.put_back(&dir)?;
        }
    }
    Ok(())
}

/// A copy of a machine's failure book.
struct Book(Vec<(PathBuf, Vec<u8>)>);

impl Book {
    fn of(dir: &Path) -> Outcome<Self> {
        let mut files = Vec::new();
        for file in fs::read_dir(dir.join("book"))? {
            let path = file?.path();
            files.push((path.clone(), fs::read(path)?));
        }
        Ok(Self(files))
    }

    fn put_back(&self, dir: &Path) -> Outcome {
        fs::remove_dir_all(dir.join("book"))?;
        fs::create_dir(dir.join("book"))?;
        for (path, content) in &self.0 {
            fs::write(path, content)?;
        }
        Ok(())
    }
}

fn one_file(bed: &mut Bed, dir: &Path, file: &Path, how: Damage) -> Outcome {
    bed.start()?;
    bed.a_goes_on()?;
    // It holds its declaration, or has it again.
    bed.controller.until_stated("it holds its declaration", |stated| {
        healthy(stated, A).filter(|_| stated.declaration.is_some())
    })?;
    let is_right = is_of(file, &UNREAD) && how != Damage::Replaced;
    if !is_of(file, &OTHERS) && !is_right {
        is_named(bed, dir, file)?;
    }
    bed.engine.kill()?;
    // A trouble for as long as it lies there; the next file is to be seen alone.
    match fs::remove_dir_all(dir.join("set-aside")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// A line names the file, or what it is part of, as it lies aside.
fn is_named(bed: &mut Bed, dir: &Path, file: &Path) -> Outcome {
    let name = file.file_name().ok_or("no name")?.to_string_lossy().into_owned();
    let of_store = if file.starts_with("store") { "set-aside/store" } else { &name };
    eventually("the file is named", || {
        // Whatever was said since; a line that does not come in time is asked for again.
        let _ = bed.engine.next_line(std::time::Duration::from_millis(20));
        let names = |line: &String| line.contains(&name) || line.contains(of_store);
        let said = bed.engine.said.iter().any(names);
        let aside = fs::read_dir(dir.join("set-aside")).map(Iterator::count).unwrap_or(0);
        Ok(if said { Ok(()) } else { Err(format!("{aside} files lie aside")) })
    })
}

#[test]
fn each_file_emptied_is_named_and_what_runs_goes_on() -> Outcome {
    each_file(Damage::Emptied)
}

#[test]
fn each_file_cut_in_half_is_named_and_what_runs_goes_on() -> Outcome {
    each_file(Damage::Cut)
}

#[test]
fn each_file_overwritten_is_named_and_what_runs_goes_on() -> Outcome {
    each_file(Damage::Overwritten)
}

#[test]
fn each_file_replaced_by_a_folder_is_named_and_what_runs_goes_on() -> Outcome {
    each_file(Damage::Replaced)
}
