//! LEDBAT: a window that holds the queueing delay at a target and yields to all other flows.
//!
//! Source: RFC 6817. Departures: slow start, which the RFC omits, is an option, and off by default. One-way delays come
//! from the timestamps option, and are not used until the receiver's tick is known; without the option the round trip
//! counts. A window that limits the sender counts as in flight, although a host that sends in bursts leaves a part of
//! it free until a burst fits: otherwise neither would ever change. After a timeout the window grows by LEDBAT's own
//! rule, without slow start, and until there is a new sample the queueing delay is zero. An ACK without a sample
//! (Karn's rule) counts with the latest ones. The RFC's `INIT_CWND` is the stack's initial window.
//!
//! Checked: against the pseudo-code of section 2.4.2; the runs held to it are in docs/reference/laws.md.

use ackclock_declare::{declare, default, words};
use ackclock_units::{Bytes, SimDuration};

use crate::algorithm::{Algorithm, Name};
use crate::base_delay::BaseDelay;
use crate::controller::{CongestionController, Controller, Start};
use crate::event::{AckEvent, CongestionEvent, RestartCause, RestartEvent};
use crate::peer_clock::Clocks;

words! {
    /// The delay that LEDBAT measures.
    #[derive(Default)]
    pub enum LedbatDelay {
        /// The delay of the forward path, as in the RFC.
        #[default]
        "forward" = Forward,
        /// The delay of the round trip.
        "round_trip" = RoundTrip,
    }
}

declare! {
    /// The parameters of [`Ledbat`].
    #[derive(Copy)]
    pub struct LedbatConfig {
        /// Target of the queueing delay.
        target: SimDuration = default(SimDuration::from_millis(100))
            .above(SimDuration::ZERO)
            .at_most(SimDuration::from_millis(100))
            .source("RFC 6817 section 2.4.2"),
        /// Growth of the window in a round trip on an empty queue, in segments.
        gain: f64 = default(1.0).at_least(1e-3).at_most(1.0).source("RFC 6817 section 2.4.2"),
        /// Segments by which the window may exceed the flight size.
        allowed_increase: u32 = default(1).at_least(1).at_most(1_000).unit("segments"),
        /// Minutes after which a base delay is forgotten.
        base_history: u32 = default(10).at_least(1).at_most(1_000).unit("minutes"),
        /// Samples whose least is the current delay.
        current_filter: u32 = default(4).at_least(1).at_most(1_000).unit("samples"),
        /// Delay that counts: that of the forward path, or of the round trip.
        delay: LedbatDelay = LedbatDelay::Forward,
        /// Begin with slow start, as Reno does.
        slow_start: bool = false,
    }
}

impl Algorithm for LedbatConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "holds the queueing delay at a target and yields to every other flow",
        source: "RFC 6817",
        departures: "slow start is an option; one-way delays from the timestamps option, of the round trip without it",
        ..Name::called("ledbat")
    }];

    fn start(&self, start: Start) -> Controller {
        Controller::Ledbat(Box::new(Ledbat::new(self, start)))
    }
}

/// The least window, in segments (`MIN_CWND`).
const LEAST_WINDOW: f64 = 2.0;

/// LEDBAT (RFC 6817): holds the queueing delay at a target and yields to all other flows. Source and departures:
/// [`mod@crate::ledbat`].
#[derive(Clone, Debug)]
pub struct Ledbat {
    config: LedbatConfig,
    mss: f64,
    /// The congestion window with its fraction of a byte.
    window: f64,
    ssthresh: Option<u64>,
    in_slow_start: bool,
    clocks: Clocks,
    delay: BaseDelay,
    queueing: SimDuration,
    before_episode: Option<(f64, Option<u64>, bool)>,
}

impl Ledbat {
    pub(crate) fn new(config: &LedbatConfig, start: Start) -> Self {
        Self {
            config: *config,
            mss: start.mss.0 as f64,
            //= rfc6817-2.4.2-init-window
            window: start.initial_window.0 as f64,
            ssthresh: start.ssthresh(),
            in_slow_start: config.slow_start,
            clocks: Clocks::new(None),
            delay: BaseDelay::new(config.base_history, config.current_filter),
            queueing: SimDuration::ZERO,
            before_episode: None,
        }
    }

    fn sample(&mut self, ack: &AckEvent) -> Option<i64> {
        match (&ack.timestamps, self.config.delay) {
            //= rfc6817-2.4.2-one-way
            (Some(stamps), LedbatDelay::Forward) => self.clocks.read(stamps).map(|times| times.received - times.sent),
            _ => ack.rtt_sample.map(|rtt| rtt.0 as i64),
        }
    }

    /// Adjusts the window (RFC 6817 section 2.4.2), to at most `flightsize + ALLOWED_INCREASE * MSS`:
    /// `off_target = (TARGET - queuing_delay) / TARGET`, and
    /// `cwnd += GAIN * off_target * bytes_newly_acked * MSS / cwnd`.
    fn adjust(&mut self, ack: &AckEvent) {
        //= rfc6817-2.4.2-target
        let target = self.config.target.0 as f64;
        //= rfc6817-2.4.2-off-target
        let off_target = (target - self.queueing.0 as f64) / target;
        //= rfc6817-2.4.2-gain
        let step = self.config.gain * off_target * ack.newly_acked.0 as f64 * self.mss / self.window;
        //= rfc6817-2.4.2-allowed-increase
        let in_use = if ack.growth.is_in_use { self.window } else { 0.0 };
        let in_flight = in_use.max(ack.prior_flight_size.0 as f64) + f64::from(self.config.allowed_increase) * self.mss;
        self.window = (self.window + step).min(in_flight).max(LEAST_WINDOW * self.mss);
    }
}

impl CongestionController for Ledbat {
    fn on_ack(&mut self, ack: &AckEvent) {
        if !ack.growth.is_due {
            return;
        }
        if let Some(delay) = self.sample(ack) {
            self.queueing = self.delay.queueing(ack.now, delay);
        }
        if !self.delay.is_known() {
            return;
        }
        self.in_slow_start &= self.ssthresh.is_none_or(|ssthresh| self.window < ssthresh as f64);
        //= rfc6817-2.4.2-slow-start
        if self.in_slow_start && ack.growth.is_in_use {
            self.window += (ack.newly_acked.0 as f64).min(2.0 * self.mss);
        } else {
            self.adjust(ack);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let was_in_slow_start = std::mem::take(&mut self.in_slow_start);
        if !event.is_repeated() {
            self.before_episode = Some((self.window, self.ssthresh, was_in_slow_start));
            //= rfc6817-2.4.2-halve
            // cwnd = min (cwnd, max (cwnd/2, MIN_CWND * MSS))
            self.window = self.window.min((self.window / 2.0).max(LEAST_WINDOW * self.mss));
            self.ssthresh = Some(self.window as u64);
        }
        if event.is_timeout() {
            //= rfc6817-2.4.2-timeout
            self.window = self.mss;
        }
    }

    fn on_spurious(&mut self, _now: ackclock_units::SimTime) {
        if let Some((window, ssthresh, in_slow_start)) = self.before_episode.take() {
            self.window = self.window.max(window);
            (self.ssthresh, self.in_slow_start) = (ssthresh, in_slow_start);
        }
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.window as u64)
    }

    fn on_restart(&mut self, restart: &RestartEvent) {
        self.ssthresh = restart.ssthresh.map(|bytes| bytes.0).or(self.ssthresh);
        self.window = restart.window.0 as f64;
        if restart.cause == RestartCause::Timeout {
            self.delay.forget_current();
            self.queueing = SimDuration::ZERO;
        }
    }

    /// Without slow start the threshold is the window itself.
    fn ssthresh(&self) -> Option<Bytes> {
        if self.in_slow_start { self.ssthresh.map(Bytes) } else { Some(self.cwnd()) }
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("queueing_delay_s", self.queueing.as_secs_f64());
        record("base_delay_s", self.delay.base() as f64 / 1e9);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, loss, restart, timeout, unused};

    fn ledbat() -> Ledbat {
        let start = Start::of(1_000, 10_000, None);
        Ledbat::new(&LedbatConfig { delay: LedbatDelay::RoundTrip, ..LedbatConfig::default() }, start)
    }

    /// Acknowledges ten segments with this RTT, often enough to fill the filter with it.
    fn after(ledbat: &mut Ledbat, rtt_ms: u64) -> u64 {
        let rtt_sample = Some(SimDuration::from_millis(rtt_ms));
        for _ in 0..4 {
            ledbat.on_ack(&AckEvent { rtt_sample, ..ack(0) });
        }
        ledbat.on_ack(&AckEvent { rtt_sample, ..ack(10_000) });
        ledbat.cwnd().0
    }

    //= rfc6817-2.4.2-gain
    //= rfc6817-2.4.2-off-target
    #[test]
    fn the_window_grows_and_shrinks_with_the_distance_to_the_target() {
        let mut ledbat = ledbat();
        assert_eq!(after(&mut ledbat, 50), 11_000); // off_target 1: a segment for a window
        ledbat.window = 10_000.0;
        assert_eq!(after(&mut ledbat, 125), 10_250); // 75 of 100 ms: a quarter
        ledbat.window = 10_000.0;
        assert_eq!(after(&mut ledbat, 150), 10_000);
        assert_eq!(after(&mut ledbat, 200), 9_500); // 150 ms: minus a half
    }

    //= rfc6817-2.4.2-allowed-increase
    #[test]
    fn the_window_stays_near_what_is_in_flight() {
        let mut ledbat = ledbat();
        ledbat.window = 10_900.0;
        assert_eq!(after(&mut ledbat, 50), 11_817); // 10 segments of 10.9: in use, whole
        let rtt_sample = Some(SimDuration::from_millis(50));
        for window in [10_900.0, 20_000.0] {
            ledbat.window = window;
            ledbat.on_ack(&unused(&AckEvent { rtt_sample, ..ack(10_000) }));
            assert_eq!(ledbat.cwnd(), Bytes(11_000)); // not in use: 10 segments in flight and one more
        }
    }

    /// Samples older than a round trip do not count for the current delay, and an ACK without one (Karn's rule) uses
    /// the list as it is (section 2.4.2).
    #[test]
    fn after_a_timeout_it_grows_without_a_sample() {
        let mut ledbat = ledbat();
        after(&mut ledbat, 50);
        after(&mut ledbat, 400);
        ledbat.on_restart(&restart(RestartCause::Timeout, 2_000));
        ledbat.on_ack(&AckEvent { rtt_sample: None, ..ack(2_000) });
        assert_eq!(ledbat.cwnd(), Bytes(3_000)); // off_target 1: a segment for a window
    }

    //= rfc6817-2.4.2-timeout
    //= rfc6817-2.4.2-halve
    #[test]
    fn a_loss_halves_and_a_timeout_leaves_a_segment() {
        let mut ledbat = ledbat();
        ledbat.on_congestion(&loss(10_000));
        assert_eq!(ledbat.cwnd(), Bytes(5_000));
        ledbat.on_congestion(&timeout(5_000, false));
        assert_eq!(ledbat.cwnd(), Bytes(1_000));
    }
}
