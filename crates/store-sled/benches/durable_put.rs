//! What a durable put costs, beside the least that this disk asks for in the same run: append and fdatasync.
//!
//! The two take turns, so that whatever else the machine does hits both. Read the ratio; the times are noise
//! from one machine to the next.

#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use store::{Batch, Entry, Expect, Store};
use store_sled::{Options, SledStore};

const ROUNDS: usize = 9;
const WRITES_PER_ROUND: usize = 200;
const DOCUMENTS: usize = 100;
const SIZES: [usize; 4] = [256, 4 * 1024, 64 * 1024, 4 * 1024 * 1024];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    println!("{:>9}  {:>12}  {:>12}  {:>6}", "bytes", "append p50", "put p50", "ratio");
    for bytes in SIZES {
        // Fewer of the large ones: the disk is then the bound, and says so soon.
        let writes = (WRITES_PER_ROUND * SIZES[0] * 16 / bytes).clamp(5, WRITES_PER_ROUND);
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let store = SledStore::open(Options::new(folder.path().join("store"))).await?.store;
        let (mut appends, mut puts) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            append(&folder.path().join("log"), bytes, writes, &mut appends)?;
            put(&store, bytes, writes, &mut puts).await?;
        }
        store.close().await;
        let (append, put) = (median(&mut appends), median(&mut puts));
        let ratio = put.as_secs_f64() / append.as_secs_f64();
        let [append, put] = [append, put].map(|time| time.as_secs_f64() * 1000.0);
        println!("{bytes:>9}  {append:>9.3} ms  {put:>9.3} ms  {ratio:>6.2}");
    }
    Ok(())
}

fn append(
    path: &Path,
    bytes: usize,
    writes: usize,
    times: &mut Vec<Duration>,
) -> std::io::Result<()> {
    let mut log = File::options().append(true).create(true).open(path)?;
    let record = vec![b'x'; bytes];
    for _ in 0..writes {
        let began = Instant::now();
        log.write_all(&record)?;
        log.sync_data()?;
        times.push(began.elapsed());
    }
    Ok(())
}

async fn put(
    store: &SledStore,
    bytes: usize,
    writes: usize,
    times: &mut Vec<Duration>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    for number in 0..writes {
        let key = format!("bench/{}", number % DOCUMENTS).parse()?;
        let batch = Batch::new(vec![Entry::put(key, Expect::Any, vec![b'x'; bytes])])?;
        let began = Instant::now();
        store.commit(batch).await?;
        times.push(began.elapsed());
    }
    Ok(())
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
