//! The store in memory keeps the port's contract, and its faults do what their script says.

use std::error::Error;

use store::contract;
use store::{
    Batch, CommitError, Disk, Entry, Expect, Failure, Fault, Key, MemoryStore, Prefix, Reserve,
    Store,
};

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

#[tokio::test]
async fn keeps_the_contract() -> Outcome {
    contract::check(async || MemoryStore::new()).await?;
    contract::check_atomic_batches(async || MemoryStore::new()).await?;
    contract::check_reopens(async || MemoryStore::new(), async |store| store.clone()).await?;
    Ok(())
}

/// Three documents in one batch, under one fault: what is answered, and how many are there afterwards.
#[tokio::test]
async fn each_fault_answers_and_lands_what_it_says() -> Outcome {
    let torn = |entries| Fault::Torn { entries, failure: Failure::Full };
    let cases = [
        (Fault::Fails(Failure::Full), 0),
        (Fault::Fails(Failure::ReadOnly), 0),
        (Fault::Fails(Failure::Broken), 0),
        (Fault::Lies(Failure::Full), 3),
        (Fault::Lies(Failure::Broken), 3),
        (torn(0), 0),
        (torn(2), 2),
        (torn(9), 3),
    ];
    for (fault, landed) in cases {
        let store = MemoryStore::new();
        store.fault_after(1, fault);
        store.commit(three("before")?).await?;
        let answer = store.commit(three("with")?).await;
        let as_said = match fault {
            Fault::Fails(failure) | Fault::Lies(failure) | Fault::Torn { failure, .. } => {
                match failure {
                    Failure::Full => matches!(answer, Err(CommitError::Full)),
                    Failure::ReadOnly => matches!(answer, Err(CommitError::ReadOnly)),
                    Failure::Broken => matches!(answer, Err(CommitError::Failed(_))),
                }
            }
        };
        assert!(as_said, "{fault:?} answered {answer:?}");
        assert_eq!(store.scan(&Prefix::new(["with"])?).await?.len(), landed, "{fault:?}");
        store.commit(three("after")?).await?;
        assert_eq!(store.commits(), 3);
    }
    Ok(())
}

#[tokio::test]
async fn a_torn_batch_lands_its_first_entries() -> Outcome {
    let store = MemoryStore::new();
    store.fault_after(0, Fault::Torn { entries: 1, failure: Failure::Broken });
    store.commit(three("kind")?).await.unwrap_err();
    let keys: Vec<Key> =
        store.scan(&Prefix::all()).await?.into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["kind/1".parse()?]);
    Ok(())
}

/// Whoever saw a failure and tries again meets a conflict, reads, and finds its own write.
#[tokio::test]
async fn a_lie_is_found_out_by_trying_again() -> Outcome {
    let store = MemoryStore::new();
    store.fault_after(0, Fault::Lies(Failure::Broken));
    store.commit(three("kind")?).await.unwrap_err();
    let again = store.commit(three("kind")?).await;
    assert!(matches!(again, Err(CommitError::Conflict { found: Some(_), .. })), "{again:?}");
    Ok(())
}

#[tokio::test]
async fn a_full_disk_refuses_until_there_is_room_and_can_be_read() -> Outcome {
    let store = MemoryStore::new();
    store.commit(three("before")?).await?;
    store.set_disk(Disk::Refusing(Failure::Full));
    for _ in 0..3 {
        assert!(matches!(store.commit(three("while")?).await, Err(CommitError::Full)));
    }
    assert_eq!(store.scan(&Prefix::all()).await?.len(), 3);
    store.set_disk(Disk::Writable);
    store.commit(three("after")?).await?;
    assert_eq!(store.scan(&Prefix::all()).await?.len(), 6);
    Ok(())
}

#[tokio::test]
async fn on_a_low_disk_only_what_may_use_the_reserve_lands() -> Outcome {
    let store = MemoryStore::new();
    store.set_disk(Disk::Low);
    assert!(matches!(store.commit(three("kept")?).await, Err(CommitError::Full)));
    store.commit(three("used")?.with_reserve(Reserve::Used)).await?;
    assert_eq!(store.scan(&Prefix::all()).await?.len(), 3);
    Ok(())
}

#[tokio::test]
async fn a_restart_keeps_what_landed() -> Outcome {
    let disk = MemoryStore::new();
    {
        let process = disk.clone();
        process.commit(three("kind")?).await?;
    }
    assert_eq!(disk.scan(&Prefix::all()).await?.len(), 3);
    Ok(())
}

fn three(kind: &str) -> Result<Batch, Box<dyn Error + Send + Sync>> {
    let mut entries = Vec::new();
    for id in ["1", "2", "3"] {
        entries.push(Entry::put(Key::new(kind, [id])?, Expect::Absent, id.into()));
    }
    Ok(Batch::new(entries)?)
}
