//! What the owner of a machine allows on it, whoever declares: users, programs, addresses to listen on.

mod listen;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

pub use listen::{Addresses, Listen, ListenFault, Network};

/// The bounds of one machine. What runs already when an agent begins is left alone, whatever they say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// Whom workloads may run as (`users`). The agent's own user is always allowed, unless it is root.
    pub users: Users,
    /// The user of a resource that names none (`default_user`).
    pub default_user: Option<String>,
    /// The folders that a program may lie in (`programs`). Those of its own build are always allowed.
    pub programs: Allowed<PathBuf>,
    /// The addresses that a resource may ask for (`listen`). A free port of loopback, for one that asks for none, is always
    /// allowed.
    pub listen: Allowed<Listen>,
    /// The file in which the owner said so. Whoever is refused is told to look there.
    pub said_in: PathBuf,
}

/// Whom workloads may run as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Users {
    /// Anybody, root too.
    All,
    /// Anybody but root: what holds as long as an owner says nothing.
    AllButRoot,
    /// These; root only when it is one of them.
    Only(BTreeSet<String>),
}

/// What is allowed of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allowed<T> {
    /// Everything.
    All,
    /// What one of these covers.
    Only(Vec<T>),
}

/// What is not allowed, and why, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Forbidden {
    pub(crate) what: String,
    pub(crate) why: String,
}

/// A user, by name and number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Named<'a> {
    pub(crate) name: &'a str,
    pub(crate) uid: u32,
}

const ROOT: u32 = 0;

impl Bounds {
    /// Everything is allowed: for a machine whose owner is whoever declares.
    #[must_use]
    pub fn open() -> Self {
        Self {
            users: Users::All,
            default_user: None,
            programs: Allowed::All,
            listen: Allowed::All,
            said_in: PathBuf::new(),
        }
    }

    /// Whom a resource runs as that asks for this user or for none. `None`: the agent's own.
    pub(crate) fn user<'a>(&'a self, asked: Option<&'a str>) -> Option<&'a str> {
        asked.or(self.default_user.as_deref())
    }

    /// Whether a workload may run as `named`, or unnamed as the user of the agent, whose number is given.
    pub(crate) fn check_user(&self, named: Option<Named<'_>>, agent: u32) -> Result<(), Forbidden> {
        let Named { name, uid } = named.unwrap_or(Named { name: "root", uid: agent });
        let is_allowed = match &self.users {
            Users::All => true,
            Users::AllButRoot => uid != ROOT,
            Users::Only(names) => names.contains(name) || (uid == agent && uid != ROOT),
        };
        if is_allowed {
            return Ok(());
        }
        let file = self.said_in.display();
        let why = match named {
            None => format!(
                "the agent runs as root, and neither the manifest nor `default_user` in {file} names a user; name one, or \
                 let the machine's owner name root in `users` there"
            ),
            Some(_) => format!(
                "`users` in {file} does not name it; name another user in the manifest, or let the machine's owner name \
                 it there"
            ),
        };
        Err(Forbidden { what: format!("running as `{name}`"), why })
    }

    /// Whether a program may be started that lies in `folder`, by a resource whose build lies in `own`. Both are real paths;
    /// `real` makes one of a path that the owner wrote.
    pub(crate) fn check_program(
        &self,
        program: &str,
        folder: &Path,
        own: &Path,
        real: impl Fn(&Path) -> PathBuf,
    ) -> Result<(), Forbidden> {
        let covers = |allowed: &PathBuf| folder.starts_with(real(allowed));
        let is_allowed = match &self.programs {
            Allowed::All => true,
            Allowed::Only(folders) => folder.starts_with(own) || folders.iter().any(covers),
        };
        if is_allowed {
            return Ok(());
        }
        let why = format!(
            "it lies in {}, and no folder of `programs` in {} holds it; use a program of the build's own, or let the \
             machine's owner add the folder there",
            folder.display(),
            self.said_in.display()
        );
        Err(Forbidden { what: format!("the program `{program}`"), why })
    }

    /// Whether a resource may listen on an address.
    pub(crate) fn check_listen(&self, address: SocketAddr) -> Result<(), Forbidden> {
        let is_allowed = match &self.listen {
            Allowed::All => true,
            Allowed::Only(rules) => rules.iter().any(|rule| rule.covers(address)),
        };
        if is_allowed {
            return Ok(());
        }
        let why = format!(
            "`listen` in {} does not cover it; declare another address, or let the machine's owner add it there",
            self.said_in.display()
        );
        Err(Forbidden { what: format!("listening on {address}"), why })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds() -> Bounds {
        Bounds { said_in: "/etc/agent.toml".into(), ..Bounds::open() }
    }

    fn only(names: &[&str]) -> Users {
        Users::Only(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn who_may_be_whom() {
        const AGENT: u32 = 900;
        let root = Some(Named { name: "root", uid: 0 });
        let toor = Some(Named { name: "toor", uid: 0 });
        let blog = Some(Named { name: "blog", uid: 1001 });
        let own = Some(Named { name: "agent", uid: AGENT });
        for (users, named, agent, expected) in [
            (Users::All, root, 0, true),
            (Users::All, None, 0, true),
            (Users::AllButRoot, root, 0, false),
            (Users::AllButRoot, toor, 0, false),
            (Users::AllButRoot, None, 0, false),
            (Users::AllButRoot, blog, 0, true),
            (Users::AllButRoot, None, AGENT, true),
            (only(&["blog"]), blog, 0, true),
            (only(&["blog"]), root, 0, false),
            (only(&["blog"]), toor, 0, false),
            (only(&["blog"]), None, 0, false),
            (only(&["root"]), root, 0, true),
            (only(&["root"]), None, 0, true),
            (only(&["root"]), toor, 0, false),
            (only(&["root"]), blog, 0, false),
            (only(&[]), blog, 0, false),
            (only(&[]), None, AGENT, true),
            (only(&[]), own, AGENT, true),
            (only(&[]), blog, AGENT, false),
        ] {
            let bounds = Bounds { users, ..bounds() };
            let found = bounds.check_user(named, agent);
            assert_eq!(found.is_ok(), expected, "{named:?} by {agent}, {:?}", bounds.users);
        }
    }

    #[test]
    fn a_resource_that_names_no_user_gets_the_owners_default() {
        assert_eq!(bounds().user(None), None);
        let bounds = Bounds { default_user: Some("web".to_owned()), ..bounds() };
        assert_eq!((bounds.user(None), bounds.user(Some("blog"))), (Some("web"), Some("blog")));
    }

    #[test]
    fn which_programs_may_be_started() {
        let linked = |path: &Path| match path.strip_prefix("/bin") {
            Ok(rest) => Path::new("/usr/bin").join(rest),
            Err(_) => path.to_owned(),
        };
        let own = Path::new("/root/builds/blog/A");
        for (allowed, folder, expected) in [
            (&[][..], "/root/builds/blog/A", true),
            (&[], "/root/builds/blog/A/bin", true),
            (&[], "/root/builds/blog/AB", false),
            (&[], "/usr/bin", false),
            (&["/usr/bin"], "/usr/bin", true),
            (&["/bin"], "/usr/bin", true),
            (&["/usr/bin"], "/usr/binary", false),
            (&["/opt", "/usr"], "/usr/local/bin", true),
            (&["/opt"], "/usr/bin", false),
        ] {
            let folders = allowed.iter().map(PathBuf::from).collect();
            let bounds = Bounds { programs: Allowed::Only(folders), ..bounds() };
            let found = bounds.check_program("x", Path::new(folder), own, linked);
            assert_eq!(found.is_ok(), expected, "{folder} within {allowed:?}");
        }
        assert_eq!(bounds().check_program("x", Path::new("/tmp"), own, linked), Ok(()));
    }

    #[test]
    fn where_may_be_listened() {
        let rules = ["10.0.0.0/8:8000-8999", "[::1]"].map(|rule| rule.parse().unwrap());
        let listen = Bounds { listen: Allowed::Only(rules.into()), ..bounds() };
        for (address, expected) in [
            ("10.1.2.3:8080", true),
            ("10.1.2.3:80", false),
            ("11.1.2.3:8080", false),
            ("0.0.0.0:8080", false),
            ("[::1]:80", true),
        ] {
            let found = listen.check_listen(address.parse().unwrap());
            assert_eq!(found.is_ok(), expected, "{address}");
        }
        assert_eq!(bounds().check_listen("0.0.0.0:80".parse().unwrap()), Ok(()));
    }

    #[test]
    fn what_is_forbidden_names_the_key_and_the_file() {
        let nothing = Bounds {
            users: only(&[]),
            programs: Allowed::Only(Vec::new()),
            listen: Allowed::Only(Vec::new()),
            ..bounds()
        };
        let root = Named { name: "root", uid: 0 };
        let folder = Path::new("/usr/bin");
        let forbidden = [
            ("`users`", nothing.check_user(Some(root), 0)),
            ("`default_user`", nothing.check_user(None, 0)),
            ("`programs`", nothing.check_program("sh", folder, Path::new("/b"), Path::to_owned)),
            ("`listen`", nothing.check_listen("0.0.0.0:80".parse().unwrap())),
        ];
        for (key, found) in forbidden {
            let why = found.unwrap_err().why;
            assert!(why.contains(key) && why.contains("/etc/agent.toml"), "{why}");
        }
    }
}
