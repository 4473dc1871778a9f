//! Gathers events, runs the agent's core, carries out its actions.
