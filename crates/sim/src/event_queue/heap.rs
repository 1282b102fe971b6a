//! A four-ary heap of keys. Children come in whole groups of four. Absent ones come after all keys, so that finding the
//! least of four needs no branch.

use super::NO_KEY as VACANT;

/// Binary heap of keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Heap {
    /// The root and whole groups of children.
    places: Vec<u128>,
    /// Number of places in use: the first ones.
    count: usize,
}

impl Heap {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The smallest of the keys.
    pub(super) fn first(&self) -> Option<u128> {
        self.places.first().copied().filter(|key| *key != VACANT)
    }

    pub(super) fn push(&mut self, key: u128) {
        if self.count == self.places.len() {
            self.grow();
        }
        self.sift_up(self.count, key);
        self.count += 1;
    }

    /// Makes room for a root, or for one more group of children.
    #[cold]
    fn grow(&mut self) {
        let more = if self.places.is_empty() { 1 } else { 4 };
        self.places.resize(self.places.len() + more, VACANT);
    }

    /// Removes the least key.
    pub(super) fn drop_first(&mut self) {
        let Some(last) = self.count.checked_sub(1) else { return };
        self.count = last;
        let key = std::mem::replace(&mut self.places[last], VACANT);
        if last > 0 {
            self.sift_down(key);
        }
    }

    /// Puts `key` at the place `at`, or above it.
    fn sift_up(&mut self, mut at: usize, key: u128) {
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.places[parent] <= key {
                break;
            }
            self.places[at] = self.places[parent];
            at = parent;
        }
        self.places[at] = key;
    }

    /// Puts `key` in the place of the first, or below it.
    fn sift_down(&mut self, key: u128) {
        let mut at = 0;
        while let Some(&[a, b, c, d]) = self.places.get(4 * at + 1..).and_then(<[u128]>::first_chunk) {
            let (ab, least_ab) = if b < a { (1, b) } else { (0, a) };
            let (cd, least_cd) = if d < c { (3, d) } else { (2, c) };
            let (least, child) = if least_cd < least_ab { (cd, least_cd) } else { (ab, least_ab) };
            if child >= key {
                break;
            }
            self.places[at] = child;
            at = 4 * at + 1 + least;
        }
        self.places[at] = key;
    }
}
