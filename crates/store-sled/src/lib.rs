//! The store on disk, with sled.
