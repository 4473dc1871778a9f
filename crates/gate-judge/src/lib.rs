//! Judges a release on a machine by evidence: facts to health to verdict.
