//! Copa: a target rate of 1 / (delta dq), approached at a speed that doubles while the direction stays.
//!
//! Source: Arun and Balakrishnan, Copa: Practical Delay-Based Congestion Control for the Internet, NSDI 2018. With
//! `RTTstanding` the least RTT of the last half SRTT, `RTTmin` that of the last 10 s and dq their difference, the window
//! grows by v/(delta cwnd) for every ACK while cwnd / `RTTstanding` is at most 1/(delta dq), and shrinks by as much
//! otherwise (section 2.1). Alone, flows empty the queue every five round trips; where it has not been nearly empty in
//! five, others fill it, and 1/delta follows AIMD to compete with them (section 2.2). Segments leave at twice the window
//! per `RTTstanding`.
//!
//! Where 1/delta is only a few packets, one packet of another flow is more than a tenth of the range, and several Copa flows
//! may take each other for flows that fill the queue; both constants of the detector are parameters.
//!
//! Departures: after a timeout, of which the paper says nothing, the window is two segments and slow start begins anew.
//! A speed above one is dropped as soon as the window is to move the other way, not at the end of the round trip only. The
//! times are the sender's RTT samples, without the finer clock of the authors' implementation.
//!
//! Checked: both windows, the detector's constants, delta's AIMD and the speed against two implementations of others;
//! the runs held to it are in docs/reference/controllers-checked.md.

use ackclock_declare::{declare, default};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use crate::algorithm::{Algorithm, Name};
use crate::controller::{CongestionController, Controller, Start};
use crate::event::{AckEvent, CongestionEvent, RestartEvent};
use crate::windowed_min::WindowedMin;

declare! {
    /// Parameters of [`Copa`].
    #[derive(Copy)]
    pub struct CopaConfig {
        /// Weight of delay against throughput: 1/delta packets wait.
        delta: f64 = default(0.5).at_least(1e-4).at_most(1e3),
        /// Compete with flows that fill the queue.
        mode_switch: bool = true,
        /// Round trips in which the queue must have been nearly empty for the flow to be alone.
        empty_round_trips: u32 = default(5).at_least(1).at_most(1_000).unit("round trips"),
        /// Share of the range of the RTT below which the queue is nearly empty.
        nearly_empty: f64 = default(0.1).at_least(1e-3).at_most(0.999),
    }
}

impl Algorithm for CopaConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "a target rate of 1 / (delta dq), approached at a speed that doubles",
        source: "Arun and Balakrishnan, NSDI 2018",
        departures: "a timeout begins slow start anew",
        ..Name::called("copa")
    }];

    fn start(&self, start: Start) -> Controller {
        Controller::Copa(Box::new(Copa::new(self, start)))
    }
}

const MIN_WINDOW: SimDuration = SimDuration::from_secs(10);
/// Round trips over which the largest RTT counts.
const MAX_ROUND_TRIPS: u64 = 4;
/// Round trips in one direction before the speed doubles.
const STEADY_ROUND_TRIPS: u32 = 3;
const LEAST_WINDOW: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// How fast the window moves.
#[derive(Clone, Copy, Debug)]
struct Velocity {
    value: f64,
    direction: Direction,
    /// Round trips that the direction has stayed.
    steady: u32,
    /// cwnd when the round trip began.
    window: f64,
}

impl Velocity {
    fn new(window: f64) -> Self {
        Self { value: 1.0, direction: Direction::Up, steady: 0, window }
    }

    /// A speed that was meant for the other direction is of no use in this one.
    fn turn(&mut self, direction: Direction) {
        if self.value > 1.0 && direction != self.direction {
            (self.direction, self.value, self.steady) = (direction, 1.0, 0);
        }
    }

    /// A round trip is over.
    fn update(&mut self, window: f64) {
        let direction = if window > self.window { Direction::Up } else { Direction::Down };
        self.window = window;
        if direction != self.direction {
            (self.direction, self.value, self.steady) = (direction, 1.0, 0);
            return;
        }
        self.steady += 1;
        if self.steady >= STEADY_ROUND_TRIPS {
            self.value *= 2.0;
        }
    }
}

/// Copa: steers towards a rate of 1 / (delta x queueing delay). Source and departures: [`mod@crate::copa`].
#[derive(Clone, Debug)]
pub struct Copa {
    config: CopaConfig,
    mss: f64,
    /// cwnd, with its fraction of a byte.
    window: f64,
    ssthresh: Option<u64>,
    in_slow_start: bool,
    velocity: Velocity,
    round: u64,
    /// 1/delta now, in packets.
    packets: f64,
    standing: WindowedMin,
    least: WindowedMin,
    /// Largest RTT, as what it lacks to the largest number.
    largest: WindowedMin,
    rtt_standing: u64,
    rtt_min: u64,
    last_nearly_empty: SimTime,
    lost_in_round: bool,
}

impl Copa {
    pub(crate) fn new(config: &CopaConfig, start: Start) -> Self {
        let window = start.initial_window as f64;
        Self {
            config: *config,
            mss: start.mss as f64,
            window,
            ssthresh: start.initial_ssthresh,
            in_slow_start: true,
            velocity: Velocity::new(window),
            round: 0,
            packets: 1.0 / config.delta,
            standing: WindowedMin::default(),
            least: WindowedMin::default(),
            largest: WindowedMin::default(),
            rtt_standing: 0,
            rtt_min: 0,
            last_nearly_empty: SimTime::ZERO,
            lost_in_round: false,
        }
    }

    fn sample(&mut self, now: SimTime, rtt: SimDuration, srtt: SimDuration) {
        self.rtt_standing = self.standing.update(now, rtt.0, SimDuration(srtt.0 / 2));
        self.rtt_min = self.least.update(now, rtt.0, MIN_WINDOW);
        let largest = u64::MAX - self.largest.update(now, u64::MAX - rtt.0, SimDuration(srtt.0 * MAX_ROUND_TRIPS));
        let queueing = (self.rtt_standing - self.rtt_min) as f64;
        if queueing <= self.config.nearly_empty * (largest - self.rtt_min) as f64 {
            self.last_nearly_empty = now;
        }
    }

    /// `cwnd / RTTstanding` against `1 / (delta dq)`, without the divisions.
    fn is_below_target(&self) -> bool {
        let queueing = (self.rtt_standing - self.rtt_min) as f64;
        self.window / self.mss * queueing <= self.packets * self.rtt_standing as f64
    }

    fn end_round(&mut self, now: SimTime, srtt: SimDuration) {
        self.velocity.update(self.window);
        let is_alone =
            now.saturating_since(self.last_nearly_empty).0 <= u64::from(self.config.empty_round_trips) * srtt.0;
        let default = 1.0 / self.config.delta;
        self.packets = if !self.config.mode_switch || is_alone {
            default
        } else if self.lost_in_round {
            (self.packets / 2.0).max(default)
        } else {
            self.packets + 1.0
        };
        self.lost_in_round = false;
    }

    fn move_window(&mut self, ack: &AckEvent) {
        let acked = ack.newly_acked.0 as f64;
        let is_below = self.is_below_target();
        self.in_slow_start &= is_below && self.ssthresh.is_none_or(|ssthresh| self.window < ssthresh as f64);
        if self.in_slow_start {
            if ack.is_cwnd_limited {
                self.window += acked;
                self.velocity.window = self.window;
            }
            return;
        }
        self.velocity.turn(if is_below { Direction::Up } else { Direction::Down });
        // v / (delta cwnd) packets for every packet acknowledged
        let step = self.velocity.value * self.packets * acked * self.mss / self.window;
        if !is_below {
            self.window = (self.window - step).max(LEAST_WINDOW * self.mss);
        } else if ack.is_cwnd_limited {
            self.window += step.min(acked);
        }
    }
}

impl CongestionController for Copa {
    fn on_ack(&mut self, ack: &AckEvent) {
        let Some(rtt) = ack.rtt_sample else { return };
        self.sample(ack.now, rtt, ack.rtt.srtt);
        if ack.round != self.round {
            self.round = ack.round;
            self.end_round(ack.now, ack.rtt.srtt);
        }
        if ack.is_cumulative && !ack.in_recovery {
            self.move_window(ack);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.lost_in_round = true;
        self.in_slow_start = false;
        if event.is_timeout() {
            self.window = LEAST_WINDOW * self.mss;
            self.velocity = Velocity::new(self.window);
            (self.in_slow_start, self.ssthresh) = (true, None);
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.window as u64)
    }

    fn on_restart(&mut self, restart: &RestartEvent) {
        if let Some(ssthresh) = restart.ssthresh {
            self.ssthresh = Some(ssthresh.0);
        }
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
        let start = Start { mss: 1_000, initial_window: window, initial_ssthresh: Some(1) };
        Copa::new(&CopaConfig::default(), start)
    }

    fn feed(copa: &mut Copa, at_ms: u64, round: u64, rtt_ms: u64, acked: u64) {
        let rtt = SimDuration::from_millis(rtt_ms);
        let stats = RttStats { latest: rtt, srtt: rtt, ..RttStats::default() };
        let now = SimTime(at_ms * 1_000_000);
        copa.on_ack(&AckEvent { now, round, rtt_sample: Some(rtt), rtt: stats, ..ack(acked) });
    }

    #[test]
    fn the_window_moves_by_v_over_delta_in_a_round_trip() {
        let mut below = copa(20_000);
        feed(&mut below, 0, 0, 100, 0);
        feed(&mut below, 200, 0, 110, 10_000); // dq = 10 ms: 20 * 10 <= 2 * 110
        assert_eq!(below.cwnd(), Bytes(21_000)); // 1 / 0.5 packets for a window: 2 * 10/20
        let mut above = copa(20_000);
        feed(&mut above, 0, 0, 100, 0);
        feed(&mut above, 200, 0, 112, 10_000); // 20 * 12 > 2 * 112
        assert_eq!(above.cwnd(), Bytes(19_000));
        assert_eq!(above.pacing_rate(), Some(Bandwidth(2 * 19_000 * 8 * 1_000 / 112)));
    }

    #[test]
    fn the_speed_doubles_after_three_round_trips_in_one_direction() {
        let mut velocity = Velocity::new(10.0);
        let mut speeds = Vec::new();
        for window in [11.0, 12.0, 13.0, 14.0, 13.0, 12.0] {
            velocity.update(window);
            speeds.push(velocity.value as u64);
        }
        assert_eq!(speeds, [1, 1, 2, 4, 1, 1]);
    }

    #[test]
    fn a_queue_that_is_never_nearly_empty_makes_it_compete() {
        let mut copa = copa(20_000);
        feed(&mut copa, 0, 0, 100, 0);
        // The queue swings between 40 and 60 ms of delay: never within a tenth of its range.
        for round in 1..=10 {
            feed(&mut copa, round * 150, round, if round % 2 == 0 { 140 } else { 160 }, 0);
        }
        // 5 * 150 ms after 0 it is alone no more: from 900 ms, round 6, on 1/delta grows by one; 2 + 5 after ten
        assert!((copa.packets - 7.0).abs() < 1e-9, "{}", copa.packets);
        copa.on_congestion(&crate::testing::loss(20_000));
        feed(&mut copa, 1_700, 11, 140, 0);
        assert!((copa.packets - 3.5).abs() < 1e-9, "{}", copa.packets);
        feed(&mut copa, 1_900, 12, 100, 0);
        assert!((copa.packets - 2.0).abs() < 1e-9, "{}", copa.packets);
    }
}
