//! The store on disk keeps the port's contract.

use std::cell::RefCell;
use std::error::Error;

use store::contract;
use store::{Batch, CommitError, Entry, Expect, Prefix, ReadError, Store};
use store_sled::{Options, SledStore};
use tempfile::TempDir;

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::test]
async fn keeps_the_contract() -> Outcome {
    let folders = RefCell::new(Vec::new());
    let fresh = async || {
        let folder = TempDir::new().unwrap();
        let opened = SledStore::open(Options::new(folder.path())).await.unwrap();
        assert_eq!(opened.notes, []);
        folders.borrow_mut().push(folder);
        opened.store
    };
    contract::check(fresh).await?;
    contract::check_atomic_batches(fresh).await?;
    contract::check_reopens(fresh, async |store: SledStore| {
        store.close().await;
        let folder = folders.borrow().last().unwrap().path().to_owned();
        SledStore::open(Options::new(folder)).await.unwrap().store
    })
    .await?;
    for folder in folders.borrow().iter() {
        assert_eq!(blobs(folder)?, 0, "a page went to a file of its own");
    }
    Ok(())
}

#[tokio::test]
async fn a_closed_store_says_so_on_every_handle() -> Outcome {
    let folder = TempDir::new()?;
    let store = SledStore::open(Options::new(folder.path())).await?.store;
    let other = store.clone();
    store.close().await;
    store.close().await;
    let batch = Batch::new(vec![Entry::delete("a/b".parse()?, Expect::Any)])?;
    assert!(matches!(other.commit(batch).await, Err(CommitError::Closed)));
    assert!(matches!(other.read(&"a/b".parse()?).await, Err(ReadError::Closed)));
    assert!(matches!(other.scan(&Prefix::all()).await, Err(ReadError::Closed)));
    Ok(())
}

/// The longest keys, values at their bound, many in a leaf: the worst that can be asked of a page.
#[tokio::test]
async fn no_page_is_written_to_a_file_of_its_own() -> Outcome {
    let folder = TempDir::new()?;
    let store = SledStore::open(Options::new(folder.path())).await?.store;
    for round in 0..4_u8 {
        for number in 0..60_u32 {
            let tail = format!("{}{number:04}", "x".repeat(250));
            let key = format!("kind/{}/{}/{tail}", "y".repeat(254), "z".repeat(254)).parse()?;
            let bytes = vec![round; 4096 * usize::from(round % 2 + 1) - 16];
            store.commit(Batch::new(vec![Entry::put(key, Expect::Any, bytes)])?).await?;
            assert_eq!(blobs(&folder)?, 0, "round {round}, document {number}");
        }
        let large = vec![round; 5_000_000];
        let large = Entry::put("plan/large".parse()?, Expect::Any, large);
        store.commit(Batch::new(vec![large])?).await?;
        assert_eq!(blobs(&folder)?, 0, "round {round}");
    }
    Ok(())
}

/// sled's threads are the process's: a store that took one of them to wait for another would wait for ever with many.
#[tokio::test]
async fn many_stores_of_one_process_land_at_once() -> Outcome {
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..24 {
        all.spawn(async {
            let folder = TempDir::new()?;
            let store = SledStore::open(Options::new(folder.path())).await?.store;
            for number in 0..20_u8 {
                let put = Entry::put("a/b".parse()?, Expect::Any, vec![number; 100]);
                store.commit(Batch::new(vec![put])?).await?;
            }
            store.close().await;
            Outcome::Ok(())
        });
    }
    let landed = async {
        while let Some(landed) = all.join_next().await {
            landed??;
        }
        Ok(())
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), landed).await?
}

fn blobs(folder: &TempDir) -> std::io::Result<usize> {
    Ok(std::fs::read_dir(folder.path().join("data/blobs"))?.count())
}
