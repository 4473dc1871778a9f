//! Port for what one machine can do: processes, checks, artifacts, clock.
