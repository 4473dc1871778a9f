//! Gathers facts, runs the controller's core, carries out its decisions.
