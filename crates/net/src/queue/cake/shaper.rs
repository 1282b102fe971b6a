//! CAKE's shaper: a virtual clock for the departure of the next packet, which includes the overhead of the link's
//! layers, down to ATM's cells.

use ackclock_declare::{declare, default, unset, words};
use ackclock_units::{Bandwidth, Bytes, SimTime};

words! {
    /// The division of packets into cells.
    #[derive(Default)]
    pub enum CellFraming {
        /// No division into cells.
        #[default]
        "none" = None,
        /// ATM cells of 53 octets that carry 48.
        "atm" = Atm,
        /// PTM (VDSL2), where 65 octets carry 64.
        "ptm" = Ptm,
    }
}

declare! {
    /// The counted size of packets.
    #[derive(Copy, Eq)]
    pub struct ShaperConfig {
        /// Rate of the shaper.
        rate as "bandwidth": Option<Bandwidth> = unset("none").at_least(Bandwidth(1)),
        /// Octets that the shaper adds to each IP packet; may be negative.
        overhead: i64 = default(0).at_least(-65_535).at_most(65_535).unit("octets"),
        /// Least counted size of a packet.
        minimum: Bytes = Bytes::ZERO,
        /// Cells into which the shaper divides packets.
        framing as "cells": CellFraming = CellFraming::None,
    }
}

/// The virtual clock of the shaper.
#[derive(Clone, Debug)]
pub(super) struct Shaper {
    config: ShaperConfig,
    next: SimTime,
    /// The lead of `next` over the exact time, in 1/rate nanoseconds.
    fraction: u64,
}

impl Shaper {
    pub(super) fn new(config: ShaperConfig) -> Self {
        Self { config, next: SimTime::ZERO, fraction: 0 }
    }

    /// The time at which a packet may leave.
    pub(super) fn ready_at(&self, now: SimTime) -> SimTime {
        self.next.max(now)
    }

    /// Takes the departure of a packet with `size` octets of IP.
    pub(super) fn on_departure(&mut self, now: SimTime, size: Bytes) {
        let Some(rate) = self.config.rate else { return };
        let (whole, rest) = rate.serialization_parts(Bytes(self.counted(size.0)));
        if self.next < now {
            (self.next, self.fraction) = (now, 0);
        }
        self.fraction += rest;
        let carry = self.fraction / rate.0;
        self.fraction %= rate.0;
        self.next = SimTime(self.next.0 + whole + carry);
    }

    fn counted(&self, size: u64) -> u64 {
        let octets = size.saturating_add_signed(self.config.overhead).max(self.config.minimum.0);
        match self.config.framing {
            CellFraming::None => octets,
            CellFraming::Atm => octets.div_ceil(48) * 53,
            CellFraming::Ptm => octets + octets.div_ceil(64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(overhead: i64, minimum: u64, framing: CellFraming, size: u64) -> u64 {
        let minimum = Bytes(minimum);
        Shaper::new(ShaperConfig { rate: None, overhead, minimum, framing }).counted(size)
    }

    #[test]
    fn what_a_packet_takes_of_the_link() {
        // PPPoE over ATM with LLC adds 40 octets: 1500 + 40 = 1540 = 32.08 cells, 33 * 53 = 1749; an ACK of 52 octets
        // takes 2 cells
        assert_eq!(counted(40, 0, CellFraming::Atm, 1500), 1749);
        assert_eq!(counted(40, 0, CellFraming::Atm, 52), 106);
        assert_eq!(counted(30, 0, CellFraming::Ptm, 1500), 1530 + 24);
        assert_eq!(counted(18, 64, CellFraming::None, 40), 64); // Ethernet's minimum
        assert_eq!(counted(-14, 0, CellFraming::None, 1514), 1500);
    }

    #[test]
    fn the_long_run_rate_is_exact() {
        // 7 Gbit/s: 1500 octets take 1714.2857 ns; 7000 of them 12 ms
        let mut shaper = Shaper::new(ShaperConfig { rate: Some(Bandwidth(7_000_000_000)), ..ShaperConfig::default() });
        for _ in 0..7_000 {
            shaper.on_departure(shaper.ready_at(SimTime::ZERO), Bytes(1500));
        }
        assert_eq!(shaper.ready_at(SimTime::ZERO), SimTime(12_000_000));
    }
}
