//! What people ask the controller, and its answers.
