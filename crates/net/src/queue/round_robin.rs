//! Round robin over a queue for each flow, by octets: the common part of DRR, SFQ and a shared buffer.
//!
//! Source: Shreedhar and Varghese 1995, section 3: each turn adds a quantum to the deficit of a queue, the rest is kept
//! for the next turn, and a queue that runs empty keeps nothing. A packet costs constant time if the quantum is at
//! least the largest packet. Linux's `sfq` has another [`Rule`].

use std::collections::VecDeque;

use super::Queued;
use super::longest::Longest;

/// The rule by which a queue's turn ends, and by which queues are compared when there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// A turn ends at a packet that exceeds the deficit. The longest queue has the most octets; of several it is the one
    /// that grew last.
    Deficit,
    /// A turn ends when nothing is left of the deficit, and its last packet may exceed it. The longest queue has the most
    /// packets; of several it is the one that came to that length last, but with one packet each the next in turn.
    Surplus,
}

/// The bits of a count of changes, below the packets of a queue, in the length that [`Rule::Surplus`] compares.
const CHANGE_BITS: u32 = 40;

/// The queues of flows and their turns.
#[derive(Clone, Debug)]
pub(super) struct RoundRobin {
    quantum: u64,
    rule: Rule,
    /// The queues, by key.
    queues: Vec<Turn>,
    /// The keys of queues with waiting packets, in the order of their turns.
    active: VecDeque<u32>,
    /// True if the first of them has got its quantum.
    has_begun: bool,
    longest: Longest,
    /// The number of times that a queue grew or shrank.
    changes: u64,
    packets: usize,
    octets: u64,
}

/// A queue, and the octets that it may send.
#[derive(Clone, Debug, Default)]
pub(super) struct Turn {
    packets: VecDeque<Queued>,
    octets: u64,
    deficit: i64,
    /// The number of its last change.
    changed: u64,
}

impl Turn {
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(super) fn octets(&self) -> u64 {
        self.octets
    }

    /// The length by which the longest is found.
    fn length(&self, rule: Rule) -> u64 {
        match rule {
            Rule::Deficit => self.octets,
            Rule::Surplus if self.packets.is_empty() => 0,
            Rule::Surplus => (self.packets.len() as u64) << CHANGE_BITS | self.changed,
        }
    }
}

impl RoundRobin {
    pub(super) fn new(quantum: u64, rule: Rule) -> Self {
        Self {
            quantum: quantum.max(1),
            rule,
            queues: Vec::new(),
            active: VecDeque::new(),
            has_begun: false,
            longest: Longest::default(),
            changes: 0,
            packets: 0,
            octets: 0,
        }
    }

    /// The queue of this key.
    pub(super) fn queue(&mut self, key: u32) -> &Turn {
        self.grow(key);
        &self.queues[key as usize]
    }

    fn grow(&mut self, key: u32) {
        if key as usize >= self.queues.len() {
            self.queues.resize(key as usize + 1, Turn::default());
        }
    }

    pub(super) fn push(&mut self, key: u32, arrival: Queued) {
        self.grow(key);
        let queue = &mut self.queues[key as usize];
        if queue.packets.is_empty() {
            self.active.push_back(key);
        }
        queue.octets += arrival.octets;
        queue.packets.push_back(arrival);
        self.changes += 1;
        queue.changed = self.changes;
        self.longest.on_growth(key, queue.length(self.rule));
        self.packets += 1;
        self.octets += arrival.octets;
    }

    pub(super) fn pop(&mut self) -> Option<Queued> {
        loop {
            let key = *self.active.front()?;
            let queue = &mut self.queues[key as usize];
            if !self.has_begun {
                queue.deficit += self.quantum as i64;
                self.has_begun = true;
            }
            let (rule, deficit) = (self.rule, queue.deficit);
            let first = queue.packets.pop_front_if(|first| match rule {
                Rule::Deficit => first.octets as i64 <= deficit,
                Rule::Surplus => deficit > 0,
            });
            if let Some(first) = first {
                queue.deficit -= first.octets as i64;
                self.on_removed(key, first.octets);
                return Some(first);
            }
            self.active.rotate_left(1);
            self.has_begun = false;
        }
    }

    /// Takes the last packet out of the longest queue by the [`Rule`].
    pub(super) fn steal(&mut self) -> Option<Queued> {
        let (queues, rule) = (&self.queues, self.rule);
        let mut key = self.longest.find(queues.len(), |key| queues[key as usize].length(rule))?;
        if rule == Rule::Surplus && queues[key as usize].len() == 1 {
            self.longest.on_taken(key, queues[key as usize].length(rule));
            key = *self.active.front()?;
        }
        let last = self.queues[key as usize].packets.pop_back()?;
        self.on_removed(key, last.octets);
        self.longest.on_taken(key, self.queues[key as usize].length(rule));
        Some(last)
    }

    fn on_removed(&mut self, key: u32, octets: u64) {
        self.packets -= 1;
        self.octets -= octets;
        let queue = &mut self.queues[key as usize];
        queue.octets -= octets;
        self.changes += 1;
        queue.changed = self.changes;
        if queue.packets.is_empty() {
            queue.deficit = 0;
            if self.active.pop_front_if(|first| *first == key).is_some() {
                self.has_begun = false;
            } else {
                self.active.retain(|other| *other != key); // it gave way out of its turn
            }
            if self.active.is_empty() {
                self.longest.on_empty();
            }
        }
    }

    /// Takes everything out, in order of arrival.
    pub(super) fn drain(&mut self) -> Vec<Queued> {
        let mut all: Vec<Queued> = self.queues.iter_mut().flat_map(|queue| queue.packets.drain(..)).collect();
        all.sort_by_key(|queued| queued.since);
        *self = Self::new(self.quantum, self.rule);
        all
    }

    pub(super) fn len(&self) -> usize {
        self.packets
    }

    pub(super) fn octets(&self) -> u64 {
        self.octets
    }
}
