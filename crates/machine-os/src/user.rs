//! The user that a workload runs as.

use std::fs;

/// Why nobody can be this user here.
pub(crate) const NOT_ROOT: &str =
    "only an agent that runs as root can start a process of another user";

/// A user and its group, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// The user of this name.
pub(crate) fn find(name: &str) -> Result<User, String> {
    let table = fs::read_to_string("/etc/passwd")
        .map_err(|error| format!("/etc/passwd cannot be read: {error}"))?;
    look(name, &table).ok_or_else(|| "there is no such user in /etc/passwd".to_owned())
}

/// Whether the agent can start something as this user. `Ok(None)`: it is its own already.
pub(crate) fn become_it(user: User) -> Result<Option<User>, String> {
    let me = rustix::process::geteuid();
    if me.as_raw() == user.uid {
        return Ok(None);
    }
    if me.is_root() { Ok(Some(user)) } else { Err(NOT_ROOT.to_owned()) }
}

fn look(name: &str, table: &str) -> Option<User> {
    table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [first, _, uid, gid, ..] = fields[..] else { return None };
        let user = User { uid: uid.parse().ok()?, gid: gid.parse().ok()? };
        (first == name).then_some(user)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_its_whole_name() {
        let table =
            "root:x:0:0:root:/root:/bin/sh\nblog:x:1001:1002::/:/bin/false\nbroken\nx:y:z:\n";
        assert_eq!(look("blog", table), Some(User { uid: 1001, gid: 1002 }));
        for name in ["blo", "", "broken", "x"] {
            assert_eq!(look(name, table), None, "{name}");
        }
    }

    #[test]
    fn nobody_is_somebody_and_a_stranger_is_not() {
        assert!(find("no-such-user").is_err());
        let nobody = find("nobody").and_then(become_it);
        assert_eq!(nobody.is_ok(), rustix::process::geteuid().is_root());
    }
}
