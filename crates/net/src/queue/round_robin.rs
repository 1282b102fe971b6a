//! Queues of their own for flows, served in turn by octets: what DRR, SFQ and a shared buffer have in common.
//!
//! Source: Shreedhar and Varghese 1995, section 3: each turn adds a quantum to what a queue may send, what is left of it
//! is kept for the next turn, and a queue that runs empty keeps nothing. A packet costs constant time if the quantum is
//! at least the largest packet. A drop looks at every queue in which something waits, for the longest.

use std::collections::VecDeque;

use super::Queued;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct RoundRobin {
    quantum: u64,
    /// By key.
    queues: Vec<Turn>,
    /// Queues in which something waits, in the order of their turns.
    active: VecDeque<u32>,
    /// The first of them has got its quantum.
    has_begun: bool,
    packets: usize,
    octets: u64,
}

/// A queue, and what it may send.
#[derive(Clone, Debug, Default)]
pub(super) struct Turn {
    packets: VecDeque<Queued>,
    octets: u64,
    deficit: u64,
}

impl Turn {
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(super) fn octets(&self) -> u64 {
        self.octets
    }
}

impl RoundRobin {
    pub(super) fn new(quantum: u64) -> Self {
        Self {
            quantum: quantum.max(1),
            queues: Vec::new(),
            active: VecDeque::new(),
            has_begun: false,
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
        self.packets += 1;
        self.octets += arrival.octets;
    }

    pub(super) fn pop(&mut self) -> Option<Queued> {
        loop {
            let key = *self.active.front()?;
            let queue = &mut self.queues[key as usize];
            if !self.has_begun {
                queue.deficit += self.quantum;
                self.has_begun = true;
            }
            let first = queue.packets.pop_front_if(|first| first.octets <= queue.deficit);
            if let Some(first) = first {
                queue.deficit -= first.octets;
                self.on_removed(key, first.octets);
                return Some(first);
            }
            self.active.rotate_left(1);
            self.has_begun = false;
        }
    }

    /// Takes the last packet out of the longest queue, in octets; of several the first in turn.
    pub(super) fn steal(&mut self) -> Option<Queued> {
        let mut longest = *self.active.front()?;
        for &key in &self.active {
            if self.queues[key as usize].octets > self.queues[longest as usize].octets {
                longest = key;
            }
        }
        let last = self.queues[longest as usize].packets.pop_back()?;
        self.on_removed(longest, last.octets);
        Some(last)
    }

    fn on_removed(&mut self, key: u32, octets: u64) {
        self.packets -= 1;
        self.octets -= octets;
        let queue = &mut self.queues[key as usize];
        queue.octets -= octets;
        if queue.packets.is_empty() {
            queue.deficit = 0;
            if self.active.pop_front_if(|first| *first == key).is_some() {
                self.has_begun = false;
            } else {
                self.active.retain(|other| *other != key); // it gave way out of its turn
            }
        }
    }

    /// Takes everything out, in order of arrival.
    pub(super) fn drain(&mut self) -> Vec<Queued> {
        let mut all: Vec<Queued> = self.queues.iter_mut().flat_map(|queue| queue.packets.drain(..)).collect();
        all.sort_by_key(|queued| queued.since);
        *self = Self::new(self.quantum);
        all
    }

    pub(super) fn len(&self) -> usize {
        self.packets
    }

    pub(super) fn octets(&self) -> u64 {
        self.octets
    }
}
