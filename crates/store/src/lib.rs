//! Port for durable documents, and the store in memory.
