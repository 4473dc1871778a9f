//! Who listens on a port: sockets by `/proc/net`, their owners by `/proc/PID/fd`.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serde::{Deserialize, Serialize};

/// Whether whoever connects to an address is answered by certain processes, and by nobody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answering {
    /// Nobody listens there.
    Nobody,
    /// Only those processes do.
    Them,
    /// Others do, or it cannot be seen who does.
    Others,
}

/// Who would answer a connection to `address`. Every socket that could must be theirs: two that share a port take turns.
#[must_use]
pub fn answering(address: SocketAddr, pids: &[u32]) -> Answering {
    let listening = sockets(address);
    if listening.is_empty() {
        return Answering::Nobody;
    }
    let theirs: BTreeSet<u64> = pids.iter().flat_map(|pid| sockets_of(*pid)).collect();
    if listening.is_subset(&theirs) { Answering::Them } else { Answering::Others }
}

/// A process that listens somewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its number.
    pub pid: u32,
    /// What its program is called, cut to 15 bytes as the kernel does.
    pub program: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (process {})", self.program, self.pid)
    }
}

/// A process that listens where a connection to `address` arrives, if `/proc` tells. It does not tell a user of another
/// user's processes.
#[must_use]
pub fn holder(address: SocketAddr) -> Option<Holder> {
    let listening = sockets(address);
    if listening.is_empty() {
        return None;
    }
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let pid = numbers.find(|pid| !sockets_of(*pid).is_disjoint(&listening))?;
    let program = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(Holder { pid, program: program.trim_end().to_owned() })
}

/// The sockets that listen where a connection to `address` arrives.
fn sockets(address: SocketAddr) -> BTreeSet<u64> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    let tables = tables.into_iter().flatten();
    tables.flat_map(|table| listening(&table, address)).collect()
}

fn sockets_of(pid: u32) -> BTreeSet<u64> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return BTreeSet::new() };
    let targets = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    targets
        .filter_map(|target| {
            target.to_str()?.strip_prefix("socket:[")?.strip_suffix("]")?.parse().ok()
        })
        .collect()
}

fn listening(table: &str, address: SocketAddr) -> Vec<u64> {
    const LISTEN: &str = "0A";
    let row = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (local, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
        let is_asked = *state == LISTEN && answers(parse(local)?, address);
        is_asked.then(|| inode.parse().ok())?
    };
    table.lines().skip(1).filter_map(row).collect()
}

/// Whether a socket that listens on `local` answers a connection to `address`.
fn answers(local: SocketAddr, address: SocketAddr) -> bool {
    let plain = |ip: IpAddr| ip.to_canonical();
    // A socket on all IPv6 addresses takes IPv4 too, unless it says otherwise, which is not to be seen here.
    local.port() == address.port()
        && (local.ip().is_unspecified()
            || address.ip().is_unspecified()
            || plain(local.ip()) == plain(address.ip()))
}

/// An address as the kernel prints it: each 32-bit word in hex, as the machine's own byte order has it in memory.
fn parse(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| u32::from_str_radix(ip.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            let mut bytes = [0; 16];
            bytes.iter_mut().zip(words.as_flattened()).for_each(|(to, from)| *to = *from);
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn the_kernel_s_addresses_are_read() {
        for (text, address) in [
            ("0100007F:1F90", "127.0.0.1:8080"),
            ("00000000:0050", "0.0.0.0:80"),
            ("00000000000000000000000001000000:0050", "[::1]:80"),
            ("0000000000000000FFFF00000100007F:0050", "[::ffff:127.0.0.1]:80"),
        ] {
            assert_eq!(parse(text), Some(address.parse().unwrap()), "{text}");
        }
        for text in ["", ":", "0100007F", "0100007F:x", "01:50", "é100007F:0050"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn which_sockets_answer_for_an_address() {
        for (local, asked, expected) in [
            ("127.0.0.1:80", "127.0.0.1:80", true),
            ("127.0.0.1:80", "127.0.0.1:81", false),
            ("127.0.0.1:80", "127.0.0.2:80", false),
            ("0.0.0.0:80", "127.0.0.1:80", true),
            ("[::]:80", "127.0.0.1:80", true),
            ("[::ffff:127.0.0.1]:80", "127.0.0.1:80", true),
            ("10.0.0.1:80", "0.0.0.0:80", true),
        ] {
            let found = answers(local.parse().unwrap(), asked.parse().unwrap());
            assert_eq!(found, expected, "{local} for {asked}");
        }
    }

    #[test]
    fn a_listener_belongs_to_who_opened_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let me = std::process::id();
        assert_eq!(answering(address, &[me]), Answering::Them);
        assert_eq!(answering(address, &[]), Answering::Others);
        assert_eq!(holder(address).map(|holder| holder.pid), Some(me));
        drop(listener);
        assert_eq!(answering(address, &[me]), Answering::Nobody);
        assert_eq!(holder(address), None);
    }
}
