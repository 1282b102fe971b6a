//! TCP-NV: the window follows the one that the measured rate fills in the least round trip, with a few queued segments, in a datacentre.
//!
//! Source: the behaviour of Linux 7.3; there is no paper (Brakmo, TCP-NV: Congestion Avoidance for Data Centers, Linux Plumbers 2010).
//! Each ACK gives the rate of what was delivered since its segment left, over a round trip averaged with the one before. After
//! a round trip with enough ACKs, a window above the greatest rate times the least RTT and `pad` segments gives up 30 % of what is
//! above, and ssthresh is that target; one that is two segments below grows as Reno's. The least RTT begins anew after 2 s, and
//! then every `reset_period`, give or take a quarter.
//!
//! Departures: octets are counted where Linux counts segments. The two seconds begin with the first segment. A threshold of the
//! round trip, which a program in eBPF can give on Linux, is missing.

use ackclock_declare::{declare, default};
use ackclock_units::{RandomStream, SimDuration, SimTime};

use super::{Acked, Change, Episode, Growth, LinuxModule, Module, State};
use crate::algorithm::{Algorithm, Name};
use crate::controller::{Controller, Start};
use crate::jiffies::Jiffies;
use crate::segment_window::SegmentWindow;

declare! {
    /// The parameters of TCP-NV.
    #[derive(Copy)]
    pub struct NvConfig {
        /// Largest number of queued segments (`nv_pad`).
        pad: u64 = default(10).at_least(PAD_BUFFER).at_most(1_000_000).unit("segments"),
        /// Lifetime of the minimum RTT, give or take a quarter (`nv_reset_period`).
        reset_period: SimDuration = default(SimDuration::from_secs(5)).at_least(SimDuration::from_secs(1)),
        /// Window below which only a loss leads (`nv_min_cwnd`).
        min_window: u64 = default(2).at_least(1).at_most(1_000_000).unit("segments"),
        /// Tick of the clock that Linux's module reads.
        tick: SimDuration = default(SimDuration::from_millis(4))
            .at_least(SimDuration::from_millis(1))
            .at_most(SimDuration::from_millis(10))
            .source("CONFIG_HZ = 250 of the recorded kernel and of Debian's"),
        /// Where its ticks lie, as the time of the first one.
        tick_offset: SimDuration = SimDuration::ZERO,
    }
    apart {
        /// Seed of the random stream that draws the lifetimes of the minimum RTT.
        seed: u64 = 0,
    }
}

impl Algorithm for NvConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "TCP-NV: keeps the window that the measured rate fills in the minimum RTT, with a few queued segments",
        source: "the behaviour of Linux 7.3",
        departures: "octets are counted where Linux counts segments; a minimum RTT is first forgotten 2 s after the first segment, not after the handshake",
        ..Name::called("nv")
    }];

    fn seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    fn start(&self, start: Start) -> Controller {
        LinuxModule::start(Nv::new(self), start)
    }
}

/// The seconds before the least RTT begins anew for the first time.
const FIRST_PERIOD_S: u64 = 2;
/// The segments below the target from which the window grows.
const PAD_BUFFER: u64 = 2;
/// The fraction of what is above the target that goes, in 128ths: 30 %.
const DECREASE: u64 = 38;
/// The fraction kept on a loss, in 1024ths: 80 %.
const KEPT: u64 = 819;
/// The ACKs of a round trip without which the window neither grows, nor leaves slow start for the first time, nor falls.
const CALLS_TO_GROW: u64 = 20;
const CALLS_TO_EXIT: u64 = 30;
const CALLS_TO_FALL: u64 = 60;
/// The round trips before a window may fall, and those after which one above its target stops growing.
const ROUNDS_TO_FALL: u64 = 2;
const ROUNDS_TO_STOP: u64 = 10;
/// Growth after a timeout: at most 2^8 times slower than Reno's, and twice as fast after more than eight round trips without a queue.
const SLOWEST: u32 = 8;
const ROUNDS_TO_HASTEN: u64 = 8;
/// The segments that fill a round trip with one ACK: the least number, what is added, and the most.
const LEAST_BATCH: u64 = 4;
const BATCH_STEP: u64 = 2;
const MOST_BATCH: u64 = 81;
/// The counters have a byte.
const MOST_COUNT: u64 = 255;
/// A rate of octets in a microsecond, in units of 100 bit/s.
const RATE_UNIT: u64 = 80_000;
const LEAST_SSTHRESH: u64 = 2;

#[derive(Clone, Debug)]
pub(crate) struct Nv {
    config: NvConfig,
    clock: Jiffies,
    random: RandomStream,
    /// The tick at which the least RTT begins anew.
    renews_at: Option<u64>,
    may_grow: bool,
    resets: bool,
    /// Growth is Reno's over 2 to this power.
    slowness: u32,
    /// The segments that one ACK may acknowledge without being a whole round trip.
    batch: u64,
    /// The averaged round trip, the least, and the least of the next period, microseconds.
    rtt: Option<u64>,
    least_rtt: u64,
    next_least_rtt: u64,
    round: Round,
    /// Decisions in a row that found no queue.
    without_queue: u64,
    una: u64,
}

/// The time since the last decision.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// SND.NXT when the last round trip began.
    end: u64,
    calls: u64,
    rounds: u64,
    greatest_rate: u64,
}

impl Nv {
    pub(crate) fn new(config: &NvConfig) -> Self {
        Self {
            config: *config,
            clock: Jiffies::new(config.tick, config.tick_offset),
            random: RandomStream::new(config.seed, "nv"),
            renews_at: None,
            may_grow: true,
            resets: false,
            slowness: 0,
            batch: LEAST_BATCH,
            rtt: None,
            least_rtt: u64::MAX,
            next_least_rtt: u64::MAX,
            round: Round::default(),
            without_queue: 0,
            una: 0,
        }
    }

    /// Takes the round trip and the rate of an ACK.
    fn measure(&mut self, rtt: u64, delivered: u64) {
        let rtt = if let Some(before) = self.rtt {
            u64::midpoint(rtt, before)
        } else {
            self.least_rtt = 2 * rtt;
            rtt
        };
        self.rtt = Some(rtt).filter(|rtt| *rtt > 0);
        self.round.greatest_rate = self.round.greatest_rate.max(delivered * RATE_UNIT / rtt.max(1));
        self.round.calls = (self.round.calls + 1).min(MOST_COUNT);
        self.least_rtt = self.least_rtt.min(rtt);
        self.next_least_rtt = self.next_least_rtt.min(rtt);
    }

    fn renew_least_rtt(&mut self, now: u64) {
        if self.renews_at.is_some_and(|at| now >= at) {
            self.least_rtt = std::mem::replace(&mut self.next_least_rtt, u64::MAX);
            let parts = 384 + (self.random.uniform() * 256.0) as u64;
            self.renews_at = Some(now + ((self.clock.of(self.config.reset_period) * parts) >> 9));
            self.batch = (self.batch / 2).max(LEAST_BATCH);
        }
    }

    /// Judges the window after a round trip with enough ACKs.
    fn judge(&mut self, window: &mut SegmentWindow, mss: u64) {
        let target = self.round.greatest_rate * self.least_rtt / (RATE_UNIT * mss) + self.config.pad;
        if window.cwnd > target {
            if self.round.rounds < ROUNDS_TO_FALL {
                return;
            }
            if window.ssthresh.is_none() {
                if self.round.calls < CALLS_TO_EXIT {
                    return;
                }
            } else if self.round.calls < CALLS_TO_FALL {
                self.may_grow &= self.round.rounds <= ROUNDS_TO_STOP;
                return;
            }
            self.may_grow = false;
            window.ssthresh = Some(target);
            let above = window.cwnd - target;
            window.cwnd = if above > 2 { window.cwnd - (above * DECREASE / 128).max(2) } else { target };
            self.without_queue = 0;
        } else if window.cwnd + PAD_BUFFER <= target {
            if self.round.calls < CALLS_TO_GROW {
                return;
            }
            self.may_grow = true;
            self.without_queue += 1;
            if self.slowness > 0 && self.without_queue > ROUNDS_TO_HASTEN {
                self.slowness -= 1;
                self.without_queue = 0;
            }
        } else {
            return;
        }
        self.round = Round { end: self.round.end, ..Round::default() };
        window.cwnd = window.cwnd.max(self.config.min_window);
    }
}

impl Module for Nv {
    fn on_ack(&mut self, window: &mut SegmentWindow, acked: &Acked) {
        let Some(rtt) = acked.rtt.filter(|_| matches!(acked.state, State::Open | State::Disorder(_))) else { return };
        let octets = acked.snd_una - std::mem::replace(&mut self.una, acked.snd_una);
        if acked.delivered == 0 {
            return;
        }
        self.measure(rtt.0 / 1_000, acked.delivered);
        self.renew_least_rtt(self.clock.at(acked.now));
        if acked.snd_una <= self.round.end {
            return;
        }
        self.round.end = acked.snd_nxt;
        self.round.rounds = (self.round.rounds + 1).min(MOST_COUNT);
        if self.round.calls == 1 && octets >= (self.batch - 1) * acked.mss && self.batch < MOST_BATCH {
            self.batch = (self.batch + BATCH_STEP).min(MOST_BATCH);
            self.round.end += self.batch * acked.mss;
            self.round.calls = 0;
            self.may_grow = true;
            return;
        }
        self.judge(window, acked.mss);
    }

    fn grow(&mut self, window: &mut SegmentWindow, growth: &Growth) {
        if !self.may_grow {
            return;
        }
        let was_in_slow_start = window.in_slow_start();
        let left = growth.slow_start(window);
        if was_in_slow_start && left == 0 {
            return;
        }
        let per = if self.slowness > 0 { window.cwnd << self.slowness } else { window.cwnd.max(4) };
        window.avoid_congestion(per, left);
    }

    fn decrease(&mut self, episode: &Episode) -> u64 {
        ((episode.cwnd * KEPT) >> 10).max(LEAST_SSTHRESH)
    }

    fn on_state(&mut self, _window: &mut SegmentWindow, change: &Change) {
        match change.to {
            State::Open if self.resets => {
                self.resets = false;
                (self.rtt, self.without_queue, self.una) = (None, 0, change.snd_una);
                self.round = Round { end: change.snd_una, ..Round::default() };
            }
            State::Open | State::Disorder(_) => (),
            State::Reducing => (self.resets, self.may_grow) = (true, false),
            State::Loss(_) => {
                (self.resets, self.may_grow) = (true, false);
                self.slowness = (self.slowness + 1).min(SLOWEST);
            }
        }
    }

    fn on_idle(&mut self, now: SimTime, _snd_nxt: u64) {
        self.renews_at.get_or_insert(self.clock.at(now) + FIRST_PERIOD_S * self.clock.hz());
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("min_rtt_s", self.least_rtt as f64 * 1e-6);
        record("may_grow", f64::from(u8::from(self.may_grow)));
    }

    fn boxed_clone(&self) -> Box<dyn Module> {
        Box::new(self.clone())
    }
}
