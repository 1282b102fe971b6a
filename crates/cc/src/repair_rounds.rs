//! Round trips while the losses of a timeout are repaired.
//!
//! A round trip that ends when what had been sent at its beginning is acknowledged lasts until the whole flight from
//! before the timeout is repaired. A window that moves once in a round trip would stay at the loss window for as long.
//! Until then, a round trip is over when as much time has passed.
//!
//! Source: none; the sources of its users have no timeouts, or send all of the flight again (go-back-N), which ends
//! round trips as usual. Departures: none.

use ackclock_units::SimTime;

use crate::event::{AckEvent, RestartCause, RestartEvent};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RepairRounds {
    #[default]
    Over,
    /// The timer expired at this time; no ACK has come since.
    Begun(SimTime),
    /// Data sent by the first ACK is not yet acknowledged.
    Repairing { until: u64, round_began: SimTime },
}

impl RepairRounds {
    pub(crate) fn on_restart(&mut self, restart: &RestartEvent) {
        if restart.cause == RestartCause::Timeout {
            *self = Self::Begun(restart.now);
        }
    }

    /// True if the ACK ends a round trip of a repair.
    pub(crate) fn end_round(&mut self, ack: &AckEvent) -> bool {
        let (until, round_began) = match *self {
            Self::Over => return false,
            Self::Begun(at) => (ack.snd_nxt, at),
            Self::Repairing { until, round_began } => (until, round_began),
        };
        if ack.snd_una >= until {
            *self = Self::Over;
            return false;
        }
        let is_over = ack.now >= round_began + ack.rtt.srtt;
        *self = Self::Repairing { until, round_began: if is_over { ack.now } else { round_began } };
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, restart};

    /// The smoothed round trip is 100 ms, and 10 000 octets had been sent before the timeout at 0.
    #[test]
    fn a_round_trip_of_a_repair_is_one_of_time() {
        let mut rounds = RepairRounds::default();
        let ends = |rounds: &mut RepairRounds, ms: u64, snd_una| {
            rounds.end_round(&AckEvent { now: SimTime(ms * 1_000_000), snd_una, snd_nxt: 10_000, ..ack(1_000) })
        };
        assert!(!ends(&mut rounds, 0, 1_000)); // nothing is repaired
        rounds.on_restart(&restart(RestartCause::Timeout, 1_000));
        let seen = [100, 150, 199, 200, 320].map(|ms| ends(&mut rounds, ms, 2_000));
        assert_eq!(seen, [true, false, false, true, true]);
        assert!(!ends(&mut rounds, 500, 10_000)); // all of it is repaired
        assert_eq!(rounds, RepairRounds::Over);
    }
}
