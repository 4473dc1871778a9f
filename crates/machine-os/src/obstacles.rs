//! What can be seen to keep a process from starting, before anything is started.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use host::{ProcessSpec, StartError};
use route::listeners::{self, Answering};
use rustix::fs::{Access, access};
use rustix::process::{Resource, getrlimit};

use crate::bounds::{Bounds, Forbidden, Named};
use crate::engine::dial;
use crate::user::{self, User};

/// Looks at everything but whether the port is free, and says whom the workload runs as, if not as the agent. Its build lies
/// in `folder`; a program without a folder is looked for in `path`, unless its environment has one of its own.
pub(crate) fn look(
    spec: &ProcessSpec,
    folder: &Path,
    path: &str,
    bounds: &Bounds,
) -> Result<Option<User>, StartError> {
    let program = spec.command.first().map(String::as_str).unwrap_or_default();
    let path = spec.environment.get("PATH").map_or(path, String::as_str);
    let found = find_program(program, folder, path)
        .map_err(|why| StartError::Program { program: program.to_owned(), why })?;
    // A link in an allowed folder was put there by whoever that folder belongs to: where it leads is theirs to say.
    let lies_in = real(found.parent().unwrap_or(folder));
    bounds.check_program(program, &lies_in, &real(folder), real).map_err(forbidden)?;
    if let Some(address) = spec.listen.public() {
        bounds.check_listen(address).map_err(forbidden)?;
    }
    if let Some(files) = spec.limits.files {
        check_files(files).map_err(|why| StartError::Limit { what: "open files", why })?;
    }
    let agent = rustix::process::geteuid().as_raw();
    let Some(name) = bounds.user(spec.user.as_deref()) else {
        bounds.check_user(None, agent).map_err(forbidden)?;
        return Ok(None);
    };
    let refused = |why| StartError::User { user: name.to_owned(), why };
    let found = user::find(name).map_err(refused)?;
    bounds.check_user(Some(Named { name, uid: found.uid }), agent).map_err(forbidden)?;
    user::become_it(found).map_err(refused)
}

fn forbidden(Forbidden { what, why }: Forbidden) -> StartError {
    StartError::Forbidden { what, why }
}

/// The path without links and steps up, as far as it exists.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// A port of this machine's own that nobody listens on now.
pub(crate) fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

/// Whether an address can be listened on once the processes of these trees are gone.
pub(crate) fn check_port(address: SocketAddr, ours: &[u32]) -> Result<(), StartError> {
    let Err(error) = TcpListener::bind(address) else { return Ok(()) };
    let why = match (error.kind(), listeners::answering(dial(address), ours)) {
        (io::ErrorKind::AddrInUse, Answering::Them) => return Ok(()),
        (io::ErrorKind::AddrInUse, Answering::Others | Answering::Nobody) => {
            "another process listens there; stop it, or give the module another address".to_owned()
        }
        (_, Answering::Them | Answering::Others | Answering::Nobody) => error.to_string(),
    };
    Err(StartError::Port { address, why })
}

/// Where the program lies.
fn find_program(program: &str, folder: &Path, path: &str) -> Result<PathBuf, String> {
    if !folder.is_dir() {
        return Err("its build is not installed".to_owned());
    }
    if program.contains('/') {
        return executable(folder.join(program));
    }
    // The build's folder is where a workload is when its program is looked for.
    let places = path.split(':').map(|place| folder.join(place).join(program));
    places.map(executable).find_map(Result::ok).ok_or_else(|| {
        format!(
            "there is no such program in {path}; write `./{program}` for one of the build's own"
        )
    })
}

fn executable(program: PathBuf) -> Result<PathBuf, String> {
    if !program.is_file() {
        return Err("there is no such file".to_owned());
    }
    match access(&program, Access::EXEC_OK) {
        Ok(()) => Ok(program),
        Err(_) => Err("it is not executable".to_owned()),
    }
}

fn check_files(files: u64) -> Result<(), String> {
    let most = getrlimit(Resource::Nofile).maximum;
    match most {
        Some(most) if files > most && !rustix::process::geteuid().is_root() => {
            Err(format!("the agent itself may have at most {most}"))
        }
        Some(_) | None => Ok(()),
    }
}
