//! What a store holds becomes a core again.

use controller_core::{Controller, Reading, Record, Records, Rules, Timeline, UnreadableRecord};
use inventory::Epoch;
use store::{Prefix, ReadError, Store};

/// Why a controller cannot go on from its store. The store is left as it is.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The store could not be read.
    #[error("the store could not be read")]
    Read(#[from] ReadError),
    /// A document could not be read.
    #[error(transparent)]
    Record(#[from] UnreadableRecord),
}

/// Reads everything. Half of what a controller knows would be worse than nothing, so one unreadable document is an error.
pub async fn restore<S: Store>(
    store: &S,
    rules: Rules,
    epoch: Epoch,
    reading: &Reading,
) -> Result<(Controller, Timeline), RestoreError> {
    let records = read(store).await?;
    let (timeline, gap) = Timeline::begin(records.clock.as_ref(), reading);
    let now = timeline.now(reading);
    Ok((Controller::restore(rules, epoch, records, now, gap), timeline))
}

/// Everything that a store holds.
pub(crate) async fn read<S: Store>(store: &S) -> Result<Records, RestoreError> {
    let mut records = Vec::new();
    for (key, document) in store.scan(&Prefix::all()).await? {
        records.push(Record::decode(key.as_str(), &document.bytes)?);
    }
    Ok(Records::load(records))
}
