//! Copa: a target rate of 1 / (delta dq), approached at a speed that doubles while the direction stays.
//!
//! Source: Arun and Balakrishnan, Copa: Practical Delay-Based Congestion Control for the Internet, NSDI 2018, in the
//! steps of the authors' sender (genericCC, mode `auto`). `RTTstanding` is the least RTT of the last half SRTT,
//! `RTTmin` that of the last 10 s, and dq their difference. While the window is below `RTTstanding` / (delta dq), it
//! grows by v/(delta cwnd) for every acknowledged packet, and otherwise shrinks by as much (section 2.1). Alone, flows
//! empty the queue every five round trips. If the least RTT of the last four is above `RTTmin` by more than a tenth of
//! their range, other flows fill the queue. Then 1/delta follows AIMD to compete with them (section 2.2). Segments
//! leave at twice the window per `RTTstanding`.
//!
//! Where the paper and its authors' sender differ, the sender's step is taken, because its flows keep the low queue that the
//! paper promises of several: v doubles with each round trip in which most packets moved the window the way they did in
//! the one before (the paper: after three), is never more than delta windows, and the detector remembers four round trips
//! (the paper: five). More than 30 % lost over two round trips takes three tenths of the window.
//!
//! Departures: after a timeout, which neither specifies, slow start begins anew from TCP's loss window. The earlier
//! queue is forgotten, and slow start continues with ACKs without an RTT sample (Karn's rule). A window grows only
//! while it is in use. The times are the sender's RTT samples, and SRTT is TCP's. Neither mentions marks: data is not
//! ECN-capable.
//!
//! The runs held to it are in docs/reference/laws.md.

use ackclock_declare::{declare, default};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use crate::algorithm::{Algorithm, Name};
use crate::controller::{CongestionController, Controller, Start};
use crate::delivery::Demands;
use crate::event::{AckEvent, CongestionEvent, RestartCause, RestartEvent};
use crate::windowed_min::WindowedMin;

declare! {
    /// The parameters of [`Copa`].
    #[derive(Copy)]
    pub struct CopaConfig {
        /// Weight of delay against throughput: 1/delta packets queue.
        delta: f64 = default(0.5).at_least(1e-4).at_most(1e3),
        /// Compete with flows that fill the queue.
        mode_switch: bool = true,
        /// Round trips in which the queue must have been nearly empty for the flow to be alone. The authors' sender
        /// remembers four, the paper says five.
        empty_round_trips: u32 = default(4).at_least(1).at_most(1_000).unit("round trips"),
        /// Share of the range of RTTs below which the queue is nearly empty.
        nearly_empty: f64 = default(0.1).at_least(1e-3).at_most(0.999),
    }
}

impl Algorithm for CopaConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "a target rate of 1 / (delta dq), approached at a speed that doubles",
        source: "Arun and Balakrishnan, NSDI 2018",
        departures: "the authors' sender is followed where it differs from the paper: speed, memory of the detector; a timeout begins slow start anew; data is not ECN-capable",
        ..Name::called("copa")
    }];

    fn start(&self, start: Start) -> Controller {
        Controller::Copa(Box::new(Copa::new(self, start)))
    }
}

const MIN_WINDOW: SimDuration = SimDuration::from_secs(10);
const LEAST_WINDOW: f64 = 2.0;
/// The losses that a flow answers that ignores single ones: the lost fraction, the fraction kept, and the packets
/// needed for an estimate.
const TOO_MUCH_LOST: f64 = 0.3;
const KEPT: f64 = 0.7;
const TELLING: f64 = 20.0;

/// The speed of the window.
#[derive(Clone, Copy, Debug)]
struct Velocity {
    value: f64,
    is_up: bool,
    /// The packets of this round trip that moved the window up, less those that moved it down.
    balance: i64,
    since: SimTime,
}

impl Velocity {
    fn new() -> Self {
        Self { value: 1.0, is_up: true, balance: 0, since: SimTime::ZERO }
    }

    /// Ends a round trip after `rtt`: the speed doubles if it moved the window the same way as the last one did.
    fn update(&mut self, now: SimTime, rtt: SimDuration) {
        if now.saturating_since(self.since) <= rtt {
            return;
        }
        let goes_on = if self.is_up { self.balance > 0 } else { self.balance < 0 };
        if goes_on {
            self.value *= 2.0;
        } else {
            (self.value, self.is_up) = (1.0, !self.is_up);
        }
        (self.since, self.balance) = (now, 0);
    }

    /// The speed for a packet, with `wanted` packets in the queue and this window, in packets. In a round trip it is at
    /// most the flight size.
    fn next(&mut self, is_up: bool, wanted: f64, window: f64) -> f64 {
        if self.value > window / wanted {
            self.value /= 2.0;
        }
        self.value = self.value.max(1.0);
        self.balance += if is_up { 1 } else { -1 };
        self.value
    }
}

/// The losses of the last two round trips.
#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    since: SimTime,
    acked: u64,
    lost: u64,
    /// True if an ACK has revealed a loss since the last RTT sample.
    is_new: bool,
}

impl Losses {
    fn count(&mut self, ack: &AckEvent) {
        self.acked += ack.newly_acked.0;
        self.lost += ack.newly_lost.0;
        self.is_new |= ack.newly_lost.0 > 0;
    }

    /// True if there was a loss since the last call.
    fn take_new(&mut self) -> bool {
        std::mem::take(&mut self.is_new)
    }

    /// True if the losses were too many, at the end of two round trips.
    fn are_too_many(&mut self, now: SimTime, rtt: SimDuration, mss: f64) -> bool {
        let all = (self.acked + self.lost) as f64;
        if now.saturating_since(self.since) <= SimDuration(2 * rtt.0) || all < TELLING * mss {
            return false;
        }
        let is_much = self.lost as f64 > TOO_MUCH_LOST * all;
        *self = Self { since: now, ..Self::default() };
        is_much
    }
}

/// AIMD on 1/delta: the times of the last increase and decrease.
#[derive(Clone, Copy, Debug, Default)]
struct Competition {
    raised: SimTime,
    lowered: SimTime,
}

/// Copa: steers towards a rate of 1 / (delta x queueing delay). Source and departures: [`mod@crate::copa`].
#[derive(Clone, Debug)]
pub struct Copa {
    config: CopaConfig,
    mss: f64,
    /// The congestion window with its fraction of a byte.
    window: f64,
    ssthresh: Option<u64>,
    in_slow_start: bool,
    velocity: Velocity,
    losses: Losses,
    competition: Competition,
    /// The present value of 1/delta, in packets.
    packets: f64,
    standing: WindowedMin,
    least: WindowedMin,
    /// The least and largest recent RTT, the latter as its distance from the largest number.
    recent: WindowedMin,
    largest: WindowedMin,
    rtt_standing: u64,
    rtt_min: u64,
}

impl Copa {
    pub(crate) fn new(config: &CopaConfig, start: Start) -> Self {
        let window = start.initial_window.0 as f64;
        Self {
            config: *config,
            mss: start.mss.0 as f64,
            window,
            ssthresh: start.ssthresh(),
            in_slow_start: true,
            velocity: Velocity::new(),
            losses: Losses::default(),
            competition: Competition::default(),
            packets: 1.0 / config.delta,
            standing: WindowedMin::default(),
            least: WindowedMin::default(),
            recent: WindowedMin::default(),
            largest: WindowedMin::default(),
            rtt_standing: 0,
            rtt_min: 0,
        }
    }

    /// Takes an RTT sample; returns true if the queue was nearly empty of late.
    fn sample(&mut self, now: SimTime, rtt: SimDuration, srtt: SimDuration) -> bool {
        self.rtt_standing = self.standing.update(now, rtt.0, SimDuration(srtt.0 / 2));
        self.rtt_min = self.least.update(now, rtt.0, MIN_WINDOW);
        let memory = SimDuration(srtt.0 * u64::from(self.config.empty_round_trips));
        let recent = self.recent.update(now, rtt.0, memory);
        let largest = u64::MAX - self.largest.update(now, u64::MAX - rtt.0, memory);
        let (queued, range) = (recent.saturating_sub(self.rtt_min), largest.saturating_sub(self.rtt_min));
        queued as f64 <= self.config.nearly_empty * range as f64
    }

    /// The target window `RTTstanding / (delta dq)` in packets; `None` without a queue.
    fn target(&self) -> f64 {
        let queueing = self.rtt_standing.saturating_sub(self.rtt_min) as f64;
        if queueing > 0.0 { self.packets * self.rtt_standing as f64 / queueing } else { f64::INFINITY }
    }

    /// Sets 1/delta: the default alone; beside other flows one more in a round trip, and half in one with losses.
    fn compete(&mut self, now: SimTime, rtt: SimDuration, is_alone: bool, has_lost: bool) {
        let default = 1.0 / self.config.delta;
        let is_over = |since: SimTime| now.saturating_since(since) > rtt;
        if is_alone || !self.config.mode_switch {
            self.packets = default;
            self.competition.raised = now;
        } else if has_lost && is_over(self.competition.lowered) {
            self.packets = (self.packets / 2.0).max(default);
            self.competition.lowered = now;
        } else if is_over(self.competition.raised) {
            self.packets += 1.0;
            self.competition.raised = now;
        }
    }

    fn move_window(&mut self, ack: &AckEvent, rtt: SimDuration) {
        let target = self.target();
        self.in_slow_start &=
            self.window < target * self.mss && self.ssthresh.is_none_or(|ssthresh| self.window < ssthresh as f64);
        if self.in_slow_start {
            return self.slow_start(ack);
        }
        self.velocity.update(ack.now, rtt);
        for _ in 0..((ack.newly_acked.0 as f64 / self.mss) as u64).max(1) {
            self.move_by_a_packet(target, ack.growth.is_in_use);
        }
    }

    fn slow_start(&mut self, ack: &AckEvent) {
        if ack.growth.is_in_use {
            self.window += ack.newly_acked.0 as f64;
        }
    }

    /// Moves the window by v / (delta cwnd) packets.
    fn move_by_a_packet(&mut self, target: f64, is_in_use: bool) {
        let window = self.window / self.mss;
        let is_up = window < target;
        let step = self.velocity.next(is_up, self.packets, window) * self.packets / window;
        if !is_up {
            self.window = ((window - step) * self.mss).max(LEAST_WINDOW * self.mss);
        } else if is_in_use {
            self.window += step * self.mss;
        }
    }
}

impl CongestionController for Copa {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.losses.count(ack);
        let Some(rtt) = ack.rtt_sample else {
            if self.in_slow_start {
                self.slow_start(ack);
            }
            return;
        };
        let is_alone = self.sample(ack.now, rtt, ack.rtt.srtt);
        let has_lost = self.losses.take_new();
        self.compete(ack.now, rtt, is_alone, has_lost);
        if ack.newly_acked.0 > 0 {
            self.move_window(ack, rtt);
        }
        if self.losses.are_too_many(ack.now, rtt, self.mss) {
            self.window = (KEPT * self.window).max(LEAST_WINDOW * self.mss);
        }
    }

    /// Losses are taken from the ACKs, and a timeout brings a restart.
    fn on_congestion(&mut self, _event: &CongestionEvent) {}

    /// The window bounds sending in recovery, too: the controller ignores single losses.
    fn demands(&self) -> Demands {
        Demands { recovery_window: true, no_ecn: true, ..Demands::default() }
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.window as u64)
    }

    fn on_restart(&mut self, restart: &RestartEvent) {
        if restart.cause == RestartCause::Timeout {
            self.velocity = Velocity::new();
            (self.in_slow_start, self.ssthresh) = (true, None);
            (self.standing, self.rtt_standing) = (WindowedMin::default(), 0); // of the last half SRTT, which is over
        }
        self.ssthresh = restart.ssthresh.map(|bytes| bytes.0).or(self.ssthresh);
        self.window = restart.window.0 as f64;
    }

    fn ssthresh(&self) -> Option<Bytes> {
        if self.in_slow_start { self.ssthresh.map(Bytes) } else { Some(self.cwnd()) }
    }

    fn state(&self) -> &'static str {
        if self.in_slow_start {
            "slow_start"
        } else if self.packets > 1.0 / self.config.delta {
            "competitive_mode"
        } else {
            "default_mode"
        }
    }

    fn pacing_rate(&self) -> Option<Bandwidth> {
        (self.rtt_standing > 0).then(|| Bandwidth((2.0 * self.window * 8.0 / (self.rtt_standing as f64 / 1e9)) as u64))
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("rtt_standing_s", self.rtt_standing as f64 / 1e9);
        record("rtt_min_s", self.rtt_min as f64 / 1e9);
        record("delta", 1.0 / self.packets);
        record("velocity", self.velocity.value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::RttStats;
    use crate::testing::ack;

    fn copa(window: u64) -> Copa {
        let start = Start::of(1_000, window, Some(1));
        Copa::new(&CopaConfig::default(), start)
    }

    fn feed(copa: &mut Copa, at_ms: u64, rtt_ms: u64, acked: u64) {
        let rtt = SimDuration::from_millis(rtt_ms);
        let stats = RttStats { latest: rtt, srtt: rtt, ..RttStats::default() };
        let now = SimTime(at_ms * 1_000_000);
        copa.on_ack(&AckEvent { now, rtt_sample: Some(rtt), rtt: stats, ..ack(acked) });
    }

    fn lose(copa: &mut Copa, at_ms: u64, rtt_ms: u64, lost: u64) {
        let rtt = SimDuration::from_millis(rtt_ms);
        let stats = RttStats { latest: rtt, srtt: rtt, ..RttStats::default() };
        let now = SimTime(at_ms * 1_000_000);
        copa.on_ack(&AckEvent { now, rtt_sample: Some(rtt), newly_lost: Bytes(lost), rtt: stats, ..ack(0) });
    }

    #[test]
    fn the_window_moves_by_v_over_delta_in_a_round_trip() {
        let mut below = copa(20_000);
        feed(&mut below, 0, 100, 0);
        feed(&mut below, 200, 110, 10_000); // dq = 10 ms: the target is 2 * 110 / 10 = 22 packets
        // ten packets, each of which adds 2/w: w^2 grows by 4 + 4/w^2, from 400 to 440.098
        assert_eq!(below.cwnd(), Bytes(20_978));
        let mut above = copa(20_000);
        feed(&mut above, 0, 100, 0);
        feed(&mut above, 200, 112, 10_000); // 2 * 112 / 12 = 18.7 packets
        assert_eq!(above.cwnd(), Bytes(18_976)); // w^2 falls by 4 - 4/w^2, to 360.105
        let rate = above.pacing_rate().unwrap().0 as f64;
        assert!((rate / (2.0 * 18_976.4 * 8.0 / 0.112) - 1.0).abs() < 1e-4, "{rate}");
    }

    #[test]
    fn the_speed_doubles_with_each_round_trip_that_goes_the_way_of_the_last() {
        let mut velocity = Velocity::new();
        let mut speeds = Vec::new();
        let rtt = SimDuration::from_millis(100);
        for (round, is_up) in [(1, true), (2, true), (3, true), (4, false), (5, false), (6, false)] {
            velocity.next(is_up, 2.0, 1e6);
            velocity.update(SimTime(round * 101_000_000), rtt);
            speeds.push(velocity.value as u64);
        }
        // The first that turns is still counted against the old direction; from the next on it doubles.
        assert_eq!(speeds, [2, 4, 8, 1, 2, 4]);
    }

    #[test]
    fn the_speed_moves_a_window_by_no_more_than_itself_in_a_round_trip() {
        let mut velocity = Velocity { value: 16.0, ..Velocity::new() };
        assert!((velocity.next(true, 2.0, 20.0) - 8.0).abs() < 1e-9); // 16 * 2 packets are more than 20: halved
    }

    #[test]
    fn a_queue_that_is_never_nearly_empty_makes_it_compete() {
        let mut copa = copa(20_000);
        feed(&mut copa, 0, 100, 0);
        // The queue swings between 40 and 60 ms of delay, never within a tenth of its range; four round trips after 0 it is alone
        // no more, and 1/delta grows by one in each.
        for round in 1..=10 {
            feed(&mut copa, round * 170, if round % 2 == 0 { 140 } else { 160 }, 0);
        }
        // 170, 340 and 510 ms: alone; from 680 ms on, seven times one more
        assert!((copa.packets - 9.0).abs() < 1e-9, "{}", copa.packets);
        lose(&mut copa, 1_900, 140, 1_000);
        assert!((copa.packets - 4.5).abs() < 1e-9, "{}", copa.packets);
        feed(&mut copa, 2_100, 100, 0);
        assert!((copa.packets - 2.0).abs() < 1e-9, "{}", copa.packets);
    }

    /// The paper's section 2.2 halves 1/delta in a round trip with losses; a duplicate ACK may lack an RTT sample.
    #[test]
    fn a_loss_told_without_a_sample_counts() {
        let mut copa = copa(20_000);
        copa.packets = 9.0;
        feed(&mut copa, 0, 100, 0);
        copa.packets = 9.0;
        copa.on_ack(&AckEvent { rtt_sample: None, newly_lost: Bytes(1_000), ..ack(0) });
        let rtt = SimDuration::from_millis(100);
        let has_lost = copa.losses.take_new();
        copa.compete(SimTime(1_000_000_000), rtt, false, has_lost);
        assert!((copa.packets - 4.5).abs() < 1e-9, "{}", copa.packets);
    }

    /// Karn's rule leaves no samples while all that was outstanding is sent again: slow start, RFC 5681 section 3.1, goes by ACKs.
    #[test]
    fn slow_start_after_a_timeout_needs_no_sample() {
        let mut copa = copa(20_000);
        feed(&mut copa, 0, 100, 0);
        feed(&mut copa, 100, 400, 0); // a queue of 300 ms: a target of 2.7 packets
        copa.on_restart(&crate::testing::restart(RestartCause::Timeout, 1_000));
        assert_eq!((copa.cwnd(), copa.pacing_rate()), (Bytes(1_000), None));
        for acked in [1_000, 2_000, 4_000] {
            copa.on_ack(&AckEvent { rtt_sample: None, ..ack(acked) });
        }
        assert_eq!(copa.cwnd(), Bytes(8_000));
    }

    #[test]
    fn more_than_three_tenths_lost_take_three_tenths_of_the_window() {
        for (lost, kept) in [(30, false), (45, true)] {
            let mut losses = Losses::default();
            let event = |now, acked, lost| AckEvent { now: SimTime(now), newly_lost: Bytes(lost), ..ack(acked) };
            let rtt = SimDuration::from_millis(100);
            let mut after = |event: AckEvent| {
                losses.count(&event);
                losses.are_too_many(event.now, rtt, 1_000.0)
            };
            assert!(!after(event(1, 100_000, lost * 1_000)));
            assert_eq!(after(event(201_000_000, 1_000, 0)), kept); // 30 of 131; 45 of 146
        }
    }
}
