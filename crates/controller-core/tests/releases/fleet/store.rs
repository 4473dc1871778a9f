//! What outlives the controller's process in these tests.

use std::collections::BTreeMap;

use controller_core::{Record, Records, Write};

/// Documents as bytes, as on a disk: what cannot be encoded and read back shows here.
#[derive(Debug, Clone, Default)]
pub(crate) struct Disk(BTreeMap<String, Vec<u8>>);

impl Disk {
    pub(crate) fn write(&mut self, write: &Write) {
        match write {
            Write::Put(record) => {
                drop(self.0.insert(record.key().to_string(), record.encode().unwrap()));
            }
            Write::Delete(key) => {
                self.0.remove(&key.to_string());
            }
        }
    }

    pub(crate) fn read(&self) -> Records {
        Records::load(self.0.iter().map(|(key, bytes)| Record::decode(key, bytes).unwrap()))
    }
}
