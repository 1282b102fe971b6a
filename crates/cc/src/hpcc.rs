//! HPCC: a window that follows the load of the path's links, as in-band telemetry reports it.
//!
//! Source: Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019, algorithm 1, sections 3.2 to 3.4 and 5.1.
//!
//! Departures: records come from links that write telemetry, on the path of the data; the window counts payload, and
//! the records count whole packets. Unless it is given, T is the minimum RTT of the connection. The bound of the
//! window, in the paper that of the host's link, is then the slowest link's rate over T and a segment more, since T may
//! be that of a small packet, or of a faster link. The first window is the stack's. The paper's fabric loses nothing:
//! here a loss changes nothing (the full queue is in the records), and a timeout is followed by the loss window. Until
//! the flight before the timeout is repaired, a round trip is measured in time. A window below a segment is one
//! segment, paced at W / T, as all are. Marks have no part in the paper: data is not ECN-capable.
//!
//! Checked: algorithm 1 against the authors' simulator (`UpdateRateHp` of its `rdma-hw.cc`), which works in rates.
//!
//! The paper's receivers answer every packet, and a path of few segments needs that: `delayed_ack` is off at both ends unless a
//! scenario says otherwise.

use ackclock_declare::{declare, default, unset};
use ackclock_units::{Bandwidth, Bytes, SimDuration};

use crate::algorithm::{ACK_EVERY_PACKET, Algorithm, Name, Stack};
use crate::controller::{CongestionController, Controller, Start};
use crate::delivery::Demands;
use crate::event::{AckEvent, CongestionEvent, RestartCause, RestartEvent};
use crate::repair_rounds::RepairRounds;
use crate::telemetry::{HopRecord, Telemetry};

declare! {
    /// The parameters of [`Hpcc`].
    #[derive(Copy)]
    pub struct HpccConfig {
        /// Target utilization, eta.
        target_utilization: f64 = default(0.95).above(0.0).at_most(1.0).source("section 5.1"),
        /// Round trips of additive increase before the window jumps to the target, maxStage.
        max_stage: u64 = default(5).at_most(1_000_000).unit("round trips").source("section 5.1"),
        /// Increase of each update, W_AI: a share of the room that eta leaves, for as many flows as may meet.
        additive_increase: Bytes = default(Bytes(80)).at_most(Bytes(1_000_000_000)).source("section 5.1"),
        /// RTT of the fabric without queues, T.
        base_rtt: Option<SimDuration> = unset("the minimum RTT of the connection").above(SimDuration::ZERO).at_most(SimDuration::from_secs(10)),
        /// Rate of the host's link, B_NIC; with `base_rtt` its bandwidth-delay product is the first window and bounds
        /// all others.
        line_rate: Option<Bandwidth> = unset("limited by the slowest link that writes telemetry").at_least(Bandwidth(8)),
    }
}

impl Algorithm for HpccConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "a window that follows the load of links with telemetry = true; sets tcp.delayed_ack = false at both ends",
        source: "Li et al., SIGCOMM 2019",
        departures: "T and the bound of the window are learned unless given; a loss changes nothing, a timeout is TCP's; data is not ECN-capable",
        stack: Stack { telemetry: true, sets: ACK_EVERY_PACKET, ..Stack::ANY },
        ..Name::called("hpcc")
    }];

    fn start(&self, start: Start) -> Controller {
        Controller::Hpcc(Box::new(Hpcc::new(self, start)))
    }
}

/// HPCC: a window that follows the load of the links. Source and departures: [`mod@crate::hpcc`].
#[derive(Clone, Debug)]
pub struct Hpcc {
    config: HpccConfig,
    mss: f64,
    telemetry: Telemetry,
    /// The base RTT T; zero before it is known.
    base_rtt: SimDuration,
    /// The window W and the reference window Wc, octets.
    window: f64,
    reference: f64,
    /// The load U of the path.
    load: f64,
    /// The stage of additive increase (incStage).
    stage: u64,
    /// The end of the present round trip (lastUpdateSeq).
    last_update: u64,
    repair: RepairRounds,
}

impl Hpcc {
    pub(crate) fn new(config: &HpccConfig, start: Start) -> Self {
        let path = config.line_rate.zip(config.base_rtt).map(|(rate, rtt)| rate.bytes_in(rtt).0);
        let window = path.unwrap_or(start.initial_window.0) as f64;
        Self {
            config: *config,
            mss: start.mss.0 as f64,
            telemetry: Telemetry::default(),
            base_rtt: config.base_rtt.unwrap_or(SimDuration::ZERO),
            window,
            reference: window,
            load: 0.0,
            stage: 0,
            last_update: 0,
            repair: RepairRounds::default(),
        }
    }

    /// Measures the load of the busiest link, averaged over a round trip (`MeasureInflight`). False if the records
    /// cover no link.
    fn measure_inflight(&mut self) -> bool {
        let base_rtt = self.base_rtt.as_secs_f64();
        let loads = self.telemetry.between().map(|link| {
            let queue = link.queues.0.min(link.queues.1);
            (queue / (link.rate * base_rtt) + link.sent_rate / link.rate, link.time)
        });
        let Some((load, time)) = loads.max_by(|a, b| a.0.total_cmp(&b.0)) else { return false };
        let weight = (time.as_secs_f64() / base_rtt).min(1.0);
        self.load += weight * (load - self.load);
        true
    }

    /// Sets the window (`ComputeWind`); the reference window changes once in a round trip.
    fn compute_window(&mut self, is_new_round: bool) {
        let HpccConfig { target_utilization, max_stage, additive_increase, .. } = self.config;
        let is_multiplicative = self.load >= target_utilization || self.stage >= max_stage;
        let scale = if is_multiplicative { (self.load / target_utilization).max(f64::MIN_POSITIVE) } else { 1.0 };
        let most = self.telemetry.most(self.config.line_rate, self.base_rtt.as_secs_f64(), self.mss);
        self.window = (self.reference / scale + additive_increase.0 as f64).clamp(self.least(), most);
        if is_new_round {
            self.stage = if is_multiplicative { 0 } else { self.stage + 1 };
            self.reference = self.window;
        }
    }

    /// The least window: a tenth of a segment, at which pacing still sends.
    fn least(&self) -> f64 {
        0.1 * self.mss
    }
}

impl CongestionController for Hpcc {
    fn on_telemetry(&mut self, hops: &[HopRecord]) {
        self.telemetry.take(hops);
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.base_rtt = self.config.base_rtt.unwrap_or(ack.rtt.min_rtt);
        if self.base_rtt.is_zero() || !self.telemetry.take_new() {
            return;
        }
        if self.measure_inflight() {
            let is_new_round = self.repair.end_round(ack) || ack.snd_una > self.last_update;
            self.compute_window(is_new_round);
            if is_new_round {
                self.last_update = ack.snd_nxt;
            }
        }
        self.telemetry.settle();
    }

    fn on_congestion(&mut self, _event: &CongestionEvent) {}

    fn on_restart(&mut self, restart: &RestartEvent) {
        if matches!(restart.cause, RestartCause::Timeout | RestartCause::SynLost) {
            self.window = restart.window_after(self.window);
            self.reference = self.window;
        }
        self.repair.on_restart(restart);
    }

    fn demands(&self) -> Demands {
        Demands { recovery_window: true, no_ecn: true, ..Demands::default() }
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.window.max(self.mss) as u64)
    }

    fn ssthresh(&self) -> Option<Bytes> {
        Some(self.cwnd())
    }

    fn pacing_rate(&self) -> Option<Bandwidth> {
        let rate = self.window * 8.0 / self.base_rtt.as_secs_f64();
        (!self.base_rtt.is_zero()).then_some(Bandwidth(((rate + 0.5) as u64).max(1)))
    }

    fn is_in_slow_start(&self) -> bool {
        false
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("load", self.load);
        record("reference_window_bytes", self.reference);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, timeout};
    use ackclock_units::SimTime;

    /// A link of 1e9 octets/s and T = 10 us: a path holds 10 000 octets.
    fn hpcc() -> Hpcc {
        let config = HpccConfig {
            base_rtt: Some(SimDuration::from_micros(10)),
            line_rate: Some(Bandwidth(8_000_000_000)),
            ..HpccConfig::default()
        };
        Hpcc::new(&config, Start::of(1_000, 3_000, None))
    }

    fn hop(at_us: u64, sent: u64, queue: u64) -> HopRecord {
        HopRecord {
            link: 1,
            queue: Bytes(queue),
            sent: Bytes(sent),
            at: SimTime(at_us * 1_000),
            rate: Bandwidth(8_000_000_000),
        }
    }

    fn take(hpcc: &mut Hpcc, hops: &[HopRecord], snd_una: u64) {
        hpcc.on_telemetry(hops);
        hpcc.on_ack(&AckEvent { snd_una, snd_nxt: snd_una + 8_000, ..ack(1_000) });
    }

    #[track_caller]
    fn assert_near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-6, "{value}, by hand {expected}");
    }

    #[test]
    fn it_begins_at_the_rate_of_its_link() {
        let hpcc = hpcc();
        assert_eq!((hpcc.cwnd(), hpcc.pacing_rate()), (Bytes(10_000), Some(Bandwidth(8_000_000_000))));
    }

    #[test]
    fn the_load_is_that_of_the_queue_and_of_what_was_sent_averaged_over_a_round_trip() {
        let mut hpcc = hpcc();
        take(&mut hpcc, &[hop(0, 0, 2_000)], 1_000);
        assert_near(hpcc.load, 0.0); // one record is none
        take(&mut hpcc, &[hop(4, 4_000, 1_000)], 2_000);
        // min(2000, 1000) / 10 000 + (4000 / 4 us) / 1e9 = 1.1; 4/10 of it
        assert_near(hpcc.load, 0.44);
        take(&mut hpcc, &[hop(24, 14_000, 0)], 3_000);
        assert_near(hpcc.load, 0.5); // longer than T: all of 10 000 / 20 us
    }

    #[test]
    fn the_busiest_link_counts() {
        let mut hpcc = hpcc();
        let second = |at_us, sent, queue| HopRecord { link: 2, ..hop(at_us, sent, queue) };
        take(&mut hpcc, &[hop(0, 0, 0), second(1, 0, 9_000)], 1_000);
        take(&mut hpcc, &[hop(10, 9_000, 0), second(11, 8_000, 3_000)], 2_000);
        assert_near(hpcc.load, 1.1); // 0.9, and 0.3 + 0.8
    }

    #[test]
    fn too_much_load_divides_the_reference_window_which_follows_once_in_a_round_trip() {
        let mut hpcc = hpcc();
        take(&mut hpcc, &[hop(0, 0, 9_000)], 1_000);
        take(&mut hpcc, &[hop(10, 10_000, 9_000)], 2_000);
        assert_near(hpcc.window, 10_000.0 / (1.9 / 0.95) + 80.0); // U = 0.9 + 1
        assert_near(hpcc.reference, 5_080.0); // 2000 is beyond lastUpdateSeq = 0, which is 10 000 from here on
        take(&mut hpcc, &[hop(20, 20_000, 9_000)], 9_000);
        assert_near(hpcc.window, 5_080.0 / 2.0 + 80.0);
        assert_near(hpcc.reference, 5_080.0);
        take(&mut hpcc, &[hop(30, 30_000, 9_000)], 10_001);
        assert_near(hpcc.reference, 2_620.0);
    }

    #[test]
    fn five_round_trips_of_additive_increase_then_to_the_target() {
        let mut hpcc = hpcc();
        hpcc.window = 4_000.0;
        hpcc.reference = 4_000.0;
        take(&mut hpcc, &[hop(0, 0, 0)], 1_000);
        let mut windows = Vec::new();
        for round in 1..=6 {
            take(&mut hpcc, &[hop(10 * round, 4_750 * round, 0)], 10_000 * round); // U = 0.475
            windows.push(hpcc.window);
        }
        assert_eq!(windows[..5], [4_080.0, 4_160.0, 4_240.0, 4_320.0, 4_400.0]);
        assert_near(windows[5], 4_400.0 / 0.5 + 80.0);
        assert_eq!(hpcc.stage, 0);
    }

    #[test]
    fn a_timeout_leaves_the_loss_window_and_what_it_does_not_know_it_learns() {
        let start = Start::of(1_000, 3_000, None);
        let mut hpcc = Hpcc::new(&HpccConfig::default(), start);
        assert_eq!((hpcc.cwnd(), hpcc.pacing_rate()), (Bytes(3_000), None));
        take(&mut hpcc, &[hop(0, 0, 0)], 1_000);
        assert_eq!(hpcc.pacing_rate(), Some(Bandwidth(240_000))); // 3000 octets in the least RTT, 100 ms
        hpcc.on_congestion(&timeout(3_000, false));
        let cause = RestartCause::Timeout;
        hpcc.on_restart(&RestartEvent { now: SimTime::ZERO, cause, window: Bytes(1_000), ssthresh: None });
        assert_eq!(hpcc.cwnd(), Bytes(1_000));
    }
}
