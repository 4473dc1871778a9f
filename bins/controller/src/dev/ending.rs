//! How a person ends a fleet: the first signal asks it to end, the second does not wait.

use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    process, thread,
    time::Duration,
};

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};

use crate::failure::ExitStatus;

/// The signals that end a program: from the keyboard, from whoever started it, and from a terminal that is gone.
#[derive(Debug)]
pub(crate) struct Signals([Signal; 3]);

impl Signals {
    /// From now on they wait to be taken, and no longer end the program by themselves.
    pub(crate) fn listen() -> io::Result<Self> {
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let [interrupt, terminate, hangup] = kinds.map(signal);
        Ok(Self([interrupt?, terminate?, hangup?]))
    }

    async fn next(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }

    /// Takes them. At the second one the remains are removed and the program is gone; its processes are orphans then, and
    /// those of a folder that is removed end at once.
    pub(crate) fn take(mut self, remains: Vec<PathBuf>) -> Ending {
        let (ask, asked) = watch::channel(false);
        tokio::spawn(async move {
            self.next().await;
            // Nobody listens any more when the program ends by itself right now.
            let _ = ask.send(true);
            self.next().await;
            for path in remains {
                // Whatever stays, there is no time to tell.
                let _ = remove(&path);
            }
            process::exit(ExitStatus::Failed as i32);
        });
        Ending { asked }
    }
}

/// The wish that the fleet ends.
#[derive(Debug, Clone)]
pub(crate) struct Ending {
    asked: watch::Receiver<bool>,
}

impl Ending {
    /// Waits until somebody wishes it.
    pub(crate) async fn asked(&mut self) {
        // The sender is gone only when the runtime is.
        if self.asked.wait_for(|asked| *asked).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Removes a file, or a folder with all that is in it.
///
/// A folder whose last writer is just ending can get one more file while it is removed; so it is tried again for a while.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    const TRIES: u32 = 200;
    let mut tries = 0;
    loop {
        let removed = match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
            Ok(_) => fs::remove_file(path),
            Err(error) => Err(error),
        };
        match removed {
            Err(error) if error.kind() == ErrorKind::NotFound && !path.exists() => return Ok(()),
            Err(error) if tries >= TRIES => return Err(error),
            Err(_) => {}
            Ok(()) => return Ok(()),
        }
        tries += 1;
        thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_removed_and_what_is_not_is_no_error() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("folder");
        fs::create_dir_all(folder.join("in/it")).unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        for path in [&folder, &file, &dir.path().join("nothing")] {
            remove(path).unwrap();
            assert!(!path.exists());
        }
    }
}
