//! Port for messages, and the bus within one process.
