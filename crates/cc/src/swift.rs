//! Swift: delay held at a target by additive increase and a decrease in proportion to the excess, down to windows below
//! one segment.
//!
//! Source: Kumar et al., Swift: Delay is Simple and Effective for Congestion Control in the Datacenter, SIGCOMM 2020,
//! algorithm 1 and sections 3.2, 3.3 and 3.5.
//!
//! Departures: the delay is that of the round trip, since hosts here take no time; the endpoint's own window and target
//! (section 3.4) are left out with it, and so is the number of hops, which belongs in `base_target`. A window below one
//! segment is one segment paced at cwnd / RTT, as in the paper; at one segment and more segments leave unpaced. After a
//! timeout the stack's loss window bounds the window, which the paper's algorithm 1 does not have. An ACK without an
//! RTT sample (Karn's rule), which the paper's network cards do not know, counts as one below the target. Marks are
//! answered as losses are.
//!
//! The paper subtracts the receiver's wait before its ACK from the delay, as a part of the endpoint's (section 3.1).
//! Here a receiver must not wait: `delayed_ack` is off at both ends unless a scenario says otherwise.
//!
//! Checked: algorithm 1, its target and pacing against a simulator of others (htsim), whose round trip between decreases is the smoothed
//! one. The numbers of sections are from memory. The runs held to it are in docs/reference/laws.md.

use ackclock_declare::{declare, default, required};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use crate::algorithm::{ACK_EVERY_PACKET, Algorithm, Name, Stack};
use crate::controller::{CongestionController, Controller, Start};
use crate::event::{AckEvent, CongestionEvent, RestartCause, RestartEvent};

declare! {
    /// The parameters of [`Swift`]. Windows are in segments.
    #[derive(Copy)]
    pub struct SwiftConfig {
        /// Target of the RTT, propagation included, for flows with a large window.
        base_target: SimDuration = required(SimDuration::from_millis(50)).above(SimDuration::ZERO).at_most(SimDuration::from_secs(10)),
        /// Largest addition of flow scaling to the target, for small windows.
        flow_scaling_range: SimDuration = SimDuration::ZERO,
        /// Window from which flow scaling adds less.
        flow_scaling_min_window: f64 = default(0.1).at_least(1e-6).at_most(1e6).unit("segments"),
        /// Window from which flow scaling adds nothing.
        flow_scaling_max_window: f64 = default(100.0).at_least(1e-6).at_most(1e6).unit("segments"),
        /// Growth of the window in a round trip.
        additive_increase: f64 = default(1.0).at_least(1e-6).at_most(1e3).unit("segments"),
        /// Weight of the decrease.
        beta: f64 = default(0.8).at_least(1e-3).at_most(1.0),
        /// Largest fraction of the window taken away at once.
        max_decrease: f64 = default(0.5).at_least(1e-3).at_most(0.999),
        /// Smallest window.
        min_window: f64 = default(0.001).at_least(1e-6).at_most(1.0).unit("segments"),
    }
    check |config, review| {
        let windows = (&config.flow_scaling_min_window, &config.flow_scaling_max_window);
        review.below(("flow_scaling_min_window", windows.0), ("flow_scaling_max_window", windows.1));
    };
}

impl Algorithm for SwiftConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "holds the RTT at a target, down to windows below one segment by pacing; sets tcp.delayed_ack = false at both ends",
        source: "Kumar et al., SIGCOMM 2020",
        departures: "the delay is the RTT, without the hosts' part; hops belong in base_target",
        stack: Stack { sets: ACK_EVERY_PACKET, ..Stack::ANY },
        ..Name::called("swift")
    }];

    fn start(&self, start: Start) -> Controller {
        Controller::Swift(Box::new(Swift::new(self, start)))
    }
}

impl SwiftConfig {
    /// The parameters with this target.
    pub fn new(base_target: SimDuration) -> Self {
        Self { base_target, ..Self::default() }
    }
}

/// The consecutive timeouts that lead to the smallest window.
const RETRANSMIT_RESET: u32 = 5;

/// Swift: holds the delay at a target, down to windows below one segment. Source and departures: [`mod@crate::swift`].
#[derive(Clone, Debug)]
pub struct Swift {
    config: SwiftConfig,
    mss: f64,
    /// The congestion window, in segments.
    window: f64,
    rtt: SimDuration,
    last_decrease: SimTime,
    timeouts: u32,
}

impl Swift {
    pub(crate) fn new(config: &SwiftConfig, start: Start) -> Self {
        let mss = start.mss.0 as f64;
        let window = start.initial_window.0 as f64 / mss;
        let (rtt, last_decrease) = (SimDuration::ZERO, SimTime::ZERO);
        Self { config: *config, mss, window, rtt, last_decrease, timeouts: 0 }
    }

    /// The target in ns (section 3.5): `base + max (0, min (alpha / sqrt (cwnd) + beta, range))`. It adds the range at
    /// the smallest window of flow scaling, and nothing at the largest.
    fn target(&self) -> f64 {
        let config = &self.config;
        let range = config.flow_scaling_range.0 as f64;
        let (least, most) = (1.0 / config.flow_scaling_min_window.sqrt(), 1.0 / config.flow_scaling_max_window.sqrt());
        let alpha = range / (least - most);
        let scaling = alpha / self.window.sqrt() - alpha * most;
        config.base_target.0 as f64 + scaling.clamp(0.0, range)
    }

    fn can_decrease(&self, now: SimTime) -> bool {
        now.saturating_since(self.last_decrease) >= self.rtt
    }

    /// Decreases the window. Only a call that makes it smaller counts as the last decrease (algorithm 1).
    fn decrease(&mut self, now: SimTime, share: f64) {
        let window = (self.window * (1.0 - share)).max(self.config.min_window);
        if window < self.window {
            (self.window, self.last_decrease) = (window, now);
        }
    }
}

impl CongestionController for Swift {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.timeouts = 0;
        self.rtt = ack.rtt_sample.unwrap_or(self.rtt);
        let (delay, target) = (ack.rtt_sample.map_or(0.0, |rtt| rtt.0 as f64), self.target());
        if delay >= target {
            if self.can_decrease(ack.now) {
                let excess = self.config.beta * (delay - target) / delay;
                self.decrease(ack.now, excess.min(self.config.max_decrease));
            }
        } else if ack.may_grow() {
            let acked = ack.newly_acked.0 as f64 / self.mss;
            self.window += self.config.additive_increase * acked / self.window.max(1.0);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        if !event.is_timeout() {
            self.timeouts = 0;
        }
        if self.can_decrease(event.now) {
            self.decrease(event.now, self.config.max_decrease);
        }
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        Bytes((self.window.max(1.0) * self.mss) as u64)
    }

    /// Restarts with the stack's window, which is at least a segment; a reduction (a timeout, or little use) does not
    /// raise a smaller one.
    fn on_restart(&mut self, restart: &RestartEvent) {
        let window = restart.window.0 as f64 / self.mss;
        self.window = if restart.cause.is_reduction() { self.window.min(window) } else { window };
        // Those of an episode under way count, too, which brings no other event.
        if restart.cause == RestartCause::Timeout {
            self.timeouts += 1;
            if self.timeouts >= RETRANSMIT_RESET {
                self.window = self.config.min_window;
            }
        }
    }

    fn ssthresh(&self) -> Option<Bytes> {
        Some(self.cwnd())
    }

    fn pacing_rate(&self) -> Option<Bandwidth> {
        if self.window >= 1.0 || self.rtt.is_zero() {
            return None;
        }
        let rate = self.window * self.mss * 8.0 / self.rtt.as_secs_f64();
        Some(Bandwidth(((rate + 0.5) as u64).max(1)))
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("target_s", self.target() / 1e9);
        record("cwnd_segments", self.window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, loss, restart, timeout};

    fn swift(window: u64) -> Swift {
        let start = Start::of(1_000, window, None);
        Swift::new(&SwiftConfig::new(SimDuration::from_millis(50)), start)
    }

    fn feed(swift: &mut Swift, at_ms: u64, rtt_ms: u64, acked: u64) -> f64 {
        let rtt_sample = Some(SimDuration::from_millis(rtt_ms));
        swift.on_ack(&AckEvent { now: SimTime(at_ms * 1_000_000), rtt_sample, ..ack(acked) });
        swift.window
    }

    #[test]
    fn below_the_target_a_segment_a_round_trip_above_in_proportion_once() {
        let mut swift = swift(10_000);
        assert!((feed(&mut swift, 100, 40, 10_000) - 11.0).abs() < 1e-9);
        // 62.5 ms: 0.8 * 12.5 / 62.5 = 0.16
        assert!((feed(&mut swift, 200, 62, 0) - 11.0 * (1.0 - 0.8 * 12.0 / 62.0)).abs() < 1e-9);
        let held = swift.window;
        assert!((feed(&mut swift, 240, 62, 0) - held).abs() < 1e-9); // within a round trip of the last
        assert!((feed(&mut swift, 1_200, 900, 0) - held * 0.5).abs() < 1e-9); // 0.8 * 850/900 is more than a half
    }

    /// The time `t_last_decrease` moves only if cwnd falls (algorithm 1).
    #[test]
    fn a_decrease_that_takes_nothing_does_not_put_off_the_next() {
        let mut swift = swift(10_000);
        swift.window = swift.config.min_window;
        feed(&mut swift, 1_000, 100, 0);
        swift.window = 10.0;
        assert!((feed(&mut swift, 1_050, 100, 0) - 6.0).abs() < 1e-9); // 0.8 * 50/100
    }

    /// Karn's rule leaves no samples while all that was outstanding is sent again.
    #[test]
    fn it_grows_without_a_sample() {
        let mut swift = swift(10_000);
        swift.rtt = SimDuration::from_millis(900);
        swift.on_ack(&AckEvent { rtt_sample: None, ..ack(10_000) });
        assert!((swift.window - 11.0).abs() < 1e-9, "{}", swift.window); // additive_increase for a window
    }

    #[test]
    fn a_window_below_one_is_paced() {
        let mut swift = swift(1_000);
        feed(&mut swift, 100, 100, 0); // 0.8 * 50/100: 0.6 segments in 100 ms
        assert_eq!(swift.cwnd(), Bytes(1_000));
        assert_eq!(swift.pacing_rate(), Some(Bandwidth(48_000))); // 0.6 * 8000 bits in 0.1 s
        assert!((feed(&mut swift, 300, 40, 1_000) - 1.6).abs() < 1e-9); // + ai for an ACK
        assert_eq!(swift.pacing_rate(), None);
    }

    #[test]
    fn flow_scaling_is_whole_at_the_smallest_window_and_nothing_at_the_largest() {
        let mut swift = swift(1_000);
        swift.config.flow_scaling_range = SimDuration::from_millis(20);
        for (window, target_ms) in [(0.1, 70.0), (0.01, 70.0), (100.0, 50.0), (1_000.0, 50.0)] {
            swift.window = window;
            assert!((swift.target() / 1e6 - target_ms).abs() < 1e-6, "{window}: {}", swift.target() / 1e6);
        }
        // alpha = 20 / (sqrt(10) - 0.1) = 6.531; at 4: 6.531 * (0.5 - 0.1) = 2.612
        swift.window = 4.0;
        assert!((swift.target() / 1e6 - 52.612).abs() < 1e-3);
    }

    #[test]
    fn a_loss_takes_the_largest_share() {
        let mut swift = swift(10_000);
        swift.on_congestion(&loss(10_000));
        assert_eq!(swift.cwnd(), Bytes(5_000));
    }

    #[test]
    fn a_timeout_raises_no_window_and_takes_a_large_one_to_the_loss_window() {
        let mut swift = swift(10_000);
        swift.window = 0.3;
        swift.on_restart(&restart(RestartCause::Timeout, 1_000));
        assert!((swift.window - 0.3).abs() < 1e-12, "{}", swift.window);
        swift.window = 10.0;
        swift.on_restart(&restart(RestartCause::Timeout, 3_000));
        assert!((swift.window - 3.0).abs() < 1e-12, "{}", swift.window);
    }

    #[test]
    fn five_timeouts_in_a_row_leave_the_smallest_window_and_a_repair_begins_to_count_anew() {
        let mut swift = swift(10_000);
        swift.rtt = SimDuration::from_secs(1); // within which no second decrease is made
        let expire = |swift: &mut Swift| swift.on_restart(&restart(RestartCause::Timeout, 2_000));
        swift.on_congestion(&timeout(10_000, false)); // the others belong to its episode, and bring no other event
        (0..4).for_each(|_| expire(&mut swift));
        swift.on_congestion(&loss(10_000));
        for _ in 0..4 {
            expire(&mut swift);
            assert!(swift.window > 1.0);
        }
        expire(&mut swift);
        assert!((swift.window - 0.001).abs() < 1e-12); // RETX_RESET_THRESHOLD = 5
    }
}
