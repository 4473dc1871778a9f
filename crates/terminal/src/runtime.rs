//! The threads that a command runs on.

use tokio::runtime::Builder;

use crate::failure::Failure;

/// Runs a command to its end. What still runs in the background then was waited for already, as long as it is worth it.
///
/// # Errors
/// What the command fails with, and when there are no threads to be had.
pub fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::because("the program cannot start its threads", &error))?;
    let outcome = runtime.block_on(work);
    runtime.shutdown_background();
    outcome
}
