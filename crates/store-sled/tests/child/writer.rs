//! Writes by the script into the store in a folder, and says each commit's number on standard output once it has
//! landed. The crash tests start it, and kill it.
//!
//! `store-sled-writer FOLDER FIRST LAST` commits FIRST, FIRST + 1, … LAST.

use std::error::Error;
use std::io::Write;

use store::{Batch, Entry, Expect, Store};
use store_sled::{Options, SledStore};

mod script;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, first, last] = arguments.as_slice() else {
        return Err("usage: store-sled-writer FOLDER FIRST LAST".into());
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(write(folder, first.parse()?, last.parse()?))
}

/// How often one commit is tried. Each can be repeated without harm, and a disk's error may be over by then.
const TRIES: usize = 20;

async fn write(folder: &str, first: u64, last: u64) -> Result<(), Box<dyn Error + Send + Sync>> {
    let store = SledStore::open(Options::new(folder)).await?.store;
    let mut out = std::io::stdout().lock();
    for number in first..=last {
        let mut tries = 1;
        while let Err(error) = store.commit(batch(number)?).await {
            // For whoever reads the test's output; and the test counts them.
            writeln!(std::io::stderr(), "commit {number} failed: {error:?}")?;
            if tries == TRIES {
                return Err(error.into());
            }
            tries += 1;
        }
        // One write for the line, so that no half of it is read.
        out.write_all(format!("{number}\n").as_bytes())?;
        out.flush()?;
    }
    Ok(())
}

fn batch(number: u64) -> Result<Batch, Box<dyn Error + Send + Sync>> {
    let entries = script::changes(number)?.into_iter().map(|(key, change)| match change {
        Some(bytes) => Entry::put(key, Expect::Any, bytes),
        None => Entry::delete(key, Expect::Any),
    });
    Ok(Batch::new(entries.collect())?)
}
