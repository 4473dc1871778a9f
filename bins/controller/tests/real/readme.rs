//! Does what the README says, word for word: its first command, and then the release of one's own program.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use crate::fleet::{Dev, Outcome, Place, eventually, finished};

/// What the README's first command is run by: the same program, built already.
const CARGO: &str = "cargo run --release -p controller -- ";

fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The texts between fences of this kind, in a part of the README.
fn fenced(text: &str, kind: &str) -> Vec<String> {
    let opening = format!("```{kind}");
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while lines.any(|line| line == opening) {
        let block = lines.by_ref().take_while(|line| *line != "```");
        blocks.push(block.map(|line| format!("{line}\n")).collect());
    }
    blocks
}

/// The README's section with this heading.
fn section<'a>(readme: &'a str, heading: &str) -> Outcome<&'a str> {
    let (_, rest) = readme.split_once(&format!("\n## {heading}\n")).ok_or("no such section")?;
    Ok(rest.split("\n## ").next().unwrap_or(rest))
}

#[test]
fn what_the_readme_says_is_so() -> Outcome {
    let readme = fs::read_to_string(checkout().join("README.md"))?;
    let section = section(&readme, "Release your own program")?;
    let example = checkout().join("docs/examples/hello");
    let manifest = fs::read_to_string(example.join("bellwether.toml"))?;
    assert_eq!(fenced(section, "toml"), [manifest], "the manifest shown is the example's");

    let place = Place::new()?;
    let home = checkout_at(&place, &example)?;
    let first = fenced(&readme, "sh").into_iter().next().ok_or("no first command")?;
    let arguments = first.trim().strip_prefix(CARGO).ok_or(first.clone())?;
    let arguments: Vec<_> = arguments.split(' ').collect();
    let mut dev = Dev::start(place.controller(&arguments))?;
    // A reader opens the other terminal when the fleet is there, whether the story is told by then or not.
    dev.wait_for_line("box-3 is heard")?;

    let script = fenced(section, "sh").concat();
    assert!(script.contains("controller release hello --wait"), "{script}");
    let mut shell = Command::new("sh");
    shell.current_dir(&home).args(["-ec", &script]).env_clear();
    shell.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", home.join("bin").display()));
    shell.env("XDG_STATE_HOME", place.state());
    let walked = finished(shell)?;
    walked.done()?;
    assert!(walked.stdout.contains("it ended with status 4"), "{walked:?}");
    assert!(walked.stdout.contains("build.hello."), "the condition is told: {walked:?}");

    eventually("every machine runs the first build again", || {
        let machines = finished(place.controller(&["machines"]))?.stdout;
        let healthy = machines.lines().filter(|line| line.contains("hello-1/worker"));
        let healthy = healthy.filter(|line| line.contains("healthy")).count();
        Ok(if healthy == 3 { Ok(()) } else { Err(machines) })
    })
}

/// What a reader's checkout has of what the section speaks of, and the program on the `PATH`.
fn checkout_at(place: &Place, example: &Path) -> Outcome<PathBuf> {
    let home = place.join("checkout");
    let copy = home.join("docs/examples/hello");
    fs::create_dir_all(&copy)?;
    for file in fs::read_dir(example)? {
        let file = file?;
        fs::copy(file.path(), copy.join(file.file_name()))?;
    }
    fs::create_dir(home.join("bin"))?;
    symlink(env!("CARGO_BIN_EXE_controller"), home.join("bin/controller"))?;
    Ok(home)
}
