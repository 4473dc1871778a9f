//! Names and ids of Bellwether's nouns, and what makes each of them valid.
