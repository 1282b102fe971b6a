//! PowerTCP: a window by power, which is the queue on the path times the change of it.
//!
//! Source: Addanki, Michel, Schmid, PowerTCP: Pushing the Performance Limits of Datacenter Networks, NSDI 2022, sections 3.3 to
//! 3.5, algorithm 1 (in-band telemetry) and algorithm 2 in appendix B (theta-PowerTCP, by the round trip alone).
//!
//! Departures: theta-PowerTCP takes the gradient over the times of sending, 1 / (1 - gradient) for 1 + gradient, and
//! smooths over these times. The two agree for small gradients. This one is not below zero when a queue drains, and the
//! mean power of bursts, whose round trips rise and fall by turns, is zero. The maximum over links is taken of
//! normalized power (line 20 compares it with one that is not). Records are those of the way of the data; the window
//! counts payload, and they count whole packets. tau is the least round trip of the connection unless it is given
//! (section 3.3 allows that). The window has a bound, since the power of an idle path does not show its capacity. It is
//! the bandwidth-delay product of the host's link. If that is not given, it is that of the slowest link on the path and
//! a segment more, since tau may be that of a small packet, or of a faster link. The round trip alone does not show the
//! path, so that theta-PowerTCP requires `line_rate`. The additive increase, that bound over N, has N = 10 where
//! neither is given (the paper prints none). Without `base_rtt` and `line_rate` the first window is the stack's.
//! Losses: none in the paper; here one changes nothing, and a timeout is followed by the loss window; until the flight
//! before the timeout is repaired, a round trip is measured in time. A window below a segment is one segment, paced at
//! cwnd / tau, as all are. Marks have no part in the paper: data is not ECN-capable.
//!
//! Checked: algorithm 1 against the authors' simulator (`UpdateRatePower` of its `rdma-hw.cc`). There theta-PowerTCP has a gamma of 0.7,
//! takes no current below 0.5, and power over 1.05 tau.
//!
//! The paper's receivers answer every packet, and a path of few segments needs that: `delayed_ack` is off at both ends unless a
//! scenario says otherwise.

use ackclock_declare::{declare, default, required, unset};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use crate::algorithm::{ACK_EVERY_PACKET, Algorithm, Name, Stack};
use crate::controller::{CongestionController, Controller, Start};
use crate::delivery::Demands;
use crate::event::{AckEvent, CongestionEvent, RestartCause, RestartEvent};
use crate::repair_rounds::RepairRounds;
use crate::telemetry::{HopRecord, Telemetry};

declare! {
    /// The parameters of [`PowerTcp`] with in-band telemetry.
    #[derive(Copy)]
    pub struct PowerTcpConfig {
        /// Weight of the newest window, gamma.
        gamma: f64 = default(0.9).above(0.0).at_most(1.0).source("section 3.3"),
        /// Flows that may share a host's link, and so the additive increase, N.
        flows: u64 = default(10).at_least(1).at_most(1_000_000_000).unit("flows"),
        /// Increase of each update, beta.
        additive_increase: Option<Bytes> = unset("the largest window over `flows`").at_most(Bytes(1_000_000_000)),
        /// RTT of the fabric without queues, tau.
        base_rtt: Option<SimDuration> = unset("the minimum RTT of the connection").above(SimDuration::ZERO).at_most(SimDuration::from_secs(10)),
        /// Rate of the host's link, HostBw; with `base_rtt` its bandwidth-delay product is the first window and bounds
        /// all others.
        line_rate: Option<Bandwidth> = unset("limited by the slowest link that writes telemetry").at_least(Bandwidth(8)),
    }
}

declare! {
    /// The parameters of [`PowerTcp`] from round trips alone: theta-PowerTCP.
    #[derive(Copy)]
    pub struct ThetaPowerTcpConfig {
        /// Weight of the newest window, gamma.
        gamma: f64 = default(0.9).above(0.0).at_most(1.0).source("section 3.3"),
        /// Flows that may share a host's link, and so the additive increase, N.
        flows: u64 = default(10).at_least(1).at_most(1_000_000_000).unit("flows"),
        /// Increase of each update, beta.
        additive_increase: Option<Bytes> = unset("the largest window over `flows`").at_most(Bytes(1_000_000_000)),
        /// RTT of the fabric without queues, tau.
        base_rtt: Option<SimDuration> = unset("the minimum RTT of the connection").above(SimDuration::ZERO).at_most(SimDuration::from_secs(10)),
        /// Rate of the host's link, HostBw; its bandwidth-delay product is the first window and bounds all others.
        line_rate: Bandwidth = required(Bandwidth(10_000_000_000)).at_least(Bandwidth(8)),
    }
}

impl Algorithm for PowerTcpConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "a window that follows the queue and its change, as links with telemetry = true report them; sets tcp.delayed_ack = false at both ends",
        source: "Addanki et al., NSDI 2022, algorithm 1",
        departures: "the window has a bound; tau and line rate are learned unless given; a loss changes nothing; data is not ECN-capable",
        stack: Stack { telemetry: true, sets: ACK_EVERY_PACKET, ..Stack::ANY },
        ..Name::called("powertcp")
    }];

    fn start(&self, start: Start) -> Controller {
        Controller::PowerTcp(Box::new(PowerTcp::new(self, Feedback::Telemetry, start)))
    }
}

impl Algorithm for ThetaPowerTcpConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "PowerTCP by the round trip alone, without telemetry; sets tcp.delayed_ack = false at both ends",
        source: "Addanki et al., NSDI 2022, algorithm 2",
        departures: "1 / (1 - gradient) where the RTT falls; the window has a bound; tau is learned unless given; a loss changes nothing; data is not ECN-capable",
        stack: Stack { sets: ACK_EVERY_PACKET, ..Stack::ANY },
        ..Name::called("powertcp_theta")
    }];

    fn start(&self, start: Start) -> Controller {
        let Self { gamma, flows, additive_increase, base_rtt, line_rate } = *self;
        let config = PowerTcpConfig { gamma, flows, additive_increase, base_rtt, line_rate: Some(line_rate) };
        Controller::PowerTcp(Box::new(PowerTcp::new(&config, Feedback::RoundTrip, start)))
    }
}

/// The least power of a full path; less counts as none.
const LEAST_POWER: f64 = 1e-6;

/// The source of the measured power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feedback {
    Telemetry,
    RoundTrip,
}

/// PowerTCP: a window that follows the queue and its change. Source and departures: [`mod@crate::powertcp`].
#[derive(Clone, Debug)]
pub struct PowerTcp {
    config: PowerTcpConfig,
    feedback: Feedback,
    mss: f64,
    telemetry: Telemetry,
    /// The base RTT tau, s; zero before it is known.
    base_rtt: f64,
    /// The congestion window, and that of a round trip ago, octets.
    window: f64,
    old_window: f64,
    /// The smoothed normalized power.
    power: f64,
    /// The end of the round trip of the remembered windows.
    last_update: u64,
    repair: RepairRounds,
    /// The last RTT sample and its time.
    previous: Option<(SimDuration, SimTime)>,
}

impl PowerTcp {
    fn new(config: &PowerTcpConfig, feedback: Feedback, start: Start) -> Self {
        let path = config.line_rate.zip(config.base_rtt).map(|(rate, rtt)| rate.bytes_in(rtt).0);
        let window = path.unwrap_or(start.initial_window.0) as f64;
        Self {
            config: *config,
            feedback,
            mss: start.mss.0 as f64,
            telemetry: Telemetry::default(),
            base_rtt: config.base_rtt.map_or(0.0, SimDuration::as_secs_f64),
            window,
            old_window: window,
            power: 1.0,
            last_update: 0,
            repair: RepairRounds::default(),
            previous: None,
        }
    }

    /// The normalized power of the link with the most, and the time of its measurement (`NormPower` of algorithm 1).
    fn power_of_links(&self) -> Option<(f64, f64)> {
        let powers = self.telemetry.between().map(|link| {
            let time = link.time.as_secs_f64();
            let current = (link.queues.1 - link.queues.0) / time + link.sent_rate;
            let voltage = link.queues.1 + link.rate * self.base_rtt;
            (current * voltage / (link.rate * link.rate * self.base_rtt), time)
        });
        powers.max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// Smooths the power of algorithm 2, `(d RTT / dt + 1) RTT / tau` (`NormPower`). The current `d RTT / dt + 1` is
    /// the time between two ACKs over that between their segments. Segments that left together have no current of their
    /// own: their share is of the last tau, at most the paper's largest current, 2. False if there is no time between
    /// the ACKs.
    fn smooth_round_trip(&mut self, now: SimTime, rtt: SimDuration) -> bool {
        let Some((before, at)) = self.previous.replace((rtt, now)) else { return false };
        let time = now.saturating_since(at).as_secs_f64();
        let rise = rtt.as_secs_f64() - before.as_secs_f64();
        let sending = (time - rise).max(0.0);
        let share = (time / sending.max(self.base_rtt)).min(2.0);
        let weight = (sending / self.base_rtt).min(1.0);
        self.smooth(share * rtt.as_secs_f64() / self.base_rtt, weight);
        time > 0.0
    }

    /// Smooths power over tau: `part` is the newest power times its weight.
    fn smooth(&mut self, part: f64, weight: f64) {
        self.power = ((1.0 - weight) * self.power + part).max(LEAST_POWER);
    }

    /// Updates the window (`UpdateWindow`).
    fn update_window(&mut self) {
        let PowerTcpConfig { gamma, flows, additive_increase, .. } = self.config;
        let most = self.telemetry.most(self.config.line_rate, self.base_rtt, self.mss);
        let increase = additive_increase.map_or(most / flows as f64, |octets| octets.0 as f64);
        let next = gamma * (self.old_window / self.power + increase) + (1.0 - gamma) * self.window;
        self.window = next.clamp(0.1 * self.mss, most);
    }

    fn ends_round(&mut self, ack: &AckEvent) -> bool {
        self.repair.end_round(ack) || ack.snd_una > self.last_update
    }

    /// Remembers the window, once in a round trip (`UpdateOld`).
    fn update_old(&mut self, ack: &AckEvent) {
        self.old_window = self.window;
        self.last_update = ack.snd_nxt;
    }

    fn on_hops(&mut self, ack: &AckEvent) {
        if !self.telemetry.take_new() {
            return;
        }
        if let Some((power, time)) = self.power_of_links() {
            let weight = (time / self.base_rtt).min(1.0);
            self.smooth(weight * power, weight);
            self.update_window();
            if self.ends_round(ack) {
                self.update_old(ack);
            }
        }
        self.telemetry.settle();
    }

    /// Updates the window once in a round trip.
    fn on_round_trip(&mut self, ack: &AckEvent) {
        let Some(rtt) = ack.rtt_sample else { return };
        if self.smooth_round_trip(ack.now, rtt) && self.ends_round(ack) {
            self.update_window();
            self.update_old(ack);
        }
    }
}

impl CongestionController for PowerTcp {
    fn on_telemetry(&mut self, hops: &[HopRecord]) {
        self.telemetry.take(hops);
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.base_rtt = self.config.base_rtt.unwrap_or(ack.rtt.min_rtt).as_secs_f64();
        if self.base_rtt > 0.0 {
            match self.feedback {
                Feedback::Telemetry => self.on_hops(ack),
                Feedback::RoundTrip => self.on_round_trip(ack),
            }
        }
    }

    fn on_congestion(&mut self, _event: &CongestionEvent) {}

    fn on_restart(&mut self, restart: &RestartEvent) {
        if matches!(restart.cause, RestartCause::Timeout | RestartCause::SynLost) {
            self.window = restart.window_after(self.window);
            self.old_window = self.window;
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
        let rate = self.window * 8.0 / self.base_rtt;
        (self.base_rtt > 0.0).then_some(Bandwidth(((rate + 0.5) as u64).max(1)))
    }

    fn is_in_slow_start(&self) -> bool {
        false
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("power", self.power);
        record("old_window_bytes", self.old_window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ack;

    /// A controller on a link of 1e9 octets/s with tau = 10 us: a path holds 10 000 octets; beta is 500 of them.
    fn powertcp(feedback: Feedback) -> PowerTcp {
        let config = PowerTcpConfig {
            base_rtt: Some(SimDuration::from_micros(10)),
            line_rate: Some(Bandwidth(8_000_000_000)),
            flows: 20,
            ..PowerTcpConfig::default()
        };
        PowerTcp::new(&config, feedback, Start::of(1_000, 3_000, None))
    }

    fn hop(at_us: u64, sent: u64, queue: u64) -> HopRecord {
        let at = SimTime(at_us * 1_000);
        HopRecord { link: 1, queue: Bytes(queue), sent: Bytes(sent), at, rate: Bandwidth(8_000_000_000) }
    }

    fn take(powertcp: &mut PowerTcp, hops: &[HopRecord], snd_una: u64) {
        powertcp.on_telemetry(hops);
        powertcp.on_ack(&AckEvent { snd_una, snd_nxt: snd_una + 8_000, ..ack(1_000) });
    }

    #[track_caller]
    fn assert_near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-6 * expected.abs().max(1.0), "{value}, by hand {expected}");
    }

    #[test]
    fn power_is_current_times_voltage_smoothed_over_the_round_trip() {
        let mut powertcp = powertcp(Feedback::Telemetry);
        assert_eq!((powertcp.cwnd(), powertcp.pacing_rate()), (Bytes(10_000), Some(Bandwidth(8_000_000_000))));
        take(&mut powertcp, &[hop(0, 0, 0)], 1_000);
        take(&mut powertcp, &[hop(5, 5_000, 5_000)], 2_000);
        // Current: 5000 / 5 us + 5000 / 5 us = 2e9; voltage: 5000 + 10 000; over 1e18 * 10 us: 3. Half of it, and half of 1.
        assert_near(powertcp.power, 2.0);
        // 0.9 (10 000 / 2 + 500) + 0.1 * 10 000
        assert_near(powertcp.window, 5_950.0);
        // A falling queue: (-2500 / 5 us + 1e9) * 12 500 / 1e13 = 0.625; 0.5 * 2 + 0.5 * 0.625
        take(&mut powertcp, &[hop(10, 10_000, 2_500)], 3_000);
        assert_near(powertcp.power, 1.3125);
    }

    #[test]
    fn the_old_window_is_that_of_a_round_trip_ago() {
        let mut powertcp = powertcp(Feedback::Telemetry);
        take(&mut powertcp, &[hop(0, 0, 10_000)], 1_000);
        take(&mut powertcp, &[hop(10, 10_000, 10_000)], 2_000); // power 2: 0.9 * 5500 + 0.1 * 10 000
        assert_near(powertcp.window, 5_950.0);
        take(&mut powertcp, &[hop(20, 20_000, 10_000)], 9_000); // 0.9 (5950 / 2 + 500) + 0.1 * 5950
        assert_near(powertcp.window, 3_722.5);
        take(&mut powertcp, &[hop(30, 30_000, 10_000)], 10_000); // the same old window: 0.9 * 3475 + 0.1 * 3722.5
        assert_near(powertcp.window, 3_499.75);
        take(&mut powertcp, &[hop(40, 40_000, 10_000)], 10_001);
        assert_near(powertcp.old_window, 0.9 * 3_475.0 + 349.975);
    }

    #[test]
    fn the_link_with_the_most_power_counts_and_the_window_has_a_bound() {
        let mut powertcp = powertcp(Feedback::Telemetry);
        let second = |at_us, sent, queue| HopRecord { link: 2, ..hop(at_us, sent, queue) };
        take(&mut powertcp, &[hop(0, 0, 0), second(0, 0, 5_000)], 1_000);
        take(&mut powertcp, &[hop(10, 9_000, 0), second(10, 10_000, 5_000)], 2_000);
        assert_near(powertcp.power, 1.5); // 0.9, and 1 * 15 000 / 10 000
        take(&mut powertcp, &[hop(30, 10_000, 0), second(30, 11_000, 0)], 12_000);
        assert_near(powertcp.window, 10_000.0); // hardly any power
    }

    #[test]
    fn theta_takes_round_trips_for_power_and_acts_once_in_one() {
        let mut powertcp = powertcp(Feedback::RoundTrip);
        let mut take = |now_us: u64, rtt_us: u64, snd_una: u64| {
            let rtt_sample = Some(SimDuration::from_micros(rtt_us));
            let now = SimTime(now_us * 1_000);
            powertcp.on_ack(&AckEvent { now, rtt_sample, snd_una, snd_nxt: snd_una + 8_000, ..ack(1_000) });
            (powertcp.power, powertcp.window)
        };
        take(0, 10, 1_000);
        // Sent in 4 us, acknowledged in 8: a current of 2, 14 / 10 of the base; two fifths of 2.8, and three of 1.
        let (power, window) = take(8, 14, 2_000);
        assert_near(power, 1.72);
        assert_near(window, 0.9 * (10_000.0 / 1.72 + 500.0) + 1_000.0);
        let (power, window) = take(18, 14, 9_000); // 1 * 1.4, all of it
        assert_near(power, 1.4);
        let (_, next) = take(28, 14, 10_001);
        assert_near(next, 0.9 * (window / 1.4 + 500.0) + 0.1 * window);
        let (power, _) = take(38, 10, 11_000); // 4 us less in 10: 1 / 1.4, all of it
        assert_near(power, 1.0 / 1.4);
    }

    /// Two segments leave together every 2 us, which the link takes one by one in 1 us: it is just full, without a
    /// standing queue. Between ACKs the round trip rises by 1 us in 1 us, and falls by as much.
    #[test]
    fn theta_sees_no_power_in_bursts_that_a_link_just_takes() {
        let mut powertcp = powertcp(Feedback::RoundTrip);
        let rtts = [10, 11].into_iter().cycle().map(SimDuration::from_micros);
        for (place, rtt) in (0..200).zip(rtts) {
            let now = SimTime(place * 1_000);
            powertcp.on_ack(&AckEvent { now, rtt_sample: Some(rtt), snd_nxt: 1_000_000, ..ack(1_000) });
        }
        // Current 1, round trips of 10.5 us in the mean; what the last ACK brings is a tenth of the whole.
        assert!((powertcp.power - 1.05).abs() < 0.1, "{}", powertcp.power);
    }
}
