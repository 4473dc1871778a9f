//! `controller keys`: makes keys, shows their public halves, and puts the next in the place of one. No secret is ever shown.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use keys::{KeyFileError, SecretKey, create, load};
use serde::Serialize;
use wire::signed::{PublicKey, Role, Signed, Signer, issue_rotation};

use crate::{
    clock,
    command_line::{KeyRole, KeysVerb},
    failure::{Failure, FailureKind, chain},
    folder::{self, Folder},
    output::Output,
    paint::{Line, Paint, Tone},
    surroundings::Surroundings,
    table::{Cell, Table},
};

/// How the file of a secret ends.
const ENDING: &str = "seed";

/// What may be known of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct KeyView {
    role: Role,
    public: PublicKey,
    fingerprint: String,
    /// Where its secret is.
    file: PathBuf,
}

/// A key that took the place of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct RotationView {
    from: PublicKey,
    next: KeyView,
    /// What the old key signed.
    statement: Signed,
    /// Where that is kept.
    statement_file: PathBuf,
}

/// Does what is asked.
pub(crate) fn run(
    verb: KeysVerb,
    dir: Option<&Path>,
    surroundings: &Surroundings,
    output: &Output,
) -> Result<(), Failure> {
    let dir = dir.filter(|dir| !dir.as_os_str().is_empty());
    match verb {
        KeysVerb::New { name, role, out } => {
            let role = role_of(name.as_deref(), role)?;
            let path = match out {
                Some(path) => path,
                None => place_for(&name.unwrap_or_else(|| role.to_string()), dir)?,
            };
            output.answer(&made(role, &path)?, shown_new)
        }
        KeysVerb::Show { files } => {
            let files = if files.is_empty() { kept(dir, surroundings)? } else { files };
            let views = files.iter().map(|path| {
                let key = load(path).map_err(refused)?;
                Ok(view(&key, path))
            });
            let views: Vec<KeyView> = views.collect::<Result<_, Failure>>()?;
            output.answer(&views, |views, paint| shown_all(views, paint))
        }
        KeysVerb::Rotate { file, out } => {
            let out = out.unwrap_or_else(|| beside(&file, "next", ENDING));
            output.answer(&rotate(&file, &out)?, shown_rotation)
        }
    }
}

/// The role that is said, by a word or by the name.
fn role_of(name: Option<&str>, said: Option<KeyRole>) -> Result<Role, Failure> {
    match (said, name) {
        (Some(KeyRole::Operator), _) | (None, Some("operator")) => Ok(Role::Operator),
        (Some(KeyRole::Controller), _) | (None, Some("controller")) => Ok(Role::Controller),
        (None, _) => Err(Failure::new(FailureKind::Usage, "it is not said whose key it is")
            .hint("an operator's frees what failed, a controller's says what runs: --role operator or --role controller")),
    }
}

/// The file of a new key, in the keys of the folder that was named, or here.
fn place_for(name: &str, dir: Option<&Path>) -> Result<PathBuf, Failure> {
    let file = format!("{name}.{ENDING}");
    let Some(dir) = dir else { return Ok(PathBuf::from(file)) };
    let keys = folder::keys_in(dir);
    DirBuilder::new().recursive(true).mode(0o700).create(&keys).map_err(|error| {
        Failure::because(format!("no folder for keys at {}", keys.display()), &error)
    })?;
    Ok(keys.join(file))
}

/// The keys in the controller's folder, by name.
fn kept(dir: Option<&Path>, surroundings: &Surroundings) -> Result<Vec<PathBuf>, Failure> {
    let keys = match dir {
        Some(dir) => folder::keys_in(dir),
        None => Folder::find(None, surroundings)
            .map(|folder| folder.keys())
            .map_err(|failure| failure.hint("or name the files: controller keys show FILE"))?,
    };
    let read = || -> io::Result<Vec<PathBuf>> {
        let paths = fs::read_dir(&keys)?.map(|entry| Ok(entry?.path()));
        let mut paths: Vec<_> = paths.collect::<io::Result<_>>()?;
        paths.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
        paths.sort();
        Ok(paths)
    };
    match read() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        other => other.map_err(|error| {
            Failure::because(format!("the keys in {} cannot be listed", keys.display()), &error)
        }),
    }
}

/// A new key in this file.
fn made(role: Role, path: &Path) -> Result<KeyView, Failure> {
    let key = drawn(role)?;
    create(path, &key).map_err(refused)?;
    Ok(view(&key, path))
}

/// The next key, and the old one's word that it is.
fn rotate(old: &Path, out: &Path) -> Result<RotationView, Failure> {
    let old = load(old).map_err(refused)?;
    let from = old.public_key().clone();
    let next = drawn(from.role())?;
    let statement = issue_rotation(next.public_key(), clock::now(), &old)
        .map_err(|error| Failure::new(FailureKind::Refused, chain(&error)))?;
    let statement_file = beside(out, "rotation", "json");
    create(out, &next).map_err(refused)?;
    let write = || -> io::Result<()> {
        let text = serde_json::to_string_pretty(&statement)?;
        let mut file = OpenOptions::new().write(true).create_new(true).open(&statement_file)?;
        writeln!(file, "{text}")?;
        file.sync_all()
    };
    write().map_err(|error| {
        let what = format!("the statement {} cannot be written", statement_file.display());
        Failure::because(what, &error).hint(format!(
            "the key {} was made, and nobody knows it: remove it, and rotate again",
            out.display()
        ))
    })?;
    Ok(RotationView { from, next: view(&next, out), statement, statement_file })
}

fn drawn(role: Role) -> Result<SecretKey, Failure> {
    SecretKey::draw(role).map_err(|error| Failure::failed(chain(&error)))
}

fn view(key: &SecretKey, file: &Path) -> KeyView {
    let public = key.public_key().clone();
    let file = file.to_owned();
    KeyView { role: public.role(), fingerprint: public.fingerprint(), public, file }
}

/// `operator.seed`, `next` and `seed`: `operator.next.seed`.
fn beside(file: &Path, word: &str, ending: &str) -> PathBuf {
    let stem = if file.extension().is_some_and(|one| one == ENDING) {
        file.with_extension("")
    } else {
        file.to_owned()
    };
    stem.with_added_extension(word).with_added_extension(ending)
}

/// A file that is there, or that others can read, is refused by a rule; anything else did not work.
pub(crate) fn refused(error: KeyFileError) -> Failure {
    let kind = match error {
        KeyFileError::Exists { .. } | KeyFileError::OpenToOthers { .. } => FailureKind::Refused,
        KeyFileError::NoName { .. }
        | KeyFileError::Write { .. }
        | KeyFileError::Read { .. }
        | KeyFileError::NoFile { .. }
        | KeyFileError::Bad { .. } => FailureKind::Failed,
    };
    Failure::new(kind, chain(&error))
}

fn shown_new(key: &KeyView, paint: Paint) -> String {
    let made = format!("a key of {} was made", key.role.somebody());
    [Line::default().and(Tone::Strong, made).render(paint), shown_key(key, paint), trust(key)]
        .join("\n")
}

fn shown_key(key: &KeyView, paint: Paint) -> String {
    let file = format!("{} (for you alone; nobody can make it again)", key.file.display());
    let rows = [
        ("public", key.public.to_string()),
        ("fingerprint", key.fingerprint.clone()),
        ("secret in", file),
    ];
    let lines = rows.map(|(name, value)| {
        let line = Line::default().and(Tone::Faint, format!("  {name:<13}"));
        line.and(Tone::Plain, value).render(paint)
    });
    lines.join("\n")
}

/// What the owner of a machine writes, so that the key's word counts there.
fn trust(key: &KeyView) -> String {
    let list = match key.role {
        Role::Operator => "operators",
        Role::Controller => "controllers",
        Role::Machine => return String::new(),
    };
    format!("on each machine, in agent.toml:\n  [trust]\n  {list} = [\"{}\"]", key.public)
}

fn shown_all(keys: &[KeyView], paint: Paint) -> String {
    let mut table = Table::new(["ROLE", "FINGERPRINT", "SECRET IN", "PUBLIC KEY"]);
    for key in keys {
        table.row([
            Cell::new(Tone::Strong, key.role),
            Cell::plain(&key.fingerprint),
            Cell::plain(key.file.display()),
            Cell::plain(&key.public),
        ]);
    }
    table.render(paint, "no keys yet; controller keys new operator makes one")
}

fn shown_rotation(rotation: &RotationView, paint: Paint) -> String {
    let made = format!("the next key of {} was made", rotation.next.role.somebody());
    let said = format!(
        "{} says that it takes the place of\n  {}\nkeep the old secret until every machine has heard that; then list the next key in each agent.toml",
        rotation.statement_file.display(),
        rotation.from,
    );
    let first = Line::default().and(Tone::Strong, made).render(paint);
    [first, shown_key(&rotation.next, paint), said].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_the_role_and_a_word_says_it_better() {
        assert_eq!(role_of(Some("operator"), None), Ok(Role::Operator));
        assert_eq!(role_of(Some("controller"), None), Ok(Role::Controller));
        assert_eq!(role_of(Some("operator"), Some(KeyRole::Controller)), Ok(Role::Controller));
        assert_eq!(role_of(None, Some(KeyRole::Operator)), Ok(Role::Operator));
        assert_eq!(role_of(Some("night"), None).unwrap_err().kind, FailureKind::Usage);
    }

    #[test]
    fn files_lie_beside_what_they_belong_to() {
        let next = |file: &str| beside(Path::new(file), "next", ENDING).display().to_string();
        assert_eq!(next("/x/operator.seed"), "/x/operator.next.seed");
        assert_eq!(next("/x/operator.next.seed"), "/x/operator.next.next.seed");
        assert_eq!(next("key"), "key.next.seed");
        let said = beside(Path::new("a/v1.2.seed"), "rotation", "json");
        assert_eq!(said, Path::new("a/v1.2.rotation.json"));
    }
}
