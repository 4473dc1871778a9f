//! kill -9 at any moment loses no acknowledged write, and leaves none half there.

use std::error::Error;

use program_test::killed;

#[path = "child/model.rs"]
mod model;
#[path = "child/script.rs"]
mod script;

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

const WRITER: &str = env!("CARGO_BIN_EXE_store-sled-writer");

const ROUNDS: u64 = 50;

#[tokio::test]
async fn kill_9_loses_no_acknowledged_write() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut contents = model::Contents::new();
    let (mut last, mut unacknowledged) = (0, 0);
    for round in 0..ROUNDS {
        let acknowledged = killed::run(WRITER, folder.path(), last + 1, round, 23)?;
        for number in last + 1..=acknowledged {
            model::apply(&mut contents, number)?;
        }
        last = acknowledged;
        // The commit that nobody acknowledged may be there too, then whole.
        let found = model::read(folder.path()).await?;
        if found != contents {
            last += 1;
            unacknowledged += 1;
            model::apply(&mut contents, last)?;
        }
        assert!(
            found == contents,
            "round {round}: after {acknowledged} was acknowledged, the store has neither that nor the next"
        );
    }
    println!(
        "{ROUNDS} rounds, {last} commits, {unacknowledged} there without having been acknowledged"
    );
    Ok(())
}
