//! Keys in real files.
#![expect(clippy::unwrap_used, reason = "a set-up that fails fails its test, where it fails")]

use std::{
    fs::{self, Permissions},
    io::ErrorKind,
    os::unix::{fs::PermissionsExt, net::UnixListener},
    path::Path,
    thread,
};

use keys::{KeyFileError, SecretKey, create, load};
use tempfile::TempDir;
use wire::signed::{Role, Signer};

fn drawn() -> SecretKey {
    SecretKey::draw(Role::Operator).unwrap()
}

fn names(dir: &TempDir) -> Vec<String> {
    let names = fs::read_dir(dir.path()).unwrap();
    names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_key_is_read_back_and_its_file_is_for_its_owner_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("operator.seed");
    let key = drawn();
    create(&path, &key).unwrap();
    assert_eq!(names(&dir), ["operator.seed"], "nothing else is left");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.len() == 59 && text.starts_with("SO") && text.ends_with('\n'));
    let again = load(&path).unwrap();
    assert_eq!(again.public_key(), key.public_key());
    assert_eq!(again.sign(b"a word"), key.sign(b"a word"));
    // As an editor or a tool leaves it, and for reading only.
    fs::write(&path, format!("  {text}\r\n")).unwrap();
    set_mode(&path, 0o400);
    assert_eq!(load(&path).unwrap().public_key(), key.public_key());
}

#[test]
fn a_key_is_never_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("operator.seed");
    create(&path, &drawn()).unwrap();
    let before = fs::read(&path).unwrap();
    let refused = create(&path, &drawn()).unwrap_err();
    assert!(matches!(refused, KeyFileError::Exists { .. }), "{refused:?}");
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(names(&dir), ["operator.seed"]);

    // Whatever is there, also a link to nowhere.
    for (name, make) in [
        ("folder", (|path| fs::create_dir(path)) as fn(&Path) -> std::io::Result<()>),
        ("link", |path| std::os::unix::fs::symlink("/nowhere/at/all", path)),
    ] {
        let path = dir.path().join(name);
        make(&path).unwrap();
        let refused = create(&path, &drawn()).unwrap_err();
        assert!(matches!(refused, KeyFileError::Exists { .. }), "{refused:?}");
    }
}

#[test]
fn of_many_that_make_one_file_one_does() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("operator.seed");
    let made: Vec<_> = thread::scope(|scope| {
        let one = || {
            let key = drawn();
            create(&path, &key).is_ok().then(|| key.public_key().clone())
        };
        let all: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
        all.into_iter().filter_map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(made, [load(&path).unwrap().public_key().clone()]);
    assert_eq!(names(&dir), ["operator.seed"]);
}

#[test]
fn where_nothing_can_be_written_nothing_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let failed = create(&dir.path().join("missing/operator.seed"), &drawn()).unwrap_err();
    let KeyFileError::Write { source, .. } = &failed else { panic!("{failed:?}") };
    assert_eq!(source.kind(), ErrorKind::NotFound);
    let failed = create(Path::new("/"), &drawn()).unwrap_err();
    assert!(matches!(failed, KeyFileError::NoName { .. }), "{failed:?}");
    assert!(names(&dir).is_empty());
}

#[test]
fn a_file_that_others_can_read_or_change_is_refused_and_nothing_of_it_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("operator.seed");
    create(&path, &drawn()).unwrap();
    let seed = fs::read_to_string(&path).unwrap();
    for mode in [0o640, 0o604, 0o620, 0o602, 0o610, 0o644, 0o777] {
        set_mode(&path, mode);
        let refused = load(&path).unwrap_err();
        let KeyFileError::OpenToOthers { mode: found, .. } = &refused else {
            panic!("{mode:o}: {refused:?}")
        };
        assert_eq!(*found, mode);
        let told = format!("{refused} {refused:?}");
        assert!(told.contains("chmod 600") && told.contains(&format!("mode {mode:03o}")), "{told}");
        assert!(!told.contains(seed.trim()), "{told}");
    }
}

#[test]
fn what_is_no_key_is_refused_and_not_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("operator.seed");
    create(&path, &drawn()).unwrap();
    let seed = fs::read_to_string(&path).unwrap();
    let public = load(&path).unwrap().public_key().to_string();
    for bytes in [
        b"".to_vec(),
        seed.as_bytes()[..40].to_vec(),
        format!("{seed}{seed}").into_bytes(),
        public.into_bytes(),
        [0xff, 0, 7, 0x9b].repeat(99),
        [seed.as_bytes(), &[b' '; 200]].concat(),
    ] {
        fs::write(&path, &bytes).unwrap();
        let refused = load(&path).unwrap_err();
        assert!(matches!(refused, KeyFileError::Bad { .. }), "{refused:?}");
        let told = format!("{refused} {refused:?}");
        assert!(!told.contains(&seed[..40]), "{told}");
    }
}

#[test]
fn what_is_no_file_is_refused_and_nobody_waits_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    for path in [dir.path(), &socket, Path::new("/dev/zero")] {
        let refused = load(path).unwrap_err();
        assert!(matches!(refused, KeyFileError::NoFile { .. }), "{refused:?}");
    }
    let missing = load(&dir.path().join("missing")).unwrap_err();
    assert!(matches!(missing, KeyFileError::Read { .. }), "{missing:?}");
}
