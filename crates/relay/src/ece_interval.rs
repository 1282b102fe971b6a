//! Signals of congestion at intervals during a burst.
//!
//! Source: J. Isogaki, JAIST 2005: raising ECE "at certain interval in burst-transfer" held latency down without a loss of
//! throughput.
//!
//! **Choices**, which the source leaves open: a burst is the time in which the far end has not acknowledged everything that
//! arrived; the first signal comes an interval after its beginning; a signal that is due while nothing waits to be sent, or when
//! nothing has arrived since the last, comes when something does.

use ackclock_declare::{About, declare, default};
use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::discipline::{Kind, Orders, Policy};
use crate::readings::Readings;

declare! {
    /// Parameters of `ece_interval`.
    #[derive(Copy, Eq)]
    pub struct EceIntervalConfig {
        /// Interval between signals.
        // Reno that halves its window every `T` of a round trip `R` has a window of `T / R` to `2 T / R` segments and sends
        // `1.5 T / R^2` segments a second: 20 ms over 2 ms are 7500, which with 1448 octets each is 87 Mbit/s, about what the
        // thesis' flow got (93 Mbit/s).
        interval: SimDuration = default(SimDuration::from_millis(20)).above(SimDuration::ZERO),
    }
}

impl Policy for EceIntervalConfig {
    const ABOUT: About = About {
        name: "ece_interval",
        aliases: &[],
        summary: "raises ECE towards the near sender at intervals while data keeps coming",
        source: "Isogaki 2005",
        departures: "the interval is not given there",
    };
    const RAISES_ECE: bool = true;

    fn start(&self, _seed: u64) -> Kind {
        Kind::EceInterval(EceInterval::new(*self))
    }
}

/// Raises ECE at intervals while a burst lasts.
#[derive(Clone, Debug)]
pub struct EceInterval {
    config: EceIntervalConfig,
    /// Time of the next signal; none outside of a burst.
    due: Option<SimTime>,
    /// Octets that had arrived by the last signal.
    signalled: Option<Bytes>,
}

impl EceInterval {
    pub(crate) fn new(config: EceIntervalConfig) -> Self {
        Self { config, due: None, signalled: None }
    }

    pub(crate) fn update(&mut self, readings: &Readings) -> Orders {
        if readings.in_socket() == Bytes::ZERO {
            (self.due, self.signalled) = (None, None);
            return Orders::default();
        }
        let due = *self.due.get_or_insert(readings.now + self.config.interval);
        if readings.now < due {
            return Orders { wake_at: Some(due), ..Orders::default() };
        }
        if readings.backlog() == Bytes::ZERO || self.signalled == Some(readings.arrived) {
            return Orders::default();
        }
        self.signalled = Some(readings.arrived);
        let next = readings.now + self.config.interval;
        self.due = Some(next);
        Orders { raise_ece: true, wake_at: Some(next), ..Orders::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: SimDuration = SimDuration::from_millis(20);

    fn readings(ms: u64, arrived: u64, sent: u64, acknowledged: u64) -> Readings {
        Readings { acknowledged: Bytes(acknowledged), ..crate::readings::readings(ms, arrived, sent) }
    }

    #[test]
    fn a_burst_of_100_ms_gets_a_signal_every_20_ms() {
        let mut discipline = EceInterval::new(EceIntervalConfig { interval: INTERVAL });
        let signals: Vec<u64> =
            (0..=100).filter(|&ms| discipline.update(&readings(ms, 10 + ms, ms, 0)).raise_ece).collect();
        assert_eq!(signals, [20, 40, 60, 80, 100]);
    }

    #[test]
    fn while_nothing_arrives_there_is_no_second_signal_and_no_timer() {
        let mut discipline = EceInterval::new(EceIntervalConfig { interval: INTERVAL });
        discipline.update(&readings(0, 10, 0, 0));
        assert_eq!(discipline.update(&readings(20, 10, 0, 0)).wake_at, Some(SimTime(40_000_000)));
        assert_eq!(discipline.update(&readings(40, 10, 0, 0)), Orders::default());
        assert!(discipline.update(&readings(90, 11, 0, 0)).raise_ece);
    }

    #[test]
    fn a_burst_that_ends_starts_the_interval_anew() {
        let mut discipline = EceInterval::new(EceIntervalConfig { interval: INTERVAL });
        let begun = discipline.update(&readings(0, 10, 0, 0));
        assert_eq!(begun.wake_at, Some(SimTime::ZERO + INTERVAL));
        assert_eq!(discipline.update(&readings(10, 10, 10, 10)), Orders::default());
        assert!(!discipline.update(&readings(15, 20, 10, 10)).raise_ece);
        assert!(!discipline.update(&readings(34, 20, 10, 10)).raise_ece);
        assert!(discipline.update(&readings(35, 20, 10, 10)).raise_ece);
    }

    #[test]
    fn nothing_is_signalled_while_nothing_waits() {
        let mut discipline = EceInterval::new(EceIntervalConfig { interval: INTERVAL });
        discipline.update(&readings(0, 10, 10, 0));
        assert!(!discipline.update(&readings(25, 10, 10, 0)).raise_ece);
        assert!(discipline.update(&readings(26, 20, 10, 0)).raise_ece);
    }
}
