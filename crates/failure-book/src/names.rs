//! Names: apps of accounts, builds of apps, hosts. None of them has a `/`.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use core::borrow::Borrow;
use core::fmt;

/// A name that no entry can carry, because it has a `/`.
///
/// Generations are kept under the account and the app, joined with a `/`. If names could have one,
/// the app `b/c` of the account `a` and the app `c` of the account `a/b` would share a generation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the name {name:?} has a `/`")]
pub struct BadName {
    /// The name as it was given.
    pub name: String,
}

fn checked(name: &str) -> Result<&str, BadName> {
    if name.contains('/') { Err(BadName { name: name.to_owned() }) } else { Ok(name) }
}

/// An app of an account: what has a generation. A module, in the words of a fleet.
///
/// Apps are ordered by their joined text, `account/app`, which is not the order of the pairs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct App {
    text: Arc<str>,
}

impl App {
    /// The app of this name in this account.
    ///
    /// # Errors
    ///
    /// [`BadName`] when either has a `/`.
    pub fn new(account: &str, app: &str) -> Result<Self, BadName> {
        Ok(Self { text: format!("{}/{}", checked(account)?, checked(app)?).into() })
    }

    /// The app of a joined text, `account/app`.
    ///
    /// # Errors
    ///
    /// [`BadName`] when there is not exactly one `/`.
    pub fn from_joined(text: &str) -> Result<Self, BadName> {
        match text.split_once('/') {
            Some((account, app)) => Self::new(account, app),
            None => Err(BadName { name: text.to_owned() }),
        }
    }

    /// The app of a joined text that was taken from a checked name.
    pub(crate) fn of_text(text: &str) -> Self {
        Self { text: text.into() }
    }

    /// Both names, joined with a `/`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl Borrow<str> for App {
    fn borrow(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "App({self})")
    }
}

/// A build of an app: what a failure record is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Build {
    /// `account/app/build`, in one piece, so that a look-up follows one pointer.
    text: Arc<str>,
    account_ends: usize,
    app_ends: usize,
}

impl Build {
    /// The build of this name, of an app in an account.
    ///
    /// # Errors
    ///
    /// [`BadName`] when one of them has a `/`.
    pub fn new(account: &str, app: &str, build: &str) -> Result<Self, BadName> {
        let text = format!("{}/{}/{}", checked(account)?, checked(app)?, checked(build)?);
        let account_ends = account.len();
        let app_ends = account_ends + 1 + app.len();
        Ok(Self { text: text.into(), account_ends, app_ends })
    }

    /// The account's name.
    #[must_use]
    pub fn account(&self) -> &str {
        &self.text[..self.account_ends]
    }

    /// The app's name, without its account.
    #[must_use]
    pub fn app_name(&self) -> &str {
        &self.text[self.account_ends + 1..self.app_ends]
    }

    /// The build's own name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.text[self.app_ends + 1..]
    }

    /// The app that it is a build of.
    #[must_use]
    pub fn app(&self) -> App {
        App::of_text(self.app_text())
    }

    /// Whether it is a build of this app.
    #[must_use]
    pub fn is_of(&self, app: &App) -> bool {
        self.app_text() == app.as_str()
    }

    /// The app's joined text, to look it up by.
    pub(crate) fn app_text(&self) -> &str {
        &self.text[..self.app_ends]
    }
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Build({self})")
    }
}

/// A host: one instance, in the words of a fleet. Hosts are ordered by the bytes of their names.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host(Arc<str>);

impl Host {
    /// The host of this name.
    ///
    /// # Errors
    ///
    /// [`BadName`] when it has a `/`.
    pub fn new(name: &str) -> Result<Self, BadName> {
        Ok(Self(checked(name)?.into()))
    }

    /// Its name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Host({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_build_gives_its_parts_back() {
        for (account, app, name) in [("ac", "web", "b1"), ("", "", ""), ("ä", "ö-", "7ß")] {
            let build = Build::new(account, app, name).unwrap();
            assert_eq!((build.account(), build.app_name(), build.name()), (account, app, name));
            assert_eq!(build.app(), App::new(account, app).unwrap());
            assert!(build.is_of(&build.app()));
        }
    }

    #[test]
    fn a_slash_is_refused_with_the_name() {
        for refused in [
            Build::new("a/c", "web", "b1").err(),
            Build::new("ac", "a/c", "b1").err(),
            Build::new("ac", "web", "a/c").err(),
            App::new("a/c", "web").err(),
            App::from_joined("a/c/web").err().map(|_| BadName { name: "a/c".to_owned() }),
            Host::new("a/c").err(),
        ] {
            assert_eq!(refused.unwrap().to_string(), r#"the name "a/c" has a `/`"#);
        }
        assert_eq!(App::from_joined("web").unwrap_err().name, "web");
    }

    #[test]
    fn names_are_shown_joined() {
        let build = Build::new("ac", "web", "b1").unwrap();
        let host = Host::new("h1").unwrap();
        assert_eq!(format!("{build} {build:?}"), "ac/web/b1 Build(ac/web/b1)");
        assert_eq!(format!("{app} {app:?}", app = build.app()), "ac/web App(ac/web)");
        assert_eq!(format!("{host} {host:?}"), "h1 Host(h1)");
    }

    #[test]
    fn apps_are_ordered_by_their_joined_text() {
        let key = |account| App::new(account, "web").unwrap();
        assert!(key("ac-2") < key("ac"), "`-` comes before `/`");
    }
}
