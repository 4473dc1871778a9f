//! What an agent tells the people who look after its machine, line by line.

use std::fmt;
use std::sync::Arc;

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something is wrong and stays so until somebody sees to it.
    Error,
    /// Something is wrong, and the agent goes on trying.
    Warning,
    /// What happens, as it should.
    Info,
}

/// Takes lines. Cheap to clone.
#[derive(Clone)]
pub struct Log(Arc<Taker>);

type Taker = dyn Fn(Severity, &str) + Send + Sync;

impl Log {
    /// Hands each line, without its end, to `take`, which must not block.
    pub fn new(take: impl Fn(Severity, &str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }

    /// Says nothing.
    #[must_use]
    pub fn silent() -> Self {
        Self::new(|_, _| {})
    }

    /// Tells a line.
    pub fn say(&self, severity: Severity, line: &str) {
        (self.0)(severity, line);
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Log")
    }
}
