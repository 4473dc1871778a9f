//! The contract: what every implementation of the port keeps, as checks that its own tests run.
//!
//! Each rule gets a store of its own, empty. A rule that is broken panics where it is broken; a store that
//! answers an error where none is due ends the check with a [`Violation`] that names the rule.

use std::error::Error;
use std::fmt;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::key::{Key, Prefix};
use crate::port::{Batch, CommitError, Document, Entry, Expect, Revision, Store};

/// A rule that a store did not keep, with the error it answered.
#[derive(Debug)]
pub struct Violation {
    rule: &'static str,
    source: Box<dyn Error + Send + Sync>,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the store breaks its contract: {}", self.rule)
    }
}

impl Error for Violation {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.source.as_ref())
    }
}

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

/// What every store keeps. `fresh` answers an empty store.
///
/// # Errors
/// [`Violation`].
///
/// # Panics
/// Where a rule is broken.
pub async fn check<S: Store>(fresh: impl AsyncFn() -> S) -> Result<(), Violation> {
    let of = |rule| move |source| Violation { rule, source };
    absent_is_none(fresh().await).await.map_err(of("what was never put is absent"))?;
    put_is_read_back(fresh().await).await.map_err(of("a put is read back whole"))?;
    sizes(fresh().await).await.map_err(of("documents of every size are whole"))?;
    shrinks(fresh().await).await.map_err(of("a smaller document leaves nothing of a larger"))?;
    revisions_grow(fresh().await).await.map_err(of("revisions grow and never come back"))?;
    expectations(fresh().await).await.map_err(of("a commit checks what it expects"))?;
    one_winner(fresh().await).await.map_err(of("of two who expect the same, one wins"))?;
    scans(fresh().await).await.map_err(of("a scan walks its prefix in key order"))?;
    neighbours(fresh().await).await.map_err(of("keys that begin alike are apart"))?;
    handles(fresh().await).await.map_err(of("all handles see the same documents"))?;
    dropped(fresh().await).await.map_err(of("a write that was begun is whole"))?;
    Ok(())
}

/// What a store with atomic batches keeps beside the rest.
///
/// # Errors
/// [`Violation`].
///
/// # Panics
/// Where a rule is broken.
pub async fn check_atomic_batches<S: Store>(fresh: impl AsyncFn() -> S) -> Result<(), Violation> {
    let of = |rule| move |source| Violation { rule, source };
    all_or_nothing(fresh().await).await.map_err(of("a conflict changes nothing"))?;
    together(fresh().await).await.map_err(of("a batch is whole"))?;
    Ok(())
}

/// What a store keeps that outlives its process. `reopen` takes a store, lets it go, and answers the same one
/// opened anew.
///
/// # Errors
/// [`Violation`].
///
/// # Panics
/// Where a rule is broken.
pub async fn check_reopens<S: Store>(
    fresh: impl AsyncFn() -> S,
    reopen: impl AsyncFn(S) -> S,
) -> Result<(), Violation> {
    let rule = "a store that is opened anew has what had landed";
    reopens(fresh().await, reopen).await.map_err(|source| Violation { rule, source })
}

async fn absent_is_none<S: Store>(store: S) -> Outcome {
    assert_eq!(store.read(&"plan/1".parse()?).await?, None);
    assert_eq!(store.scan(&Prefix::all()).await?, []);
    put(&store, "plan/1", Expect::Absent, b"x").await?;
    delete(&store, "plan/1", Expect::Any).await?;
    assert_eq!(store.read(&"plan/1".parse()?).await?, None);
    assert_eq!(store.scan(&Prefix::all()).await?, []);
    delete(&store, "plan/1", Expect::Absent).await?;
    Ok(())
}

async fn put_is_read_back<S: Store>(store: S) -> Outcome {
    let revision = put(&store, "plan/1", Expect::Absent, b"first").await?;
    assert_eq!(get(&store, "plan/1").await?, Some((revision, b"first".to_vec())));
    let revision = put(&store, "plan/1", Expect::Any, b"second").await?;
    assert_eq!(get(&store, "plan/1").await?, Some((revision, b"second".to_vec())));
    Ok(())
}

/// Around the sizes at which an engine may cut a document into pieces, and one of several MiB.
async fn sizes<S: Store>(store: S) -> Outcome {
    let kib = 1024;
    let sizes = [0, 1, 8 * kib - 1, 8 * kib, 8 * kib + 1, 16 * kib, 128 * kib + 7, 3 * 1024 * kib];
    for size in sizes {
        let key = format!("size/{size}");
        let bytes = pattern(size);
        let revision = put(&store, &key, Expect::Absent, &bytes).await?;
        let read = get(&store, &key).await?;
        assert!(read == Some((revision, bytes)), "{size} bytes were not read back");
    }
    for (key, document) in store.scan(&Prefix::new(["size"])?).await? {
        let size = document.bytes.len();
        assert_eq!(key.as_str(), format!("size/{size}"));
        assert!(document.bytes == pattern(size), "{size} bytes were not scanned");
    }
    Ok(())
}

async fn shrinks<S: Store>(store: S) -> Outcome {
    for size in [100_000, 20_000, 70_000, 3, 0, 50_000] {
        let bytes = pattern(size);
        let revision = put(&store, "plan/1", Expect::Any, &bytes).await?;
        assert!(get(&store, "plan/1").await? == Some((revision, bytes)), "wrong at {size} bytes");
        assert_eq!(store.scan(&Prefix::all()).await?.len(), 1);
    }
    delete(&store, "plan/1", Expect::Any).await?;
    put(&store, "plan/1", Expect::Absent, b"small").await?;
    assert_eq!(get(&store, "plan/1").await?.map(|(_, bytes)| bytes), Some(b"small".to_vec()));
    Ok(())
}

async fn revisions_grow<S: Store>(store: S) -> Outcome {
    let first = put(&store, "lease/controller", Expect::Absent, b"a").await?;
    let same = put(&store, "lease/controller", Expect::At(first), b"a").await?;
    assert!(same > first, "the same bytes again are a new revision");
    delete(&store, "lease/controller", Expect::At(same)).await?;
    let anew = put(&store, "lease/controller", Expect::Absent, b"a").await?;
    assert!(anew > same, "a revision came back after a delete");
    Ok(())
}

async fn expectations<S: Store>(store: S) -> Outcome {
    let key: Key = "lease/controller".parse()?;
    let old = put(&store, key.as_str(), Expect::Absent, b"old").await?;
    let now = put(&store, key.as_str(), Expect::At(old), b"now").await?;
    for (expected, there) in [(Expect::Absent, Some(now)), (Expect::At(old), Some(now))] {
        let entries = [
            Entry::put(key.clone(), expected, b"x".to_vec()),
            Entry::delete(key.clone(), expected),
        ];
        for entry in entries {
            conflicts(&store, entry, expected, there).await?;
        }
        assert_eq!(get(&store, key.as_str()).await?, Some((now, b"now".to_vec())));
    }
    delete(&store, key.as_str(), Expect::At(now)).await?;
    let entry = Entry::put(key, Expect::At(now), b"x".to_vec());
    conflicts(&store, entry, Expect::At(now), None).await
}

async fn one_winner<S: Store>(store: S) -> Outcome {
    let seen = put(&store, "lease/controller", Expect::Absent, b"nobody").await?;
    put(&store, "lease/controller", Expect::At(seen), b"one").await?;
    let late = put(&store.clone(), "lease/controller", Expect::At(seen), b"two").await;
    assert!(late.is_err(), "two took the lease");
    assert_eq!(get(&store, "lease/controller").await?.map(|(_, b)| b), Some(b"one".to_vec()));
    Ok(())
}

async fn scans<S: Store>(store: S) -> Outcome {
    let keys = ["plan/9", "build/web/1", "plan/10", "planned/1", "build/blog/2", "plan-b/1"];
    for key in keys {
        put(&store, key, Expect::Absent, key.as_bytes()).await?;
    }
    let mut all: Vec<String> = keys.map(str::to_owned).to_vec();
    all.sort();
    assert_eq!(scanned(&store, Prefix::all()).await?, all);
    assert_eq!(scanned(&store, Prefix::new(["plan"])?).await?, ["plan/10", "plan/9"]);
    assert_eq!(scanned(&store, Prefix::new(["build", "web"])?).await?, ["build/web/1"]);
    assert_eq!(scanned(&store, Prefix::new(["build", "we"])?).await?, Vec::<String>::new());
    assert_eq!(scanned(&store, Prefix::new(["plan", "9"])?).await?, Vec::<String>::new());
    Ok(())
}

/// Keys that are the beginning of others, the longest one, and letters from far away, with documents that an
/// engine may cut into pieces.
async fn neighbours<S: Store>(store: S) -> Outcome {
    let longest = format!("kind/{}", ["x".repeat(254), "y".repeat(254), "z".repeat(254)].join("/"));
    let keys = ["a/b", "a/b/c", "a/b!", "a/b c", "a/ß", "a/\u{10ffff}", longest.as_str()];
    for (place, key) in keys.into_iter().enumerate() {
        put(&store, key, Expect::Absent, &pattern(30_000 + place)).await?;
    }
    delete(&store, "a/b", Expect::Any).await?;
    for (place, key) in keys.into_iter().enumerate() {
        let size = get(&store, key).await?.map(|(_, bytes)| bytes.len());
        let right = if key == "a/b" { None } else { Some(30_000 + place) };
        assert_eq!(size, right, "at {key:?}");
    }
    Ok(())
}

async fn handles<S: Store>(store: S) -> Outcome {
    let other = store.clone();
    let revision = put(&store, "plan/1", Expect::Absent, b"x").await?;
    drop(store);
    assert_eq!(get(&other, "plan/1").await?, Some((revision, b"x".to_vec())));
    Ok(())
}

/// A caller that goes away in the middle leaves the document as it was or as it should become.
async fn dropped<S: Store>(store: S) -> Outcome {
    let (before, after) = (pattern(50_000), pattern(90_000));
    put(&store, "plan/1", Expect::Absent, &before).await?;
    let batch = Batch::new(vec![Entry::put("plan/1".parse()?, Expect::Any, after.clone())])?;
    {
        let mut commit = pin!(store.commit(batch));
        let polled = commit.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(!matches!(polled, Poll::Ready(Err(_))), "a commit without expectation failed");
    }
    let read = get(&store, "plan/1").await?.map(|(_, bytes)| bytes);
    assert!(read == Some(before) || read == Some(after), "a document is half there");
    Ok(())
}

async fn all_or_nothing<S: Store>(store: S) -> Outcome {
    put(&store, "b/1", Expect::Absent, b"there").await?;
    let batch = Batch::new(vec![
        Entry::put("a/1".parse()?, Expect::Any, b"new".to_vec()),
        Entry::put("b/1".parse()?, Expect::Absent, b"new".to_vec()),
        Entry::put("c/1".parse()?, Expect::Any, b"new".to_vec()),
    ])?;
    assert!(matches!(store.commit(batch).await, Err(CommitError::Conflict { .. })));
    assert_eq!(scanned(&store, Prefix::all()).await?, ["b/1"]);
    assert_eq!(get(&store, "b/1").await?.map(|(_, bytes)| bytes), Some(b"there".to_vec()));
    Ok(())
}

async fn together<S: Store>(store: S) -> Outcome {
    let old = put(&store, "old/1", Expect::Absent, &pattern(20_000)).await?;
    let mut entries = vec![Entry::delete("old/1".parse()?, Expect::At(old))];
    for number in 0..200_u16 {
        let key = format!("new/{number:03}").parse()?;
        entries.push(Entry::put(key, Expect::Absent, pattern(usize::from(number) * 100)));
    }
    let landed = store.commit(Batch::new(entries)?).await?;
    assert_eq!(landed.revision(&"old/1".parse()?), None);
    let read = store.scan(&Prefix::all()).await?;
    assert_eq!(read.len(), 200);
    for (number, (key, document)) in read.into_iter().enumerate() {
        assert_eq!(landed.revision(&key), Some(document.revision));
        assert!(document.bytes == pattern(number * 100), "{key} is not as it was put");
    }
    Ok(())
}

async fn reopens<S: Store>(store: S, reopen: impl AsyncFn(S) -> S) -> Outcome {
    put(&store, "gone/1", Expect::Absent, &pattern(20_000)).await?;
    delete(&store, "gone/1", Expect::Any).await?;
    put(&store, "plan/1", Expect::Absent, b"small").await?;
    put(&store, "plan/2", Expect::Absent, &pattern(2_000_000)).await?;
    let last = put(&store, "plan/1", Expect::Any, b"smaller").await?;
    let before = store.scan(&Prefix::all()).await?;
    let store = reopen(store).await;
    assert!(store.scan(&Prefix::all()).await? == before, "not the same documents");
    let anew = put(&store, "gone/1", Expect::Absent, b"x").await?;
    assert!(anew > last, "revisions began anew");
    Ok(())
}

/// Bytes that differ from place to place, so that a lost or swapped piece shows.
fn pattern(size: usize) -> Vec<u8> {
    (0..size)
        .map(|place| place.wrapping_mul(31).wrapping_add(place / 251).to_le_bytes()[0])
        .collect()
}

async fn put<S: Store>(
    store: &S,
    key: &str,
    expect: Expect,
    bytes: &[u8],
) -> Result<Revision, Box<dyn Error + Send + Sync>> {
    let key: Key = key.parse()?;
    let batch = Batch::new(vec![Entry::put(key.clone(), expect, bytes.to_vec())])?;
    let landed = store.commit(batch).await?;
    landed.revision(&key).ok_or_else(|| format!("{key} was put and has no revision").into())
}

async fn delete<S: Store>(store: &S, key: &str, expect: Expect) -> Outcome {
    let key: Key = key.parse()?;
    let landed = store.commit(Batch::new(vec![Entry::delete(key.clone(), expect)])?).await?;
    assert_eq!(landed.revision(&key), None, "a deleted document has a revision");
    Ok(())
}

async fn get<S: Store>(
    store: &S,
    key: &str,
) -> Result<Option<(Revision, Vec<u8>)>, Box<dyn Error + Send + Sync>> {
    let document = store.read(&key.parse()?).await?;
    Ok(document.map(|Document { revision, bytes }| (revision, bytes)))
}

async fn scanned<S: Store>(
    store: &S,
    prefix: Prefix,
) -> Result<Vec<String>, Box<dyn Error + Send + Sync>> {
    let documents = store.scan(&prefix).await?;
    Ok(documents.into_iter().map(|(key, _)| key.as_str().to_owned()).collect())
}

async fn conflicts<S: Store>(
    store: &S,
    entry: Entry,
    was_expected: Expect,
    was_there: Option<Revision>,
) -> Outcome {
    let right = entry.key.clone();
    match store.commit(Batch::new(vec![entry])?).await {
        Err(CommitError::Conflict { key, expected, found }) => {
            assert_eq!((key, expected, found), (right, was_expected, was_there));
            Ok(())
        }
        Err(error) => Err(error.into()),
        Ok(_) => Err(format!("{right} was written although it was not as expected").into()),
    }
}
