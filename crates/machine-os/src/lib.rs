//! The real machine: child processes, checks, artifacts, clock.
