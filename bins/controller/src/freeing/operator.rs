//! The operator's key: which file it is in, and that it is an operator's.

use std::path::{Path, PathBuf};

use keys::{SecretKey, load};
use wire::signed::{Role, Signer};

use crate::{
    failure::{Failure, FailureKind},
    folder::Folder,
    keyring::refused,
};

/// Reads the key from the file that was named, or else that of a fleet that is tried out.
pub(super) fn operator(named: Option<&Path>, folder: &Folder) -> Result<SecretKey, Failure> {
    let named = named.filter(|path| !path.as_os_str().is_empty()).map(Path::to_owned);
    let path = named.or_else(|| of_fleet(folder)).ok_or_else(none)?;
    let key = load(&path).map_err(refused)?;
    let role = key.public_key().role();
    if role == Role::Operator {
        return Ok(key);
    }
    let what =
        format!("{} has a key of {}, and an operator's is wanted", path.display(), role.somebody());
    Err(Failure::new(FailureKind::Usage, what)
        .hint("its public half begins with O: controller keys show FILE"))
}

/// `controller dev` makes one with its fleet.
fn of_fleet(folder: &Folder) -> Option<PathBuf> {
    let path = folder.keys().join("operator.seed");
    path.exists().then_some(path)
}

fn none() -> Failure {
    Failure::new(FailureKind::Usage, "only an operator's signature frees it, and no key was named")
        .hint("name the file of yours: --key FILE, or the variable BELLWETHER_OPERATOR_KEY")
        .hint("where there is none yet: controller keys new operator --out FILE; each machine lists its public half in agent.toml, under [trust]")
}
