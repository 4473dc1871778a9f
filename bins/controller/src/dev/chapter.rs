//! The two builds of the sample that the story is about, each written as a folder that anyone could have written.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{builds::MANIFEST, folder::Folder, sample::SETTINGS};

/// One half of the story.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chapter {
    /// A build that does what it should.
    Good,
    /// One whose settings have a slip of the pen, so that it ends each time it is started.
    Bad,
}

/// The sample's name as a module.
pub(crate) const MODULE: &str = "sample";

impl Chapter {
    /// What the source calls its build.
    pub(crate) fn commit(self) -> &'static str {
        match self {
            Self::Good => "v1",
            Self::Bad => "v2",
        }
    }

    /// What the build answers on HTTP, where it answers.
    pub(crate) fn greeting(self) -> String {
        format!("hello from {MODULE} {}", self.commit())
    }

    fn settings(self) -> String {
        let name = match self {
            Self::Good => "greeting",
            Self::Bad => "greting",
        };
        format!("{name} = {}\n", self.greeting())
    }

    /// Writes the folder that its build is made from, for so many machines, and says where it is.
    pub(crate) fn write(self, folder: &Folder, machines: usize) -> io::Result<PathBuf> {
        let source = folder.path().join(MODULE).join(self.commit());
        fs::create_dir_all(&source)?;
        fs::write(source.join(SETTINGS), self.settings())?;
        fs::write(source.join(MANIFEST), manifest(&folder.image(), machines)?)?;
        Ok(source)
    }
}

/// Everything is quick, so that the story is: checks twice a second, a gate of a few seconds, and a crash loop that
/// is given up after three restarts. But all machines are one, which has a hundred checks in a second to give, no more.
fn manifest(image: &Path, machines: usize) -> io::Result<String> {
    let every_ms = (machines * 10).max(500);
    let image = image.to_str().ok_or_else(|| {
        io::Error::other(format!("a manifest is text, and {} is not", image.display()))
    })?;
    // Text in quotes is the same in JSON and in TOML, but for one control character that TOML wants escaped.
    let image = serde_json::to_string(image)?.replace('\u{7f}', "\\u007f");
    Ok(format!(
        r#"[module]
name = "{MODULE}"
observe = "1s"

[[resource]]
name = "web"
command = [{image}, "sample", "--port", "${{PORT}}"]
health = {{ http = "/healthz", every = "{every_ms}ms", timeout = "5s", passes = 2 }}
restart = {{ limit = 3, within = "1m", backoff = "100ms..500ms" }}
stop = {{ grace = "2s" }}

[gate]
passes = 3
every = "1s"
settle = "2s"
bound = "1m"
"#
    ))
}

#[cfg(test)]
mod tests {
    use inventory::Manifest;

    use super::*;

    #[test]
    fn what_is_written_can_be_packed_and_run_whatever_the_folder_is_called() {
        for image in ["/tmp/fleet/image", "/tmp/a \"quoted\\\" ’\u{7f}\n/image"] {
            let manifest = manifest(Path::new(image), 3).unwrap();
            let manifest = Manifest::from_toml(manifest).unwrap();
            assert_eq!(manifest.module.as_str(), MODULE);
            assert_eq!(manifest.resources[0].command[0], image);
        }
    }

    #[test]
    fn the_builds_differ_in_their_settings_alone() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::create(dir.path()).unwrap();
        let [good, bad] = [Chapter::Good, Chapter::Bad].map(|one| one.write(&folder, 3).unwrap());
        let read = |path: &Path, name| fs::read_to_string(path.join(name)).unwrap();
        assert_eq!(read(&good, MANIFEST), read(&bad, MANIFEST));
        assert_eq!(read(&good, SETTINGS), "greeting = hello from sample v1\n");
        assert_eq!(read(&bad, SETTINGS), "greting = hello from sample v2\n");
    }
}
