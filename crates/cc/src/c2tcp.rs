//! C2TCP: CUBIC, whose window starts over when the round trip has been above a setpoint for too long.
//!
//! Source: Abbasloo et al., Cellular Controlled Delay TCP (C2TCP), IFIP Networking 2018, and C2TCP: A Flexible Cellular
//! TCP to Meet Stringent Delay Requirements, JSAC 2019, in the steps of the authors' module for Linux. The setpoint is
//! alpha times the minimum RTT, and the length of an interval. An ACK with an RTT of at most the setpoint (the good
//! condition) adds setpoint / RTT to a count. When the count reaches the window in segments, a segment is added, beside
//! CUBIC's growth. The first RTT above it begins an interval; once that is over without one below (the bad condition),
//! CUBIC answers as to a loss, and the window is one segment. The next restart is due after an interval / sqrt(n),
//! where n counts restarts in a row.
//!
//! Departures: the ratio is not cut to an integer; a window grows only while it is in use; while the sender recovers
//! from losses nothing is decided, and time goes on; every ACK with a sample counts, also in the first second of a
//! stage of CUBIC, in which the authors' module, as Linux, takes none. The setpoint may be given as a time
//! (`setpoint`), the flexibility of the second paper; its adaptation over time is left out. Once the window has started
//! over, an earlier loss that proves spurious restores nothing.
//!
//! The runs held to it are in docs/reference/laws.md.

use ackclock_declare::{declare, default, unset};
use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::algorithm::{Algorithm, Name};
use crate::controller::{CongestionController, Controller, Start};
use crate::cubic::CubicConfig;
use crate::event::{AckEvent, CongestionCause, CongestionEvent, RestartCause, RestartEvent, SendEvent};
use crate::linux_cubic::LinuxCubic;
use crate::slow_start::{EarlyExit, Hystart};

declare! {
    /// The parameters of [`C2tcp`].
    #[derive(Copy)]
    pub struct C2tcpConfig {
        /// Setpoint of the RTT, as a multiple of the minimum RTT.
        alpha: f64 = default(2.0).above(1.0).at_most(1e3).unit("round trips").source("the authors' module"),
        /// Setpoint of the RTT, as a time.
        setpoint: Option<SimDuration> = unset("alpha minimum RTTs").above(SimDuration::ZERO).at_most(SimDuration::from_secs(100)),
    }
}

impl Algorithm for C2tcpConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "Linux's CUBIC, whose window starts over when the RTT has been above a setpoint for an interval / sqrt(n)",
        source: "Abbasloo et al., IFIP Networking 2018 and JSAC 2019",
        departures: "windows grow only while in use; nothing is decided while losses are repaired; the setpoint does not adapt by itself",
        ..Name::called("c2tcp")
    }];

    fn start(&self, start: Start) -> Controller {
        Controller::C2tcp(Box::new(C2tcp::new(self, start)))
    }
}

/// The state while round trips are above the setpoint.
#[derive(Clone, Copy, Debug)]
struct Above {
    /// The time of the next restart of the window, unless a round trip below the setpoint comes first.
    next: SimTime,
    /// The count n: restarts in a row, and one.
    count: u32,
}

/// C2TCP: CUBIC under a setpoint for the round trip. Source and departures: [`mod@crate::c2tcp`].
#[derive(Clone, Debug)]
pub struct C2tcp {
    config: C2tcpConfig,
    mss: u64,
    cubic: LinuxCubic,
    setpoint: SimDuration,
    /// The count of the good condition since it last added a segment.
    counted: f64,
    above: Option<Above>,
    /// True if the window has restarted since CUBIC's last episode, which is then not undone.
    has_started_over: bool,
}

impl C2tcp {
    pub(crate) fn new(config: &C2tcpConfig, start: Start) -> Self {
        let cubic = LinuxCubic::new(&CubicConfig { hystart: Hystart::Linux, ..CubicConfig::linux() }, start);
        Self {
            config: *config,
            mss: start.mss.0,
            cubic,
            setpoint: SimDuration::ZERO,
            counted: 0.0,
            above: None,
            has_started_over: false,
        }
    }

    /// Judges the condition by an RTT sample. The setpoint is also the interval.
    fn judge(&mut self, ack: &AckEvent, rtt: SimDuration) {
        let least = ack.rtt.min_rtt.0 as f64;
        self.setpoint = self.config.setpoint.unwrap_or(SimDuration((self.config.alpha * least) as u64));
        let interval = self.setpoint;
        if rtt <= self.setpoint {
            self.above = None;
            self.grow(ack, rtt);
            return;
        }
        match self.above {
            None => self.above = Some(Above { next: ack.now + interval, count: 1 }),
            Some(Above { next, count }) if ack.now > next && !ack.in_recovery => {
                let wait = SimDuration((interval.0 as f64 / f64::from(count).sqrt()) as u64);
                self.above = Some(Above { next: ack.now + wait, count: count + 1 });
                self.start_over(ack.now);
            }
            Some(_) => (),
        }
    }

    fn grow(&mut self, ack: &AckEvent, rtt: SimDuration) {
        if !ack.may_grow() {
            return;
        }
        self.counted += self.setpoint.0 as f64 / rtt.0.max(1) as f64;
        let cwnd = self.cubic.cwnd().0;
        let segments = (cwnd / self.mss) as f64;
        if self.counted >= segments {
            let grown = (self.counted / segments) as u64;
            self.counted -= grown as f64 * segments;
            self.set_window(ack.now, cwnd + grown * self.mss);
        }
    }

    /// Restarts: CUBIC answers as to a loss, and the window is one segment.
    fn start_over(&mut self, now: SimTime) {
        let cwnd = self.cubic.cwnd();
        self.cubic.on_congestion(&CongestionEvent {
            now,
            cause: CongestionCause::Loss,
            flight_size: cwnd,
            decrease_from: cwnd,
            newly_lost: Bytes::ZERO,
            inflight: cwnd,
        });
        self.set_window(now, self.mss);
        self.counted = 0.0;
        self.has_started_over = true;
    }

    fn set_window(&mut self, now: SimTime, window: u64) {
        let window = Bytes(window);
        self.cubic.on_restart(&RestartEvent { now, cause: RestartCause::Outer, window, ssthresh: None });
    }
}

impl CongestionController for C2tcp {
    fn on_ack(&mut self, ack: &AckEvent) {
        if let Some(rtt) = ack.rtt_sample {
            self.judge(ack, rtt);
        }
        self.cubic.on_ack(ack);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.has_started_over &= event.is_repeated();
        self.cubic.on_congestion(event);
    }

    fn on_spurious(&mut self, now: SimTime) {
        if !self.has_started_over {
            self.cubic.on_spurious(now);
        }
    }

    fn on_send(&mut self, sent: &SendEvent) {
        self.cubic.on_send(sent);
    }

    fn on_restart(&mut self, restart: &RestartEvent) {
        self.cubic.on_restart(restart);
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        self.cubic.cwnd()
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.cubic.ssthresh()
    }

    fn state(&self) -> &'static str {
        if self.above.is_some_and(|above| above.count > 1) { "bad_condition" } else { self.cubic.state() }
    }

    fn early_exit(&self) -> Option<EarlyExit> {
        self.cubic.early_exit()
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        self.cubic.inspect(record);
        record("setpoint_s", self.setpoint.as_secs_f64());
        record("n", f64::from(self.above.map_or(0, |above| above.count)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::RttStats;
    use crate::testing::{ack, loss, recovering, unused};

    const MSS: u64 = 1_000;

    /// C2TCP in congestion avoidance, with a minimum RTT of 50 ms: setpoint and interval are 100 ms.
    fn c2tcp(segments: u64) -> C2tcp {
        let start = Start::of(MSS, segments * MSS, Some(2 * MSS));
        C2tcp::new(&C2tcpConfig::default(), start)
    }

    fn at(ms: u64, rtt_ms: u64) -> AckEvent {
        let (rtt, min_rtt) = (SimDuration::from_millis(rtt_ms), SimDuration::from_millis(50));
        let stats = RttStats { latest: rtt, srtt: rtt, rttvar: SimDuration::ZERO, min_rtt };
        AckEvent { now: SimTime(ms * 1_000_000), rtt_sample: Some(rtt), rtt: stats, ..ack(MSS) }
    }

    fn judge(c2tcp: &mut C2tcp, ms: u64, rtt_ms: u64) -> u64 {
        c2tcp.judge(&at(ms, rtt_ms), SimDuration::from_millis(rtt_ms));
        c2tcp.cwnd().0 / MSS
    }

    #[test]
    fn a_good_round_trip_adds_the_setpoint_over_itself_to_the_count_for_a_segment() {
        let mut c2tcp = c2tcp(10);
        // 100 / 80 = 1.25 an ACK: the eighth makes ten
        let windows: Vec<u64> = (0..8).map(|ms| judge(&mut c2tcp, ms, 80)).collect();
        assert_eq!(windows, [10, 10, 10, 10, 10, 10, 10, 11]);
        // 100 / 50 = 2: the sixth makes twelve of eleven, and one is left
        assert_eq!((0..6).map(|ms| judge(&mut c2tcp, 10 + ms, 50)).last(), Some(12));
        assert!((c2tcp.counted - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_window_not_in_use_or_in_recovery_does_not_grow() {
        for idle in [unused(&at(0, 50)), recovering(&at(0, 50))] {
            let mut c2tcp = c2tcp(2);
            c2tcp.judge(&idle, SimDuration::from_millis(50));
            assert_eq!(c2tcp.cwnd(), Bytes(2 * MSS));
        }
    }

    #[test]
    fn the_window_starts_over_after_an_interval_above_and_then_by_the_square_root_of_n() {
        let mut c2tcp = c2tcp(100);
        let mut starts = Vec::new();
        for ms in 0..500 {
            if judge(&mut c2tcp, ms, 101) == 1 {
                starts.push(ms);
                // ssthresh is CUBIC's of Linux: 717/1024 of 100
                assert_eq!(c2tcp.ssthresh(), Some(Bytes(70 * MSS)));
                c2tcp.set_window(SimTime(ms * 1_000_000), 100 * MSS);
            }
        }
        // The first ACK after 100; from there on intervals of 100, 100 / sqrt(2) = 70.7, 100 / sqrt(3) = 57.7, 50, 44.7:
        // 201.0 -> 202, 272.7 -> 273, 330.7 -> 331, 381.0 -> 382, 426.7 -> 427, 467.8 (40.8) -> 468
        assert_eq!(starts, [101, 202, 273, 331, 382, 427, 468]);
    }

    #[test]
    fn a_good_round_trip_forgets_those_above() {
        let mut c2tcp = c2tcp(100);
        judge(&mut c2tcp, 0, 101);
        judge(&mut c2tcp, 99, 100); // at the setpoint: good
        judge(&mut c2tcp, 100, 101);
        assert_eq!(judge(&mut c2tcp, 200, 101), 100);
        assert_eq!(judge(&mut c2tcp, 201, 101), 1);
        assert_eq!(c2tcp.state(), "bad_condition");
    }

    #[test]
    fn nothing_is_decided_during_recovery() {
        let mut c2tcp = c2tcp(100);
        judge(&mut c2tcp, 0, 101);
        c2tcp.judge(&recovering(&at(150, 101)), SimDuration::from_millis(101));
        assert_eq!(c2tcp.cwnd(), Bytes(100 * MSS));
        assert_eq!(judge(&mut c2tcp, 151, 101), 1);
    }

    /// The bad condition is not a mistake (the paper's section III): proof that an earlier loss was spurious does not
    /// undo it.
    #[test]
    fn a_spurious_loss_does_not_undo_the_bad_condition() {
        let mut c2tcp = c2tcp(100);
        c2tcp.on_congestion(&loss(100 * MSS));
        judge(&mut c2tcp, 0, 101);
        assert_eq!(judge(&mut c2tcp, 101, 101), 1);
        c2tcp.on_spurious(SimTime(102_000_000));
        assert_eq!(c2tcp.cwnd(), Bytes(MSS));
    }

    #[test]
    fn a_setpoint_may_be_given() {
        let mut c2tcp = c2tcp(100);
        c2tcp.config.setpoint = Some(SimDuration::from_millis(60));
        judge(&mut c2tcp, 0, 61);
        assert_eq!(judge(&mut c2tcp, 60, 61), 100);
        assert_eq!(judge(&mut c2tcp, 61, 61), 1);
    }
}
