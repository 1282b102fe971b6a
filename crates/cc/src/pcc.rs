//! PCC: tries sending rates, observes the utility of each, and moves towards the higher utility.
//!
//! Time is cut into monitor intervals, each with a rate of its own. Once the fate of all its data is known, its rate,
//! loss and delay give a utility. [`Allegro`] and [`Vivace`] differ in the utility and in the steps that follow.
//!
//! The sources of both do not mention timeouts and marks. A timeout leaves TCP's loss window, which bounds what is in
//! flight until slow start has led it to the rate; data is not ECN-capable.

pub mod allegro;
mod monitor;
pub mod vivace;

use std::fmt::Debug;

use ackclock_units::{Bandwidth, Bytes, RandomStream, SimDuration, SimTime};

#[doc(inline)]
pub use allegro::AllegroConfig;
#[doc(inline)]
pub use vivace::VivaceConfig;

use crate::controller::{CongestionController, Start};
use crate::delivery::{Demands, SegmentReport};
use crate::event::{AckEvent, CongestionEvent, RestartEvent, SendEvent};
use crate::loss_window::LossWindow;
use allegro::AllegroStrategy;
use monitor::{Interval, Monitor};
use vivace::VivaceStrategy;

/// The bound of the flight size, in round trips of the rate, as in the authors' kernel module. It matters where losses
/// or a queue make the sent data far more than the arriving data.
const ROUND_TRIPS_IN_FLIGHT: u64 = 2;

/// The least rate, two segments in a round trip, bit/s: the first rate, and the least that gives an observation.
fn least_rate(mss: u64, rtt: SimDuration) -> f64 {
    2.0 * mss as f64 * 8.0 / rtt.as_secs_f64()
}

/// The rate of a trial, a little above or below `rate`, and at least `least`.
fn trial_rate(rate: f64, epsilon: f64, up: bool, least: f64) -> f64 {
    let sign = if up { 1.0 } else { -1.0 };
    (rate * (1.0 + sign * epsilon)).max(least)
}

/// The plan of the next interval.
#[derive(Clone, Copy, Debug)]
struct Plan<P> {
    /// The rate of the interval, bit/s.
    rate: f64,
    length: SimDuration,
    purpose: P,
}

/// The source of the rates.
trait Strategy: Debug + Clone + Send {
    /// The purpose of an interval.
    type Purpose: Debug + Clone + Copy + Send;

    /// The name of the random stream.
    const NAME: &'static str;

    /// Plans the next interval, with a smoothed RTT of `rtt`.
    fn plan(&mut self, rtt: SimDuration, random: &mut RandomStream) -> Plan<Self::Purpose>;

    /// Plans an interval anew, because no data left in it; `purpose` was its purpose.
    fn start_over(&mut self, purpose: Self::Purpose);

    /// Halves the rate: an interval has passed its deadline, and none of its data has arrived.
    fn give_way(&mut self);

    /// Learns from the outcome of an interval.
    fn learn(&mut self, interval: &Interval<Self::Purpose>);

    /// The number of the stage: it changes when the outcomes of earlier intervals no longer matter.
    fn stage(&self) -> u32;

    /// The name of the strategy's state.
    fn state(&self) -> &'static str;

    /// The rate from which trials depart, bit/s.
    fn base_rate(&self) -> f64;
}

/// The first state of both strategies.
const STARTING: &str = "starting";

/// A strategy that controls a connection.
#[derive(Clone, Debug)]
struct Pcc<S: Strategy> {
    strategy: S,
    monitor: Monitor<S::Purpose>,
    random: RandomStream,
    initial_window: u64,
    srtt: SimDuration,
    /// The rate of the interval, bit/s; zero before the first RTT sample.
    rate: u64,
    loss_window: LossWindow,
}

impl<S: Strategy> Pcc<S> {
    fn with(strategy: S, seed: u64, start: Start) -> Self {
        Self {
            strategy,
            monitor: Monitor::default(),
            random: RandomStream::new(seed, S::NAME),
            initial_window: start.initial_window.0,
            srtt: SimDuration::ZERO,
            rate: 0,
            loss_window: LossWindow::default(),
        }
    }

    /// Ends the present interval, if there is one, and begins the next.
    fn begin_interval(&mut self, now: SimTime) {
        let Plan { rate, length, purpose } = self.strategy.plan(self.srtt, &mut self.random);
        self.rate = rate as u64;
        self.monitor.begin(now, now + length, self.rate, purpose);
    }

    /// Learns from the intervals that are finished by now. A strategy that enters another stage ends the present
    /// interval.
    fn learn(&mut self, now: SimTime) {
        let before = self.strategy.stage();
        while let Some(interval) = self.monitor.take_finished(now, self.srtt) {
            if interval.is_empty() {
                self.strategy.start_over(interval.purpose);
            } else if interval.is_silent() {
                self.strategy.give_way();
            } else {
                self.strategy.learn(&interval);
            }
        }
        if self.strategy.stage() != before {
            self.begin_interval(now);
        }
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        let is_first = self.srtt.is_zero() && !ack.rtt.srtt.is_zero();
        self.srtt = ack.rtt.srtt;
        if is_first {
            self.begin_interval(ack.now);
        }
        self.monitor.on_ack();
        self.learn(ack.now);
        self.loss_window.on_ack(ack, self.most_in_flight());
    }

    fn on_send(&mut self, sent: &SendEvent) {
        if !self.srtt.is_zero() && sent.now >= self.monitor.end() {
            self.begin_interval(sent.now);
        }
        self.monitor.on_send(sent.size.0);
    }

    fn on_timer(&mut self, now: SimTime) {
        self.learn(now);
        if now >= self.monitor.end() {
            self.begin_interval(now);
        }
    }

    fn most_in_flight(&self) -> u64 {
        let in_flight = ROUND_TRIPS_IN_FLIGHT * Bandwidth(self.rate).bytes_in(self.srtt).0;
        in_flight.max(self.initial_window)
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.loss_window.bound(self.most_in_flight()))
    }
}

/// The two controllers, each of them a strategy with a name.
macro_rules! controllers {
    ($($(#[$meta:meta])* $name:ident($strategy:ty, $config:ty) = $make:expr;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug)]
        pub struct $name(Pcc<$strategy>);

        impl $name {
            pub(crate) fn new(config: &$config, start: Start) -> Self {
                Self(Pcc::with($make(config, start), config.seed, start))
            }
        }

        impl CongestionController for $name {
            fn on_ack(&mut self, ack: &AckEvent) {
                self.0.on_ack(ack);
            }
            fn on_congestion(&mut self, _event: &CongestionEvent) {}
            fn on_restart(&mut self, restart: &RestartEvent) {
                self.0.loss_window.on_restart(restart);
            }
            fn on_send(&mut self, sent: &SendEvent) {
                self.0.on_send(sent);
            }
            fn on_delivered(&mut self, segment: &SegmentReport) {
                self.0.monitor.on_delivered(segment);
            }
            fn on_lost(&mut self, segment: &SegmentReport) {
                self.0.monitor.on_lost(segment);
            }
            fn deadline(&self) -> SimTime {
                self.0.monitor.deadline()
            }
            fn on_timer(&mut self, now: SimTime) {
                self.0.on_timer(now);
            }
            fn demands(&self) -> Demands {
                Demands { samples: true, recovery_window: true, no_ecn: true, ..Demands::default() }
            }
            fn cwnd(&self) -> Bytes {
                self.0.cwnd()
            }
            fn state(&self) -> &'static str {
                self.0.strategy.state()
            }
            fn is_in_slow_start(&self) -> bool {
                self.0.strategy.state() == STARTING
            }
            fn pacing_rate(&self) -> Option<Bandwidth> {
                (self.0.rate > 0).then_some(Bandwidth(self.0.rate))
            }
            fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
                record("base_rate_bps", self.0.strategy.base_rate());
            }
        }
    )*};
}

controllers! {
    /// PCC Allegro: randomised trials of two rates decide the direction of the rate. Source and departures:
    /// [`mod@crate::pcc::allegro`].
    Allegro(AllegroStrategy, AllegroConfig) = AllegroStrategy::new;
    /// PCC Vivace: follows the gradient of the utility. Source and departures: [`mod@crate::pcc::vivace`].
    Vivace(VivaceStrategy, VivaceConfig) = VivaceStrategy::new;
}
