//! What stands on a machine whose engine is away: read from the folders of the shims, and nothing is touched.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

use names::{ExecutionId, InstanceName, ModuleName, ResourceName};

use crate::entry::{self, Identity, Who};
use crate::proc;

/// A workload that an engine started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Whose process it is.
    pub module: ModuleName,
    /// On which instance.
    pub instance: InstanceName,
    /// Which of its resources.
    pub resource: ResourceName,
    /// The execution that it belongs to.
    pub execution: ExecutionId,
    /// Where it was told to listen.
    pub address: SocketAddr,
    /// How it stands.
    pub life: Life,
}

/// How a workload stands whose engine is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It runs, and its shim looks after it.
    Held {
        /// The workload's number.
        pid: u32,
    },
    /// It runs, and its shim is gone: the next engine ends it, and starts it again.
    Alone {
        /// The workload's number.
        pid: u32,
    },
    /// It has ended, and no engine has heard of that yet.
    Over,
}

/// Every workload that an engine of this host's folder started in this boot, and whose end no engine has heard.
///
/// # Errors
/// When the folder cannot be read, or the kernel does not say which boot this is. What cannot be read of one workload leaves
/// that one out.
pub fn standing(root: &Path) -> io::Result<Vec<Standing>> {
    let boot = proc::boot()?;
    let mut found = Vec::new();
    for entry in fs::read_dir(entry::all(root))? {
        let folder = entry?.path();
        let identity = Identity::read(&folder).filter(|identity| identity.boot == boot);
        let Some((identity, (keepsake, _))) = identity.zip(entry::kept(&folder)) else { continue };
        let entry::Keepsake { module, instance, resource, execution, address, words: _ } = keepsake;
        let life = life(&identity);
        found.push(Standing { module, instance, resource, execution, address, life });
    }
    let place = |one: &Standing| (one.module.clone(), one.instance.clone(), one.resource.clone());
    found.sort_by_key(place);
    Ok(found)
}

fn life(identity: &Identity) -> Life {
    match identity.workload {
        Some(workload @ Who { pid, .. }) if workload.is_alive() => {
            if identity.shim.is_alive() {
                Life::Held { pid }
            } else {
                Life::Alone { pid }
            }
        }
        Some(_) | None => Life::Over,
    }
}
