//! Names, each with a place in the order of first appearance.

use alloc::vec::Vec;
use hashbrown::HashMap;

/// Gives each name a place.
///
/// Facts come in runs: the same machine again, or the modules of one machine in the order of those
/// of the last. So the last place and the one after it are tried before anything is hashed.
#[derive(Debug, Default)]
pub(crate) struct Places<'a> {
    names: Vec<&'a str>,
    known: HashMap<&'a str, usize>,
    last: usize,
}

impl<'a> Places<'a> {
    /// The place of a name, which it gets here if it has none.
    pub(crate) fn put(&mut self, name: &'a str) -> usize {
        let nearby = self.names.iter().skip(self.last).take(2).position(|known| *known == name);
        match nearby {
            Some(steps) => self.last += steps,
            None => {
                self.last = *self.known.entry(name).or_insert_with(|| {
                    self.names.push(name);
                    self.names.len() - 1
                });
            }
        }
        self.last
    }

    /// The place of a name, if it has one.
    pub(crate) fn get(&self, name: &str) -> Option<usize> {
        self.known.get(name).copied()
    }

    /// All names, by their places.
    pub(crate) fn names(&self) -> &[&'a str] {
        &self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_the_place_of_its_first_appearance() {
        let mut places = Places::default();
        let put = ["a", "b", "a", "b", "b", "c", "a", "c", "", "c"].map(|name| places.put(name));
        assert_eq!(put, [0, 1, 0, 1, 1, 2, 0, 2, 3, 2]);
        assert_eq!(places.names(), ["a", "b", "c", ""]);
        assert_eq!((places.get("c"), places.get("d")), (Some(2), None));
    }
}
