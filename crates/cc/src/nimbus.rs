//! Nimbus: holds the delay while no other flow fills the queue, and is CUBIC while one does. Pulses in its own rate
//! tell which.
//!
//! Source: Goyal et al., Elasticity Detection: A Building Block for Internet Congestion Control, SIGCOMM 2022, in the
//! steps and with the numbers of the authors' implementation for CCP (`ccp-project/nimbus`). Sinusoidal pulses are
//! added to the rate: up by a quarter of the link's rate mu for a quarter of the period, and down by a twelfth for the
//! rest. S is the rate at which the data of the last round trip left, and R that at which it arrived: `z = mu S / R -
//! S` is the rate of other flows. If z, over 5 s, varies twice as much at the frequency of the pulses as at any up to
//! twice that (`nimbus/elasticity.rs`), other flows answer them. They are elastic, and Nimbus competes, with CUBIC's
//! window in a round trip as its rate. Otherwise the rate is `S + alpha (mu - z - S) + beta mu / RTT (threshold -
//! RTT)`, with a threshold of 1.25 least round trips (`BasicDelay`). Pulses are at 5 Hz while it competes and at 6
//! while it does not. The mode is judged every 10 ms, 15 s after the beginning and later, and a competing one is kept
//! for 5 s at least. It begins by competing, in slow start.
//!
//! Departures: one flow that pulses is modelled, not the pulser and watchers of several (their switch is off in the
//! implementation, too); the competing window is Linux's CUBIC without HyStart, from its rate of 5 s before as there; S
//! and R are of the segments acknowledged in the last smoothed RTT, where CCP takes the kernel's samples; the two
//! signals are compared without the shift by two round trips, which changes the age of what is looked at and not its
//! spectrum; reports come every 10 ms and weigh twice. The first second is CUBIC's, too, and has no fixed rate. mu is
//! the largest smoothed R so far, unless it is given. A mark is answered as a loss is: by CUBIC while it competes, by
//! nothing while it holds the delay. A timeout leaves TCP's loss window, which bounds the flight size until slow start
//! has led it to the rate; a timeout and a lost SYN restart CUBIC's window, too.
//!
//! The runs held to it are in docs/reference/laws.md.

mod elasticity;
mod rates;

use std::f64::consts::TAU;

use ackclock_declare::{declare, default, unset};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime, math};

use self::elasticity::{Detector, Signal};
use self::rates::{RateMeter, Rates};
use crate::algorithm::{Algorithm, Name};
use crate::controller::{CongestionController, Controller, Start};
use crate::cubic::CubicConfig;
use crate::delivery::{Demands, SegmentReport};
use crate::event::{AckEvent, CongestionCause, CongestionEvent, Growth, RestartCause, RestartEvent};
use crate::linux_cubic::LinuxCubic;
use crate::loss_window::LossWindow;
use crate::slow_start::Hystart;

declare! {
    /// The parameters of [`Nimbus`].
    #[derive(Copy)]
    pub struct NimbusConfig {
        /// Amplitude of the pulses, as a fraction of the link's rate.
        pulse_size: f64 = default(0.25).above(0.0).at_most(1.0).source("the authors' implementation"),
        /// Fraction of the free rate that is taken, alpha.
        alpha: f64 = default(0.8).above(0.0).at_most(10.0).source("the authors' implementation"),
        /// Fraction of the delay's distance to its threshold that is corrected in a round trip, beta.
        beta: f64 = default(0.5).above(0.0).at_most(10.0).source("the authors' implementation"),
        /// Target of the RTT while no other flow fills the queue, in minimum RTTs.
        delay_threshold: f64 = default(1.25).above(1.0).at_most(100.0).unit("round trips").source("the authors' implementation"),
        /// Compete with flows that fill the queue; if false, begin by holding the delay.
        mode_switch: bool = true,
        /// Rate of the bottleneck, mu.
        link_rate: Option<Bandwidth> = unset("the largest arriving rate").at_least(Bandwidth(8)),
    }
}

impl Algorithm for NimbusConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "holds the delay, and is CUBIC while others answer its pulses as queue-filling flows do",
        source: "Goyal et al., SIGCOMM 2022; the authors' implementation for CCP",
        departures: "one flow pulses, without watchers; the competing window is Linux's CUBIC; a timeout leaves TCP's loss window",
        ..Name::called("nimbus")
    }];

    fn start(&self, start: Start) -> Controller {
        Controller::Nimbus(Box::new(Nimbus::new(self, start)))
    }
}

/// The frequencies of the pulses while competing and while holding the delay, Hz.
const COMPETING_PULSES: f64 = 5.0;
const HOLDING_PULSES: f64 = 6.0;
/// The part of a period in which the rate is above its mean.
const UP: f64 = 0.25;

/// The interval between samples and judgements.
const REPORT: SimDuration = SimDuration::from_millis(10);
/// The times after which Nimbus learns and decides, and the least duration of a competing mode.
const LEARNS_AFTER: SimDuration = SimDuration::from_secs(10);
const DECIDES_AFTER: SimDuration = SimDuration::from_secs(15);
const COMPETES_FOR: SimDuration = SimDuration::from_secs(5);
/// The elasticities above which it competes, and below which it holds the delay.
const ELASTIC: f64 = 2.25;
const INELASTIC: f64 = 2.0;

/// The weight of a sample of R in the smoothed one: 0.02 of the authors', at reports twice as often.
const WEIGHT: f64 = 0.04;
/// The least rate, as a fraction of mu.
const LEAST_SHARE: f64 = 0.05;
/// The decrease in each report of a threshold that began above its own value, round trips.
const THRESHOLD_STEP: f64 = 0.005;
/// The largest flight size, in round trips of the rate.
const IN_FLIGHT: f64 = 2.0;
/// The least bound of the flight size, segments.
const LEAST_WINDOW: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Competing,
    Holding,
}

/// Nimbus: two modes, chosen by the elasticity of other flows. Source and departures: [`mod@crate::nimbus`].
#[derive(Clone, Debug)]
pub struct Nimbus {
    config: NimbusConfig,
    mss: u64,
    initial_window: u64,
    mode: Mode,
    switched: SimTime,
    cubic: LinuxCubic,
    loss_window: LossWindow,
    /// The time of the last loss or mark that was answered.
    answered: Option<SimTime>,
    meter: RateMeter,
    detector: Detector,
    /// The arrival rates R of the last 5 s.
    arrived: Signal,
    smoothed_arrival: f64,
    /// The bottleneck's rate mu, octets/s; zero before it is known.
    link_rate: f64,
    /// The rate without pulses, octets/s; zero before it is known.
    rate: f64,
    threshold: f64,
    rtt: f64,
    min_rtt: f64,
    srtt: SimDuration,
    began: Option<SimTime>,
    now: SimTime,
    next_report: SimTime,
}

impl Nimbus {
    pub(crate) fn new(config: &NimbusConfig, start: Start) -> Self {
        Self {
            config: *config,
            mss: start.mss.0,
            initial_window: start.initial_window.0,
            mode: if config.mode_switch { Mode::Competing } else { Mode::Holding },
            switched: SimTime::ZERO,
            cubic: cubic(start),
            loss_window: LossWindow::default(),
            answered: None,
            meter: RateMeter::default(),
            detector: Detector::new(),
            arrived: Signal::new(),
            smoothed_arrival: 0.0,
            link_rate: config.link_rate.map_or(0.0, |rate| rate.0 as f64 / 8.0),
            rate: 0.0,
            threshold: config.delay_threshold,
            rtt: 0.0,
            min_rtt: 0.0,
            srtt: SimDuration::ZERO,
            began: None,
            now: SimTime::ZERO,
            next_report: SimTime::NEVER,
        }
    }

    fn pulses_at(&self) -> f64 {
        match self.mode {
            Mode::Competing => COMPETING_PULSES,
            Mode::Holding => HOLDING_PULSES,
        }
    }

    /// The pulse at this moment, octets/s.
    fn pulse(&self) -> f64 {
        let Some(began) = self.began else { return 0.0 };
        let periods = self.now.saturating_since(began).as_secs_f64() * self.pulses_at();
        let phase = periods - periods.floor();
        let wave = if phase < UP {
            math::sin(TAU / 2.0 * phase / UP)
        } else {
            -UP / (1.0 - UP) * math::sin(TAU / 2.0 * (phase - UP) / (1.0 - UP))
        };
        self.config.pulse_size * self.link_rate * wave
    }

    /// The present sending rate, octets/s.
    fn sending_rate(&self) -> f64 {
        (self.rate + self.pulse()).max(LEAST_SHARE * self.link_rate)
    }

    fn most_in_flight(&self) -> u64 {
        let in_flight = IN_FLIGHT * self.sending_rate() * self.srtt.as_secs_f64();
        in_flight.max(LEAST_WINDOW * self.mss as f64) as u64
    }

    /// Takes samples every 10 ms, and sets the rate and the mode.
    fn report(&mut self, now: SimTime) {
        if let Some(rates) = self.meter.over(now, self.srtt) {
            self.sample(rates);
            if self.mode == Mode::Holding {
                self.hold(rates);
            }
        }
        if self.config.mode_switch {
            self.judge(now);
        }
    }

    fn others(&self, Rates { sent, arrived }: Rates) -> f64 {
        self.link_rate * sent / arrived - sent
    }

    fn sample(&mut self, rates: Rates) {
        self.smoothed_arrival += WEIGHT * (rates.arrived - self.smoothed_arrival);
        if self.config.link_rate.is_none() {
            self.link_rate = self.link_rate.max(self.smoothed_arrival);
        }
        self.arrived.push(rates.arrived);
        self.detector.others.push(self.others(rates));
        self.detector.room.push(self.link_rate - rates.arrived);
    }

    /// Sets the rate that holds the delay (`BasicDelay`).
    fn hold(&mut self, rates: Rates) {
        let NimbusConfig { alpha, beta, delay_threshold, .. } = self.config;
        let free = self.link_rate - self.others(rates) - rates.sent;
        let below = self.threshold * self.min_rtt - self.rtt;
        self.rate =
            (rates.sent + alpha * free + beta * self.link_rate / self.rtt * below).max(LEAST_SHARE * self.link_rate);
        self.threshold = (self.threshold - THRESHOLD_STEP).max(delay_threshold);
    }

    fn judge(&mut self, now: SimTime) {
        let age = self.began.map_or(SimDuration::ZERO, |began| now.saturating_since(began));
        if age < LEARNS_AFTER || !self.arrived.is_full() {
            return;
        }
        self.detector.update(self.pulses_at(), self.link_rate);
        if age < DECIDES_AFTER {
            return;
        }
        let since = now.saturating_since(self.switched);
        if self.mode == Mode::Holding && self.detector.elasticity > ELASTIC {
            self.compete(now);
        } else if self.mode == Mode::Competing && self.detector.elasticity < INELASTIC && since >= COMPETES_FOR {
            self.mode = Mode::Holding;
            self.switched = now;
            self.threshold = (self.rtt / self.min_rtt).max(self.config.delay_threshold);
        }
    }

    /// Begins to compete, with CUBIC at the arrival rate of 5 s ago, before other flows took it.
    fn compete(&mut self, now: SimTime) {
        self.mode = Mode::Competing;
        self.switched = now;
        let window = (self.arrived.oldest().unwrap_or_default() * self.rtt) as u64;
        let window = window.max(2 * self.mss);
        self.cubic = cubic(Start::of(self.mss, window, Some(window)));
        self.follow_cubic();
    }

    /// Sets the rate to CUBIC's window in a round trip.
    fn follow_cubic(&mut self) {
        if self.rtt > 0.0 {
            self.rate = self.cubic.cwnd().0 as f64 / self.rtt;
        }
    }

    /// Takes an ACK while competing. CUBIC's window is a rate, so that it is in use if half of it is in flight. There
    /// is no recovery: losses and marks are answered once in a round trip.
    fn compete_on(&mut self, ack: &AckEvent) {
        if ack.newly_lost.0 > 0 {
            return self.answer(ack.now, CongestionCause::Loss);
        }
        if ack.newly_ce_marked.0 > 0 {
            return self.answer(ack.now, CongestionCause::Ecn);
        }
        let is_in_use = ack.uses(self.cubic.cwnd().0 as f64);
        let growth = Growth { is_due: ack.growth.is_due || ack.is_cumulative, is_in_use };
        self.cubic.on_ack(&AckEvent { growth, in_recovery: false, ..*ack });
        self.follow_cubic();
    }

    fn answer(&mut self, now: SimTime, cause: CongestionCause) {
        if self.answered.is_some_and(|answered| now.saturating_since(answered).as_secs_f64() < self.rtt) {
            return;
        }
        let cwnd = self.cubic.cwnd();
        let newly_lost = Bytes::ZERO;
        self.cubic.on_congestion(&CongestionEvent {
            now,
            cause,
            flight_size: cwnd,
            decrease_from: cwnd,
            newly_lost,
            inflight: cwnd,
        });
        self.answered = Some(now);
        self.follow_cubic();
    }
}

fn cubic(start: Start) -> LinuxCubic {
    LinuxCubic::new(&CubicConfig { hystart: Hystart::Off, ..CubicConfig::linux() }, start)
}

impl CongestionController for Nimbus {
    fn on_delivered(&mut self, segment: &SegmentReport) {
        self.meter.on_delivered(segment);
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.now = ack.now;
        self.srtt = ack.rtt.srtt;
        self.min_rtt = ack.rtt.min_rtt.as_secs_f64();
        if let Some(rtt) = ack.rtt_sample {
            self.rtt = rtt.as_secs_f64();
            if self.began.is_none() {
                self.began = Some(ack.now);
                self.next_report = ack.now + REPORT;
            }
        }
        if self.mode == Mode::Competing {
            self.compete_on(ack);
        }
        self.loss_window.on_ack(ack, self.most_in_flight());
    }

    fn deadline(&self) -> SimTime {
        self.next_report
    }

    fn on_timer(&mut self, now: SimTime) {
        self.now = now;
        self.report(now);
        self.next_report = now + REPORT;
    }

    /// Only a timeout is answered here, as a loss and while competing; other losses and marks are taken from the ACKs.
    fn on_congestion(&mut self, event: &CongestionEvent) {
        if self.mode == Mode::Competing && event.is_timeout() {
            self.answer(event.now, CongestionCause::Loss);
        }
    }

    fn on_restart(&mut self, restart: &RestartEvent) {
        self.loss_window.on_restart(restart);
        if self.mode == Mode::Competing && !matches!(restart.cause, RestartCause::Idle | RestartCause::Unused) {
            self.cubic.on_restart(restart);
            self.follow_cubic();
        }
    }

    fn demands(&self) -> Demands {
        Demands { samples: true, recovery_window: true, marks: true, ..Demands::default() }
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        let own = if self.rate <= 0.0 { self.initial_window } else { self.most_in_flight() };
        Bytes(self.loss_window.bound(own))
    }

    fn ssthresh(&self) -> Option<Bytes> {
        match self.mode {
            Mode::Competing => self.cubic.ssthresh(),
            Mode::Holding => Some(self.cwnd()),
        }
    }

    fn pacing_rate(&self) -> Option<Bandwidth> {
        (self.rate > 0.0).then(|| Bandwidth(((8.0 * self.sending_rate()) as u64).max(1)))
    }

    fn is_in_slow_start(&self) -> bool {
        self.mode == Mode::Competing && self.cubic.is_in_slow_start()
    }

    fn state(&self) -> &'static str {
        match self.mode {
            Mode::Competing if self.cubic.is_in_slow_start() => "slow_start",
            Mode::Competing => "competitive_mode",
            Mode::Holding => "delay_mode",
        }
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("elasticity", self.detector.elasticity);
        record("is_competing", f64::from(u8::from(self.mode == Mode::Competing)));
        record("link_rate_bps", 8.0 * self.link_rate);
        record("base_rate_bps", 8.0 * self.rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, timeout, unused};

    fn nimbus(mode: Mode) -> Nimbus {
        let config = NimbusConfig { link_rate: Some(Bandwidth(8_000_000)), ..NimbusConfig::default() };
        let mut nimbus = Nimbus::new(&config, Start::of(1_000, 10_000, Some(10_000)));
        (nimbus.mode, nimbus.rtt, nimbus.min_rtt) = (mode, 0.125, 0.1);
        (nimbus.srtt, nimbus.began) = (SimDuration::from_millis(125), Some(SimTime::ZERO));
        nimbus
    }

    #[track_caller]
    fn assert_near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-6 * expected.abs().max(1.0), "{value}, by hand {expected}");
    }

    #[test]
    fn pulses_are_up_by_a_quarter_for_a_quarter_and_down_by_a_twelfth_for_the_rest() {
        let mut nimbus = nimbus(Mode::Competing);
        let mut at = |ms: u64| {
            nimbus.now = SimTime(ms * 1_000_000);
            nimbus.pulse()
        };
        // A period of 200 ms, a link of 1e6 octets/s: up until 50, at its height at 25, at its depth at 125.
        for (ms, height) in [(0, 0.0), (25, 250_000.0), (125, -250_000.0 / 3.0), (225, 250_000.0)] {
            assert_near(at(ms), height);
        }
        let sum: f64 = (0..200).map(&mut at).sum();
        assert!(sum.abs() < 5e3, "{sum}: what is sent more, eight million, is sent less");
        nimbus.mode = Mode::Holding;
        nimbus.now = SimTime(1_000_000_000 / 48); // half of a quarter of a sixth of a second: at its height
        assert!((nimbus.pulse() - 250_000.0).abs() < 1.0, "{}", nimbus.pulse());
    }

    #[test]
    fn the_others_send_what_makes_the_link_give_us_less_than_we_send() {
        let nimbus = nimbus(Mode::Holding);
        // We send 600 000 and get 500 000 of 1e6 through: 1.2 million come in all, 600 000 of them theirs.
        assert_near(nimbus.others(Rates { sent: 6e5, arrived: 5e5 }), 6e5);
    }

    #[test]
    fn basic_delay_takes_what_is_free_and_comes_to_its_threshold() {
        let mut nimbus = nimbus(Mode::Holding);
        // 400 000 of others, nothing free, and the delay at 1.25 of the least: as before.
        nimbus.hold(Rates { sent: 6e5, arrived: 6e5 });
        assert_near(nimbus.rate, 6e5);
        // 25 ms above: half of them in a round trip, 0.5 * 1e6 / 0.150 * 0.025
        nimbus.rtt = 0.15;
        nimbus.hold(Rates { sent: 6e5, arrived: 6e5 });
        assert_near(nimbus.rate, 6e5 - 0.5e6 / 6.0);
        // Sending less than arrives: z = 1e6 * 4/5 - 4e5 = 4e5, and 0.8 of the 2e5 that are free.
        nimbus.rtt = 0.125;
        nimbus.hold(Rates { sent: 4e5, arrived: 5e5 });
        assert_near(nimbus.rate, 5.6e5);
    }

    #[test]
    fn competing_its_rate_is_cubics_window_in_a_round_trip_and_falls_with_it() {
        let mut nimbus = nimbus(Mode::Competing);
        nimbus.on_ack(&unused(&AckEvent { prior_flight_size: Bytes(10_000), ..ack(0) }));
        assert_near(nimbus.rate, 10_000.0 / 0.1);
        let lost = |ms: u64| AckEvent { now: SimTime(ms * 1_000_000), newly_lost: Bytes(1_000), ..ack(0) };
        nimbus.on_ack(&lost(200));
        assert_near(nimbus.rate, 7_000.0 / 0.1); // 717/1024 of ten segments
        nimbus.on_ack(&lost(299));
        assert_near(nimbus.rate, 7_000.0 / 0.1); // once in a round trip
        nimbus.on_ack(&lost(300));
        assert_near(nimbus.rate, 4_000.0 / 0.1); // 717/1024 of seven
        let mut holding = super::tests::nimbus(Mode::Holding);
        holding.rate = 5e5;
        holding.on_ack(&lost(200));
        holding.on_congestion(&timeout(10_000, false));
        assert_near(holding.rate, 5e5);
    }
}
