//! The search for the longest of many queues, in octets, when there is no room.
//!
//! A heap holds the lengths at the last growth of each queue. A queue that has shrunk since is recognised when it comes
//! up, and put back with its present length. The heap is empty before the first query, and when all packets have left.

use std::collections::BinaryHeap;

/// The number of lengths beyond four for each queue from which outdated ones are removed.
const SPARE: usize = 64;

/// The search for the longest queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Longest {
    /// The length, the number of the growth (of equals the one that grew last is the longest), and the queue.
    lengths: BinaryHeap<(u64, u64, u32)>,
    growths: u64,
    is_asked: bool,
}

impl Longest {
    /// Takes the growth of a queue to this length.
    pub(super) fn on_growth(&mut self, key: u32, octets: u64) {
        self.growths += 1;
        if self.is_asked {
            self.lengths.push((octets, self.growths, key));
        }
    }

    /// Clears the lengths when no packet waits.
    pub(super) fn on_empty(&mut self) {
        self.lengths.clear();
        self.is_asked = false;
    }

    /// The longest queue, whose last packet is about to be taken; `length` gives the present length of each of `count`
    /// queues.
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

    /// Takes the length of the longest queue after its last packet has been taken.
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

        /// Whatever grows, shrinks and loses packets: the queue found is as long as the longest.
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
