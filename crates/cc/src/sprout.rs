//! Sprout: forecasts the link's deliveries of the next 100 ms cautiously, and keeps no more in flight.
//!
//! Source: Winstein, Sivaraman, Balakrishnan, Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular
//! Networks, NSDI 2013, with the numbers of the authors' code (`keithw/sprout`). Every tick of 20 ms a distribution
//! over the rate of the link drifts, and what arrived in the tick multiplies it by its Poisson probability
//! (`sprout/forecast.rs`). The packets that arrive in the five ticks after the next with 95 % probability, less those
//! in flight, may leave in the tick.
//!
//! A sender of TCP has no forecasts from its receiver: here it makes them itself, from what the ACKs of each tick say has
//! arrived. That is the receiver's view, delayed by the reverse path, by which its forecasts come later there, too; ACKs that are
//! delayed or gathered look like arrivals that are. What is in flight is what is not acknowledged, as there. A tick in which
//! nothing arrives tells of the link only where something was to come: as the authors' packets say how long the next will take, none
//! does within 50 ms of the last packet of what left in a tick.
//!
//! Further departures: losses are repaired by TCP and change nothing. The estimate of the queue is renewed in each
//! tick, and so is not drained by a forecast. Before the first arrival the initial window may leave, and without data
//! in flight a segment, in place of the heartbeat of 50 ms. A timeout leaves one segment until an ACK arrives. Rates
//! end at 1000 packets/s, as there, some 12 Mbit/s with packets of 1500 octets.
//!
//! A cautious forecast of a low rate is less than what is in flight at it: the 5th percentile of what comes at 100
//! packets/s in 100 ms is some five packets, which a round trip of 50 ms holds. There the rate stays, whatever the link
//! could carry: a slow link is used by two fifths, and after an outage or a slow phase a fast one by a tenth. ACKs that
//! wait for a second packet make it likelier. So does the authors' program, by a model that follows its steps
//! (`sproutconn.cc`, `receiver.cc`, `sproutbt2.cc`, packets one by one): 0.38 Mbit/s on a link of 1 Mbit/s, and on one
//! of 10 after five seconds at 1.
//!
//! The runs held to it are in docs/reference/laws.md.

mod forecast;

use std::collections::VecDeque;

use ackclock_declare::{declare, default};
use ackclock_units::{Bytes, SimDuration, SimTime};

use self::forecast::Forecaster;
use crate::algorithm::{Algorithm, Name};
use crate::allowance::Allowance;
use crate::controller::{CongestionController, Controller, Start};
use crate::delivery::{Demands, SegmentReport};
use crate::event::{AckEvent, CongestionEvent, RestartCause, RestartEvent, SendEvent};

declare! {
    /// The parameters of [`Sprout`].
    #[derive(Copy)]
    pub struct SproutConfig {
        /// Probability that less arrives than the forecast says.
        caution: f64 = default(0.05).at_least(1e-3).at_most(0.999).source("section 3.3"),
    }
}

impl Algorithm for SproutConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "no more in flight than a cautious forecast of the link's deliveries in 100 ms; for cellular links up to 12 Mbit/s",
        source: "Winstein et al., NSDI 2013; the authors' code",
        departures: "the sender forecasts, from ACKs; losses change nothing; rates are at most 1000 packets/s, as in the authors' code",
        ..Name::called("sprout")
    }];

    fn start(&self, start: Start) -> Controller {
        Controller::Sprout(Box::new(Sprout::new(*self, start)))
    }
}

const TICK: SimDuration = SimDuration::from_millis(20);
/// The time after the last packet of a tick's data in which no other packet is expected.
const UNTIL_NEXT: SimDuration = SimDuration::from_millis(50);

/// Sprout: a window by cautious forecasts. Source and departures: [`mod@crate::sprout`].
#[derive(Clone, Debug)]
pub struct Sprout {
    config: SproutConfig,
    mss: u64,
    forecaster: Forecaster,
    /// The departure of the last packet of each tick's data.
    ends: VecDeque<SimTime>,
    last_sent: SimTime,
    /// The octets that have arrived in this tick.
    arrived: u64,
    /// The time from which a tick without arrivals is informative.
    tells_from: SimTime,
    /// True until the first arrival of data that left after the application had been silent.
    resumes: bool,
    /// The forecast, packets.
    forecast: u64,
    allowance: Allowance,
    next_tick: SimTime,
}

impl Sprout {
    pub(crate) fn new(config: SproutConfig, start: Start) -> Self {
        Self {
            config,
            mss: start.mss.0,
            forecaster: Forecaster::new(),
            ends: VecDeque::new(),
            last_sent: SimTime::ZERO,
            arrived: 0,
            tells_from: SimTime::NEVER,
            resumes: false,
            forecast: 0,
            allowance: Allowance::new(start),
            next_tick: SimTime::NEVER,
        }
    }

    /// The arrivals of the tick that ends now, packets; `None` if they are not informative.
    fn arrivals(&mut self, now: SimTime) -> Option<u64> {
        let octets = std::mem::take(&mut self.arrived);
        let packets = (octets as f64 / self.mss as f64).round() as u64;
        let is_awaited = !self.resumes && self.allowance.in_flight() > 0 && now >= self.tells_from + TICK;
        (octets > 0 || is_awaited).then(|| if octets > 0 { packets.max(1) } else { 0 })
    }

    fn tick(&mut self, now: SimTime) {
        let arrived = self.arrivals(now);
        self.forecaster.tick(arrived);
        if self.tells_from < SimTime::NEVER {
            self.forecast = self.forecaster.cautious(self.config.caution);
            self.allowance.set((self.forecast * self.mss).saturating_sub(self.allowance.in_flight()));
        }
        if self.ends.back().is_none_or(|end| *end < self.last_sent) {
            self.ends.push_back(self.last_sent);
        }
    }
}

impl CongestionController for Sprout {
    fn on_delivered(&mut self, segment: &SegmentReport) {
        self.resumes = false;
        let mut is_end = false;
        while self.ends.front().is_some_and(|end| *end <= segment.sent_at) {
            is_end = self.ends.pop_front() == Some(segment.sent_at);
        }
        let until = if is_end { segment.now + UNTIL_NEXT } else { segment.now };
        self.tells_from = if self.tells_from == SimTime::NEVER { until } else { self.tells_from.max(until) };
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.arrived += ack.newly_acked.0;
        self.allowance.on_ack(ack);
    }

    fn on_lost(&mut self, segment: &SegmentReport) {
        self.allowance.on_lost(segment);
    }

    fn on_send(&mut self, sent: &SendEvent) {
        self.allowance.on_send(sent);
        self.resumes |= sent.is_app_limited;
        self.last_sent = sent.now;
        if self.next_tick == SimTime::NEVER {
            self.next_tick = sent.now + TICK;
        }
    }

    fn on_congestion(&mut self, _event: &CongestionEvent) {}

    /// The forecast decides anew in the next tick.
    fn on_restart(&mut self, restart: &RestartEvent) {
        if matches!(restart.cause, RestartCause::SynLost | RestartCause::Timeout) {
            self.allowance.on_restart(restart);
        }
    }

    fn deadline(&self) -> SimTime {
        self.next_tick
    }

    fn on_timer(&mut self, now: SimTime) {
        self.tick(now);
        self.next_tick = now + TICK;
    }

    fn demands(&self) -> Demands {
        Demands { samples: true, recovery_window: true, at_once: true, no_ecn: true, ..Demands::default() }
    }

    fn cwnd(&self) -> Bytes {
        self.allowance.window()
    }

    fn ssthresh(&self) -> Option<Bytes> {
        Some(self.cwnd())
    }

    fn is_in_slow_start(&self) -> bool {
        false
    }

    fn state(&self) -> &'static str {
        if self.tells_from == SimTime::NEVER { "starting" } else { "forecasting" }
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("forecast_packets", self.forecast as f64);
        record("link_rate_packets_s", self.forecaster.mean_rate());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::DeliveryReport;
    use crate::testing::{self, ack};

    const MSS: u64 = 1_000;

    fn sprout() -> Sprout {
        let start = Start::of(MSS, 10 * MSS, None);
        Sprout::new(SproutConfig::default(), start)
    }

    fn send(sprout: &mut Sprout, ms: u64) {
        sprout.on_send(&SendEvent { now: SimTime(ms * 1_000_000), ..testing::sent(MSS) });
    }

    fn arrive(sprout: &mut Sprout, sent_ms: u64, ms: u64) {
        let (now, sent_at) = (SimTime(ms * 1_000_000), SimTime(sent_ms * 1_000_000));
        sprout.on_delivered(&SegmentReport { now, sent_at, ..testing::lost(MSS) });
        let inflight = Bytes(sprout.allowance.in_flight() - MSS);
        let delivery = Some(DeliveryReport { inflight, ..DeliveryReport::default() });
        sprout.on_ack(&AckEvent { now, delivery, ..ack(MSS) });
    }

    #[test]
    fn a_tick_may_send_the_forecast_less_what_is_in_flight_and_acks_let_nothing_more_go() {
        let mut sprout = sprout();
        send(&mut sprout, 0);
        send(&mut sprout, 0);
        arrive(&mut sprout, 0, 50);
        sprout.on_timer(SimTime(60_000_000));
        assert!(sprout.forecast > 0);
        assert_eq!(sprout.cwnd(), Bytes((sprout.forecast * MSS).max(MSS)));
        let before = sprout.allowance.left();
        arrive(&mut sprout, 0, 65);
        assert_eq!(sprout.allowance.left(), before);
    }

    #[test]
    fn an_empty_tick_tells_nothing_within_50_ms_of_the_last_packet_of_a_flight() {
        let mut sprout = sprout();
        send(&mut sprout, 0);
        send(&mut sprout, 5);
        sprout.on_timer(SimTime(20_000_000)); // the packet of 5 ms ends a flight
        send(&mut sprout, 25);
        let arrivals = |sprout: &mut Sprout, ms: u64| sprout.arrivals(SimTime(ms * 1_000_000));
        assert_eq!(arrivals(&mut sprout, 40), None); // nothing has ever arrived
        arrive(&mut sprout, 0, 50); // more of its flight is to come
        assert_eq!((arrivals(&mut sprout, 60), arrivals(&mut sprout, 80)), (Some(1), Some(0)));
        arrive(&mut sprout, 5, 85); // nothing is expected before 135 ms
        assert_eq!((arrivals(&mut sprout, 100), arrivals(&mut sprout, 140)), (Some(1), None));
        assert_eq!(arrivals(&mut sprout, 160), Some(0));
    }

    #[test]
    fn an_application_that_is_silent_tells_nothing_of_the_link() {
        let mut sprout = sprout();
        send(&mut sprout, 0);
        arrive(&mut sprout, 0, 50);
        let arrivals = |sprout: &mut Sprout, ms: u64| sprout.arrivals(SimTime(ms * 1_000_000));
        assert_eq!(arrivals(&mut sprout, 60), Some(1));
        assert_eq!(arrivals(&mut sprout, 200), None); // nothing is in flight
        sprout.on_send(&SendEvent { now: SimTime(3_000_000_000), is_app_limited: true, ..testing::sent(MSS) });
        assert_eq!(arrivals(&mut sprout, 3_020), None); // and nothing can have arrived
        sprout.allowance.on_send(&testing::sent(MSS));
        arrive(&mut sprout, 3_000, 3_050);
        assert_eq!((arrivals(&mut sprout, 3_060), arrivals(&mut sprout, 3_140)), (Some(1), Some(0)));
    }
}
