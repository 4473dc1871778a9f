//! An instance's data folder: its own place on the disk, which outlives its builds.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use names::{InstanceName, ModuleName};

use crate::user::User;

/// Where the folder of an instance is.
pub(crate) fn folder(root: &Path, module: &ModuleName, instance: &InstanceName) -> PathBuf {
    root.join("data").join(module.as_str()).join(instance.as_str())
}

/// Makes the folder if it is not there, for its user alone. What is in it is not touched: where the user changed, it is
/// for a person to say what becomes of that.
pub(crate) fn make(folder: &Path, user: Option<User>) -> io::Result<()> {
    if let Some(module) = folder.parent() {
        // Whoever has a folder further down must be able to come to it.
        DirBuilder::new().recursive(true).mode(0o711).create(module)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    if let Some(User { uid, gid }) = user {
        chown(folder, Some(uid), Some(gid))?;
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn each_instance_has_a_folder_of_its_own_that_keeps_what_is_in_it() {
        let root = tempfile::tempdir().unwrap();
        let names = ["blog-1", "blog-2"].map(|name| InstanceName::new(name).unwrap());
        let module = ModuleName::new("blog").unwrap();
        let [one, two] = names.map(|name| folder(root.path(), &module, &name));
        assert_ne!(one, two);
        make(&one, None).unwrap();
        fs::write(one.join("posts"), "first").unwrap();
        make(&one, None).unwrap();
        make(&two, None).unwrap();
        assert_eq!(fs::read_to_string(one.join("posts")).unwrap(), "first");
        assert_eq!(fs::metadata(&one).unwrap().mode() & 0o777, 0o700);
        fs::write(root.path().join("in-the-way"), "").unwrap();
        assert!(make(&root.path().join("in-the-way/blog-1"), None).is_err());
    }
}
