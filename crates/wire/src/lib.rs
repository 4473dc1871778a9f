//! Subjects and messages between controller, agents and people.
