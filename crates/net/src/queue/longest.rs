//! Which of many queues is the longest, in octets: asked for when room is short.
//!
//! A heap of lengths as they were when the queues last grew. A queue that has shrunk since is found out when it comes up,
//! and put back as long as it is. Until somebody asks, and after everything has left, nothing is kept.

use std::collections::BinaryHeap;

/// How many lengths are kept beyond four for each queue before those out of date are thrown out.
const SPARE: usize = 64;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Longest {
    /// Length, number of the growth (of equals the one that grew last is the longest), queue.
    lengths: BinaryHeap<(u64, u64, u32)>,
    growths: u64,
    is_asked: bool,
}

impl Longest {
    /// A queue has grown to this length.
    pub(super) fn on_growth(&mut self, key: u32, octets: u64) {
        self.growths += 1;
        if self.is_asked {
            self.lengths.push((octets, self.growths, key));
        }
    }

    /// Nothing waits any more.
    pub(super) fn on_empty(&mut self) {
        self.lengths.clear();
        self.is_asked = false;
    }

    /// The longest queue, of which the last packet is about to be taken; `length` knows how long each of `count` is now.
    pub(super) fn find(&mut self, count: usize, length: impl Fn(u32) -> u64) -> Option<u32> {
        if !self.is_asked || self.lengths.len() > 4 * count + SPARE {
            self.is_asked = true;
            let all = (0..count as u32).map(|key| (length(key), 0, key));
            self.lengths = all.filter(|(octets, _, _)| *octets > 0).collect();
        }
        while let Some((octets, growth, key)) = self.lengths.pop() {
            let now = length(key);
            if now == octets {
                return Some(key);
            }
            if now > 0 && now < octets {
                self.lengths.push((now, growth, key));
            }
        }
        None
    }

    /// The last packet of the longest queue has been taken: this much is left.
    pub(super) fn on_taken(&mut self, key: u32, octets: u64) {
        if octets > 0 {
            self.lengths.push((octets, 0, key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever grows, shrinks and gives way: the queue found is as long as the longest.
        #[test]
        fn it_is_the_longest(steps in proptest::collection::vec((0_u8..3, 0_usize..5, 1_u64..4), 1..600)) {
            let mut longest = Longest::default();
            let mut lengths = [0_u64; 5];
            for (step, queue, octets) in steps {
                match step {
                    0 => {
                        lengths[queue] += octets;
                        longest.on_growth(queue as u32, lengths[queue]);
                    }
                    1 => {
                        lengths[queue] -= octets.min(lengths[queue]);
                        if lengths == [0; 5] {
                            longest.on_empty();
                        }
                    }
                    _ => {
                        let found = longest.find(5, |key| lengths[key as usize]);
                        let most = lengths.iter().copied().max().filter(|most| *most > 0);
                        prop_assert_eq!(found.map(|key| lengths[key as usize]), most);
                        if let Some(key) = found {
                            lengths[key as usize] -= 1;
                            longest.on_taken(key, lengths[key as usize]);
                        }
                    }
                }
            }
        }
    }
}
