//! The round number of the bit-by-bit server that fair queueing imitates.
//!
//! The server has sent as much as the link: when the link takes a packet it has sent all packets before it, whatever
//! its rate was meanwhile. Within a packet the server goes on at the known rate of the link, and no further than that
//! packet.

use std::collections::BTreeSet;

use ackclock_units::{Bandwidth, SimTime};

/// Octets that each flow served has sent since the server was last idle, in units of 2^-32 octets.
pub(super) type Virtual = u128;

const OCTET: u128 = 1 << 32;
/// Bit-nanoseconds per octet and second.
const PER_OCTET: u128 = 8_000_000_000;

/// A server that sends a bit of every flow in turn.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    rate: Bandwidth,
    round: Virtual,
    /// The time of the latest `round`.
    updated: SimTime,
    /// The flows with octets at the server: each with the round of its last octet.
    busy: BTreeSet<(Virtual, usize)>,
    /// Finish number of the last packet of each flow.
    pub(super) last: Vec<Virtual>,
    /// The octets that the link has taken and the server has not sent yet.
    taken: Virtual,
}

impl Rounds {
    /// Sets the rate of the link from now on.
    pub(super) fn set_rate(&mut self, now: SimTime, rate: Bandwidth) {
        self.advance(now);
        self.rate = rate;
    }

    /// Takes an arriving packet; returns its finish number.
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

    /// Takes note that the link takes a packet of `octets`, to send it.
    pub(super) fn on_taken(&mut self, now: SimTime, octets: u64) {
        self.advance(now);
        self.taken = self.send(self.taken) + u128::from(octets) * OCTET;
    }

    /// Undoes the arrival of a flow's last packet, which was to end at `finish` and is dropped.
    pub(super) fn on_dropped(&mut self, flow: usize, finish: Virtual, octets: u64) {
        let start = finish - u128::from(octets) * OCTET;
        self.busy.remove(&(self.last[flow], flow));
        self.last[flow] = start;
        if start > self.round {
            self.busy.insert((start, flow));
        } else {
            self.taken += self.round.min(finish) - start; // what was sent of it was of no packet that the link takes
        }
    }

    /// Lets the server work up to `now`.
    fn advance(&mut self, now: SimTime) {
        let bit_ns = u128::from(self.rate.0) * u128::from((now - self.updated).0);
        self.updated = now;
        let could = bit_ns / PER_OCTET * OCTET + bit_ns % PER_OCTET * OCTET / PER_OCTET;
        let sends = could.min(self.taken);
        self.taken -= sends - self.send(sends);
    }

    /// Sends `sends` for all flows together. Returns the rest: there is no work, or it gives no flow anything.
    fn send(&mut self, mut sends: Virtual) -> Virtual {
        while let Some(&(finish, _)) = self.busy.first() {
            let flows = self.busy.len() as u128;
            let needed = (finish - self.round) * flows;
            if needed > sends {
                self.round += sends / flows;
                return sends % flows;
            }
            sends -= needed;
            self.round = finish;
            self.busy.pop_first();
        }
        sends
    }
}
