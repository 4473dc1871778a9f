//! One rule about addresses: `10.0.0.0/8:8000-8999`, `[::1]:443`, `*:80`, `127.0.0.1`.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::str::FromStr;

use thiserror::Error;

/// Addresses and ports that may be listened on. Its text form is `ADDRESSES:PORTS`, where addresses are `*`, an address or a
/// network, those of version 6 in brackets, and ports are `*`, a number or a range. Without ports it covers all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    /// Which addresses.
    pub addresses: Addresses,
    /// Which ports.
    pub ports: RangeInclusive<u16>,
}

/// Some addresses of this machine. The address of all interfaces (`0.0.0.0`, `::`) is covered only by what covers every
/// address of its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addresses {
    /// Every one.
    Any,
    /// Those of a network.
    Within(Network),
}

/// A network, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    base: IpAddr,
    prefix: u8,
}

/// Why a text is no rule about addresses.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ListenFault {
    /// Its addresses are none.
    #[error(
        "`{0}` is neither `*` nor an address nor a network; `127.0.0.1`, `10.0.0.0/8` and `[fd00::/8]` are some"
    )]
    Addresses(String),
    /// Its ports are none.
    #[error(
        "`{0}` is neither `*` nor a port nor a range of ports; `8080` and `8000-8999` are some"
    )]
    Ports(String),
}

impl Listen {
    /// Whether it covers an address.
    #[must_use]
    pub fn covers(&self, address: SocketAddr) -> bool {
        let is_within = match self.addresses {
            Addresses::Any => true,
            Addresses::Within(network) => network.contains(address.ip()),
        };
        is_within && self.ports.contains(&address.port())
    }
}

impl Network {
    /// The network of an address and the number of leading bits that it shares with all others; `None` for more bits than the
    /// address has.
    #[must_use]
    pub fn new(base: IpAddr, prefix: u8) -> Option<Self> {
        (prefix <= bits(base)).then_some(Self { base, prefix })
    }

    /// One address.
    #[must_use]
    pub fn of_one(base: IpAddr) -> Self {
        Self { base, prefix: bits(base) }
    }

    /// Whether an address is in it. One of version 4 that is written as one of version 6 is the same address.
    #[must_use]
    pub fn contains(self, address: IpAddr) -> bool {
        // A shift by all bits there are leaves nothing to compare.
        match (self.base, address.to_canonical()) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                let differs = base.to_bits() ^ address.to_bits();
                differs.checked_shr(32 - u32::from(self.prefix)).unwrap_or(0) == 0
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                let differs = base.to_bits() ^ address.to_bits();
                differs.checked_shr(128 - u32::from(self.prefix)).unwrap_or(0) == 0
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

fn bits(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

impl FromStr for Listen {
    type Err = ListenFault;

    fn from_str(text: &str) -> Result<Self, ListenFault> {
        // Colons are in addresses of version 6 too, which is why those stand in brackets.
        let (addresses, ports) = match text.rsplit_once(':') {
            Some((addresses, ports)) if !ports.contains(']') => (addresses, ports),
            Some(_) | None => (text, "*"),
        };
        Ok(Self { addresses: parse_addresses(addresses)?, ports: parse_ports(ports)? })
    }
}

fn parse_addresses(text: &str) -> Result<Addresses, ListenFault> {
    if text == "*" {
        return Ok(Addresses::Any);
    }
    let within = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let network = parse_network(within.unwrap_or(text));
    let network = network.filter(|network| network.base.is_ipv6() == within.is_some());
    network.map(Addresses::Within).ok_or_else(|| ListenFault::Addresses(text.to_owned()))
}

fn parse_network(text: &str) -> Option<Network> {
    match text.split_once('/') {
        None => Some(Network::of_one(text.parse().ok()?)),
        Some((base, prefix)) => Network::new(base.parse().ok()?, prefix.parse().ok()?),
    }
}

fn parse_ports(text: &str) -> Result<RangeInclusive<u16>, ListenFault> {
    if text == "*" {
        return Ok(0..=u16::MAX);
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let parsed = || Some(first.parse().ok()?..=last.parse().ok()?);
    let ports = parsed().filter(|ports| !ports.is_empty());
    ports.ok_or_else(|| ListenFault::Ports(text.to_owned()))
}

impl fmt::Display for Listen {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.addresses {
            Addresses::Any => out.write_str("*")?,
            Addresses::Within(Network { base: base @ IpAddr::V4(_), prefix }) => {
                write!(out, "{base}/{prefix}")?;
            }
            Addresses::Within(Network { base: base @ IpAddr::V6(_), prefix }) => {
                write!(out, "[{base}/{prefix}]")?;
            }
        }
        write!(out, ":{}-{}", self.ports.start(), self.ports.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_rule_covers() {
        for (rule, covered, not_covered) in [
            ("*", "0.0.0.0:1", None),
            ("*:80", "[::]:80", Some("[::]:81")),
            ("*:8000-8010", "1.2.3.4:8010", Some("1.2.3.4:8011")),
            ("127.0.0.1", "127.0.0.1:65535", Some("127.0.0.2:80")),
            ("127.0.0.1:*", "127.0.0.1:1", Some("0.0.0.0:1")),
            ("10.0.0.0/8:80", "10.255.0.1:80", Some("11.0.0.1:80")),
            ("10.1.2.3/8:80", "10.255.0.1:80", Some("11.0.0.1:80")),
            ("10.0.0.0/31", "10.0.0.1:80", Some("10.0.0.2:80")),
            ("0.0.0.0/0", "0.0.0.0:80", Some("[::1]:80")),
            ("0.0.0.0", "0.0.0.0:80", Some("1.2.3.4:80")),
            ("10.0.0.1", "[::ffff:10.0.0.1]:80", Some("[::10.0.0.1]:80")),
            ("[::1]:443", "[::1]:443", Some("127.0.0.1:443")),
            ("[fd00::/8]", "[fdff::1]:1", Some("[fe00::1]:1")),
            ("[::/0]:1-2", "[::]:2", Some("[::]:3")),
        ] {
            let parsed: Listen = rule.parse().unwrap();
            assert!(parsed.covers(covered.parse().unwrap()), "{rule} covers {covered}");
            if let Some(other) = not_covered {
                assert!(!parsed.covers(other.parse().unwrap()), "{rule} does not cover {other}");
            }
            assert_eq!(parsed.to_string().parse(), Ok(parsed), "{rule}");
        }
    }

    #[test]
    fn what_is_no_rule_is_refused_with_the_part_that_is_wrong() {
        for (rule, part) in [
            ("", "``"),
            (":80", "``"),
            ("localhost:80", "`localhost`"),
            ("10.0.0.0/33:80", "`10.0.0.0/33`"),
            ("[::1/129]", "`[::1/129]`"),
            ("[127.0.0.1]:80", "`[127.0.0.1]`"),
            ("::1:80", "`::1`"),
            ("[::1:80", "`[::1`"),
            ("1.2.3.4:", "``"),
            ("1.2.3.4:x", "`x`"),
            ("1.2.3.4:65536", "`65536`"),
            ("1.2.3.4:9-8", "`9-8`"),
            ("1.2.3.4:1-2-3", "`1-2-3`"),
        ] {
            let fault = rule.parse::<Listen>().unwrap_err().to_string();
            assert!(fault.starts_with(part), "{rule}: {fault}");
        }
    }
}
