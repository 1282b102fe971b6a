//! TCP Vegas: a window that keeps a few segments queued, judged once for each round trip.
//!
//! Sources: Brakmo and Peterson, TCP Vegas: End to End Congestion Avoidance on a Global Internet, IEEE JSAC 13(8), 1995;
//! ns-2's Vegas and Linux's by their behaviour; Kim and Kim 1999 for the delay of the forward path (`forward.rs`);
//! `skew_tolerant.rs` is ours.
//!
//! | | brakmo | ns2 | linux |
//! |---|---|---|---|
//! | alpha, beta, gamma | 2, 4, 1 | 1, 3, 1 | 2, 4, 1 |
//! | RTT of the round | the latest | the mean | the least |
//! | Diff | W (RTT - `BaseRTT`) / RTT | the same, to the nearest segment | W (RTT - `BaseRTT`) / `BaseRTT`, rounded down |
//! | slow start doubles | every other round trip | every other round trip | every round trip |
//! | at its end | the window stays | loses an eighth | falls to W `BaseRTT` / RTT + 1 |
//! | +1 segment | spread over the round trip | 1/W for an ACK | at the end of the round trip |
//! | kept on duplicate ACKs | 3/4 | 3/4 | 1/2 |
//! | `BaseRTT` | the least | the least | the least since idle time |
//! | a recovery | is of the round trip it began in | is of the round trip it began in | is followed by a new round trip |
//!
//! `variant = "linux_module"` is Linux's in its own arithmetic ([`mod@crate::linux_module`]), for the delay of the round trip.
//!
//! Departures: retransmission is the stack's, without Vegas' finer clock and its checks on the first two ACKs after a
//! retransmission, and so is the rule that a window falls once for all the losses of a round trip; ns-2's halving for a
//! segment lost twice, its raising of `BaseRTT` with one segment in flight and its fine-grained timer are left out. The
//! window counts bytes and moves by segments. After a timeout the window is TCP's loss window (RFC 5681 section 3.1), where the paper's and
//! ns-2's Vegas begin with two segments. A round trip without a sample leaves the window as it is (brakmo, ns2); one
//! with at most two is Reno's (linux).

mod envelope;
mod forward;
mod hull;
mod skew_tolerant;
mod steps;
#[cfg(test)]
mod tests;

use ackclock_declare::{declare, default, unset, words};
use ackclock_units::{Bytes, SimDuration};

use crate::algorithm::{Algorithm, Name, Need, Setting, Stack};
use crate::controller::{CongestionController, Controller, Start};
use crate::event::{AckEvent, CongestionEvent, RestartCause, RestartEvent, SendEvent};
use crate::linux_module::{self, LinuxModule};
use forward::ForwardDelay;
use skew_tolerant::SkewTolerantDelay;

words! {
    /// The source of the rules: see the table of the module.
    #[derive(Default)]
    pub enum VegasVariant {
        /// The rules of Brakmo and Peterson's paper.
        #[default]
        "brakmo" = Brakmo,
        /// The rules of ns-2's Vegas.
        "ns2" = Ns2,
        /// The rules of Linux's module.
        "linux" = Linux,
        /// The rules of Linux's module in its arithmetic: whole segments and microseconds ([`mod@crate::linux_module`]);
        /// of `vegas` alone.
        "linux_module" = LinuxModule,
    }
}

words! {
    /// The delay that represents a round trip.
    pub enum VegasRtt {
        /// The most recent delay.
        "latest" = Latest,
        /// The least delay.
        "least" = Least,
        /// The mean delay.
        "mean" = Mean,
    }
}

/// The delay that counts as congestion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VegasDelay {
    /// The delay of the round trip, as in Vegas.
    #[default]
    RoundTrip,
    /// The delay of the forward path, from the timestamps option.
    Forward,
    /// The delay of the forward path, without the skew and the steps of the clocks.
    SkewTolerant,
}

/// The requirements of the delay of the forward path.
const FROM_TIMESTAMPS: Stack = Stack {
    needs: &[Need {
        switch: "timestamps",
        setting: Setting::Switch(true),
        why: "must have timestamps at both ends: it measures one-way delays with them",
        remedy: "set tcp.timestamps = true at both ends, or use \"vegas\"",
    }],
    ..Stack::ANY
};

declare! {
    /// The parameters of [`Vegas`]. Thresholds are in segments queued.
    #[derive(Copy)]
    pub struct VegasConfig {
        /// Source of the rules: the rounding of Diff, growth and end of slow start, growth of the window, and the
        /// fraction kept on a loss (3/4, 3/4, 1/2).
        variant: VegasVariant = VegasVariant::Brakmo,
        /// Queued segments below which the window grows by one in a round trip.
        alpha: f64 = default(2.0).at_least(0.0).at_most(1e6).unit("segments"),
        /// Queued segments above which the window shrinks by one in a round trip.
        beta: f64 = default(4.0).at_least(0.0).at_most(1e6).unit("segments"),
        /// Queued segments above which slow start ends.
        gamma: f64 = default(1.0).at_least(0.0).at_most(1e6).unit("segments"),
        /// Delay that represents a round trip, of those measured in it.
        rtt: VegasRtt = VegasRtt::Latest,
        /// Tick of the receiver's timestamp clock, which the sender does not know.
        receiver_tick: Option<SimDuration> = unset("estimated from the receiver's timestamps")
            .above(SimDuration::ZERO)
            .at_most(SimDuration::from_secs(10)),
    }
    apart {
        /// Delay that counts, chosen by the controller's name.
        delay: VegasDelay = VegasDelay::RoundTrip,
    }
    bases by variant: VegasVariant = VegasConfig::of;
    check |config, review| {
        review.at_most(("alpha", &config.alpha), ("beta", &config.beta));
        if config.variant == VegasVariant::LinuxModule && config.delay != VegasDelay::RoundTrip {
            review.report("variant", "must not be \"linux_module\": Linux's module knows the delay of the round trip alone", "use \"linux\", its rules");
        }
    };
}

impl Algorithm for VegasConfig {
    const NAMES: &'static [Name<Self>] = &[
        Name {
            summary: "keeps between alpha and beta segments queued, by the delay of the round trip",
            source: "Brakmo and Peterson, IEEE JSAC 13(8), 1995; ns-2; Linux",
            departures: "losses are found and repaired by the stack, without Vegas' finer retransmission clock; ns-2's raising of BaseRTT with one segment in flight is left out",
            omits: &["receiver_tick"],
            stack: Stack { profile: "vegas", ..Stack::ANY },
            ..Name::called("vegas")
        },
        Name {
            summary: "Vegas on the delay of the forward path, from the timestamps option: a queue on the return path does not count",
            source: "J.-D. Kim and C.-K. Kim, 1999",
            departures: "until the receiver's tick is known the round trip counts; the wait of a delayed ACK is subtracted; clock skew and clock steps break it",
            adjust: |config| config.delay = VegasDelay::Forward,
            stack: FROM_TIMESTAMPS,
            ..Name::called("vegas_modified")
        },
        Name {
            summary: "vegas_modified on clocks that drift apart (up to 1000 ppm) or are sometimes set",
            source: "none; after Kim and Kim 1999; skew as in Moon, Skelly, Towsley, INFOCOM 1999",
            departures: "this project's own; assumes constant skew, and steps of more than two ticks of both clocks and 1 ms",
            adjust: |config| (config.delay, config.rtt) = (VegasDelay::SkewTolerant, VegasRtt::Least),
            stack: FROM_TIMESTAMPS,
            ..Name::called("vegas_skew_tolerant")
        },
    ];

    fn start(&self, start: Start) -> Controller {
        match self.variant {
            VegasVariant::LinuxModule => LinuxModule::start(linux_module::Vegas::new(self), start),
            _ => Controller::Vegas(Box::new(Vegas::new(self, start))),
        }
    }
}

impl VegasConfig {
    /// The parameters of a variant.
    pub fn of(variant: VegasVariant) -> Self {
        let (alpha, beta, rtt) = match variant {
            VegasVariant::Brakmo => (2.0, 4.0, VegasRtt::Latest),
            VegasVariant::Ns2 => (1.0, 3.0, VegasRtt::Mean),
            VegasVariant::Linux | VegasVariant::LinuxModule => (2.0, 4.0, VegasRtt::Least),
        };
        Self { variant, alpha, beta, rtt, ..Self::as_declared() }
    }
}

/// The delays that an ACK shows, in ns; their difference is the queueing delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sample {
    /// The delay `BaseRTT` with the queueing delays that count.
    rtt: i64,
    base_rtt: i64,
}

/// The delays of one round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    number: u64,
    count: i64,
    sum: i64,
    least: i64,
    latest: i64,
    base_rtt: i64,
}

impl Round {
    fn add(&mut self, sample: Sample) {
        self.least = if self.count == 0 { sample.rtt } else { self.least.min(sample.rtt) };
        self.count += 1;
        self.sum += sample.rtt;
        self.latest = sample.rtt;
        self.base_rtt = sample.base_rtt;
    }

    fn rtt(&self, choice: VegasRtt) -> i64 {
        match choice {
            VegasRtt::Latest => self.latest,
            VegasRtt::Least => self.least,
            VegasRtt::Mean => self.sum / self.count.max(1),
        }
    }
}

#[derive(Clone, Debug)]
enum Delays {
    RoundTrip,
    Forward(Box<ForwardDelay>),
    SkewTolerant(Box<SkewTolerantDelay>),
}

/// Vegas: keeps a few segments queued, by the rules of one of three implementations. Sources and departures:
/// [`mod@crate::vegas`].
#[derive(Clone, Debug)]
pub struct Vegas {
    config: VegasConfig,
    mss: u64,
    cwnd: u64,
    ssthresh: Option<u64>,
    delays: Delays,
    /// The minimum RTT of the connection, ns; zero before the first sample.
    least_rtt: i64,
    round: Round,
    /// The queued segments of the last round trip.
    diff: f64,
    /// True if the next ACK that may grow the window begins a round trip, as after a recovery (linux).
    begins_anew: bool,
    /// True if the window may grow during this round trip.
    grows: bool,
    /// The bytes that congestion avoidance may still add in this round trip, and the remainder of its division.
    allowance: u64,
    remainder: u64,
    before_episode: Option<(u64, Option<u64>)>,
}

impl Vegas {
    pub(crate) fn new(config: &VegasConfig, start: Start) -> Self {
        let delays = match config.delay {
            VegasDelay::RoundTrip => Delays::RoundTrip,
            VegasDelay::Forward => Delays::Forward(Box::new(ForwardDelay::new(config.receiver_tick, start.mss.0))),
            VegasDelay::SkewTolerant => Delays::SkewTolerant(Box::new(SkewTolerantDelay::new(config.receiver_tick))),
        };
        Self {
            config: *config,
            mss: start.mss.0,
            cwnd: start.initial_window.0,
            ssthresh: start.ssthresh(),
            delays,
            least_rtt: 0,
            round: Round::default(),
            diff: 0.0,
            begins_anew: false,
            grows: true,
            allowance: 0,
            remainder: 0,
            before_episode: None,
        }
    }

    fn in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh)
    }

    fn least_window(&self) -> u64 {
        2 * self.mss
    }

    /// The sample of this ACK; `None` in recovery and for duplicate ACKs, whose delays are not the path's.
    fn sample(&mut self, ack: &AckEvent) -> Option<Sample> {
        if !ack.growth.is_due {
            return None;
        }
        if let Some(rtt) = ack.rtt_sample {
            let rtt = rtt.0 as i64;
            self.least_rtt = if self.least_rtt == 0 { rtt } else { self.least_rtt.min(rtt) };
        }
        let forward = match &mut self.delays {
            Delays::RoundTrip => None,
            Delays::Forward(delay) => delay.on_ack(ack),
            Delays::SkewTolerant(delay) => delay.on_ack(ack),
        };
        forward.or_else(|| ack.rtt_sample.map(|rtt| Sample { rtt: rtt.0 as i64, base_rtt: self.least_rtt }))
    }

    /// The value of Diff in a round trip, in segments.
    fn diff_of(&self, rtt: i64, base_rtt: i64) -> f64 {
        let (window, rtt, base_rtt) = (self.cwnd as f64 / self.mss as f64, rtt as f64, base_rtt as f64);
        // Expected = W / BaseRTT, Actual = W / RTT, Diff = (Expected - Actual) * BaseRTT
        match self.config.variant {
            VegasVariant::Brakmo => window * (rtt - base_rtt) / rtt,
            VegasVariant::Ns2 => (window * (rtt - base_rtt) / rtt + 0.5).floor(),
            VegasVariant::Linux | VegasVariant::LinuxModule => (window * (rtt - base_rtt) / base_rtt).floor(),
        }
    }

    /// Ends a round trip and sets the change of the window in the next one.
    fn end_round(&mut self, number: u64) {
        let round = std::mem::replace(&mut self.round, Round { number, ..Round::default() });
        (self.allowance, self.remainder) = (0, 0);
        let was_growing = std::mem::replace(&mut self.grows, true);
        if self.config.variant == VegasVariant::Linux && round.count <= 2 {
            self.allowance = self.mss;
            return;
        }
        if round.count == 0 {
            self.grows = self.in_slow_start();
            return;
        }
        let rtt = round.rtt(self.config.rtt);
        self.diff = self.diff_of(rtt, round.base_rtt);
        if self.in_slow_start() {
            self.end_slow_start_round(was_growing, rtt, round.base_rtt);
        } else {
            self.end_avoidance_round();
        }
    }

    fn end_slow_start_round(&mut self, was_growing: bool, rtt: i64, base_rtt: i64) {
        // Section V-C: the window doubles every other round trip and holds in between, so that what is measured then is
        // what the doubled window did.
        if was_growing && self.config.variant != VegasVariant::Linux {
            self.grows = false;
            return;
        }
        if self.diff <= self.config.gamma {
            return;
        }
        self.grows = false;
        self.cwnd = match self.config.variant {
            VegasVariant::Brakmo => self.cwnd,
            VegasVariant::Ns2 => self.cwnd - self.cwnd / 8,
            VegasVariant::Linux | VegasVariant::LinuxModule => {
                let target = (self.cwnd as f64 * base_rtt as f64 / rtt as f64) as u64 / self.mss * self.mss;
                self.cwnd.min(target + self.mss)
            }
        }
        .max(self.least_window());
        self.ssthresh = Some(self.ssthresh.unwrap_or(self.cwnd).min(self.cwnd));
    }

    /// Drops the samples so far, which belong to another window.
    fn forget_round(&mut self, grows: bool) {
        self.round = Round { number: self.round.number, ..Round::default() };
        self.grows = grows;
        self.begins_anew = self.config.variant == VegasVariant::Linux;
    }

    fn end_avoidance_round(&mut self) {
        self.grows = self.diff < self.config.alpha;
        if self.grows {
            self.allowance = self.mss;
        } else if self.diff > self.config.beta {
            self.cwnd = (self.cwnd - self.mss.min(self.cwnd)).max(self.least_window());
            // Below ssthresh would be slow start.
            self.ssthresh = self.ssthresh.map(|ssthresh| ssthresh.min(self.cwnd));
        }
    }

    fn grow(&mut self, ack: &AckEvent) {
        if !self.grows || !ack.may_grow() {
            return;
        }
        if self.in_slow_start() {
            let limit = if self.config.variant == VegasVariant::Linux { u64::MAX } else { 2 * self.mss };
            let grown = self.cwnd + ack.newly_acked.0.min(limit);
            self.cwnd = self.ssthresh.map_or(grown, |ssthresh| grown.min(ssthresh));
            return;
        }
        let counted = match self.config.variant {
            VegasVariant::Linux | VegasVariant::LinuxModule => self.cwnd,
            VegasVariant::Ns2 => self.mss,
            VegasVariant::Brakmo => ack.newly_acked.0,
        };
        let growth = self.mss * counted + self.remainder;
        self.remainder = growth % self.cwnd;
        let step = (growth / self.cwnd).min(self.allowance);
        self.allowance -= step;
        self.cwnd += step;
    }
}

impl CongestionController for Vegas {
    fn on_ack(&mut self, ack: &AckEvent) {
        let sample = self.sample(ack);
        // Linux's `vegas_enable`: what the ACK that ends a recovery shows is of before.
        if ack.growth.is_due && std::mem::take(&mut self.begins_anew) {
            self.round = Round { number: ack.round, ..Round::default() };
            self.allowance = 0;
        } else if let Some(sample) = sample {
            self.round.add(sample);
        }
        if ack.growth.is_due && ack.round != self.round.number {
            self.end_round(ack.round);
        }
        self.grow(ack);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        if !event.is_repeated() {
            self.before_episode = Some((self.cwnd, self.ssthresh));
            let keeps_more = self.config.variant != VegasVariant::Linux && !event.is_timeout();
            let kept = if keeps_more { event.decrease_from.0 * 3 / 4 } else { event.decrease_from.0 / 2 };
            self.ssthresh = Some(kept.max(self.least_window()));
        }
        self.cwnd = if event.is_timeout() { self.mss } else { self.ssthresh.unwrap_or(self.cwnd) };
        self.forget_round(false);
    }

    fn on_spurious(&mut self, _now: ackclock_units::SimTime) {
        if let Some((cwnd, ssthresh)) = self.before_episode.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = ssthresh;
            self.forget_round(true);
        }
    }

    /// Measures `BaseRTT` anew after idle time, as Linux does (`tcp_vegas_cwnd_event`).
    fn on_send(&mut self, sent: &SendEvent) {
        if !sent.idle_for.is_zero() && self.config.variant == VegasVariant::Linux {
            self.least_rtt = 0;
            self.forget_round(self.grows);
        }
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd)
    }

    fn on_restart(&mut self, restart: &RestartEvent) {
        self.ssthresh = restart.ssthresh.map(|bytes| bytes.0).or(self.ssthresh);
        self.cwnd = restart.window.0;
        if restart.cause == RestartCause::Timeout {
            self.forget_round(true);
        }
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.ssthresh.map(Bytes)
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("diff_segments", self.diff);
        record("base_rtt_s", self.least_rtt as f64 / 1e9);
        match &self.delays {
            Delays::RoundTrip => {}
            Delays::Forward(delay) => delay.inspect(record),
            Delays::SkewTolerant(delay) => delay.inspect(record),
        }
    }
}
