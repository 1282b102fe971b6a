//! SIAD, Scalable Increase Adaptive Decrease: a congestion event in a fixed number of round trips whatever the rate,
//! and decreases that just empty the queue.
//!
//! Source: Kuehlewind, "TCP SIAD: Congestion Control supporting High Speed and Low Latency", ETH TIK report 367 (2016),
//! section III; the constants of its Linux module.
//!
//! Departures: windows are octets and fractions of them, and not whole segments; the round trip after a reduction is
//! that of packets, where the module waits for the window to have grown by alpha and two segments. The module's
//! `num_ms`, a time in place of `Num_RTT`, and its guard against a minimum RTT that creeps up from event to event are
//! left out.
//!
//! Checked: decreases, increases and the estimate of the limit against the Linux module; the runs held to it are in
//! docs/reference/laws.md.

use ackclock_declare::{declare, default};
use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::algorithm::{Algorithm, Name};
use crate::controller::{CongestionController, Controller, Start};
use crate::event::{AckEvent, CongestionEvent, RestartEvent};

declare! {
    /// The parameters of [`Siad`].
    #[derive(Copy)]
    pub struct SiadConfig {
        /// Round trips from one congestion event to the next, `Num_RTT`.
        rounds: u32 = default(20).at_least(2).at_most(100_000).unit("round trips").source("TIK report 367"),
        /// Tick of RTT measurements: a shorter queueing delay counts as none.
        tick: SimDuration = default(SimDuration::from_millis(1)).above(SimDuration::ZERO),
    }
}

impl Algorithm for SiadConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "a congestion event in a fixed number of round trips at any rate, and decreases that just empty the queue",
        source: "Kuehlewind, TCP SIAD, ETH TIK report 367, 2016, and its Linux module's constants",
        departures: "windows are octets and not whole segments; the round trip after a reduction is that of packets",
        ..Name::called("siad")
    }];

    fn start(&self, start: Start) -> Controller {
        Controller::Siad(Box::new(Siad::new(self, start)))
    }
}

/// The state after a reduction, until it is known whether the queue is empty.
#[derive(Clone, Copy, Debug)]
struct Check {
    /// The round of the reduction, whose ACKs still show the queue before it; `None` until the first ACK after.
    round: Option<u64>,
    /// The least RTT since the reduction.
    least: SimDuration,
    /// The number of additional decreases so far.
    decreases: u32,
}

/// SIAD: a congestion event in a fixed number of round trips, whatever the rate; windows are octets. Source and
/// departures: [`mod@crate::siad`].
#[derive(Clone, Debug)]
pub struct Siad {
    rounds: f64,
    tick: SimDuration,
    mss: f64,
    cwnd: f64,
    ssthresh: Option<f64>,
    /// The increase in a round trip, octets (`alpha`).
    increase: f64,
    /// The window at which the limit is expected: Linear Increment below, Fast Increase above.
    target: f64,
    /// The limit at the last congestion event.
    last_limit: f64,
    min_rtt: Option<SimDuration>,
    /// The lesser of the last two RTT samples.
    rtt: SimDuration,
    sample: SimDuration,
    check: Option<Check>,
    has_grown: bool,
    before: Option<(f64, Option<f64>)>,
}

impl Siad {
    pub(crate) fn new(config: &SiadConfig, start: Start) -> Self {
        let cwnd = start.initial_window.0 as f64;
        Self {
            rounds: f64::from(config.rounds),
            tick: config.tick,
            mss: start.mss.0 as f64,
            cwnd,
            ssthresh: start.ssthresh().map(|octets| octets as f64),
            increase: cwnd,
            target: cwnd,
            last_limit: cwnd,
            min_rtt: None,
            rtt: SimDuration::ZERO,
            sample: SimDuration::ZERO,
            check: None,
            has_grown: false,
            before: None,
        }
    }

    fn least(&self) -> f64 {
        2.0 * self.mss
    }

    fn in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh)
    }

    /// Takes an RTT sample; a single one that is longer than both of its neighbours does not count.
    fn take_sample(&mut self, sample: SimDuration) {
        let sample = SimDuration((sample.0 / self.tick.0).max(1) * self.tick.0);
        self.rtt = if self.sample.is_zero() { sample } else { sample.min(self.sample) };
        self.sample = sample;
        if self.min_rtt.is_none_or(|least| sample <= least) {
            self.min_rtt = Some(sample);
            self.check = None; // the queue is empty
        }
    }

    /// The path's own share of the window, `RTT_min / RTT`.
    fn path_share(&self) -> f64 {
        match self.min_rtt {
            Some(least) if !self.rtt.is_zero() => least.as_secs_f64() / self.rtt.as_secs_f64(),
            _ => 0.5,
        }
    }

    /// Sets alpha to reach the target in `rounds` round trips, by at least a segment in each.
    fn set_increase(&mut self, rounds: f64) {
        self.increase = ((self.target - self.cwnd) / rounds).max(self.mss);
    }

    fn grow(&mut self, acked: f64) {
        let before = self.cwnd;
        if self.in_slow_start() {
            self.cwnd += acked;
            self.increase = self.cwnd;
            if !self.in_slow_start() {
                self.set_increase(self.rounds);
            }
        } else {
            let growth = acked * (self.increase / self.cwnd).min(1.0);
            self.cwnd += growth;
            if before < self.target && self.cwnd >= self.target {
                self.increase = self.mss; // Fast Increase begins with one segment
            } else if before >= self.target {
                // and doubles in a round trip, up to half of the window
                self.increase = (self.increase + growth * std::f64::consts::LN_2).min(self.cwnd / 2.0).max(self.mss);
            }
        }
        self.has_grown = true;
    }

    /// Decreases again if the queue is not empty a round trip after a reduction, because of other flows or of this one;
    /// at most `Num_RTT - 1` times (section III-C).
    fn decrease_again(&mut self, round: u64) {
        let Some(check) = &mut self.check else { return };
        (check.round, check.least) = (Some(round), SimDuration(u64::MAX));
        check.decreases += 1;
        let left = self.rounds - f64::from(check.decreases);
        let reduced = self.ssthresh.unwrap_or(self.cwnd) * self.path_share() - self.mss;
        self.cwnd = reduced.max(self.least());
        // What is lost of the window besides is the greater of alpha and what leads to nothing in the rounds left.
        self.set_increase((left - 1.0).max(1.0));
        self.cwnd = (self.cwnd - self.increase.max(self.cwnd / left)).max(self.least());
        self.set_increase(left);
        self.ssthresh = Some(self.cwnd);
        if left <= 1.0 || self.cwnd <= self.least() || self.increase > self.cwnd {
            self.check = None;
        }
    }

    /// True if the round trip after the last reduction is over, and had no sample at the minimum RTT.
    fn is_queue_left(&mut self, round: u64) -> bool {
        if self.in_slow_start() || self.cwnd > self.target {
            self.check = None;
        }
        let Some(check) = &mut self.check else { return false };
        // One round for the reduction to show, one to look.
        let is_time = round > *check.round.get_or_insert(round) + 1;
        let is_least = self.rtt <= check.least;
        check.least = check.least.min(self.rtt);
        if is_time && is_least {
            // The window has grown meanwhile and the round trip has not: the path itself is longer than it was.
            self.min_rtt = Some(self.rtt);
            self.check = None;
        }
        is_time && !is_least
    }

    /// Answers a timeout: slow start leads to ssthresh.
    fn start_over(&mut self) {
        self.cwnd = self.mss;
        self.check = None;
    }

    /// The increase of the last round trip if Fast Increase began in it: the rest of it was Linear Increment.
    fn grown_at_the_target(&self) -> f64 {
        let fast = self.increase / self.mss - 1.0;
        let linear = (self.target - self.ssthresh.unwrap_or(self.target)).max(0.0) / self.rounds;
        (1.0 - fast) * linear.max(self.mss) + fast * self.mss
    }

    /// The limit: the window of a round trip ago.
    fn limit(&self) -> f64 {
        let grown = if !self.has_grown {
            0.0
        } else if self.in_slow_start() || self.increase >= self.cwnd {
            self.cwnd / 2.0
        } else if self.cwnd <= self.target {
            self.increase
        } else if self.increase >= self.cwnd / 2.0 {
            self.cwnd / 3.0
        } else if self.increase < 2.0 * self.mss {
            self.grown_at_the_target()
        } else {
            self.increase / 2.0 // doubling: half of it came in the last round trip
        };
        (self.cwnd - grown).max(self.least())
    }
}

impl CongestionController for Siad {
    fn on_ack(&mut self, ack: &AckEvent) {
        if let Some(sample) = ack.rtt_sample {
            self.take_sample(sample);
        }
        if !ack.growth.is_due {
            return;
        }
        if self.is_queue_left(ack.round) {
            self.decrease_again(ack.round);
        } else if ack.growth.is_in_use {
            self.grow(ack.newly_acked.0 as f64);
        }
    }

    /// Reduces the window to `RTT_min / RTT * cwnd_max - 1`, and sets alpha so that the limit is met again in `Num_RTT`
    /// (section III-B).
    fn on_congestion(&mut self, event: &CongestionEvent) {
        if event.is_repeated() {
            return;
        }
        if event.is_timeout() && self.before.is_some() && !self.has_grown {
            self.start_over(); // the window has met no other limit since the last
            return;
        }
        self.before = Some((self.cwnd, self.ssthresh));
        let limit = self.limit();
        let reduced = (limit * self.path_share() - self.mss).max(self.least());
        // The trend goes on; a limit that has fallen to half tells nothing of the next.
        let trend = limit - self.last_limit;
        self.target = if self.last_limit < 2.0 * limit { (limit + trend).max(reduced) } else { reduced };
        self.last_limit = limit;
        self.cwnd = reduced;
        self.ssthresh = Some(reduced);
        self.set_increase(self.rounds);
        self.has_grown = false;
        self.check = Some(Check { round: None, least: SimDuration(u64::MAX), decreases: 0 });
        if event.is_timeout() {
            self.start_over();
        }
    }

    fn on_spurious(&mut self, _now: SimTime) {
        if let Some((cwnd, ssthresh)) = self.before.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = ssthresh;
            self.check = None;
        }
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd as u64)
    }

    fn on_restart(&mut self, restart: &RestartEvent) {
        self.ssthresh = restart.ssthresh.map(|bytes| bytes.0 as f64).or(self.ssthresh);
        self.cwnd = restart.window.0 as f64;
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.ssthresh.map(|octets| Bytes(octets as u64))
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("increase_bytes", self.increase);
        record("target_bytes", self.target);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, loss, timeout};

    const MSS: u64 = 1_000;

    fn at(round: u64, rtt_ms: u64) -> AckEvent {
        AckEvent { round, rtt_sample: Some(SimDuration::from_millis(rtt_ms)), ..ack(MSS) }
    }

    /// A flow with a path of 100 ms and a window of 150 segments, half of it queued.
    fn siad() -> Siad {
        let start = Start::of(MSS, 150 * MSS, Some(100 * MSS));
        let mut siad = Siad::new(&SiadConfig::default(), start);
        siad.take_sample(SimDuration::from_millis(100));
        siad.take_sample(SimDuration::from_millis(150));
        siad.take_sample(SimDuration::from_millis(150));
        siad
    }

    #[test]
    fn a_decrease_empties_the_queue_and_the_increase_takes_twenty_round_trips() {
        let mut siad = siad();
        siad.on_congestion(&loss(150 * MSS));
        assert_eq!(siad.cwnd(), Bytes(99_000)); // 150 * 100/150 - 1 segments
        assert!((siad.increase - 51_000.0 / 20.0).abs() < 1e-6); // back to 150 segments
        // A window's worth of ACKs is a round trip: 2.55 segments
        siad.check = None;
        for _ in 0..99 {
            siad.on_ack(&at(1, 100));
        }
        assert!((siad.cwnd - 101_550.0).abs() < 40.0, "{}", siad.cwnd); // a little less, as the window grows meanwhile
    }

    #[test]
    fn above_its_target_the_increase_begins_with_a_segment_and_doubles() {
        let mut siad = siad();
        siad.on_congestion(&loss(150 * MSS));
        siad.check = None;
        siad.cwnd = siad.target - 1.0;
        siad.on_ack(&at(1, 100));
        assert!((siad.increase - 1_000.0).abs() < 1e-9);
        let round = |siad: &mut Siad| {
            for _ in 0..(siad.cwnd().0 / MSS) {
                siad.on_ack(&at(1, 100));
            }
            siad.increase / 1_000.0
        };
        for alpha in [2.0, 4.0] {
            let increase = round(&mut siad);
            assert!((increase / alpha - 1.0).abs() < 0.05, "{increase} against {alpha}");
        }
    }

    #[test]
    fn a_queue_that_is_left_is_answered_again_until_it_is_empty() {
        let mut siad = siad();
        siad.on_congestion(&loss(150 * MSS));
        for (round, rtt_ms) in [(1, 119), (2, 119)] {
            siad.on_ack(&at(round, rtt_ms));
        }
        let before = siad.cwnd();
        siad.on_ack(&at(2, 120));
        siad.on_ack(&at(3, 120)); // two samples of 120 ms
        // 99 * 100/120 - 1 = 81.5; alpha = (150 - 81.5) / 18 = 3.81; 81.5 / 19 = 4.29 is more: 77.21
        assert!(before > Bytes(99_000) && (siad.cwnd - 77_210.0).abs() < 10.0, "{}", siad.cwnd);
        assert!((siad.increase - (150_000.0 - siad.cwnd) / 19.0).abs() < 1e-6);
        siad.on_ack(&at(4, 100)); // empty
        siad.on_ack(&at(7, 130));
        assert!(siad.cwnd > 77_000.0);
    }

    #[test]
    fn the_limit_is_the_window_of_a_round_trip_ago_also_where_fast_increase_has_just_begun() {
        let mut siad = siad();
        siad.on_congestion(&loss(150 * MSS)); // 99 segments, 2.55 more in each round trip up to 150
        (siad.cwnd, siad.increase, siad.has_grown) = (150_000.0, 1_000.0, true);
        assert!((siad.limit() - 150_000.0).abs() < 2_550.1, "{}", siad.limit());
        siad.cwnd = 150_001.0;
        assert!((siad.limit() - (150_001.0 - 2_550.0)).abs() < 1e-6, "{}", siad.limit());
        siad.increase = 1_500.0; // half a round trip of either
        assert!((siad.limit() - (150_001.0 - 1_775.0)).abs() < 1e-6, "{}", siad.limit());
    }

    /// Linux requests one window of the module: `tcp_enter_loss` does not in a recovery.
    #[test]
    fn a_timeout_before_the_window_has_grown_again_tells_of_no_other_limit() {
        let mut siad = siad();
        siad.on_congestion(&loss(150 * MSS));
        let (target, last_limit, ssthresh) = (siad.target, siad.last_limit, siad.ssthresh());
        siad.on_congestion(&timeout(99 * MSS, false));
        assert_eq!((siad.cwnd(), siad.ssthresh()), (Bytes(MSS), ssthresh));
        assert!((siad.target - target).abs() < 1e-9 && (siad.last_limit - last_limit).abs() < 1e-9);
    }

    #[test]
    fn a_limit_that_grows_sets_the_target_beyond_it() {
        let mut siad = siad();
        siad.on_congestion(&loss(150 * MSS));
        (siad.cwnd, siad.target, siad.has_grown) = (180_000.0, 180_000.0, false);
        siad.on_congestion(&loss(180 * MSS));
        assert!((siad.target - 210_000.0).abs() < 1e-6); // 180 and the 30 that it grew by
    }
}
