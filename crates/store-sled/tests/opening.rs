//! Opening: what is damaged and what is not, whose store it is, and who else has it.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use store::{Batch, Entry, Expect, Prefix, Store};
use store_sled::{Note, OpenError, Options, SledStore};

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

const DOCUMENTS: usize = 50;

/// A stop in the middle of a snapshot left 900 bytes beside the good one.
#[tokio::test]
async fn an_unfinished_snapshot_is_set_aside() -> Outcome {
    let folder = filled().await?;
    let good = snapshot(folder.path())?;
    let unfinished = good.with_extension("FFFFFFFFFFFFFFFF.generating");
    fs::write(&unfinished, [7; 900])?;
    let notes = whole(folder.path()).await?;
    let kept = folder.path().join("set-aside/snap.FFFFFFFFFFFFFFFF.generating.0");
    assert_eq!(notes, [Note::UnfinishedSnapshot { kept: kept.clone() }]);
    assert_eq!(fs::read(kept)?, [7; 900]);
    assert!(!unfinished.exists());
    assert_eq!(whole(folder.path()).await?, []);
    Ok(())
}

#[tokio::test]
async fn a_damaged_snapshot_is_set_aside() -> Outcome {
    let damages: [fn(&mut Vec<u8>); 4] = [
        |bytes| bytes.clear(),
        |bytes| bytes.truncate(11),
        |bytes| bytes.truncate(bytes.len() / 2),
        |bytes| bytes[3] ^= 0x40,
    ];
    let folder = filled().await?;
    for damage in damages {
        let path = snapshot(folder.path())?;
        let mut bytes = fs::read(&path)?;
        damage(&mut bytes);
        fs::write(&path, &bytes)?;
        let notes = whole(folder.path()).await?;
        let [Note::DamagedSnapshot { kept }] = notes.as_slice() else {
            return Err(format!("{} bytes: the notes are {notes:?}", bytes.len()).into());
        };
        assert_eq!(fs::read(kept)?, bytes);
        assert!(kept.starts_with(folder.path().join("set-aside")));
        assert!(notes[0].to_string().starts_with("a damaged snapshot of the store was set aside"));
    }
    assert_eq!(fs::read_dir(folder.path().join("set-aside"))?.count(), 4);
    Ok(())
}

#[tokio::test]
async fn without_any_snapshot_the_log_has_everything() -> Outcome {
    let folder = filled().await?;
    fs::remove_file(snapshot(folder.path())?)?;
    assert_eq!(whole(folder.path()).await?, []);
    Ok(())
}

/// The worst that could be done: to take for a new store one whose file is gone.
#[tokio::test]
async fn a_store_without_its_file_is_never_an_empty_store() -> Outcome {
    let losses: [fn(&Path) -> std::io::Result<()>; 5] = [
        |data| fs::remove_dir_all(data),
        |data| fs::remove_file(data.join("db")),
        |data| fs::write(data.join("db"), []),
        |data| fs::write(data.join("db"), vec![0; 2_000_000]),
        |data| fs::write(data.join("db"), vec![0xa5; 2_000_000]),
    ];
    for (number, lose) in losses.into_iter().enumerate() {
        for snapshot_too in [false, true] {
            let folder = filled().await?;
            if snapshot_too {
                fs::remove_file(snapshot(folder.path())?)?;
            }
            lose(&folder.path().join("data"))?;
            let opened = SledStore::open(Options::new(folder.path())).await;
            assert!(
                matches!(opened, Err(OpenError::Damaged { .. } | OpenError::Panicked)),
                "loss {number}, snapshot too: {snapshot_too}: {opened:?}"
            );
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_store_of_another_schema_is_left_alone() -> Outcome {
    for text in ["bellwether store 3\n", "bellwether store 12\n", "something else", "", "\u{7}\n"] {
        let folder = filled().await?;
        fs::write(folder.path().join("schema"), text)?;
        let before = contents(folder.path())?;
        let opened = SledStore::open(Options::new(folder.path())).await;
        let Err(error @ OpenError::Schema { .. }) = opened else {
            return Err(format!("{text:?} was opened: {opened:?}").into());
        };
        let text = error.to_string();
        assert!(text.contains("start the build that wrote the store"), "{text}");
        assert!(
            text.starts_with(folder.path().join("schema").to_str().ok_or("no text")?),
            "{text}"
        );
        assert_eq!(contents(folder.path())?, before, "{text:?}");
    }
    Ok(())
}

#[tokio::test]
async fn files_without_a_schema_are_left_alone() -> Outcome {
    let folder = filled().await?;
    fs::remove_file(folder.path().join("schema"))?;
    let opened = SledStore::open(Options::new(folder.path())).await;
    assert!(matches!(opened, Err(OpenError::Schema { .. })), "{opened:?}");
    Ok(())
}

/// A store as the builds before wrote it, byte for byte in sled's tree.
#[tokio::test]
async fn a_store_of_the_schema_before_is_brought_to_the_present_one() -> Outcome {
    let folder = tempfile::tempdir()?;
    fill_with_schema_1(folder.path())?;
    let [Note::Upgraded { from: 1, .. }] = &whole(folder.path()).await?[..] else {
        return Err("nothing was said of it".into());
    };
    assert_eq!(fs::read_to_string(folder.path().join("schema"))?, "bellwether store 2\n");
    assert_eq!(whole(folder.path()).await?, [], "the old documents, and the new ones among them");
    // What an older backup puts in its place has no checksums, and is not taken for it.
    fs::remove_dir_all(folder.path().join("data"))?;
    fs::remove_file(folder.path().join("mark"))?;
    fill_with_schema_1(folder.path())?;
    fs::write(folder.path().join("schema"), "bellwether store 2\n")?;
    let opened = SledStore::open(Options::new(folder.path())).await;
    assert!(matches!(opened, Err(OpenError::Damaged { .. })), "{opened:?}");
    Ok(())
}

fn fill_with_schema_1(root: &Path) -> Outcome {
    fs::create_dir_all(root)?;
    fs::write(root.join("schema"), "bellwether store 1\n")?;
    let db = sled::Config::new().path(root.join("data")).open()?;
    db.insert([0, 1], &[])?;
    for (number, revision) in (0..DOCUMENTS).zip(1_u64..) {
        let bytes = vec![1; number * 700];
        let (first, rest) = bytes.split_at(bytes.len().min(4_080));
        let length = u64::try_from(bytes.len())?;
        let key = format!("document/{number:02}");
        let head = [&revision.to_be_bytes(), &length.to_be_bytes(), first].concat();
        db.insert([&[1], key.as_bytes()].concat(), head)?;
        for (number, part) in (1_u32..).zip(rest.chunks(4_088)) {
            let part_key = [&[2], key.as_bytes(), &[0], &number.to_be_bytes()].concat();
            db.insert(part_key, [&revision.to_be_bytes(), part].concat())?;
        }
    }
    // The last commit deleted something.
    db.insert([0, 0], &60_u64.to_be_bytes())?;
    db.flush()?;
    Ok(())
}

/// The making of a store can be cut off between any two of its steps, and is then finished.
#[tokio::test]
async fn a_store_that_was_not_finished_is_made() -> Outcome {
    let steps: [fn(&Path) -> std::io::Result<()>; 4] = [
        |_| Ok(()),
        |root| fs::write(root.join("schema.new"), "bellw"),
        |root| fs::write(root.join("schema"), "bellwether store 1, being made\n"),
        |root| {
            fs::write(root.join("schema"), "bellwether store 1, being made\n")?;
            fs::create_dir_all(root.join("data/blobs"))?;
            fs::write(root.join("data/db"), [])
        },
    ];
    for step in steps {
        let folder = tempfile::tempdir()?;
        step(folder.path())?;
        fill(folder.path()).await?;
        assert_eq!(whole(folder.path()).await?, []);
        assert_eq!(fs::read_to_string(folder.path().join("schema"))?, "bellwether store 2\n");
    }
    Ok(())
}

#[tokio::test]
async fn a_second_open_says_that_the_store_is_in_use() -> Outcome {
    let folder = tempfile::tempdir()?;
    let first = SledStore::open(Options::new(folder.path())).await?.store;
    let second = SledStore::open(Options::new(folder.path())).await;
    let Err(error @ OpenError::InUse { .. }) = second else {
        return Err(format!("opened twice: {second:?}").into());
    };
    assert!(error.to_string().starts_with("another process already uses this store: /"));
    let put = Entry::put("plan/1".parse()?, Expect::Absent, vec![1]);
    first.commit(Batch::new(vec![put])?).await?;
    Ok(())
}

/// Without waiting for the close: the last handle is dropped, and the next open comes at once.
#[tokio::test]
async fn reopening_straight_after_the_last_handle_went_works() -> Outcome {
    let folder = filled().await?;
    for _ in 0..10 {
        let store = SledStore::open(Options::new(folder.path())).await?.store;
        assert_eq!(store.scan(&Prefix::all()).await?.len(), DOCUMENTS);
    }
    Ok(())
}

/// A child between fork and exec has the engine's file as well, and its lock, for a moment.
#[tokio::test]
async fn a_lock_on_the_engines_file_that_is_soon_gone_is_waited_for() -> Outcome {
    let folder = filled().await?;
    let held = fs::File::open(folder.path().join("data/db"))?;
    held.lock()?;
    let opening = tokio::spawn(SledStore::open(Options::new(folder.path())));
    // Not even begun, or waiting: it opens either way once the lock is gone.
    tokio::time::sleep(std::time::Duration::from_millis(150)).await;
    drop(held);
    opening.await??;
    Ok(())
}

#[tokio::test]
async fn a_folder_that_cannot_be_is_said_with_its_path() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("file");
    fs::write(&path, "not a folder")?;
    let opened = SledStore::open(Options::new(path.join("store"))).await;
    let Err(error @ OpenError::Io { .. }) = opened else {
        return Err(format!("opened in a file: {opened:?}").into());
    };
    assert!(error.to_string().contains(path.to_str().ok_or("not text")?), "{error}");
    Ok(())
}

/// A closed store with documents and a snapshot.
async fn filled() -> Outcome<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    fill(folder.path()).await?;
    whole(folder.path()).await?;
    Ok(folder)
}

async fn fill(root: &Path) -> Outcome {
    let store = SledStore::open(Options::new(root)).await?.store;
    for number in 0..DOCUMENTS {
        let key = format!("document/{number:02}").parse()?;
        let put = Entry::put(key, Expect::Absent, vec![1; number * 700]);
        store.commit(Batch::new(vec![put])?).await?;
    }
    store.close().await;
    Ok(())
}

/// Opens the store, checks that everything is there and more can be written, and answers the notes.
async fn whole(root: &Path) -> Outcome<Vec<Note>> {
    let opened = SledStore::open(Options::new(root)).await?;
    let documents = opened.store.scan(&Prefix::new(["document"])?).await?;
    let sizes: Vec<usize> =
        documents.iter().map(|(_, document)| document.bytes.len() / 700).collect();
    assert_eq!(sizes, (0..DOCUMENTS).collect::<Vec<_>>());
    let put = Entry::put("more/1".parse()?, Expect::Any, vec![2; 9_000]);
    opened.store.commit(Batch::new(vec![put])?).await?;
    let delete = Entry::delete("more/1".parse()?, Expect::Any);
    opened.store.commit(Batch::new(vec![delete])?).await?;
    opened.store.close().await;
    Ok(opened.notes)
}

fn snapshot(root: &Path) -> Outcome<PathBuf> {
    let mut found: Vec<PathBuf> = contents(root)?.into_iter().map(|(path, _)| path).collect();
    found.retain(|path| path.to_string_lossy().contains("/data/snap."));
    match found.as_slice() {
        [one] => Ok(one.clone()),
        other => Err(format!("expected one snapshot, found {other:?}").into()),
    }
}

fn contents(root: &Path) -> std::io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(contents(&path)?);
        } else {
            let bytes = fs::read(&path)?;
            found.push((path, bytes));
        }
    }
    found.sort();
    Ok(found)
}
