//! Hostile archives, and any bytes at all: refused by the rule that they break, and nothing is ever made outside.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::*;
use crate::install::record::Record;
use crate::install::unpack;

const FILE: u8 = b'0';
const HARD_LINK: u8 = b'1';
const LINK: u8 = b'2';
const FOLDER: u8 = b'5';
const LONG_NAME: u8 = b'L';
const LONG_LINK: u8 = b'K';
const PAX: u8 = b'x';
const PAX_GLOBAL: u8 = b'g';

/// One entry as no friendly packer would write it.
#[derive(Debug, Clone)]
struct Raw {
    kind: u8,
    path: Vec<u8>,
    link: Vec<u8>,
    mode: u32,
    size: u64,
    content: Vec<u8>,
}

impl Raw {
    fn bytes(&self) -> Vec<u8> {
        let mut header = tar::Header::new_gnu();
        header.set_mode(self.mode);
        header.set_size(self.size);
        let old = header.as_old_mut();
        old.linkflag = [self.kind];
        let (path, link) = (self.path.len().min(100), self.link.len().min(100));
        old.name[..path].copy_from_slice(&self.path[..path]);
        old.linkname[..link].copy_from_slice(&self.link[..link]);
        header.set_cksum();
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend_from_slice(&self.content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    }
}

fn raw(kind: u8, path: impl AsRef<[u8]>, link: &str, content: impl AsRef<[u8]>) -> Raw {
    let content = content.as_ref().to_vec();
    let (path, link) = (path.as_ref().to_vec(), link.as_bytes().to_vec());
    Raw { kind, path, link, mode: 0o644, size: content.len() as u64, content }
}

fn file(path: &str) -> Raw {
    raw(FILE, path, "", "content")
}

fn folder(path: &str) -> Raw {
    raw(FOLDER, path, "", "")
}

fn link(path: &str, to: &str) -> Raw {
    raw(LINK, path, to, "")
}

fn pax(kind: u8, key: &str, value: &str) -> Raw {
    // The length counts its own digits as well.
    let rest = format!(" {key}={value}\n");
    let length = (1..).find(|length: &usize| length.to_string().len() + rest.len() == *length);
    raw(kind, "pax", "", format!("{}{rest}", length.unwrap()))
}

fn tar(entries: &[Raw]) -> Vec<u8> {
    let mut bytes: Vec<u8> = entries.iter().flat_map(Raw::bytes).collect();
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A folder to unpack into, beside others' files.
struct Bed {
    all: tempfile::TempDir,
}

impl Bed {
    fn new() -> Self {
        let all = tempfile::tempdir().unwrap();
        fs::create_dir_all(all.path().join("incoming/content")).unwrap();
        fs::write(all.path().join("secret"), "of somebody else").unwrap();
        Self { all }
    }

    fn content(&self) -> PathBuf {
        self.all.path().join("incoming/content")
    }

    fn unpack(&self, kind: Kind, bytes: &[u8]) -> Result<(), Refused> {
        let name = match kind {
            Kind::Tar => "x.tar",
            Kind::TarGz => "x.tar.gz",
        };
        let digest = ::names::Digest::from_bytes([0; 32]);
        let artifact = Artifact { name: name.parse().unwrap(), size: bytes.len() as u64, digest };
        let fetched = self.all.path().join("fetched");
        fs::write(&fetched, bytes).unwrap();
        unpack::place(&artifact, &fetched, &self.content(), &mut Record::default())
    }

    /// Why it is refused; and that looking at it first says the same, and nothing was made outside.
    fn refused(&self, kind: Kind, bytes: &[u8]) -> String {
        let done = self.unpack(kind, bytes);
        self.check();
        let surveyed = unpack::survey(kind, &self.all.path().join("fetched"));
        let why = |refused| match refused {
            Refused::Unsafe(why) => why,
            Refused::Io(error) => unreachable!("the disk failed: {error}"),
        };
        match (done.map_err(why), surveyed.map_err(why)) {
            (Err(unpacked), Err(surveyed)) => {
                // Where it breaks off, each comes upon it in its own way.
                let is_unreadable = |why: &str| why.starts_with("it cannot be read");
                let both = is_unreadable(&unpacked) && is_unreadable(&surveyed);
                assert!(unpacked == surveyed || both, "{unpacked} {surveyed}");
                unpacked
            }
            (unpacked, surveyed) => unreachable!("not refused: {unpacked:?}, {surveyed:?}"),
        }
    }

    /// Asserts that outside all is as it was, and inside is nothing but what may be there.
    fn check(&self) {
        let names = |folder: &Path| -> Vec<String> {
            let entries = fs::read_dir(folder).unwrap();
            let mut names: Vec<String> =
                entries.map(|one| one.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        assert_eq!(names(self.all.path()), ["fetched", "incoming", "secret"]);
        assert_eq!(names(&self.all.path().join("incoming")), ["content"]);
        assert_eq!(fs::read(self.all.path().join("secret")).unwrap(), b"of somebody else");
        let top = self.content().canonicalize().unwrap();
        let mut open = vec![top.clone()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let found = path.symlink_metadata().unwrap();
                let kind = found.file_type();
                assert!(!kind.is_fifo() && !kind.is_char_device() && !kind.is_block_device());
                if kind.is_symlink() {
                    // What it leads to need not be there, and what is there may be a link as well.
                    let target = path.parent().unwrap().join(fs::read_link(&path).unwrap());
                    let mut plain = PathBuf::new();
                    for component in target.components() {
                        if component == std::path::Component::ParentDir {
                            assert!(plain.pop());
                        } else {
                            plain.push(component);
                        }
                    }
                    assert!(plain.starts_with(&top), "{path:?} leads to {plain:?}");
                    assert!(path.canonicalize().map_or(true, |to| to.starts_with(&top)));
                    continue;
                }
                assert_eq!((found.mode() & 0o7000, found.mode() & 0o022), (0, 0), "{path:?}");
                if kind.is_dir() {
                    open.push(path);
                } else {
                    assert_eq!(found.nlink(), 1, "{path:?} is a file of somebody else too");
                }
            }
        }
    }
}

#[test]
fn each_hostile_entry_is_refused_by_its_rule() {
    let sized = |size| Raw { size, ..file("x") };
    let none = "is neither a file nor a folder nor a symbolic link";
    let hostile: Vec<(&str, Vec<Raw>)> = vec![
        ("leaves the build's folder", vec![file("../evil")]),
        ("leaves the build's folder", vec![file("a/../../evil")]),
        ("leaves the build's folder", vec![file("/tmp/evil")]),
        ("leaves the build's folder", vec![folder("../evil")]),
        ("leaves the build's folder", vec![pax(PAX, "path", "../evil"), file("good")]),
        ("leaves the build's folder", vec![raw(LONG_NAME, "", "", "../evil\0"), file("good")]),
        ("may lie outside", vec![link("x", ".."), file("x/evil")]),
        ("may lie outside", vec![link("x", "/")]),
        ("may lie outside", vec![link("a", "."), link("b", "a/..")]),
        ("may lie outside", vec![pax(PAX, "linkpath", "/etc"), link("x", "good")]),
        ("may lie outside", vec![raw(LONG_LINK, "", "", "/etc\0"), link("x", "good")]),
        ("lies in what is no folder", vec![link("x", "."), file("x/evil")]),
        ("lies in what is no folder", vec![link("x", "."), folder("x/evil")]),
        ("lies in what is no folder", vec![link("x", "."), link("x/evil", "y")]),
        (none, vec![raw(HARD_LINK, "x", "/etc/passwd", "")]),
        (none, vec![file("a"), raw(HARD_LINK, "x", "a", "")]),
        (none, vec![raw(b'3', "x", "", "")]),
        (none, vec![raw(b'4', "x", "", "")]),
        (none, vec![raw(b'6', "x", "", "")]),
        (none, vec![raw(b'7', "x", "", "")]),
        (none, vec![raw(b'S', "x", "", "")]),
        (none, vec![raw(b'Z', "x", "", "")]),
        ("has no name", vec![file("")]),
        ("has no name", vec![file("./.")]),
        ("is no UTF-8", vec![raw(FILE, b"caf\xe9", "", "")]),
        ("control characters", vec![file("a\nb")]),
        ("control characters", vec![raw(LONG_NAME, "", "", "a\0b\0"), file("good")]),
        ("too long a name", vec![raw(LONG_NAME, "", "", "n".repeat(300)), file("good")]),
        ("too long a name", vec![raw(LONG_NAME, "", "", "n/".repeat(600)), file("good")]),
        ("lies too deep", vec![raw(LONG_NAME, "", "", "n/".repeat(100)), file("good")]),
        (
            "more than one name",
            vec![raw(LONG_NAME, "", "", "a"), raw(LONG_NAME, "", "", "b"), file("c")],
        ),
        ("more than one name", vec![raw(LONG_NAME, "", "", "a"), pax(PAX, "path", "b"), file("c")]),
        ("describes an entry that is not there", vec![file("a"), raw(LONG_NAME, "", "", "b")]),
        ("names all entries at once", vec![pax(PAX_GLOBAL, "path", "a"), file("b")]),
        ("said twice, by `size` too", vec![pax(PAX, "size", "9999999999"), file("a")]),
        ("said twice, by `size` too", vec![pax(PAX_GLOBAL, "size", "1"), file("a")]),
        (
            "said twice, by `GNU.sparse.realsize`",
            vec![pax(PAX, "GNU.sparse.realsize", "999999999999"), file("a")],
        ),
        ("cannot be read as an archive", vec![raw(PAX, "", "", "nonsense"), file("a")]),
        (
            "description of an entry is too long",
            vec![raw(LONG_NAME, "", "", vec![b'n'; 2 * 1024 * 1024]), file("a")],
        ),
        ("size overflow", vec![sized(u64::MAX)]),
        ("more than any build may", vec![sized(u64::MAX / 2)]),
        ("more than any build may", vec![sized(LIMITS.bytes + 1)]),
        ("more than any build may", vec![Raw { kind: FOLDER, ..sized(u64::MAX / 2) }]),
        ("more than any build may", vec![Raw { kind: LONG_NAME, ..sized(u64::MAX / 2) }]),
        ("cannot be read as an archive", vec![sized(100_000)]),
    ];
    for (words, entries) in hostile {
        let bytes = tar(&entries);
        for (kind, bytes) in [(Kind::Tar, bytes.clone()), (Kind::TarGz, gz(&bytes))] {
            let why = Bed::new().refused(kind, &bytes);
            assert!(why.contains(words), "{why:?} of {:?}", entries.first());
        }
    }
}

#[test]
fn one_path_is_one_thing() {
    let make: [fn(&str) -> Raw; 3] = [file, folder, |path| link(path, "y")];
    for first in make {
        for second in make {
            for path in ["x", "./x", "x/"] {
                let entries = [first("x"), second(path)];
                let is_folder_twice = entries.iter().all(|entry| entry.kind == FOLDER);
                if is_folder_twice {
                    assert!(Bed::new().unpack(Kind::Tar, &tar(&entries)).is_ok());
                    continue;
                }
                let why = Bed::new().refused(Kind::Tar, &tar(&entries));
                assert!(why.contains("is there twice"), "{why}");
            }
        }
        let why = Bed::new().refused(Kind::Tar, &tar(&[file("x/y"), link("x", "z")]));
        assert!(why.contains("is there twice"), "{why}");
    }
    // Two archives of one build are one folder.
    let bed = Bed::new();
    bed.unpack(Kind::Tar, &tar(&[folder("d"), link("l", "d"), file("f")])).unwrap();
    for entries in [[file("l/evil")], [file("f/evil")], [folder("l")], [link("d", "f")]] {
        let Err(Refused::Unsafe(why)) = bed.unpack(Kind::Tar, &tar(&entries)) else {
            unreachable!("{entries:?}")
        };
        assert!(why.contains("is there twice"), "{why}");
        bed.check();
    }
    bed.unpack(Kind::Tar, &tar(&[file("d/more")])).unwrap();
}

#[test]
fn of_a_mode_only_whether_it_can_be_executed_is_taken_over() {
    for (mode, expected) in [
        (0o4755, 0o755),
        (0o2755, 0o755),
        (0o1777, 0o755),
        (0o7777, 0o755),
        (0o100, 0o755),
        (0o666, 0o644),
        (0, 0o644),
    ] {
        let bed = Bed::new();
        let entries = [Raw { mode, ..file("x") }, Raw { mode, ..folder("d") }];
        bed.unpack(Kind::Tar, &tar(&entries)).unwrap();
        bed.check();
        assert_eq!(bed.content().join("x").metadata().unwrap().mode() & 0o7777, expected);
        assert_eq!(bed.content().join("d").metadata().unwrap().mode() & 0o7777, 0o755);
    }
}

#[test]
fn names_that_are_said_beforehand_are_used() {
    let long = format!("{}/{}", "d".repeat(120), "f".repeat(200));
    for entries in [
        [raw(LONG_NAME, "", "", format!("{long}\0")), file("short")],
        [pax(PAX, "path", &long), file("short")],
        [pax(PAX_GLOBAL, "comment", "of git"), file("short")],
    ] {
        let bed = Bed::new();
        bed.unpack(Kind::Tar, &tar(&entries)).unwrap();
        let expected = if entries[0].kind == PAX_GLOBAL { "short" } else { &long };
        assert_eq!(fs::read(bed.content().join(expected)).unwrap(), b"content");
    }
}

#[test]
fn an_archive_ends_where_it_says_and_is_whole() {
    let whole = tar(&[file("x")]);
    let padded = [&whole[..], &[0; 10_240]].concat();
    let split = whole.len() / 3;
    let members = [gz(&whole[..split]), gz(&whole[split..])].concat();
    for (kind, bytes) in [
        (Kind::Tar, whole.clone()),
        (Kind::Tar, padded.clone()),
        (Kind::TarGz, gz(&whole)),
        (Kind::TarGz, gz(&padded)),
        (Kind::TarGz, members),
    ] {
        Bed::new().unpack(kind, &bytes).unwrap();
    }
    let flood = [&whole[..], &[0; 2 * 1024 * 1024]].concat();
    for (words, kind, bytes) in [
        ("goes on behind its end", Kind::Tar, [&whole[..], b"garbage"].concat()),
        ("goes on behind its end", Kind::Tar, [&padded[..], &whole[..]].concat()),
        ("goes on behind its end", Kind::Tar, flood.clone()),
        ("goes on behind its end", Kind::TarGz, gz(&flood)),
        ("goes on behind its end", Kind::TarGz, [gz(&whole), gz(&whole)].concat()),
        ("cannot be read", Kind::TarGz, [&gz(&whole)[..], b"garbage"].concat()),
        ("breaks off before its end", Kind::Tar, whole[..1024].to_vec()),
        ("breaks off before its end", Kind::TarGz, gz(&whole[..1024])),
        ("breaks off before its end", Kind::Tar, Vec::new()),
    ] {
        let why = Bed::new().refused(kind, &bytes);
        assert!(why.contains(words), "{why}");
    }
    let look = |unpacked: &mut dyn Read| read(unpacked, LIMITS, &mut |_, _| Ok(()));
    let packed = gz(&whole);
    assert!(look(&mut &whole[..]).is_ok() && look(&mut MultiGzDecoder::new(&packed[..])).is_ok());
    for at in 0..whole.len() - 512 {
        assert!(look(&mut &whole[..at]).is_err(), "cut at {at}");
    }
    for at in 0..packed.len() {
        assert!(look(&mut MultiGzDecoder::new(&packed[..at])).is_err(), "cut at {at}");
    }
}

#[test]
fn what_is_small_and_holds_too_much_is_refused_before_it_is_written() {
    let bomb = Raw { size: UNPACKED_BYTES_ANYHOW + 10 * 1024 * 1024, ..file("zeros") };
    let why = Bed::new().refused(Kind::TarGz, &gz(&tar(&[bomb])));
    assert!(why.contains("more than any build may"), "{why}");
    let bed = Bed::new();
    let zeros = raw(FILE, "zeros", "", vec![0; 4 * 1024 * 1024]);
    bed.unpack(Kind::TarGz, &gz(&tar(&[zeros]))).unwrap();
    let room = unpack::survey(Kind::TarGz, &bed.all.path().join("fetched")).unwrap();
    assert_eq!((room.bytes, room.inodes), (4 * 1024 * 1024, 1));
}

#[test]
fn entries_content_and_paths_are_bounded() {
    let look =
        |limits: Limits, entries: &[Raw]| read(&tar(entries)[..], limits, &mut |_, _| Ok(()));
    let exactly = Limits { entries: 4, bytes: 14, paths: 8 };
    // A folder counts twice: as an entry, and as what is made.
    let entries = [folder("d"), file("d/x"), file("four")];
    assert!(look(exactly, &entries).is_ok());
    for limits in [
        Limits { entries: 3, ..exactly },
        Limits { bytes: 13, ..exactly },
        Limits { paths: 7, ..exactly },
    ] {
        let Err(Refused::Unsafe(why)) = look(limits, &entries) else { unreachable!("{limits:?}") };
        assert!(why.contains("more than any build may"), "{why}");
    }
    // Of folders that are only named there can be more than entries.
    let deep = [file("a/b/c/d/e")];
    assert!(look(Limits { entries: 5, ..LIMITS }, &deep).is_ok());
    assert!(look(Limits { entries: 4, ..LIMITS }, &deep).is_err());
}

fn any_name() -> impl Strategy<Value = Vec<u8>> {
    let segment = prop::sample::select(vec![
        &b"a"[..],
        b"b",
        b"c",
        b"..",
        b".",
        b"",
        b"/",
        b"\0",
        b"\n",
        b"\xff",
        b"link",
    ]);
    prop::collection::vec(segment, 0..5).prop_map(|segments| segments.join(&b'/'))
}

fn any_entry() -> impl Strategy<Value = Raw> {
    let kind = prop::sample::select(b"001122255533LLKKxgS67\0Z".to_vec());
    let content = prop_oneof![
        3 => any_name(),
        1 => prop::collection::vec(any::<u8>(), 0..1500),
        1 => any_name().prop_map(|name| {
            pax(PAX, "path", &String::from_utf8_lossy(&name)).content
        }),
    ];
    let lie = prop_oneof![8 => Just(0_i64), 1 => -600..2000_i64];
    (kind, any_name(), any_name(), any::<u32>(), content, lie).prop_map(
        |(kind, path, link, mode, content, lie)| {
            let size = (content.len() as u64).saturating_add_signed(lie);
            Raw { kind, path, link, mode: mode & 0o7777, size, content }
        },
    )
}

fn unpack_all(bytes: &[u8]) {
    for (kind, bytes) in [(Kind::Tar, bytes.to_vec()), (Kind::TarGz, gz(bytes))] {
        let bed = Bed::new();
        let done = bed.unpack(kind, &bytes);
        assert!(!matches!(done, Err(Refused::Io(_))), "{done:?}");
        bed.check();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_entries_make_anything_outside(entries in prop::collection::vec(any_entry(), 1..8)) {
        unpack_all(&tar(&entries));
    }

    #[test]
    fn no_damage_makes_anything_outside(
        entries in prop::collection::vec(any_entry(), 1..4),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        end in any::<prop::sample::Index>(),
    ) {
        let mut bytes = tar(&entries);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        bytes.truncate(end.index(bytes.len()) + 1);
        unpack_all(&bytes);
    }

    #[test]
    fn no_bytes_make_anything_outside(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let bed = Bed::new();
        for kind in [Kind::Tar, Kind::TarGz] {
            assert!(!matches!(bed.unpack(kind, &bytes), Err(Refused::Io(_))));
            bed.check();
        }
    }
}
