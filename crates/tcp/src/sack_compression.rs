//! Above a hole, after the first ACKs, one ACK with SACK blocks for many segments.
//!
//! Source: SACK compression of Linux (`tcp_comp_sack_nr`, `tcp_comp_sack_delay_ns`, `tcp_comp_sack_slack_ns`, since 4.18), by its behaviour on
//! 6.18, of which packet scripts that pass there are in `tests/scripts/sack-compression`.
//!
//! Departures: the share of the round trip, 5 % on 6.18, is a parameter. The round trip as the receiver sees it is known only where its buffer is
//! tuned; elsewhere the sender's is taken. From RFC 5681 section 4.2, by which each segment above a hole SHOULD be acknowledged at once: all of it.

use ackclock_units::{SimDuration, SimTime};

use crate::config::SackCompressionConfig;

/// Enough for a fast retransmit.
const AT_ONCE: u32 = 3;

/// Delays ACKs for segments above a hole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SackCompression {
    config: SackCompressionConfig,
    /// Next awaited offset, and the number of ACKs for segments above it that left at once.
    rcv_nxt: u64,
    at_once: u32,
    /// Segments gathered since the last ACK.
    gathered: u32,
}

impl SackCompression {
    pub(crate) fn new(config: SackCompressionConfig) -> Self {
        Self { config, rcv_nxt: 0, at_once: 0, gathered: 0 }
    }

    /// The first of several holes is filled, so that `rcv_nxt` is awaited now: that is acknowledged at once.
    pub(crate) fn on_partial_fill(&mut self, rcv_nxt: u64) {
        (self.rcv_nxt, self.at_once) = (rcv_nxt, 1);
    }

    /// A segment arrived and there is a hole, while `rcv_nxt` is awaited; `gathers` says that an ACK is being put off already. Returns until when the
    /// ACK is put off, or `None` if it is to leave at once.
    pub(crate) fn on_segment(
        &mut self,
        now: SimTime,
        rcv_nxt: u64,
        gathers: bool,
        rtt: SimDuration,
    ) -> Option<SimTime> {
        if self.rcv_nxt != rcv_nxt {
            (self.rcv_nxt, self.at_once) = (rcv_nxt, 0);
        }
        if !gathers {
            self.gathered = 0;
        }
        if self.gathered >= self.config.acks {
            return None;
        }
        if self.at_once < AT_ONCE {
            self.at_once += 1;
            return None;
        }
        self.gathered += 1;
        let share = SimDuration(rtt.0 / 100 * u64::from(self.config.rtt_percent));
        Some(now + share.min(self.config.delay) + self.config.slack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn compression() -> SackCompression {
        SackCompression::new(SackCompressionConfig::default())
    }

    #[test]
    fn three_leave_at_once_and_then_again_once_something_else_is_awaited() {
        let mut compression = compression();
        let rtt = SimDuration(100 * MS);
        let mut put_off = |rcv_nxt| compression.on_segment(SimTime(0), rcv_nxt, false, rtt).is_some();
        let found: Vec<bool> = [1, 1, 1, 1, 1, 5, 5, 5, 5].into_iter().map(&mut put_off).collect();
        assert_eq!(found, [false, false, false, true, true, false, false, false, true]);
    }

    #[test]
    fn it_waits_for_a_twentieth_of_a_round_trip_and_no_more_than_a_millisecond() {
        for (rtt_ms, wait_us) in [(0, 0), (4, 200), (20, 1_000), (100, 1_000)] {
            let mut compression = compression();
            let mut until = None;
            for _ in 0..4 {
                until = compression.on_segment(SimTime(MS), 1, false, SimDuration(rtt_ms * MS));
            }
            assert_eq!(until, Some(SimTime(MS + wait_us * 1_000 + 100_000)), "{rtt_ms} ms, and the slack of the timer");
        }
    }

    #[test]
    fn no_more_than_44_are_gathered() {
        let mut compression = compression();
        for _ in 0..3 {
            compression.on_segment(SimTime(0), 1, false, SimDuration(0));
        }
        for segment in 1..=44 {
            assert!(compression.on_segment(SimTime(0), 1, segment > 1, SimDuration(0)).is_some());
        }
        assert_eq!(compression.on_segment(SimTime(0), 1, true, SimDuration(0)), None);
        assert!(compression.on_segment(SimTime(0), 1, false, SimDuration(0)).is_some(), "an ACK has left");
    }
}
