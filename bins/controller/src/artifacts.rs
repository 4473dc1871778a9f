//! Keeps the folder of artifacts tidy: what no kept build consists of goes, and so does what packing left that was killed.
//!
//! Only what has lain there for a decent time goes: an artifact is placed before its build is registered. And only what
//! this program has put there: an artifact, by its name, or one in the making.

use std::{
    collections::BTreeSet,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};
use controller_core::{Record, UnreadableRecord};
use names::Digest;
use store::{Prefix, ReadError, Store};
use tokio::{
    task::{JoinHandle, spawn_blocking},
    time::sleep,
};

use crate::{builds, clock};

/// How long what nothing refers to is left alone: longer than it takes to pack and register any build.
const LEFT_ALONE: TimeDelta = TimeDelta::hours(1);

/// How often to look.
const EVERY: Duration = Duration::from_secs(60 * 60);

/// What an artifact is called while it is being removed. No digest begins so.
const OLD: &str = ".old-";

/// Something in the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    name: String,
    written: DateTime<Utc>,
    /// Which file it is: another under the same name is another.
    inode: u64,
}

/// Why the folder is as it was.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TidyError {
    /// The builds cannot be read. What they consist of is not known then, and nothing goes.
    #[error("the builds could not be read")]
    Read(#[from] ReadError),
    /// One of them cannot be understood; the same.
    #[error(transparent)]
    Record(#[from] UnreadableRecord),
    /// The folder cannot be read, or nothing can be removed from it.
    #[error("the folder of artifacts cannot be tidied")]
    Folder(#[from] io::Error),
}

/// The folder is kept tidy until this is dropped.
#[derive(Debug)]
pub(crate) struct Tidying(JoinHandle<()>);

impl Drop for Tidying {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Tidies the folder by the builds that the store keeps, now and every hour.
pub(crate) fn keep_tidy<S: Store>(artifacts: PathBuf, store: S) -> Tidying {
    Tidying(tokio::spawn(async move {
        loop {
            // Whatever keeps it from it now is told where it matters more, and may be over in an hour.
            let _ = tidy(&artifacts, &store, clock::now()).await;
            sleep(EVERY).await;
        }
    }))
}

/// Removes what nothing refers to, and says what that was.
async fn tidy<S: Store>(
    artifacts: &Path,
    store: &S,
    now: DateTime<Utc>,
) -> Result<Vec<String>, TidyError> {
    let folder = artifacts.to_owned();
    let found = blocking(move || look(&folder)).await?;
    // In this order: what is placed or registered after the look is not among what was found then.
    let kept = kept(store).await?;
    let useless: Vec<_> = found.into_iter().filter(|found| is_useless(found, &kept, now)).collect();
    let folder = artifacts.to_owned();
    Ok(blocking(move || remove(&folder, useless)).await?)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    spawn_blocking(work).await.map_err(io::Error::other)?
}

/// The artifacts of all kept builds.
async fn kept<S: Store>(store: &S) -> Result<BTreeSet<Digest>, TidyError> {
    let mut kept = BTreeSet::new();
    for (key, document) in store.scan(&Prefix::all()).await? {
        if let Record::Build(build) = Record::decode(key.as_str(), &document.bytes)? {
            kept.extend(build.artifacts.into_iter().map(|artifact| artifact.digest));
        }
    }
    Ok(kept)
}

fn is_useless(found: &Found, kept: &BTreeSet<Digest>, now: DateTime<Utc>) -> bool {
    let is_old = now.signed_duration_since(found.written) >= LEFT_ALONE;
    let is_left = [builds::NEW, OLD].iter().any(|begin| found.name.starts_with(begin));
    let is_of_no_build =
        || found.name.parse::<Digest>().is_ok_and(|digest| !kept.contains(&digest));
    is_old && (is_left || is_of_no_build())
}

/// The files in the folder.
fn look(artifacts: &Path) -> io::Result<Vec<Found>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(artifacts)? {
        let entry = entry?;
        match found(&entry.path()) {
            Ok(found) => all.extend(found),
            // It has just been placed, or removed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

/// What there is at a path; none if it is no file, or has a name that is none of ours.
fn found(path: &Path) -> io::Result<Option<Found>> {
    let metadata = fs::symlink_metadata(path)?;
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(None) };
    let found = Found {
        name: name.to_owned(),
        written: metadata.modified()?.into(),
        inode: metadata.ino(),
    };
    Ok(metadata.is_file().then_some(found))
}

/// Removes these files, unless another has taken their place: the same build was added again just now.
fn remove(artifacts: &Path, useless: Vec<Found>) -> io::Result<Vec<String>> {
    let mut removed = Vec::new();
    for one in useless {
        let path = artifacts.join(&one.name);
        let old = artifacts.join(format!("{OLD}{}", one.name.trim_start_matches(OLD)));
        match fs::rename(&path, &old) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            renamed => renamed?,
        }
        let is_it = found(&old)?.is_some_and(|now| now.inode == one.inode);
        if is_it {
            fs::remove_file(&old)?;
            removed.push(one.name);
        } else {
            fs::rename(&old, &path)?;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use std::{fs::File, time::SystemTime};

    use inventory::{Artifact, ArtifactName, Build, Manifest};
    use store::{Batch, Entry, Expect, MemoryStore};

    use super::*;

    fn digest(byte: u8) -> Digest {
        Digest::from_bytes([byte; 32])
    }

    fn build(id: &str, artifacts: &[Digest]) -> Build {
        let manifest =
            "[module]\nname = \"blog\"\n[[resource]]\nname = \"a\"\ncommand = [\"./a\"]\n";
        let artifact = |digest: &Digest| Artifact {
            name: ArtifactName::new("blog.tar").unwrap(),
            size: 1,
            digest: digest.clone(),
        };
        Build {
            id: id.parse().unwrap(),
            commit: "v1".parse().unwrap(),
            manifest: Manifest::from_toml(manifest).unwrap(),
            artifacts: artifacts.iter().map(artifact).collect(),
            source_fingerprint: None,
            registered_at: clock::now(),
        }
    }

    async fn keep(store: &MemoryStore, key: &str, bytes: Vec<u8>) {
        let put = Entry::put(key.parse().unwrap(), Expect::Any, bytes);
        store.commit(Batch::new(vec![put]).unwrap()).await.unwrap();
    }

    /// A store that keeps a build of these artifacts.
    async fn store_with(artifacts: &[Digest]) -> MemoryStore {
        let store = MemoryStore::new();
        let record = Record::Build(build("01ARZ3NDEKTSV4RRFFQ69G5FAV", artifacts));
        keep(&store, &record.key().to_string(), record.encode().unwrap()).await;
        store
    }

    fn write(folder: &Path, name: &str, minutes_ago: u64) {
        let path = folder.join(name);
        fs::write(&path, name).unwrap();
        let now: SystemTime = clock::now().into();
        let written = now - Duration::from_secs(minutes_ago * 60);
        File::options().write(true).open(path).unwrap().set_modified(written).unwrap();
    }

    fn names(folder: &Path) -> BTreeSet<String> {
        let names = fs::read_dir(folder).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[tokio::test]
    async fn what_no_kept_build_consists_of_goes_after_an_hour_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let store = store_with(&[digest(1), digest(2)]).await;
        let cases = [
            (digest(1).to_string(), 9_999, true),
            (digest(2).to_string(), 0, true),
            // An upload that is not registered yet.
            (digest(3).to_string(), 59, true),
            (digest(4).to_string(), 61, false),
            (".new-young".to_owned(), 59, true),
            (".new-killed".to_owned(), 61, false),
            (".old-killed".to_owned(), 61, false),
            ("notes of a person.txt".to_owned(), 9_999, true),
            (digest(0xab).to_string().to_uppercase(), 9_999, true),
        ];
        for (name, minutes_ago, _) in &cases {
            write(folder.path(), name, *minutes_ago);
        }
        fs::create_dir(folder.path().join("folder")).unwrap();
        let removed = tidy(folder.path(), &store, clock::now()).await.unwrap();
        let gone = cases.iter().filter(|(.., stays)| !stays).map(|(name, ..)| name.clone());
        assert_eq!(removed.into_iter().collect::<BTreeSet<_>>(), gone.collect());
        let stays = cases.iter().filter(|(.., stays)| *stays).map(|(name, ..)| name.clone());
        assert_eq!(names(folder.path()), stays.chain(["folder".to_owned()]).collect());
    }

    /// Half of what is known would be worse than nothing: what the other half consists of would go.
    #[tokio::test]
    async fn while_one_build_cannot_be_read_nothing_goes() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), digest(1).as_str(), 9_999);
        let store = store_with(&[]).await;
        keep(&store, "build/blog/01ARZ3NDEKTSV4RRFFQ69G5FAW", b"{}".to_vec()).await;
        let refused = tidy(folder.path(), &store, clock::now()).await;
        assert!(matches!(refused, Err(TidyError::Record(_))), "{refused:?}");
        assert_eq!(names(folder.path()).len(), 1);
    }

    #[test]
    fn what_was_placed_anew_in_the_meantime_stays() {
        let folder = tempfile::tempdir().unwrap();
        let name = digest(1).to_string();
        write(folder.path(), &name, 9_999);
        let seen = look(folder.path()).unwrap();
        // As packing places it: a file of its own, renamed over the other.
        write(folder.path(), ".new-1", 0);
        fs::rename(folder.path().join(".new-1"), folder.path().join(&name)).unwrap();
        assert_eq!(remove(folder.path(), seen).unwrap(), [""; 0]);
        assert_eq!(names(folder.path()), BTreeSet::from([name]));
    }

    #[tokio::test]
    async fn a_clock_that_was_set_back_removes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), digest(1).as_str(), 0);
        let store = MemoryStore::new();
        let day = TimeDelta::days(1);
        assert_eq!(tidy(folder.path(), &store, clock::now() - day).await.unwrap(), [""; 0]);
        assert_eq!(tidy(folder.path(), &store, clock::now() + day).await.unwrap().len(), 1);
    }
}
