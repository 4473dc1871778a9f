//! Visits the machines at the story's end, to see for itself: what their services answer, and what is on their disks.

use std::{net::SocketAddr, path::Path, time::Duration};

use names::{BuildId, MachineName};
use serde::Serialize;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use wire::api::MachineView;

use super::{
    chapter::{Chapter, MODULE},
    story::Told,
};
use crate::{failure::Failure, folder::Folder};

/// How long a service may take: it answers at once where the machine is not busy with other things.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest answer that is read, in bytes.
const ANSWER_BYTES_MAX: u64 = 4_096;

/// What was found on one machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Visit {
    pub(crate) machine: MachineName,
    pub(crate) address: SocketAddr,
    pub(crate) answer: String,
}

/// Visits every machine; fails where one has something else than the story says.
pub(crate) async fn visit_all(told: &Told, folder: &Folder) -> Result<Vec<Visit>, Failure> {
    let mut visits = Vec::new();
    for machine in &told.machines {
        look_at_disk(told, machine, folder)?;
        visits.push(visit(machine).await?);
    }
    Ok(visits)
}

/// The good build is on every disk. The bad one never reached another machine than the first; there it may be gone by
/// now, since nothing needs it any more.
fn look_at_disk(told: &Told, machine: &MachineView, folder: &Folder) -> Result<(), Failure> {
    let name = &machine.machine;
    let builds = folder.machine(name).join("builds").join(MODULE);
    let has = |build: &BuildId| Path::is_dir(&builds.join(build.as_str()));
    let is_first = *name == told.first;
    if !has(&told.good.build) {
        let commit = &told.good.commit;
        return Err(Failure::failed(format!("{name} has no {commit} on its disk")));
    }
    if has(&told.bad.build) && !is_first {
        let commit = &told.bad.commit;
        let what = format!("the bad build {commit} reached {name}, which is not first");
        return Err(Failure::failed(what));
    }
    Ok(())
}

async fn visit(machine: &MachineView) -> Result<Visit, Failure> {
    let name = machine.machine.clone();
    let mut of_sample =
        machine.resources.iter().filter(|resource| resource.module.as_str() == MODULE);
    let Some(address) = of_sample.find_map(|resource| resource.address) else {
        return Err(Failure::failed(format!("{name} does not say where the sample listens")));
    };
    let answer = match timeout(PATIENCE, get(address)).await {
        Ok(answer) => answer,
        Err(_) => Err(std::io::ErrorKind::TimedOut.into()),
    };
    let answer = answer.map_err(|error| {
        Failure::because(format!("the sample on {name} does not answer at {address}"), &error)
    })?;
    let wanted = Chapter::Good.greeting();
    match answer.split_once("\r\n\r\n") {
        Some((head, body)) if head.starts_with("HTTP/1.1 200 ") && body.trim() == wanted => {
            Ok(Visit { machine: name, address, answer: wanted })
        }
        Some(_) | None => {
            let what = format!("the sample on {name} answers {answer:?} and not {wanted:?}");
            Err(Failure::failed(what))
        }
    }
}

async fn get(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.take(ANSWER_BYTES_MAX).read_to_string(&mut answer).await?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;
    use wire::ResourceState;

    use super::*;
    use crate::samples;

    async fn visited(answer: &'static str) -> Result<Visit, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut machine = samples::machine("box-1", "v1", ResourceState::Healthy);
        machine.resources[0].address = Some(listener.local_addr().unwrap());
        let serve = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert!(stream.read(&mut [0; 1024]).await.unwrap() > 0);
            stream.write_all(answer.as_bytes()).await.unwrap();
        };
        tokio::join!(visit(&machine), serve).0
    }

    #[tokio::test]
    async fn only_the_good_builds_greeting_counts() {
        let good = "HTTP/1.1 200 OK\r\n\r\nhello from sample v1\n";
        assert_eq!(visited(good).await.unwrap().answer, "hello from sample v1");
        for other in [
            "HTTP/1.1 200 OK\r\n\r\nhello from sample v2\n",
            "HTTP/1.1 500 No\r\n\r\nhello from sample v1\n",
            "hello from sample v1\n",
            "",
        ] {
            assert!(visited(other).await.unwrap_err().message.contains("answers"), "{other}");
        }
    }

    #[tokio::test]
    async fn a_machine_that_does_not_answer_is_told_by_its_address() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let mut machine = samples::machine("box-1", "v1", ResourceState::Healthy);
        machine.resources[0].address = Some(address);
        let failure = visit(&machine).await.unwrap_err();
        assert!(failure.message.contains(&address.to_string()), "{failure:?}");
    }

    #[test]
    fn the_bad_build_may_be_on_the_first_disk_only() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::create(dir.path()).unwrap();
        let told = Told {
            good: samples::build("v1", "proven"),
            bad: samples::build("v2", "condemned"),
            first: "box-1".parse().unwrap(),
            machines: Vec::new(),
        };
        let put = |machine: &str, commit: &str| {
            let builds = folder.machines().join(machine).join("builds/sample");
            std::fs::create_dir_all(builds.join(samples::build_id(commit).as_str())).unwrap();
        };
        let look = |name: &str| {
            let machine = samples::machine(name, "v1", ResourceState::Healthy);
            look_at_disk(&told, &machine, &folder).map_err(|failure| failure.message)
        };
        assert_eq!(look("box-2"), Err("box-2 has no v1 on its disk".to_owned()));
        put("box-1", "v1");
        put("box-2", "v1");
        assert_eq!(look("box-2"), Ok(()));
        assert_eq!(look("box-1"), Ok(()));
        put("box-1", "v2");
        put("box-2", "v2");
        assert_eq!(look("box-1"), Ok(()));
        assert_eq!(
            look("box-2"),
            Err("the bad build v2 reached box-2, which is not first".to_owned())
        );
    }
}
