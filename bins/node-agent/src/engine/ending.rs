//! How the engine is ended: a signal asks it to, a second one does not wait, and a tether that is cut leaves all as it is.

use std::{
    io::{self, Read, stdin},
    process, thread,
    time::Duration,
};

use rustix::process::{Signal as Number, getpid, kill_process};
use terminal::failure::ExitStatus;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};

/// How long an engine whose tether was cut may take to bring what it tries to an end. Then it is killed.
const CUT_MAX: Duration = Duration::from_secs(4);

/// The wish that the engine ends.
#[derive(Debug, Clone)]
pub(crate) struct Ending {
    asked: watch::Receiver<bool>,
    cut: watch::Receiver<bool>,
}

/// Why it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Somebody asked it to.
    Asked,
    /// Whoever held the other end of its tether is gone.
    Cut,
}

impl Ending {
    /// From now on the first signal is a wish, and the second ends the process as it is.
    pub(crate) fn listen(tether: Option<Tether>) -> io::Result<Self> {
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let [interrupt, terminate, hangup] = kinds.map(signal);
        let mut signals = [interrupt?, terminate?, hangup?];
        let (ask, asked) = watch::channel(false);
        tokio::spawn(async move {
            any(&mut signals).await;
            // Nobody listens any more when the process ends by itself right now.
            let _ = ask.send(true);
            any(&mut signals).await;
            process::exit(ExitStatus::Failed as i32);
        });
        // Without a tether the sender is gone, and nobody ever wishes it.
        let cut = tether.map_or_else(|| watch::channel(false).1, |Tether(cut)| cut);
        Ok(Self { asked, cut })
    }

    /// Waits until somebody wishes it.
    pub(crate) async fn asked(&mut self) -> Wish {
        tokio::select! {
            () = wished(&mut self.asked) => Wish::Asked,
            () = wished(&mut self.cut) => Wish::Cut,
        }
    }
}

async fn wished(wish: &mut watch::Receiver<bool>) {
    if wish.wait_for(|wish| *wish).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// What tells that the tether was cut.
#[derive(Debug)]
pub(crate) struct Tether(watch::Receiver<bool>);

async fn any([one, two, three]: &mut [Signal; 3]) {
    tokio::select! {
        _ = one.recv() => {}
        _ = two.recv() => {}
        _ = three.recv() => {}
    }
}

/// From now on this process ends as soon as the standard input does, and leaves what runs: whoever holds its other end
/// cannot be outlived, however they end. What is being tried comes to its end first, or it would be condemned unseen.
pub(crate) fn tether() -> io::Result<Tether> {
    let (say, cut) = watch::channel(false);
    thread::Builder::new().name("tether".to_owned()).spawn(move || {
        let mut stdin = stdin().lock();
        let mut bytes = [0; 256];
        // Whatever is said over it means nothing.
        while !matches!(stdin.read(&mut bytes), Ok(0)) {}
        say.send_replace(true);
        thread::sleep(CUT_MAX);
        let _ = kill_process(getpid(), Number::KILL);
    })?;
    Ok(Tether(cut))
}
