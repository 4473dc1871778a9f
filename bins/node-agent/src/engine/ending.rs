//! How the engine is ended: a signal asks it to, a second one does not wait, and a tether that is cut kills it.

use std::{
    io::{self, Read, stdin},
    process, thread,
};

use rustix::process::{Signal as Number, getpid, kill_process};
use terminal::failure::ExitStatus;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};

/// The wish that the engine ends.
#[derive(Debug, Clone)]
pub(crate) struct Ending {
    asked: watch::Receiver<bool>,
}

impl Ending {
    /// From now on the first signal is a wish, and the second ends the process as it is.
    pub(crate) fn listen() -> io::Result<Self> {
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
        Ok(Self { asked })
    }

    /// Waits until somebody wishes it.
    pub(crate) async fn asked(&mut self) {
        // The sender is gone only when the runtime is.
        if self.asked.wait_for(|asked| *asked).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

async fn any([one, two, three]: &mut [Signal; 3]) {
    tokio::select! {
        _ = one.recv() => {}
        _ = two.recv() => {}
        _ = three.recv() => {}
    }
}

/// From now on this process is killed as soon as the standard input ends: whoever holds its other end cannot be outlived,
/// however they end.
pub(crate) fn tether() -> io::Result<()> {
    thread::Builder::new().name("tether".to_owned()).spawn(|| {
        let mut stdin = stdin().lock();
        let mut bytes = [0; 256];
        // Whatever is said over it means nothing.
        while !matches!(stdin.read(&mut bytes), Ok(0)) {}
        let _ = kill_process(getpid(), Number::KILL);
    })?;
    Ok(())
}
