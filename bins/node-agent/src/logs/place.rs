//! Which files an instance's programs write.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use names::{InstanceName, ModuleName, ResourceName};
use terminal::{
    failure::{Failure, FailureKind},
    words::list,
};

use crate::command_line::InstanceRef;

/// The folder of one instance's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    folder: PathBuf,
    name: String,
}

/// The output of one resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    /// The resource's name.
    pub(super) name: String,
    pub(super) path: PathBuf,
}

impl Place {
    /// The instance that is meant, among those that have written anything.
    pub(super) fn find(output: &Path, meant: &InstanceRef) -> Result<Self, Failure> {
        let unreadable = |error: io::Error| {
            Failure::because(format!("the output in {} cannot be read", output.display()), &error)
        };
        let all = instances(output).map_err(unreadable)?;
        let is_meant = |(module, instance): &&(ModuleName, InstanceName)| {
            *instance == meant.instance && meant.module.as_ref().is_none_or(|meant| meant == module)
        };
        let found: Vec<_> = all.iter().filter(is_meant).collect();
        let named = |all: &[&(ModuleName, InstanceName)]| {
            list(all.iter().map(|(module, instance)| format!("{module}/{instance}")))
        };
        match found[..] {
            [(module, instance)] => {
                let folder = output.join(module.as_str()).join(instance.as_str());
                Ok(Self { folder, name: format!("{module}/{instance}") })
            }
            [] => {
                let what = format!("no instance `{}` has written anything here", meant.instance);
                let all: Vec<_> = all.iter().collect();
                Err(Failure::failed(what).hint(format!("these have: {}", named(&all))))
            }
            _ => {
                let what = format!("`{}` can be any of {}", meant.instance, named(&found));
                Err(Failure::new(FailureKind::Usage, what).hint("name one of them"))
            }
        }
    }

    /// What its resources wrote, or one of them, by their names.
    pub(super) fn sources(&self, only: Option<&ResourceName>) -> Result<Vec<Source>, Failure> {
        let found = logs(&self.folder).map_err(|error| {
            Failure::because(format!("{} cannot be read", self.folder.display()), &error)
        })?;
        let is_wanted = |source: &Source| only.is_none_or(|only| only.as_str() == source.name);
        let wanted: Vec<_> = found.iter().filter(|source| is_wanted(source)).cloned().collect();
        if wanted.is_empty() {
            let what = match only {
                Some(only) => format!("resource `{only}` of {} has written nothing", self.name),
                None => format!("{} has written nothing", self.name),
            };
            let these = list(found.iter().map(|source| &source.name));
            return Err(Failure::failed(what).hint(format!("these have: {these}")));
        }
        Ok(wanted)
    }
}

fn instances(output: &Path) -> io::Result<Vec<(ModuleName, InstanceName)>> {
    let mut found = Vec::new();
    for module in names::<ModuleName>(output)? {
        for instance in names::<InstanceName>(&output.join(module.as_str()))? {
            found.push((module.clone(), instance));
        }
    }
    found.sort();
    Ok(found)
}

/// The folders in a folder whose names are names of this kind.
fn names<T: std::str::FromStr>(folder: &Path) -> io::Result<Vec<T>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if entry.file_type()?.is_dir() {
            found.extend(name);
        }
    }
    Ok(found)
}

fn logs(folder: &Path) -> io::Result<Vec<Source>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        // The older of two files is read with the newer, and can be all that is left.
        let newest = if path.extension().is_some_and(|end| end == "1") {
            path.with_extension("")
        } else {
            path
        };
        let name = newest.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        let is_log = newest.extension().is_some_and(|end| end == "log");
        if is_log && name.parse::<ResourceName>().is_ok() {
            let source = Source { name: name.to_owned(), path: newest };
            if !found.contains(&source) {
                found.push(source);
            }
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(paths: &[&str]) -> tempfile::TempDir {
        let output = tempfile::tempdir().unwrap();
        for path in paths {
            let path = output.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        output
    }

    #[test]
    fn an_instance_is_found_by_its_name_where_it_is_the_only_one() {
        let output = written(&["blog/one/web.log", "shop/one/web.log", "shop/two/web.log"]);
        let find = |text: &str| {
            let found = Place::find(output.path(), &text.parse().unwrap());
            found.map(|place| place.name).map_err(|failure| failure.message)
        };
        assert_eq!(find("two"), Ok("shop/two".to_owned()));
        assert_eq!(find("blog/one"), Ok("blog/one".to_owned()));
        assert_eq!(find("one"), Err("`one` can be any of blog/one, shop/one".to_owned()));
        assert!(find("blog/two").unwrap_err().contains("no instance `two`"));
    }

    #[test]
    fn the_sources_are_the_logs_and_nothing_else() {
        let output = written(&[
            "blog/one/web.log",
            "blog/one/web.log.1",
            "blog/one/job.log.1",
            "blog/one/notes.txt",
            "blog/one/Bad Name.log",
        ]);
        let place = Place::find(output.path(), &"one".parse().unwrap()).unwrap();
        let names = |only: Option<&str>| {
            let only = only.map(|only| only.parse().unwrap());
            let found = place.sources(only.as_ref()).map_err(|failure| failure.message);
            found.map(|found| list(found.iter().map(|source| &source.name)))
        };
        assert_eq!(names(None), Ok("job, web".to_owned()));
        assert_eq!(names(Some("web")), Ok("web".to_owned()));
        assert_eq!(
            names(Some("db")),
            Err("resource `db` of blog/one has written nothing".to_owned())
        );
    }
}
