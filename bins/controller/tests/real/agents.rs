//! Agents of a fleet are processes of their own: what becomes of everything else when one of them dies.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    os::unix::fs::symlink,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::fleet::{Dev, Outcome, PATIENCE, Place, eventually};

/// How often an agent is killed while somebody asks its service without a pause.
const KILLS: usize = 5;

/// The agent of this machine: the process that was started with its config.
fn agent(place: &Place, machine: &str) -> Outcome<i32> {
    let config = place.dir().join("machines").join(machine).join("agent.toml");
    let config = config.display().to_string();
    eventually("the machine has an agent", || {
        let of_agent = |line: &String| line.contains("node-agent run") && line.contains(&config);
        let found = place.processes()?.into_iter().find(of_agent);
        let number =
            found.as_deref().and_then(|line| line.strip_prefix("/proc/")?.split(':').next());
        Ok(number.and_then(|number| number.parse().ok()).ok_or_else(|| "none".to_owned()))
    })
}

/// What the machine says of the sample's one process; `None` while it does not say that it is healthy.
fn sample(place: &Place, machine: &str) -> Outcome<Option<Value>> {
    let machines = place.json(&["machines"])?;
    let machines = machines.as_array().ok_or("no machines")?;
    let found = machines.iter().find(|one| one["machine"] == machine).ok_or("no such machine")?;
    let resource = &found["resources"][0];
    Ok((found["state"] == "heard" && resource["state"] == "healthy").then(|| resource.clone()))
}

/// Asks a service without a pause until it is told to stop.
struct Load {
    stop: Arc<AtomicBool>,
    asking: JoinHandle<Result<u32, String>>,
}

impl Load {
    fn on(address: String) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let asking = thread::spawn(move || {
            let mut answered = 0;
            while !stopped.load(Ordering::Relaxed) {
                ask(&address).map_err(|error| format!("request {answered}: {error}"))?;
                answered += 1;
            }
            Ok(answered)
        });
        Self { stop, asking }
    }

    /// How many requests were answered; an error when one was not.
    fn answered(self) -> Outcome<u32> {
        self.stop.store(true, Ordering::Relaxed);
        Ok(self.asking.join().map_err(|_| "asking broke off")??)
    }
}

fn ask(address: &str) -> Outcome {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if answer.contains("hello from sample") { Ok(()) } else { Err(answer.into()) }
}

#[test]
fn an_agent_that_is_killed_is_started_again_and_nothing_that_it_runs_notices() -> Outcome {
    let place = Place::new()?;
    let mut dev = Dev::serving(&place)?;
    let before = sample(&place, "box-2")?.ok_or("it is not healthy")?;
    let address = before["address"].as_str().ok_or("no address")?.to_owned();
    let log = place.dir().join("machines/box-2/agent.log");
    let load = Load::on(address);
    for killed in 1..=KILLS {
        kill_process(Pid::from_raw(agent(&place, "box-2")?).ok_or("no process")?, Signal::KILL)?;
        eventually("the next agent goes on with what runs", || {
            let log = fs::read_to_string(&log)?;
            let adopted =
                log.lines().filter(|line| line.contains("1 process was found and goes on"));
            Ok(if adopted.count() == killed { Ok(()) } else { Err(log) })
        })?;
    }
    assert!(load.answered()? > 0);
    eventually("it is healthy, where it was", || {
        let after = sample(&place, "box-2")?.filter(|after| after["address"] == before["address"]);
        Ok(after.map(drop).ok_or_else(|| "not yet".to_owned()))
    })?;
    dev.wait_for_line("box-2: its agent ended")?;
    dev.signal(Signal::TERM)?;
    assert_eq!(dev.ended()?.code(), Some(0));
    place.nothing_is_left()
}

#[test]
fn an_agent_that_does_not_stay_up_ends_the_fleet_with_its_last_words() -> Outcome {
    let place = Place::new()?;
    let mut dev = Dev::serving(&place)?;
    // From now on there is no agent to be started.
    let image = place.dir().join("image");
    fs::remove_file(&image)?;
    symlink("/bin/false", &image)?;
    kill_process(Pid::from_raw(agent(&place, "box-1")?).ok_or("no process")?, Signal::KILL)?;
    let ended = dev.ended()?;
    while dev.next_line(PATIENCE).is_ok_and(|line| line.is_some()) {}
    let said = dev.said.join("\n");
    assert_eq!(ended.code(), Some(1), "{said}");
    assert!(
        said.contains("the agent of box-1 does not stay up: the last ended with exit"),
        "{said}"
    );
    assert!(said.contains("agent.log"), "{said}");
    Ok(())
}
