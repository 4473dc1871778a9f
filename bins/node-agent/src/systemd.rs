//! What systemd says to a process that it runs, and what that process can say back: the one place where the environment is
//! read.

use std::{
    env,
    ffi::{OsStr, OsString},
    io,
    os::linux::net::SocketAddrExt,
    os::unix::{
        ffi::OsStrExt,
        net::{SocketAddr, UnixDatagram},
    },
};

/// Whether what is written to the standard error goes to the journal: then a line says its severity in a prefix, and the
/// journal knows the time by itself.
pub(crate) fn is_journal() -> bool {
    let Some(stream) = env::var_os("JOURNAL_STREAM") else { return false };
    // Somebody may have sent the standard error elsewhere since the variable was set.
    rustix::fs::fstat(io::stderr())
        .is_ok_and(|stat| stream == *format!("{}:{}", stat.st_dev, stat.st_ino))
}

/// Tells the service manager how far this process is. What cannot be told is told to nobody.
///
/// The variable stays in the environment, and shims inherit it: they tell nothing, their workloads get an environment of
/// their own, and the service manager listens to the main process alone.
#[derive(Debug)]
pub(crate) struct Notify(Option<(UnixDatagram, SocketAddr)>);

impl Notify {
    /// To whoever started this process, if they want to be told.
    pub(crate) fn new() -> Self {
        let address = env::var_os("NOTIFY_SOCKET").and_then(|name| address(&name));
        Self(UnixDatagram::unbound().ok().zip(address))
    }

    /// Everything is as it should be.
    pub(crate) fn ready(&self) {
        self.say("READY=1");
    }

    /// How it stands, in words.
    pub(crate) fn status(&self, words: &str) {
        self.say(&format!("STATUS={words}"));
    }

    /// It is on its way out.
    pub(crate) fn stopping(&self) {
        self.say("STOPPING=1");
    }

    fn say(&self, words: &str) {
        if let Some((socket, address)) = &self.0 {
            let _ = socket.send_to_addr(words.as_bytes(), address);
        }
    }
}

/// A path, or after an `@` a name that is no path.
fn address(name: &OsStr) -> Option<SocketAddr> {
    match name.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name).ok(),
        [b'/', ..] => SocketAddr::from_pathname(OsString::from(name)).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_listens_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let listener = UnixDatagram::bind(&path).unwrap();
        let notify = Notify(UnixDatagram::unbound().ok().zip(address(path.as_os_str())));
        notify.ready();
        notify.status("at work");
        let mut bytes = [0; 64];
        let mut heard = || {
            let length = listener.recv(&mut bytes).unwrap();
            String::from_utf8(bytes[..length].to_vec()).unwrap()
        };
        assert_eq!((heard(), heard()), ("READY=1".to_owned(), "STATUS=at work".to_owned()));
        drop(listener);
        notify.stopping();
    }

    #[test]
    fn an_address_is_a_path_or_a_name() {
        for (name, is_one) in [("/run/x", true), ("@x", true), ("x", false), ("", false)] {
            assert_eq!(address(OsStr::new(name)).is_some(), is_one, "{name}");
        }
    }
}
