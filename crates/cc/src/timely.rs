//! TIMELY: a sending rate that follows the gradient of the round trip.
//!
//! Source: Mittal et al., TIMELY: RTT-based Congestion Control for the Datacenter, SIGCOMM 2015, algorithm 1 with its
//! hyperactive increase (HAI), sections 3.2 (completion events), 4.3 and 4.4. The paper prints no weight of the moving average:
//! Zhu et al., ECN or Delay, CoNEXT 2016, table 2, whose other values are the paper's.
//!
//! Departures: a segment of the paper, for which its hardware reports one completion, is here that amount of
//! acknowledged data. The round trip of an event is its last sample. Hosts take no time, so that none is subtracted,
//! and packets, not whole segments, are spaced by the rate. The paper's fabric has no losses, and the algorithm no
//! answer to them: here a loss halves the rate, which does not grow until the end of the recovery. A timeout leaves
//! TCP's loss window, which bounds the flight size until slow start has led it to the rate. Marks have no part in the
//! paper: data is not ECN-capable. At most two round trips of the rate are in flight. The smallest rate is a packet in
//! a smoothed round trip. Without `initial_rate` the first is the initial window over the first round trip (the paper's
//! is a share of the line rate).
//!
//! Checked: thresholds, gradient, weights and decreases against the simulator of HPCC's authors (`UpdateRateTimely`), which counts events
//! of any growth for hyperactive increase.

use ackclock_declare::{declare, default, unset};
use ackclock_units::{Bandwidth, Bytes, SimDuration};

use crate::algorithm::{Algorithm, Name};
use crate::controller::{CongestionController, Controller, Start};
use crate::delivery::Demands;
use crate::event::{AckEvent, CongestionEvent, RestartEvent};
use crate::loss_window::LossWindow;

declare! {
    /// The parameters of [`Timely`]; the defaults are for a fabric of 10 Gbit/s and some 20 us.
    #[derive(Copy)]
    pub struct TimelyConfig {
        /// RTT below which the rate grows whatever the gradient.
        t_low: SimDuration = default(SimDuration::from_micros(50)).at_most(SimDuration::from_secs(10)).source("section 4.4"),
        /// RTT above which the rate falls whatever the gradient.
        t_high: SimDuration = default(SimDuration::from_micros(500)).above(SimDuration::ZERO).at_most(SimDuration::from_secs(10)).source("section 4.4"),
        /// RTT by which gradients are normalised.
        min_rtt: Option<SimDuration> = unset("the minimum RTT of the connection").above(SimDuration::ZERO).at_most(SimDuration::from_secs(10)),
        /// Acknowledged data for one decision.
        segment: Bytes = default(Bytes(64_000)).at_least(Bytes(1)).at_most(Bytes(1_000_000_000)).source("section 3.1: 16 to 64 kB"),
        /// Increase of the rate by an event, delta.
        additive_increase: Bandwidth = default(Bandwidth(10_000_000)).at_least(Bandwidth(1)).source("section 5"),
        /// Weight of a decrease, beta.
        beta: f64 = default(0.8).above(0.0).at_most(1.0).source("section 5"),
        /// Weight of the newest difference in the moving average, alpha.
        gain: f64 = default(0.875).above(0.0).at_most(1.0).source("Zhu et al. 2016, table 2"),
        /// Consecutive events with a falling RTT after which N is 5: hyperactive increase. Zero disables it.
        hai_events: u64 = default(5).at_most(1_000_000).unit("events"),
        /// Initial rate.
        initial_rate: Option<Bandwidth> = unset("the initial window over the first RTT").at_least(Bandwidth(1)),
        /// Largest rate: that of the host's link.
        line_rate: Option<Bandwidth> = unset("no bound").at_least(Bandwidth(1)),
    }
    check |config, review| {
        review.below(("t_low", &config.t_low), ("t_high", &config.t_high));
    };
}

impl Algorithm for TimelyConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "a rate that follows the gradient of the RTT between two thresholds, which are those of a datacentre",
        source: "Mittal et al., SIGCOMM 2015",
        departures: "decisions by acknowledged data, not by completions of hardware; a loss halves the rate, a timeout leaves TCP's loss window; data is not ECN-capable",
        ..Name::called("timely")
    }];

    fn start(&self, start: Start) -> Controller {
        Controller::Timely(Box::new(Timely::new(self, start)))
    }
}

/// The factor N of hyperactive increase.
const HAI: f64 = 5.0;

/// The largest flight size, in round trips of the rate.
const ROUND_TRIPS_IN_FLIGHT: u64 = 2;

/// The action of the last event, in the paper's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Did {
    Additive,
    Hyperactive,
    Decrease,
}

/// TIMELY: a rate that follows the gradient of the RTT. Source and departures: [`mod@crate::timely`].
#[derive(Clone, Debug)]
pub struct Timely {
    config: TimelyConfig,
    mss: u64,
    initial_window: u64,
    /// The rate, bit/s; zero before the first RTT sample.
    rate: f64,
    srtt: SimDuration,
    /// The octets acknowledged since the last event.
    acked: u64,
    previous_rtt: f64,
    /// The moving average of the differences, ns.
    difference: f64,
    /// The number of consecutive events with a falling RTT.
    falling: u64,
    did: Did,
    loss_window: LossWindow,
}

impl Timely {
    pub(crate) fn new(config: &TimelyConfig, start: Start) -> Self {
        Self {
            config: *config,
            mss: start.mss.0,
            initial_window: start.initial_window.0,
            rate: 0.0,
            srtt: SimDuration::ZERO,
            acked: 0,
            previous_rtt: 0.0,
            difference: 0.0,
            falling: 0,
            did: Did::Additive,
            loss_window: LossWindow::default(),
        }
    }

    /// Begins with the first RTT sample.
    fn begin(&mut self, rtt: SimDuration) {
        let window_rate = self.initial_window as f64 * 8.0 / rtt.as_secs_f64();
        self.previous_rtt = rtt.0 as f64;
        self.set_rate(self.config.initial_rate.map_or(window_rate, |rate| rate.0 as f64));
    }

    fn set_rate(&mut self, rate: f64) {
        let least = self.mss as f64 * 8.0 / self.srtt.as_secs_f64();
        let most = self.config.line_rate.map_or(f64::INFINITY, |rate| rate.0 as f64);
        self.rate = rate.max(least).min(most);
    }

    /// Applies algorithm 1 at the completion of a segment.
    fn on_completion(&mut self, rtt: SimDuration, least_rtt: SimDuration) {
        let TimelyConfig { t_low, t_high, beta, gain, .. } = self.config;
        let new_rtt = rtt.0 as f64;
        self.difference = (1.0 - gain) * self.difference + gain * (new_rtt - self.previous_rtt);
        self.previous_rtt = new_rtt;
        let gradient = self.difference / self.config.min_rtt.unwrap_or(least_rtt).0 as f64;
        let is_between = rtt >= t_low && rtt <= t_high;
        self.falling = if is_between && gradient < 0.0 { self.falling + 1 } else { 0 };
        if rtt < t_low {
            self.increase(1.0);
        } else if rtt > t_high {
            self.decrease(beta * (1.0 - t_high.0 as f64 / new_rtt));
        } else if gradient <= 0.0 {
            let is_hyperactive = self.config.hai_events > 0 && self.falling >= self.config.hai_events;
            self.increase(if is_hyperactive { HAI } else { 1.0 });
        } else {
            self.decrease((beta * gradient).min(1.0));
        }
    }

    fn most_in_flight(&self) -> u64 {
        let in_flight = ROUND_TRIPS_IN_FLIGHT * Bandwidth(self.rate as u64).bytes_in(self.srtt).0;
        in_flight.max(self.initial_window)
    }

    fn increase(&mut self, times: f64) {
        self.did = if times > 1.0 { Did::Hyperactive } else { Did::Additive };
        self.set_rate(self.rate + times * self.config.additive_increase.0 as f64);
    }

    fn decrease(&mut self, share: f64) {
        self.did = Did::Decrease;
        self.set_rate(self.rate * (1.0 - share));
    }
}

impl CongestionController for Timely {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.loss_window.on_ack(ack, self.most_in_flight());
        self.acked += ack.newly_acked.0;
        let Some(rtt) = ack.rtt_sample.filter(|rtt| !rtt.is_zero()) else { return };
        self.srtt = ack.rtt.srtt.max(SimDuration(1));
        if self.rate == 0.0 {
            self.begin(rtt);
        } else if self.acked >= self.config.segment.0 {
            let before = self.rate;
            self.on_completion(rtt, ack.rtt.min_rtt.max(SimDuration(1)));
            if ack.in_recovery {
                self.set_rate(self.rate.min(before));
            }
        } else {
            return self.set_rate(self.rate); // the smallest follows the round trip
        }
        self.acked = 0;
    }

    fn on_congestion(&mut self, _event: &CongestionEvent) {
        if self.rate > 0.0 {
            self.decrease(0.5);
        }
    }

    fn on_restart(&mut self, restart: &RestartEvent) {
        self.loss_window.on_restart(restart);
    }

    fn demands(&self) -> Demands {
        Demands { recovery_window: true, no_ecn: true, ..Demands::default() }
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.loss_window.bound(self.most_in_flight()))
    }

    fn pacing_rate(&self) -> Option<Bandwidth> {
        (self.rate > 0.0).then_some(Bandwidth((self.rate as u64).max(1)))
    }

    fn is_in_slow_start(&self) -> bool {
        false
    }

    fn state(&self) -> &'static str {
        match self.did {
            Did::Additive => "additive_increase",
            Did::Hyperactive => "hyperactive_increase",
            Did::Decrease => "decrease",
        }
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("rate_bps", self.rate);
        record("rtt_difference_s", self.difference / 1e9);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::RestartCause;
    use crate::testing::{loss, recovering, restart};

    const RTT: SimDuration = SimDuration::from_micros(40);

    /// A controller at 1 Gbit/s after a first RTT of 100 us; gradients are of 20 us.
    fn timely(gain: f64) -> Timely {
        let config = TimelyConfig {
            gain,
            min_rtt: Some(SimDuration::from_micros(20)),
            initial_rate: Some(Bandwidth(1_000_000_000)),
            ..TimelyConfig::default()
        };
        let mut timely = Timely::new(&config, Start::of(1_000, 10_000, None));
        complete(&mut timely, 100);
        timely
    }

    fn acked(timely: &mut Timely, octets: u64, rtt_us: u64) -> f64 {
        timely.on_ack(&AckEvent::in_order(Bytes(octets), SimDuration::from_micros(rtt_us)));
        timely.rate / 1e6
    }

    /// Completes a segment with this RTT; returns the rate after it in Mbit/s.
    fn complete(timely: &mut Timely, rtt_us: u64) -> f64 {
        acked(timely, 64_000, rtt_us)
    }

    #[track_caller]
    fn assert_rate(rate: f64, expected: f64) {
        assert!((rate - expected).abs() < 1e-6, "{rate} Mbit/s, by hand {expected}");
    }

    #[test]
    fn outside_the_thresholds_the_gradient_has_no_say() {
        let mut timely = timely(0.875);
        assert_rate(complete(&mut timely, 40), 1_010.0); // below T_low: + delta
        assert_rate(complete(&mut timely, 49), 1_020.0); // though it rises
        assert_rate(complete(&mut timely, 1_000), 1_020.0 * 0.6); // * (1 - 0.8 (1 - 500 / 1000))
        assert_rate(complete(&mut timely, 625), 612.0 * 0.84); // though it falls: * (1 - 0.8 (1 - 500 / 625))
    }

    #[test]
    fn between_them_it_decides() {
        let mut timely = timely(0.5);
        // 0.5 * 8 us = 4 us: 0.2 of 20 us, and 0.8 of that
        assert_rate(complete(&mut timely, 108), 840.0);
        // 0.5 * 4 - 0.5 * 4 = 0: no gradient adds
        assert_rate(complete(&mut timely, 104), 850.0);
        // 0.5 * 30 = 15 us: 0.75; 1 - 0.6
        assert_rate(complete(&mut timely, 134), 340.0);
    }

    #[test]
    fn five_falling_events_in_a_row_make_it_hyperactive() {
        let mut timely = timely(1.0);
        let rates: Vec<f64> = [99, 98, 97, 96, 95, 94].iter().map(|rtt| complete(&mut timely, *rtt)).collect();
        assert_eq!(rates, [1_010.0, 1_020.0, 1_030.0, 1_040.0, 1_090.0, 1_140.0]); // + delta, from the fifth on + 5 delta
        assert_eq!(timely.state(), "hyperactive_increase");
        assert_rate(complete(&mut timely, 94), 1_150.0); // steady: + delta
        assert_rate(complete(&mut timely, 93), 1_160.0); // the first in a row again
    }

    #[test]
    fn a_decision_is_made_for_each_segment_of_data_and_a_loss_halves() {
        let mut timely = timely(0.875);
        assert_rate(acked(&mut timely, 63_999, 40), 1_000.0);
        assert_rate(acked(&mut timely, 1, 40), 1_010.0);
        timely.on_congestion(&loss(10_000));
        assert_rate(timely.rate / 1e6, 505.0);
        // Two round trips of 40 us at 505 Mbit/s are 5050 octets: less than the initial window
        assert_eq!((timely.cwnd(), timely.pacing_rate()), (Bytes(10_000), Some(Bandwidth(505_000_000))));
    }

    #[test]
    fn the_rate_has_bounds() {
        let mut timely = timely(0.875);
        timely.config.line_rate = Some(Bandwidth(1_005_000_000));
        assert_rate(complete(&mut timely, 40), 1_005.0);
        for _ in 0..100 {
            timely.on_congestion(&loss(10_000));
        }
        assert_rate(timely.rate / 1e6, 200.0); // 1000 octets in 40 us
        assert_rate(acked(&mut timely, 1, 20), 400.0); // in 20 us, before there is a decision
    }

    /// RFC 5681 section 3.1: the loss window after a timeout, and slow start; no growth in a recovery.
    #[test]
    fn a_timeout_leaves_the_loss_window_and_a_recovery_no_growth() {
        let mut timely = timely(0.875);
        timely.on_ack(&recovering(&AckEvent::in_order(Bytes(64_000), RTT)));
        assert_rate(timely.rate / 1e6, 1_000.0); // 40 us are below T_low
        timely.on_restart(&restart(RestartCause::Timeout, 1_000));
        assert_eq!(timely.cwnd(), Bytes(1_000));
        acked(&mut timely, 1_000, 40);
        assert_eq!(timely.cwnd(), Bytes(2_000));
    }
}
