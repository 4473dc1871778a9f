//! What must stand in the store after the writer's commits, and what does.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use store::{Key, Prefix, Store};
use store_sled::{Options, SledStore};

use crate::script;

/// What stands in the store.
pub(crate) type Contents = BTreeMap<Key, Vec<u8>>;

/// Makes of the contents before commit `number` those after it.
pub(crate) fn apply(
    contents: &mut Contents,
    number: u64,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    for (key, change) in script::changes(number)? {
        match change {
            Some(bytes) => contents.insert(key, bytes),
            None => contents.remove(&key),
        };
    }
    Ok(())
}

/// Opens the store, reads everything, and closes it.
pub(crate) async fn read(folder: &Path) -> Result<Contents, Box<dyn Error + Send + Sync>> {
    let store = SledStore::open(Options::new(folder)).await?.store;
    let documents = store.scan(&Prefix::all()).await?;
    store.close().await;
    Ok(documents.into_iter().map(|(key, document)| (key, document.bytes)).collect())
}
