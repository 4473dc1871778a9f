//! The keys of a fleet that is tried out: an operator's and its controller's, made with it and kept with it.

use std::{
    fs::{self, DirBuilder},
    io::ErrorKind,
    os::unix::fs::DirBuilderExt,
    path::Path,
};

use keys::{KeyFileError, SecretKey, create, load};
use wire::signed::{PublicKey, Role, Signer};

use super::ending::remove;
use crate::{
    failure::{Failure, chain},
    folder::Folder,
    keyring::refused,
};

/// Whom the machines of the fleet trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FleetKeys {
    pub(super) operator: PublicKey,
    pub(super) controller: PublicKey,
}

impl FleetKeys {
    /// Reads them, or makes what is not there. One that is damaged is set aside and replaced: of this fleet nobody else's machine
    /// knows it.
    pub(super) fn make(folder: &Folder, notes: &mut Vec<String>) -> Result<Self, Failure> {
        let keys = folder.keys();
        DirBuilder::new().recursive(true).mode(0o700).create(&keys).map_err(|error| {
            Failure::because(format!("no folder for keys at {}", keys.display()), &error)
        })?;
        let mut key = |role: Role| one(&keys.join(format!("{role}.seed")), role, notes);
        Ok(Self { operator: key(Role::Operator)?, controller: key(Role::Controller)? })
    }
}

fn one(path: &Path, role: Role, notes: &mut Vec<String>) -> Result<PublicKey, Failure> {
    match load(path) {
        Ok(key) if key.public_key().role() == role => return Ok(key.public_key().clone()),
        Err(KeyFileError::Read { source, .. }) if source.kind() == ErrorKind::NotFound => {}
        Ok(_) | Err(KeyFileError::Bad { .. } | KeyFileError::NoFile { .. }) => {
            let damaged = path.with_extension("damaged");
            remove(&damaged).and_then(|()| fs::rename(path, &damaged)).map_err(|error| {
                Failure::because(format!("{} cannot be set aside", path.display()), &error)
            })?;
            let (path, damaged) = (path.display(), damaged.display());
            notes.push(format!(
                "{path} was damaged; it was set aside as {damaged}, and there is a new key"
            ));
        }
        Err(error) => return Err(refused(error)),
    }
    let key = SecretKey::draw(role).map_err(|error| Failure::failed(chain(&error)))?;
    create(path, &key).map_err(refused)?;
    Ok(key.public_key().clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_fleet_keeps_its_keys_and_replaces_a_damaged_one() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::create(dir.path()).unwrap();
        let made = || {
            let mut notes = Vec::new();
            FleetKeys::make(&folder, &mut notes).map(|keys| (keys, notes))
        };
        let (first, notes) = made().unwrap();
        assert_eq!(notes, Vec::<String>::new());
        assert_eq!(made(), Ok((first.clone(), Vec::new())));
        let path = folder.keys().join("operator.seed");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

        // The controller's in the operator's place is no operator's.
        let theirs = fs::read(folder.keys().join("controller.seed")).unwrap();
        for damage in [b"".as_slice(), &theirs] {
            fs::write(&path, damage).unwrap();
            let (again, notes) = made().unwrap();
            assert!(again.operator != first.operator && again.controller == first.controller);
            assert!(notes[0].contains("operator.seed was damaged"), "{notes:?}");
            assert_eq!(fs::read(folder.keys().join("operator.damaged")).unwrap(), damage);
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let refused = made().unwrap_err();
        assert!(refused.message.contains("others than its owner can read"), "{refused:?}");
    }
}
