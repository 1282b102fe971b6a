//! Reno's window rules: slow start, congestion avoidance, halving (RFC 5681), with the byte counting of RFC 3465 or the
//! counting of ACKs that the square-root law assumes.
//!
//! Tahoe, Reno and `NewReno` share these rules and differ in the sender's loss recovery.
//!
//! Departures: slow start counts up to two segments of an ACK, as RFC 3465 allows, where RFC 5681 counts one. Where the RFCs
//! leave a choice: congestion avoidance adds a fraction of a segment on every ACK, as
//! RFC 5681 equation (3) does and as the square-root law assumes, and not a whole segment once a window's worth has been
//! counted (RFC 3465 section 2.1); the sum is the same.

use ackclock_declare::{declare, default, unset, words};
use ackclock_units::Bytes;

use crate::algorithm::{Algorithm, Name, Stack};
use crate::controller::{CongestionController, Controller, Start};
use crate::event::{AckEvent, CongestionEvent, RestartEvent};
use crate::linux_reno::LinuxReno;
use crate::slow_start::{Hystart, Pace, SlowStart, Window, slow_start_reports};

words! {
    /// The unit that congestion avoidance counts.
    #[derive(Default)]
    pub enum Increase {
        /// Bytes acknowledged (RFC 3465): one segment per round trip however the receiver acknowledges.
        #[default]
        "bytes" = Bytes,
        /// ACKs, each counted as one segment (RFC 5681 equation 3): with an ACK for every b segments the window grows by
        /// 1/b per round trip, as in the derivation of the square-root law.
        "acks" = Acks,
        /// ACKs like `"acks"`, by integer arithmetic: each adds whole octets, and at least one (RFC 5681 section 3.1's
        /// implementation note), as in ns-3. From a window of SMSS segments on an ACK adds one octet, however large the
        /// window.
        "acks_rounded" = AcksRounded,
        /// Segments acknowledged, in a window of whole segments, as in Linux: see [`LinuxReno`](crate::LinuxReno).
        "segments" = Segments,
    }
}

declare! {
    /// The parameters of [`Reno`].
    #[derive(Copy)]
    pub struct RenoConfig {
        /// Unit that the window counts: bytes (RFC 3465); ACKs (RFC 5681, the square-root law); ACKs whose increase is
        /// rounded down to whole octets, as in ns-3; or whole segments, as in Linux.
        increase: Increase = Increase::Bytes,
        /// Fraction of the flight size kept on congestion.
        beta: f64 = default(0.5).above(0.0).below(1.0).source("RFC 5681 equation 4"),
        /// Fraction of the flight size kept on a mark; RFC 8511 says 0.8.
        beta_ecn: Option<f64> = unset("as beta").above(0.0).below(1.0),
        /// Round the window down to whole segments on congestion (OPNET); with increase = "segments" this always holds.
        whole_segments: bool = false,
        /// Early end of slow start before the first loss: by ACK trains and rising delay as Linux or ns-3 measure them,
        /// or by `HyStart++`.
        hystart: Hystart = Hystart::Off,
    }
}

impl Algorithm for RenoConfig {
    const NAMES: &'static [Name<Self>] = &[
        Name {
            summary: "Reno's window rules with Tahoe's recovery: one segment after every loss, no fast recovery",
            source: "Jacobson, Congestion Avoidance and Control, SIGCOMM 1988",
            departures: "retransmits from the first missing byte on, as after a timeout (ns-2 does too)",
            stack: Stack { loss_recovery: Some("tahoe"), profile: "reno", ..Stack::ANY },
            ..Name::called("tahoe")
        },
        Name {
            summary: "additive increase, halving; the recovery is the stack's unless tcp.loss_recovery is set",
            source: "RFC 5681, RFC 3465",
            departures: "none; congestion avoidance adds a fraction of a segment on every ACK (RFC 5681 equation 3), slow start counts bytes with L = 2; with increase = \"segments\" Linux's rules: slow start without L, a whole segment for a window of them, ssthresh in whole segments",
            stack: Stack { profile: "reno", ..Stack::ANY },
            ..Name::called("reno")
        },
        Name {
            summary: "Reno's window rules with NewReno's recovery: stays in recovery over partial ACKs, without SACK",
            source: "RFC 5681, RFC 6582",
            departures: "none; congestion avoidance adds a fraction of a segment on every ACK (RFC 5681 equation 3), slow start counts bytes with L = 2; with increase = \"segments\" Linux's rules: slow start without L, a whole segment for a window of them, ssthresh in whole segments",
            stack: Stack { loss_recovery: Some("newreno"), profile: "reno", ..Stack::ANY },
            ..Name::called("newreno")
        },
    ];

    fn start(&self, start: Start) -> Controller {
        match self.increase {
            Increase::Segments => Controller::LinuxReno(LinuxReno::new(self, start)),
            Increase::Bytes | Increase::Acks | Increase::AcksRounded => Controller::Reno(Reno::new(self, start)),
        }
    }
}

/// Reno (RFC 5681): slow start, congestion avoidance, halving. Source and departures: [`mod@crate::reno`].
#[derive(Clone, Debug)]
pub struct Reno {
    config: RenoConfig,
    mss: u64,
    cwnd: u64,
    ssthresh: Option<u64>,
    slow_start: SlowStart,
    /// The remainder of the growth in congestion avoidance after division by cwnd, in bytes squared.
    remainder: u64,
    /// The values of cwnd and ssthresh before the last episode, to undo it.
    before_episode: Option<(u64, Option<u64>)>,
}

impl Reno {
    pub(crate) fn new(config: &RenoConfig, start: Start) -> Self {
        Self {
            config: *config,
            mss: start.mss.0,
            cwnd: start.initial_window.0,
            ssthresh: start.ssthresh(),
            slow_start: SlowStart::new(config.hystart),
            remainder: 0,
            before_episode: None,
        }
    }

    fn counts_acks(&self) -> bool {
        matches!(self.config.increase, Increase::Acks | Increase::AcksRounded)
    }

    fn window(&self) -> Window {
        Window { cwnd: self.cwnd, ssthresh: self.ssthresh, mss: self.mss }
    }

    /// Sets the window for a controller that contains this one.
    pub(crate) fn set_window(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        (self.cwnd, self.ssthresh) = (cwnd.0, Some(ssthresh.0));
    }

    fn avoid_congestion(&mut self, acked: u64) {
        //= rfc5681-3.1-avoidance
        // RFC 5681 section 3.1, equation (3): cwnd += SMSS*SMSS/cwnd for an ACK; of N bytes, N in place of one SMSS.
        if self.config.increase == Increase::AcksRounded {
            self.cwnd += (self.mss * self.mss / self.cwnd).max(1);
            return;
        }
        let counted = if self.counts_acks() { self.mss } else { acked };
        //= rfc3465-2.1-octets
        let growth = self.mss * counted + self.remainder;
        self.remainder = growth % self.cwnd;
        self.cwnd += growth / self.cwnd;
    }
}

impl CongestionController for Reno {
    fn on_ack(&mut self, ack: &AckEvent) {
        let pace = self.slow_start.on_ack(ack, &self.window(), None);
        if pace == Pace::Leave {
            self.ssthresh = Some(self.cwnd);
        }
        if !ack.may_grow() {
            return;
        }
        let mut acked = ack.newly_acked.0;
        let window = self.window();
        if window.in_slow_start() {
            let limit = if self.counts_acks() { self.mss } else { self.slow_start.byte_limit(self.mss) };
            (self.cwnd, acked) = self.slow_start.grow(pace, window, acked, limit);
            if acked == 0 {
                return;
            }
        }
        self.avoid_congestion(acked);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.slow_start.on_congestion(event);
        self.remainder = 0;
        //= rfc5681-3.1-threshold-held
        if !event.is_repeated() {
            self.before_episode = Some((self.cwnd, self.ssthresh));
            //= rfc5681-3.1-half-the-flight
            // RFC 5681 section 3.1, equation (4): ssthresh = max (FlightSize / 2, 2*SMSS). A repeated timeout of the
            // same segment leaves it alone.
            //= rfc8511-3-default
            let fraction = event.fraction_kept(self.config.beta, self.config.beta_ecn);
            let kept = (event.decrease_from.0 as f64 * fraction) as u64;
            let kept = if self.config.whole_segments { kept / self.mss * self.mss } else { kept };
            self.ssthresh = Some(kept.max(2 * self.mss));
        }
        //= rfc5681-3.1-one-segment-after-timeout
        self.cwnd = if event.is_timeout() { self.mss } else { self.ssthresh.unwrap_or(self.cwnd) };
    }

    fn on_spurious(&mut self, _now: ackclock_units::SimTime) {
        if let Some((cwnd, ssthresh)) = self.before_episode.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = ssthresh;
        }
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd)
    }

    fn on_restart(&mut self, restart: &RestartEvent) {
        self.slow_start.on_restart(restart);
        self.ssthresh = restart.ssthresh.map(|bytes| bytes.0).or(self.ssthresh);
        self.cwnd = restart.window.0;
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.ssthresh.map(Bytes)
    }

    slow_start_reports!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::CongestionCause;
    use crate::testing::{ack, loss, timeout, unused};

    fn reno(increase: Increase) -> Reno {
        let start = Start::of(1_000, 10_000, None);
        Reno::new(&RenoConfig { increase, ..RenoConfig::default() }, start)
    }

    //= rfc5681-3.1-half-the-flight
    #[test]
    fn loss_halves_the_flight_size_not_the_window() {
        let mut reno = reno(Increase::Bytes);
        reno.on_congestion(&loss(8_000));
        assert_eq!(reno.cwnd(), Bytes(4_000)); // 8 000 / 2
        assert_eq!(reno.ssthresh(), Some(Bytes(4_000)));
    }

    //= rfc5681-3.1-half-the-flight
    #[test]
    fn ssthresh_is_at_least_two_segments() {
        let mut reno = reno(Increase::Bytes);
        reno.on_congestion(&loss(1_000));
        assert_eq!(reno.ssthresh(), Some(Bytes(2_000))); // RFC 5681 (4): max(500, 2*1000)
    }

    #[test]
    fn half_a_window_may_be_of_whole_segments() {
        // OPNET session 1508 (2010), lab 2: half of 24 segments of 536 is 6,432 octets, half of 23 is rounded down to 11 of them,
        // 5,896, and not 6,164.
        for (segments, kept) in [(24, 6_432), (23, 5_896)] {
            let config = RenoConfig { whole_segments: true, ..RenoConfig::default() };
            let start = Start::of(536, 10 * 536, None);
            let mut reno = Reno::new(&config, start);
            reno.on_congestion(&loss(segments * 536));
            assert_eq!((reno.cwnd(), reno.ssthresh()), (Bytes(kept), Some(Bytes(kept))));
        }
    }

    //= rfc3465-2.1-octets
    //= rfc5681-3.1-avoidance
    //= rfc5681-3.1-below-ssthresh
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

    //= rfc5681-3.1-avoidance
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

    //= rfc5681-3.1-avoidance
    #[test]
    fn rounded_growth_is_of_whole_octets_and_never_none() {
        // ns-3's arithmetic by hand at 495 segments of 1448 octets: 1448 * 1448 / 716 760 = 2.925, of which 2 are added; at 2000 segments
        // 0.724, of which 1.
        for (segments, added) in [(495, 2), (2_000, 1)] {
            let config = RenoConfig { increase: Increase::AcksRounded, ..RenoConfig::default() };
            let window = Bytes(segments * 1_448);
            let start = Start::of(1_448, window.0, Some(window.0));
            let mut reno = Reno::new(&config, start);
            reno.on_ack(&ack(2 * 1_448));
            assert_eq!(reno.cwnd() - window, Bytes(added));
        }
    }

    //= rfc5681-3.1-one-segment-after-timeout
    //= rfc5681-3.1-threshold-held
    #[test]
    fn a_timeout_leaves_one_segment_and_a_repeated_one_keeps_ssthresh() {
        let mut reno = reno(Increase::Bytes);
        reno.on_congestion(&timeout(10_000, false));
        assert_eq!((reno.cwnd(), reno.ssthresh()), (Bytes(1_000), Some(Bytes(5_000))));
        reno.on_congestion(&timeout(1_000, true));
        assert_eq!((reno.cwnd(), reno.ssthresh()), (Bytes(1_000), Some(Bytes(5_000))));
    }

    //= rfc8511-3-default
    //= rfc8511-3-reno
    #[test]
    fn a_mark_may_keep_more_than_a_loss() {
        let config = RenoConfig { beta_ecn: Some(0.8), ..RenoConfig::default() };
        let start = Start::of(1_000, 10_000, None);
        let mut reno = Reno::new(&config, start);
        reno.on_congestion(&CongestionEvent { cause: CongestionCause::Ecn, ..loss(10_000) });
        assert_eq!(reno.cwnd(), Bytes(8_000)); // RFC 8511
        reno.on_congestion(&loss(8_000));
        assert_eq!(reno.cwnd(), Bytes(4_000)); // RFC 5681
    }

    #[test]
    fn a_repeated_timeout_belongs_to_the_episode_to_be_undone() {
        let mut reno = reno(Increase::Bytes);
        reno.on_congestion(&timeout(10_000, false));
        reno.on_congestion(&timeout(1_000, true));
        reno.on_spurious(ackclock_units::SimTime::ZERO);
        assert_eq!((reno.cwnd(), reno.ssthresh()), (Bytes(10_000), None));
    }

    //= rfc9406-4.2-five-rounds
    //= rfc9406-4.2-quarter-growth
    #[test]
    fn hystart_plus_plus_slows_slow_start_down_and_ends_it() {
        let config = RenoConfig { hystart: Hystart::Rfc9406, ..RenoConfig::default() };
        let start = Start::of(1_000, 10_000, None);
        let mut reno = Reno::new(&config, start);
        let mut feed = |round, count, rtt_ms| {
            let rtt_sample = Some(ackclock_units::SimDuration::from_millis(rtt_ms));
            for _ in 0..count {
                reno.on_ack(&AckEvent { rtt_sample, round, ..ack(4_000) });
            }
            (reno.cwnd().0, reno.ssthresh())
        };
        // RFC 9406: L = 8 lets an ACK of 4 segments count whole; in CSS a quarter of it
        assert_eq!(feed(1, 10, 80), (50_000, None));
        assert_eq!(feed(2, 9, 90), (86_000, None)); // slowed down by the eighth sample after the first, which ends round 1
        assert_eq!(feed(2, 4, 90), (90_000, None));
        for round in 3..=6 {
            feed(round, 1, 90);
        }
        // 94 segments; the end of the fifth round leaves slow start, and congestion avoidance takes that ACK:
        // 1000 * 4000 / 94 000 = 42
        assert_eq!(feed(7, 1, 90), (94_042, Some(Bytes(94_000))));
    }

    //= rfc5681-3.1-new-data-only
    #[test]
    fn a_window_not_in_use_does_not_grow() {
        let mut reno = reno(Increase::Bytes);
        reno.on_ack(&unused(&ack(1_000)));
        assert_eq!(reno.cwnd(), Bytes(10_000));
    }
}
