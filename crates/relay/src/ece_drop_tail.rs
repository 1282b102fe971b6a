//! Signals of congestion while more than a limit is in the sockets.
//!
//! Source: J. Isogaki, JAIST 2005, the first of two ways to limit in-socket packets: "sending ECE signal at over limit as
//! DT-like". It fails there, as the sender's cuts are too deep.
//!
//! **Choices**: what is in the sockets is what arrived and the far end has not acknowledged; it is compared when octets
//! arrive.

use ackclock_declare::{About, declare, default};
use ackclock_units::{Bytes, SimTime};

use crate::discipline::{Kind, MAX_WINDOW, Orders, Policy};
use crate::readings::Readings;

declare! {
    /// Parameters of `ece_droptail`.
    #[derive(Copy, Eq)]
    pub struct EceDropTailConfig {
        /// Octets arrived and not acknowledged by the far end above which it signals.
        // What is under way on the far side counts, so this is a bandwidth-delay product and what may wait: 500 kB are 318 kB
        // of the thesis' path (1 Gbit/s among eleven flows, 28 ms) and 16 ms of that rate.
        limit: Bytes = default(Bytes(500_000)).at_least(Bytes(1)).at_most(MAX_WINDOW),
        /// At most one signal in a near-side round trip; else one at every arrival over the limit.
        // ECE stays up until CWR answers it, so that the sender's window is cut once in a round trip either way.
        every_rtt: bool = false,
    }
}

impl Policy for EceDropTailConfig {
    const ABOUT: About = About {
        name: "ece_droptail",
        aliases: &[],
        summary: "raises ECE while more than a limit is kept",
        source: "Isogaki 2005",
        departures: "the limit is not given there",
    };
    const RAISES_ECE: bool = true;

    fn start(&self, _seed: u64) -> Kind {
        Kind::EceDropTail(EceDropTail::new(*self))
    }
}

/// Raises ECE where octets arrive over a limit.
#[derive(Clone, Debug)]
pub struct EceDropTail {
    config: EceDropTailConfig,
    arrived: Bytes,
    signalled: Option<SimTime>,
}

impl EceDropTail {
    pub(crate) fn new(config: EceDropTailConfig) -> Self {
        Self { config, arrived: Bytes::ZERO, signalled: None }
    }

    pub(crate) fn update(&mut self, readings: &Readings) -> Orders {
        let has_arrived = readings.arrived > self.arrived;
        self.arrived = readings.arrived;
        let raise_ece = has_arrived && readings.in_socket() > self.config.limit && self.may_signal(readings);
        if raise_ece {
            self.signalled = Some(readings.now);
        }
        Orders { raise_ece, ..Orders::default() }
    }

    fn may_signal(&self, readings: &Readings) -> bool {
        let is_spent = |at: SimTime| readings.now >= at + readings.near_rtt;
        !self.config.every_rtt || self.signalled.is_none_or(is_spent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn discipline(every_rtt: bool) -> EceDropTail {
        EceDropTail::new(EceDropTailConfig { limit: Bytes(1000), every_rtt })
    }

    fn readings(ms: u64, arrived: u64, acknowledged: u64) -> Readings {
        Readings { acknowledged: Bytes(acknowledged), ..crate::readings::readings(ms, arrived, 0) }
    }

    #[test]
    fn only_an_arrival_over_the_limit_is_answered() {
        let mut discipline = discipline(false);
        assert!(!discipline.update(&readings(0, 1000, 0)).raise_ece);
        assert!(discipline.update(&readings(1, 1001, 0)).raise_ece);
        // nothing arrived
        assert!(!discipline.update(&readings(2, 1001, 0)).raise_ece);
        // 1501 - 501 are the limit itself
        assert!(!discipline.update(&readings(3, 1501, 501)).raise_ece);
        assert!(discipline.update(&readings(4, 1502, 501)).raise_ece);
    }

    #[test]
    fn one_signal_in_a_near_round_trip_if_so_wanted() {
        let mut discipline = discipline(true);
        let signals: Vec<u64> = (0..6).filter(|&ms| discipline.update(&readings(ms, 2000 + ms, 0)).raise_ece).collect();
        assert_eq!(signals, [0, 2, 4]);
    }
}
