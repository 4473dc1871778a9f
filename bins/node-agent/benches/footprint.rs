//! What an engine and its shims cost a machine while nothing happens: twenty instances of a program that sleeps.
//!
//! *Resident* is what the kernel counts for each process, *share* is that with pages of the program that several of them
//! map counted once between them, and *own* is what nobody else has.

#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]

#[path = "../tests/real/bus.rs"]
#[expect(dead_code, reason = "tests ask more of what stands for the controller")]
mod bus;
#[path = "../tests/real/machine.rs"]
#[expect(dead_code, reason = "tests ask more of a machine")]
mod machine;

use std::{collections::BTreeMap, fs, thread, time::Duration};

use inventory::Environment;
use names::InstanceName;
use wire::ResourceState;

use machine::{A, Machine, Outcome, Spoken};

const INSTANCES: usize = 20;

/// How long the processor time of an idle engine is looked at.
const IDLE: Duration = Duration::from_secs(20);

/// What is aimed at.
const ENGINE_KIB_MAX: u64 = 20 * 1024;
const SHIM_KIB_MAX: u64 = 2 * 1024;
const PERCENT_MAX: f64 = 0.2;

const MANIFEST: &str = "[module]\nname = \"blog\"\n[[resource]]\nname = \"web\"\ncommand = [\"./run\"]\n\
                        health = { alive = \"100ms\" }\n";

fn main() -> Outcome {
    let machine = Machine::new()?;
    let controller = machine.controller()?;
    // As in production, but that what runs does not outlive a benchmark that is broken off.
    let engine = Spoken::on_stderr(machine.program(&["run", "--orphan-after", "60s"]))?;
    let mut module = machine.build_of(A, MANIFEST, "exec sleep 1000")?;
    let instances = (1..=INSTANCES).map(|number| {
        let name: InstanceName = format!("blog-{number}").parse()?;
        Ok::<_, names::NameError>((name, Environment::new()))
    });
    module.instances = instances.collect::<Result<BTreeMap<_, _>, _>>()?;
    controller.declare(&machine.declaration(1, module)?)?;
    controller.until_stated("all are healthy", |statement| {
        let healthy = statement.resources.iter().filter(|row| row.state == ResourceState::Healthy);
        (healthy.count() == INSTANCES).then_some(())
    })?;

    let before = ticks(engine.pid())?;
    thread::sleep(IDLE);
    let used = ticks(engine.pid())? - before;
    let percent =
        100.0 * used as f64 / (rustix::param::clock_ticks_per_second() as f64 * IDLE.as_secs_f64());

    println!(
        "{:<26} {:>12} {:>10} {:>10} {:>14}",
        "idle", "resident KiB", "share", "own", "target"
    );
    row(&format!("engine, {INSTANCES} instances"), Memory::of(engine.pid())?, ENGINE_KIB_MAX);
    let shims = shims(&machine)?;
    if shims.len() != INSTANCES {
        return Err(format!("{} shims were found", shims.len()).into());
    }
    let largest = shims.iter().max_by_key(|memory| memory.resident);
    row("shim, the largest", *largest.ok_or("no shims")?, SHIM_KIB_MAX);
    println!("engine's processor time    {percent:>10.2} % of a core, target {PERCENT_MAX} %");
    Ok(())
}

fn row(what: &str, memory: Memory, target: u64) {
    let Memory { resident, share, own } = memory;
    let target = format!("<= {target}");
    println!("{what:<26} {resident:>12} {share:>10} {own:>10} {target:>14}");
}

/// Of one process, in KiB.
#[derive(Debug, Clone, Copy)]
struct Memory {
    resident: u64,
    share: u64,
    own: u64,
}

impl Memory {
    fn of(pid: u32) -> Outcome<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
        let kib = |key: &str| -> Outcome<u64> {
            let value =
                text.lines().find_map(|line| line.strip_prefix(key)).ok_or("no such line")?;
            Ok(value.trim_end_matches("kB").trim().parse()?)
        };
        Ok(Self {
            resident: kib("Rss:")?,
            share: kib("Pss:")?,
            own: kib("Private_Clean:")? + kib("Private_Dirty:")?,
        })
    }
}

/// The shims of this machine: they work in its folder.
fn shims(machine: &Machine) -> Outcome<Vec<Memory>> {
    let folder = machine.dir().join("shims").canonicalize()?;
    let mut found = Vec::new();
    for process in fs::read_dir("/proc")? {
        let name = process?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        let works_in = fs::read_link(format!("/proc/{pid}/cwd"));
        if works_in.is_ok_and(|works_in| works_in.starts_with(&folder)) {
            found.push(Memory::of(pid)?);
        }
    }
    Ok(found)
}

/// The processor time that a process has had, in clock ticks.
fn ticks(pid: u32) -> Outcome<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, fields) = stat.rsplit_once(") ").ok_or("no stat")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    let field = |nth: usize| -> Outcome<u64> { Ok(fields.get(nth).ok_or("no field")?.parse()?) };
    Ok(field(11)? + field(12)?)
}
