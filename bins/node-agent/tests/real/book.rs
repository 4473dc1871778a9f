//! The commands about a machine's failure book.

mod documents;
mod faults;
mod freeing;
mod kept;
mod killed;
mod looking;
