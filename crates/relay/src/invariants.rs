//! Invariants between calls, whatever the two sides do: checked after each call in debug builds.

use ackclock_units::Bytes;

use crate::discipline::Orders;
use crate::readings::Readings;

/// State kept from call to call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Invariants {
    before: Readings,
    /// The edge up to which the near side has been let send.
    granted: Bytes,
}

impl Invariants {
    /// Counts only grow and keep their order, so that what came in is what went out and what is held; no grant is taken
    /// back; nobody is woken in the past.
    pub(crate) fn check(&mut self, readings: &Readings, orders: &Orders) {
        self.check_counts(readings);
        if let Some(window) = orders.window {
            let edge = Bytes(readings.arrived.0.saturating_add(window.0)); // a window may be without bound
            assert!(edge >= self.granted, "a grant up to {} was taken back to {edge}", self.granted);
            self.granted = edge;
        }
        if let Some(at) = orders.wake_at {
            assert!(at > readings.now, "asked to be woken at {} ns, and it is {} ns", at.0, readings.now.0);
        }
        self.before = *readings;
    }

    fn check_counts(&self, readings: &Readings) {
        assert!(readings.now >= self.before.now, "time ran backwards");
        let counts = |of: &Readings| [of.acknowledged, of.sent, of.written, of.arrived];
        assert!(counts(readings).is_sorted(), "octets left that had not come: {:?}", counts(readings));
        let has_fallen = counts(&self.before).into_iter().zip(counts(readings)).any(|(before, now)| now < before);
        assert!(!has_fallen && readings.retransmitted >= self.before.retransmitted, "a count fell: {readings:?}");
        assert_eq!(readings.arrived, readings.acknowledged + readings.in_socket(), "octets were lost or made");
    }
}

#[cfg(test)]
mod tests {
    use ackclock_units::SimTime;

    use super::*;

    fn readings(arrived: u64, sent: u64, acknowledged: u64) -> Readings {
        let (arrived, sent, acknowledged) = (Bytes(arrived), Bytes(sent), Bytes(acknowledged));
        Readings { now: SimTime(1_000), arrived, written: sent, sent, acknowledged, ..Readings::default() }
    }

    fn window(octets: u64) -> Orders {
        Orders { window: Some(Bytes(octets)), ..Orders::default() }
    }

    #[test]
    fn what_goes_as_it_should_is_well() {
        let mut invariants = Invariants::default();
        invariants.check(&readings(0, 0, 0), &window(3_000));
        invariants.check(&readings(2_000, 1_000, 0), &window(1_000)); // the same edge
        invariants.check(&readings(2_000, 2_000, 2_000), &Orders::default());
    }

    #[test]
    #[should_panic(expected = "was taken back")]
    fn a_grant_taken_back_is_found() {
        let mut invariants = Invariants::default();
        invariants.check(&readings(0, 0, 0), &window(3_000));
        invariants.check(&readings(1_000, 0, 0), &window(1_999));
    }

    #[test]
    #[should_panic(expected = "octets left that had not come")]
    fn octets_from_nowhere_are_found() {
        Invariants::default().check(&readings(1_000, 2_000, 0), &Orders::default());
    }

    #[test]
    #[should_panic(expected = "a count fell")]
    fn a_count_that_falls_is_found() {
        let mut invariants = Invariants::default();
        invariants.check(&readings(2_000, 2_000, 2_000), &Orders::default());
        invariants.check(&readings(2_000, 2_000, 1_000), &Orders::default());
    }

    #[test]
    #[should_panic(expected = "asked to be woken")]
    fn waking_in_the_past_is_found() {
        let orders = Orders { wake_at: Some(SimTime(1_000)), ..Orders::default() };
        Invariants::default().check(&readings(0, 0, 0), &orders);
    }
}
