//! The store on disk keeps the port's contract.

use std::cell::RefCell;
use std::error::Error;

use store::contract;
use store::{Batch, CommitError, Entry, Expect, Prefix, ReadError, Store};
use store_sled::{Options, SledStore};
use tempfile::TempDir;

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

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

fn blobs(folder: &TempDir) -> std::io::Result<usize> {
    Ok(std::fs::read_dir(folder.path().join("data/blobs"))?.count())
}
