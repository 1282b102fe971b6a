//! Reno's window rules: slow start, congestion avoidance, halving (RFC 5681), with the byte counting of RFC 3465 or the
//! counting of ACKs that the square-root law assumes.
//!
//! Tahoe, Reno and `NewReno` share these rules and differ in the sender's loss recovery.
//!
//! Departures: none. Where the RFCs leave a choice: congestion avoidance adds a fraction of a segment on every ACK, as
//! RFC 5681 equation (3) does and as the square-root law assumes, and not a whole segment once a window's worth has been
//! counted (RFC 3465 section 2.1); the sum is the same.

use ackclock_units::Bytes;

use crate::controller::{CongestionController, Start};
use crate::event::{AckEvent, CongestionCause, CongestionEvent};

/// What congestion avoidance counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Increase {
    /// Bytes acknowledged (RFC 3465): one segment per round trip however the receiver acknowledges.
    #[default]
    Bytes,
    /// ACKs, each counted as one segment (RFC 5681 equation 3): with an ACK for every b segments the window grows by
    /// 1/b per round trip, as in the derivation of the square-root law.
    Acks,
}

/// Parameters of [`Reno`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RenoConfig {
    /// What congestion avoidance counts.
    pub increase: Increase,
    /// Fraction of `FlightSize` kept on congestion.
    pub beta: f64,
}

impl Default for RenoConfig {
    fn default() -> Self {
        Self { increase: Increase::Bytes, beta: 0.5 }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Reno {
    config: RenoConfig,
    mss: u64,
    cwnd: u64,
    ssthresh: Option<u64>,
    /// What division by cwnd has left of the growth in congestion avoidance, in bytes squared.
    remainder: u64,
    /// cwnd and ssthresh before the last episode, to undo it.
    before_episode: Option<(u64, Option<u64>)>,
}

impl Reno {
    pub(crate) fn new(config: &RenoConfig, start: Start) -> Self {
        Self {
            config: *config,
            mss: start.mss,
            cwnd: start.initial_window,
            ssthresh: start.initial_ssthresh,
            remainder: 0,
            before_episode: None,
        }
    }

    fn in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh)
    }

    fn avoid_congestion(&mut self, acked: u64) {
        // RFC 5681 section 3.1, equation (3): cwnd += SMSS*SMSS/cwnd for an ACK; of N bytes, N in place of one SMSS.
        let counted = match self.config.increase {
            Increase::Bytes => acked,
            Increase::Acks => self.mss,
        };
        let growth = self.mss * counted + self.remainder;
        self.remainder = growth % self.cwnd;
        self.cwnd += growth / self.cwnd;
    }
}

/// Slow start's growth for one ACK, and what of the ACK is left for congestion avoidance.
///
/// RFC 5681 section 3.1, equation (2): `cwnd += min (N, SMSS)` for an ACK of N bytes; with byte counting, RFC 3465
/// section 2.2 allows up to L = 2 segments, so that delayed ACKs do not slow it down.
pub(crate) fn slow_start(cwnd: u64, ssthresh: Option<u64>, acked: u64, limit: u64) -> (u64, u64) {
    let grown = cwnd + acked.min(limit);
    match ssthresh {
        Some(ssthresh) if grown > ssthresh => (ssthresh.max(cwnd), grown - ssthresh.max(cwnd)),
        _ => (grown, 0),
    }
}

impl CongestionController for Reno {
    fn on_ack(&mut self, ack: &AckEvent) {
        if ack.in_recovery || !ack.is_cwnd_limited || !ack.is_cumulative {
            return;
        }
        let mut acked = ack.newly_acked.0;
        if self.in_slow_start() {
            let limit = match self.config.increase {
                Increase::Bytes => 2 * self.mss,
                Increase::Acks => self.mss,
            };
            (self.cwnd, acked) = slow_start(self.cwnd, self.ssthresh, acked, limit);
            if acked == 0 {
                return;
            }
        }
        self.avoid_congestion(acked);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.before_episode = Some((self.cwnd, self.ssthresh));
        self.remainder = 0;
        if event.cause != (CongestionCause::Timeout { repeated: true }) {
            // RFC 5681 section 3.1, equation (4): ssthresh = max (FlightSize / 2, 2*SMSS). A repeated timeout of the
            // same segment leaves it alone.
            let kept = (event.flight_size.0 as f64 * self.config.beta) as u64;
            self.ssthresh = Some(kept.max(2 * self.mss));
        }
        self.cwnd = if event.is_timeout() { self.mss } else { self.ssthresh.unwrap_or(self.cwnd) };
    }

    fn on_spurious(&mut self, _now: ackclock_units::SimTime) {
        if let Some((cwnd, ssthresh)) = self.before_episode.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = ssthresh;
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd)
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = cwnd.0;
    }

    fn set_ssthresh(&mut self, ssthresh: Option<Bytes>) {
        self.ssthresh = ssthresh.map(|bytes| bytes.0);
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.ssthresh.map(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, loss, timeout};

    fn reno(increase: Increase) -> Reno {
        let start = Start { mss: 1_000, initial_window: 10_000, initial_ssthresh: None };
        Reno::new(&RenoConfig { increase, beta: 0.5 }, start)
    }

    #[test]
    fn loss_halves_the_flight_size_not_the_window() {
        let mut reno = reno(Increase::Bytes);
        reno.on_congestion(&loss(8_000));
        assert_eq!(reno.cwnd(), Bytes(4_000)); // 8 000 / 2
        assert_eq!(reno.ssthresh(), Some(Bytes(4_000)));
    }

    #[test]
    fn ssthresh_is_at_least_two_segments() {
        let mut reno = reno(Increase::Bytes);
        reno.on_congestion(&loss(1_000));
        assert_eq!(reno.ssthresh(), Some(Bytes(2_000))); // RFC 5681 (4): max(500, 2*1000)
    }

    #[test]
    fn slow_start_doubles_in_a_round_trip_and_avoidance_adds_one_segment() {
        let mut reno = reno(Increase::Bytes);
        for _ in 0..10 {
            reno.on_ack(&ack(1_000));
        }
        assert_eq!(reno.cwnd(), Bytes(20_000));
        reno.on_congestion(&loss(20_000)); // cwnd = ssthresh = 10 000
        for _ in 0..10 {
            reno.on_ack(&ack(1_000));
        }
        // 1000 * 1000 / 10 000 = 100 bytes for the first ACK, a little less for each later one: 10 956 after ten
        assert!((10_950..=10_960).contains(&reno.cwnd().0), "{}", reno.cwnd());
    }

    #[test]
    fn counting_acks_grows_half_as_fast_under_delayed_acks() {
        let mut reno = reno(Increase::Acks);
        reno.on_congestion(&loss(20_000)); // cwnd = ssthresh = 10 000
        for _ in 0..5 {
            reno.on_ack(&ack(2_000)); // one round trip: ten segments, five ACKs
        }
        // 100, 99, 98, 97, 96 bytes: half of what ten ACKs would add
        assert!((10_488..=10_492).contains(&reno.cwnd().0), "{}", reno.cwnd());
    }

    #[test]
    fn a_timeout_leaves_one_segment_and_a_repeated_one_keeps_ssthresh() {
        let mut reno = reno(Increase::Bytes);
        reno.on_congestion(&timeout(10_000, false));
        assert_eq!((reno.cwnd(), reno.ssthresh()), (Bytes(1_000), Some(Bytes(5_000))));
        reno.on_congestion(&timeout(1_000, true));
        assert_eq!((reno.cwnd(), reno.ssthresh()), (Bytes(1_000), Some(Bytes(5_000))));
    }

    #[test]
    fn a_window_not_in_use_does_not_grow() {
        let mut reno = reno(Increase::Bytes);
        reno.on_ack(&AckEvent { is_cwnd_limited: false, ..ack(1_000) });
        assert_eq!(reno.cwnd(), Bytes(10_000));
    }
}
