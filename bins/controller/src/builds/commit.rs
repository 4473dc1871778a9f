//! What a build's source calls it, when nobody says.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use names::{Commit, Digest, IdError};

/// Git's word for the folder's state, as in `4ab9c0de1f23` or `4ab9c0de1f23-dirty`; where there is no git or no
/// checkout, the beginning of the content's digest.
pub(super) fn of(folder: &Path, content: &Digest) -> Result<Commit, IdError> {
    match git(folder).map(Commit::new) {
        Some(Ok(commit)) => Ok(commit),
        Some(Err(_)) | None => Commit::new(content.short()),
    }
}

fn git(folder: &Path) -> Option<String> {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder);
    // Tags are left out: a commit is wanted, and one commit can have many.
    git.args(["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]);
    let output = git.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_checkout_the_content_names_the_build() {
        let dir = tempfile::tempdir().unwrap();
        let commit = of(dir.path(), &Digest::from_bytes([0xab; 32])).unwrap();
        assert_eq!(commit.as_str(), "abababababab");
    }

    #[test]
    fn in_a_checkout_git_names_it_and_says_when_it_was_changed() {
        let dir = tempfile::tempdir().unwrap();
        let run = |args: &[&str]| {
            let identity = ["-c", "user.name=t", "-c", "user.email=t@t"];
            let mut git = Command::new("git");
            git.current_dir(dir.path()).args(identity).args(args);
            git.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
        };
        if !run(&["init"]) {
            eprintln!("SKIPPED: no git here");
            return;
        }
        std::fs::write(dir.path().join("file"), "1").unwrap();
        assert!(run(&["add", "file"]) && run(&["commit", "-m", "first"]) && run(&["tag", "v1"]));
        let digest = Digest::from_bytes([0; 32]);
        let clean = of(dir.path(), &digest).unwrap();
        assert!(clean.as_str().len() == 12 && clean.as_str() != digest.short(), "{clean}");
        std::fs::write(dir.path().join("file"), "2").unwrap();
        assert_eq!(of(dir.path(), &digest).unwrap().as_str(), format!("{clean}-dirty"));
    }
}
