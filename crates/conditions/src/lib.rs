//! What is wrong now: observations to conditions, raised and cleared.
