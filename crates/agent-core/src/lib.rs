//! Decides what the agent of one machine does.
