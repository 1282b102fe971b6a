//! The round number of the bit-by-bit server that fair queueing imitates.

use std::collections::BTreeSet;

use ackclock_units::{Bandwidth, SimTime};

/// Octets that each flow served has sent since the server was last idle, in units of 2^-32 octets.
pub(super) type Virtual = u128;

const OCTET: u128 = 1 << 32;
/// Bit-nanoseconds per octet and second.
const PER_OCTET: u128 = 8_000_000_000;

/// A server that sends a bit of every flow in turn.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    rate: Bandwidth,
    round: Virtual,
    /// When `round` was right.
    updated: SimTime,
    /// Flows that the server has something of: when (in rounds) it has sent the last of it, and which.
    busy: BTreeSet<(Virtual, usize)>,
    /// Finish number of the last packet of each flow.
    last: Vec<Virtual>,
}

impl Rounds {
    pub(super) fn new(rate: Bandwidth) -> Self {
        Self { rate, round: 0, updated: SimTime::ZERO, busy: BTreeSet::new(), last: Vec::new() }
    }

    /// A packet arrives; returns its finish number.
    pub(super) fn on_arrival(&mut self, now: SimTime, flow: usize, octets: u64) -> Virtual {
        self.advance(now);
        if flow >= self.last.len() {
            self.last.resize(flow + 1, 0);
        }
        let last = self.last[flow];
        self.busy.remove(&(last, flow));
        let finish = last.max(self.round) + u128::from(octets) * OCTET;
        self.last[flow] = finish;
        self.busy.insert((finish, flow));
        finish
    }

    /// Lets the server work up to `now`.
    fn advance(&mut self, now: SimTime) {
        let bit_ns = u128::from(self.rate.0) * u128::from((now - self.updated).0);
        self.updated = now;
        // what the server sends of all flows together
        let mut sends = bit_ns / PER_OCTET * OCTET + bit_ns % PER_OCTET * OCTET / PER_OCTET;
        while let Some(&(finish, _)) = self.busy.first() {
            let flows = self.busy.len() as u128;
            let needed = (finish - self.round) * flows;
            if needed > sends {
                self.round += sends / flows;
                return;
            }
            sends -= needed;
            self.round = finish;
            self.busy.pop_first();
        }
    }
}
