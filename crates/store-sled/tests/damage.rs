//! Every file of a store, damaged in every way that files get damaged: opening answers every document that was
//! acknowledged, exactly, or an error that names the file. Never fewer, older or other documents.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use store::{Batch, Entry, Expect, Key, Prefix, Store};
use store_sled::{OpenError, Options, SledStore};

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;
type Contents = BTreeMap<Key, Vec<u8>>;

/// From which the random places and bytes are drawn.
const SEED: u64 = 0x5eed_0007;

const DOCUMENTS: usize = 300;

/// What is done to a file.
#[derive(Debug, Clone, Copy)]
enum Damage {
    Emptied,
    CutInHalf,
    CutAnywhere,
    Random,
    RandomHead,
    RandomMiddle,
    RandomTail,
    RandomAnywhere,
    OneBit,
    Folder,
    Removed,
    Unreadable,
}

/// How often each is tried, per file and store; the drawn ones at another place each time.
const DAMAGES: [(Damage, usize); 12] = [
    (Damage::Emptied, 1),
    (Damage::CutInHalf, 1),
    (Damage::CutAnywhere, 2),
    (Damage::Random, 1),
    (Damage::RandomHead, 1),
    (Damage::RandomMiddle, 1),
    (Damage::RandomTail, 1),
    (Damage::RandomAnywhere, 2),
    (Damage::OneBit, 1),
    (Damage::Folder, 1),
    (Damage::Removed, 1),
    (Damage::Unreadable, 1),
];

/// What must come of damage to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Right {
    /// Everything is there, and nothing need be said.
    Whole,
    /// Everything is there, and a note names the file.
    Noted,
    /// An error names the file, and nothing was touched.
    Refused,
    /// An error names the file, unless the damage is where nothing is any more.
    WholeOrRefused,
}

fn right(file: &str, damage: Damage) -> Right {
    match (file, damage) {
        ("lock", Damage::Folder) => Right::Refused,
        ("lock", _) => Right::Whole,
        ("schema", _) => Right::Refused,
        ("mark", _) => Right::Noted,
        // Settings and snapshots are made of what is elsewhere.
        ("data/conf" | "snapshot", Damage::Removed) => Right::Whole,
        ("data/conf" | "snapshot", _) => Right::Noted,
        ("data/db", Damage::Emptied | Damage::Random | Damage::Folder | Damage::Removed) => {
            Right::Refused
        }
        (_, _) => Right::WholeOrRefused,
    }
}

#[tokio::test]
async fn a_damaged_file_is_repaired_or_named_and_nothing_is_silently_missing() -> Outcome {
    let place = Place::new()?;
    let mut seed = SEED;
    let mut refused = 0;
    for store in place.stores().await? {
        for file in store.files()? {
            // The documents themselves: more places, since each lies otherwise.
            let times = if file == "data/db" { 5 } else { 1 };
            for (damage, often) in DAMAGES {
                for _ in 0..often * times {
                    let case = format!("{} {file} {damage:?} {seed:#x}", store.name);
                    let tried = try_one(&place, &store, &file, damage, &mut seed).await;
                    refused += usize::from(tried.map_err(|error| format!("{case}: {error}"))?);
                }
            }
        }
    }
    assert!(refused > 100, "only {refused} were refused: the damage does no harm any more");
    Ok(())
}

/// Whether it was refused.
async fn try_one(
    place: &Place,
    store: &Filled,
    file: &str,
    damage: Damage,
    seed: &mut u64,
) -> Outcome<bool> {
    let root = place.copy(&store.root)?;
    let path = root.join(file);
    if !do_damage(&path, damage, seed)? {
        return Ok(false);
    }
    let named = if file.starts_with("data/snap.") { "snapshot" } else { file };
    let right = right(named, damage);
    let before = files(&root)?;
    match (SledStore::open(Options::new(&root)).await, right) {
        (Ok(opened), Right::Whole | Right::Noted | Right::WholeOrRefused) => {
            assert_eq!(contents(&opened.store).await?, store.contents);
            opened.store.close().await;
            let name = file.rsplit('/').next().unwrap_or(file);
            let notes: Vec<String> = opened.notes.iter().map(ToString::to_string).collect();
            if right == Right::Noted {
                assert!(matches!(&notes[..], [one] if one.contains(name)), "{notes:?}");
            } else {
                assert_eq!(notes, [""; 0]);
            }
            // And once more, with nothing left to be said.
            let again = SledStore::open(Options::new(&root)).await?;
            assert_eq!(again.notes, []);
            assert_eq!(contents(&again.store).await?, store.contents);
            again.store.close().await;
            Ok(false)
        }
        (Err(error), Right::Refused | Right::WholeOrRefused) => {
            let text = chain(&error);
            if !text.contains(path.to_str().ok_or("not text")?) {
                return Err(format!("the file is not named: {text}").into());
            }
            assert_eq!(files(&root)?, before, "after: {text}");
            Ok(true)
        }
        (opened, right) => {
            Err(format!("{right:?} is right, this is {:?}", opened.map(|o| o.notes)).into())
        }
    }
}

/// As the program tells it.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

/// The folders that a store has, replaced or removed.
#[tokio::test]
async fn a_damaged_folder_is_made_again_or_named() -> Outcome {
    let place = Place::new()?;
    let [store, ..] = place.stores().await?;
    let gone: fn(&Path) -> std::io::Result<()> = |_| Ok(());
    let a_file = |path: &Path| fs::write(path, "a file");
    let folders = |path: &Path| fs::create_dir_all(path.join("with/folders"));
    for (folder, instead, named) in [
        ("data", gone, Some("data/db")),
        ("data", a_file, Some("data/db")),
        ("data/blobs", gone, None),
        ("data/blobs", a_file, Some("data/blobs")),
        ("set-aside", a_file, None),
        ("trial", a_file, None),
        ("trial", folders, None),
        ("mark.new", a_file, None),
        ("schema.new", a_file, None),
    ] {
        let root = place.copy(&store.root)?;
        let path = root.join(folder);
        if path.is_dir() {
            fs::remove_dir_all(&path)?;
        }
        instead(&path)?;
        match (SledStore::open(Options::new(&root)).await, named) {
            (Ok(opened), None) => assert_eq!(contents(&opened.store).await?, store.contents),
            (Err(error), Some(named)) => {
                let text = chain(&error);
                assert!(text.contains(root.join(named).to_str().ok_or("not text")?), "{text}");
            }
            (opened, _) => return Err(format!("{folder}, {named:?}: {opened:?}").into()),
        }
    }
    Ok(())
}

/// A whole file that is another one: each is sound in itself.
#[tokio::test]
async fn a_file_from_another_time_or_another_store_is_not_taken_for_this_ones() -> Outcome {
    let place = Place::new()?;
    let [older, killed, newer] = place.stores().await?;
    let (other, mut contents) = (place.path("other"), Contents::new());
    fill(&other, 1..901, b"other", &mut contents).await?.close().await;
    let cases = [
        (&older.root, "it ends at revision 600, and revision 900 was written"),
        (&other, "its documents are not those that were last written"),
    ];
    for (from, said) in cases {
        for into in [&killed, &newer] {
            let root = place.copy(&into.root)?;
            fs::copy(from.join("data/db"), root.join("data/db"))?;
            // Neither with the snapshots of this store, nor with those of that one, nor without any.
            for step in 0..3 {
                let error = SledStore::open(Options::new(&root)).await.err().ok_or("opened")?;
                let text = error.to_string();
                assert!(matches!(error, OpenError::Damaged { .. }), "{text}");
                assert!(step == 0 || text.contains(said), "{text}");
                for path in files(&root)?.into_keys().filter(|path| is_snapshot(path)) {
                    fs::remove_file(path)?;
                }
                let of_other = files(from)?.into_keys().filter(|path| is_snapshot(path));
                for path in of_other.filter(|_| step == 0) {
                    fs::copy(&path, root.join("data").join(path.file_name().ok_or("no name")?))?;
                }
            }
        }
    }
    Ok(())
}

/// Through the engine itself, so that all its own checksums are right.
#[tokio::test]
async fn what_was_changed_behind_the_stores_back_is_named() -> Outcome {
    type Change = fn(&sled::Db) -> sled::Result<()>;
    let changes: [(Change, &str); 5] = [
        (
            |db| change(db, b"\x01document/050", |value| value[999] ^= 1),
            "the document document/050 is",
        ),
        (
            |db| change(db, b"\x02document/050\0\0\0\0\x02", |value| value[9] ^= 1),
            "document/050 is",
        ),
        (|db| db.remove(b"\x02document/050\0\0\0\0\x02").map(drop), "the document document/050 is"),
        (|db| db.remove(b"\x01document/051").map(drop), "its documents are not those that were"),
        (|db| db.remove([0, 1]).map(drop), "it has nothing of the store that was made"),
    ];
    let place = Place::new()?;
    for store in place.stores().await? {
        for (change, said) in changes {
            let root = place.copy(&store.root)?;
            let db = sled::Config::new().path(root.join("data")).open()?;
            change(&db)?;
            drop(db);
            let error = SledStore::open(Options::new(&root)).await.err().ok_or("opened")?;
            assert!(error.to_string().contains(said), "{said}: {error}");
            assert!(error.to_string().contains("data/db is damaged: "), "{error}");
        }
    }
    Ok(())
}

fn change(db: &sled::Db, key: &[u8], how: fn(&mut [u8])) -> sled::Result<()> {
    let mut value = db.get(key)?.unwrap_or_default().to_vec();
    how(&mut value);
    db.insert(key, value).map(drop)
}

/// A closed store, one whose process was killed, and one that was opened once more and has written a snapshot of all.
struct Filled {
    name: &'static str,
    root: PathBuf,
    contents: Contents,
}

impl Filled {
    /// The names of its files below its folder.
    fn files(&self) -> Outcome<Vec<String>> {
        let below = |path: &PathBuf| Some(path.strip_prefix(&self.root).ok()?.to_str()?.to_owned());
        files(&self.root)?.keys().map(|path| below(path).ok_or("not text".into())).collect()
    }
}

/// Where the stores of a test are: in memory where there is such a place, since many are opened.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> std::io::Result<Self> {
        tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).map(Self)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    async fn stores(&self) -> Outcome<[Filled; 3]> {
        let [closed, running, killed, fresh] =
            ["closed", "running", "killed", "fresh"].map(|name| self.path(name));
        let mut contents = Contents::new();
        fill(&closed, 1..601, b"", &mut contents).await?.close().await;
        let first = Filled { name: "closed", root: closed, contents: contents.clone() };

        copy(&first.root, &running)?;
        let store = fill(&running, 601..901, b"", &mut contents).await?;
        // What kill -9 leaves: all that was written, and nothing that closing writes.
        copy(&running, &killed)?;
        store.close().await;
        copy(&running, &fresh)?;
        SledStore::open(Options::new(&fresh)).await?.store.close().await;
        let second = Filled { name: "killed", root: killed, contents: contents.clone() };
        Ok([first, second, Filled { name: "fresh", root: fresh, contents }])
    }

    /// A copy to be damaged, in the place of the one before.
    fn copy(&self, root: &Path) -> std::io::Result<PathBuf> {
        let to = self.path("case");
        if to.exists() {
            fs::remove_dir_all(&to)?;
        }
        copy(root, &to)?;
        Ok(to)
    }
}

/// Opens the store, puts documents of these numbers, and leaves it open.
async fn fill(
    root: &Path,
    numbers: std::ops::Range<usize>,
    what: &[u8],
    contents: &mut Contents,
) -> Outcome<SledStore> {
    let store = SledStore::open(Options::new(root)).await?.store;
    for number in numbers {
        let key: Key = format!("document/{:03}", number % DOCUMENTS).parse()?;
        let size = number * 37 % 900 + if number % 50 == 0 { 11_000 } else { 100 };
        let text = format!("{number} {}", String::from_utf8_lossy(what)).into_bytes();
        let bytes: Vec<u8> = text.into_iter().cycle().take(size).collect();
        let put = Entry::put(key.clone(), Expect::Any, bytes.clone());
        store.commit(Batch::new(vec![put])?).await?;
        contents.insert(key, bytes);
    }
    Ok(store)
}

async fn contents(store: &SledStore) -> Outcome<Contents> {
    let documents = store.scan(&Prefix::all()).await?;
    Ok(documents.into_iter().map(|(key, document)| (key, document.bytes)).collect())
}

/// Whether there is anything damaged now.
fn do_damage(path: &Path, damage: Damage, seed: &mut u64) -> Outcome<bool> {
    let mut bytes = fs::read(path)?;
    let length = bytes.len();
    let part = (length / 4).min(4_096);
    let mut scramble = |bytes: &mut [u8]| bytes.iter_mut().for_each(|byte| *byte = draw(seed));
    match damage {
        Damage::Emptied => bytes.clear(),
        Damage::CutInHalf => bytes.truncate(length / 2),
        Damage::CutAnywhere => bytes.truncate(place(length, seed)),
        Damage::Random => scramble(&mut bytes),
        Damage::RandomHead => scramble(&mut bytes[..part]),
        Damage::RandomMiddle => scramble(&mut bytes[length / 2..length / 2 + part]),
        Damage::RandomTail => scramble(&mut bytes[length - part..]),
        Damage::RandomAnywhere => {
            let begin = place(length, seed);
            let end = (begin + 1 + place(40, seed)).min(length);
            bytes[begin..end].iter_mut().for_each(|byte| *byte = draw(seed));
        }
        Damage::OneBit => {
            let at = place(length, seed);
            bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << (at % 8));
        }
        Damage::Folder => {
            fs::remove_file(path)?;
            fs::create_dir(path)?;
            return Ok(true);
        }
        Damage::Removed => {
            fs::remove_file(path)?;
            return Ok(true);
        }
        Damage::Unreadable => {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(path, fs::Permissions::from_mode(0o000))?;
            // Root reads it all the same.
            return Ok(fs::read(path).is_err());
        }
    }
    let changed = bytes != fs::read(path)?;
    fs::write(path, bytes)?;
    Ok(changed)
}

/// All files below a folder, with what is in them; but the lock, which each opening may write.
fn files(root: &Path) -> std::io::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.insert(path.clone(), fs::read(&path)?);
        }
    }
    Ok(found)
}

fn is_snapshot(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"snap."))
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

fn place(length: usize, seed: &mut u64) -> usize {
    usize::try_from(next(seed)).unwrap_or_default() % length.max(1)
}

fn draw(seed: &mut u64) -> u8 {
    next(seed).to_le_bytes()[3]
}

/// `XorShift`: enough for places and bytes.
fn next(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}
