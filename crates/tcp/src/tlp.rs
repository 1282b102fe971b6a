//! Tail loss probes: a segment sent early, so that the ACKs it draws reveal a loss before the timeout (RFC 8985 section
//! 7).
//!
//! Departures: none. `TLP.max_ack_delay`, which section 7.2 leaves to the implementation, is `tlp_max_ack_delay`; `tlp_amid_sacks` is Linux's own way.

use ackclock_units::SimDuration;

/// State of section 7.3.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tlp {
    enabled: bool,
    /// `TLP.end_seq`: a probe is out, and this was sent when it left.
    end: Option<u64>,
    /// The probe was a retransmission (`TLP.is_retrans`).
    is_retransmission: bool,
    /// The timer has fired: a probe leaves next.
    is_due: bool,
}

/// Conclusion from an ACK after a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeOutcome {
    /// No probe is out, or the ACK does not decide.
    Open,
    /// Nothing was lost but what loss detection will find.
    Nothing,
    /// The probe repaired a loss: answer it (section 7.4.2).
    RepairedLoss,
}

/// The part of an ACK that decides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbeAck {
    pub(crate) ack: u64,
    /// It reports the probe as a duplicate.
    pub(crate) has_dsack: bool,
    /// It advances nothing, reports nothing and carries nothing.
    pub(crate) is_pure_duplicate: bool,
}

impl Tlp {
    pub(crate) fn new(enabled: bool) -> Self {
        Self { enabled, end: None, is_retransmission: false, is_due: false }
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled
    }

    pub(crate) fn is_out(&self) -> bool {
        self.end.is_some()
    }

    /// Section 7.2: PTO. `outstanding` segments; `delayed_ack` is the allowance for a single one, `slack` that for more.
    pub(crate) fn timeout(
        srtt: Option<SimDuration>,
        outstanding: usize,
        delayed_ack: SimDuration,
        slack: SimDuration,
    ) -> SimDuration {
        match srtt {
            //= rfc8985-7.2-no-sample
            None => SimDuration::from_secs(1),
            //= rfc8985-7.2-probe-timeout
            Some(srtt) if outstanding == 1 => srtt * 2 + delayed_ack,
            Some(srtt) => srtt * 2 + slack,
        }
    }

    /// The probe timer fired.
    pub(crate) fn on_timer(&mut self) {
        self.is_due = true;
    }

    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.is_due
    }

    /// Takes the pending probe; true if it may leave, as only one is outstanding at a time.
    pub(crate) fn take_due(&mut self) -> bool {
        self.is_due = false;
        !self.is_out()
    }

    /// Notes that a probe left.
    pub(crate) fn on_probe(&mut self, high_data: u64, is_retransmission: bool) {
        (self.end, self.is_retransmission) = (Some(high_data), is_retransmission);
    }

    /// A probe is out that repeated what ends at `end`.
    pub(crate) fn is_retransmission_of(&self, end: u64) -> bool {
        self.is_retransmission && self.end == Some(end)
    }

    /// End of the outstanding probe, if it is a retransmission.
    pub(crate) fn retransmission(&self) -> Option<u64> {
        self.end.filter(|_| self.is_retransmission)
    }

    pub(crate) fn clear(&mut self) {
        self.end = None;
    }

    /// Draws the conclusion of section 7.4.2 from an ACK.
    pub(crate) fn on_ack(&mut self, ack: ProbeAck) -> ProbeOutcome {
        let Some(end) = self.end.filter(|end| ack.ack >= *end) else { return ProbeOutcome::Open };
        //= rfc8985-7.4.2-dsack
        let outcome = if !self.is_retransmission || ack.has_dsack {
            ProbeOutcome::Nothing
        } else if ack.ack > end {
            //= rfc8985-7.4.2-repaired
            ProbeOutcome::RepairedLoss
        } else if ack.is_pure_duplicate {
            ProbeOutcome::Nothing // both the original and the probe arrived
        } else {
            return ProbeOutcome::Open;
        };
        self.end = None;
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= rfc8985-7.2-no-sample
    //= rfc8985-7.2-probe-timeout
    #[test]
    fn the_probe_timeout_is_two_round_trips_and_allows_for_a_delayed_ack() {
        let ms = SimDuration::from_millis;
        let none = SimDuration::ZERO;
        assert_eq!(Tlp::timeout(Some(ms(100)), 5, ms(200), none), ms(200));
        assert_eq!(Tlp::timeout(Some(ms(100)), 5, ms(200), ms(2)), ms(202)); // Linux's TCP_TIMEOUT_MIN
        assert_eq!(Tlp::timeout(Some(ms(100)), 1, ms(200), ms(2)), ms(400));
        assert_eq!(Tlp::timeout(None, 1, ms(200), none), ms(1_000)); // RFC 8985 section 7.2: no SRTT, 1 s
    }

    //= rfc8985-7.4.2-repaired
    //= rfc8985-7.4.2-dsack
    #[test]
    fn a_retransmitted_probe_without_a_duplicate_means_a_repaired_loss() {
        let ack = |ack, has_dsack, is_pure_duplicate| ProbeAck { ack, has_dsack, is_pure_duplicate };
        let probing = || {
            let mut tlp = Tlp::new(true);
            tlp.on_probe(1_000, true);
            tlp
        };
        assert_eq!(probing().on_ack(ack(999, false, false)), ProbeOutcome::Open);
        assert_eq!(probing().on_ack(ack(1_000, true, false)), ProbeOutcome::Nothing);
        assert_eq!(probing().on_ack(ack(1_000, false, true)), ProbeOutcome::Nothing);
        assert_eq!(probing().on_ack(ack(1_001, false, false)), ProbeOutcome::RepairedLoss);
    }
}
