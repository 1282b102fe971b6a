//! CDG: the window falls with a probability that grows with the gradient of the round trip, and less for a loss where that has acted.
//!
//! Sources: Hayes and Armitage, Revisiting TCP Congestion Control Using Delay Gradients, Networking 2011; the behaviour of Linux 7.3,
//! whose rules these are. A round trip has a least and a greatest RTT, whose changes over `gradient_window` round trips are the
//! gradients. One above zero reduces the window to `backoff_beta` with the probability `1 - exp(-g * factor / 10^6)`, with the sum `g`
//! of gradients in microseconds. A shadow window ignores these reductions; a loss leaves a half of it, and a half of the window at least.
//!
//! Departures: the exponential is exact. A reduction by the gradient is reported as one by a mark.

use ackclock_declare::{declare, default, words};
use ackclock_units::{RandomStream, math};

use super::{Acked, Change, Episode, Growth, LinuxModule, Module};
use crate::algorithm::{Algorithm, Name};
use crate::controller::{Controller, Start};
use crate::event::HandshakeEvent;
use crate::segment_window::SegmentWindow;

words! {
    /// The signs that end CDG's slow start before a loss.
    #[derive(Default)]
    pub enum CdgHystart {
        /// None.
        "off" = Off,
        /// A train of ACKs as long as half of the least round trip.
        "ack_train" = AckTrain,
        /// A round trip an eighth above the least.
        "delay" = Delay,
        /// Either.
        #[default]
        "both" = Both,
    }
}

declare! {
    /// The parameters of CDG.
    #[derive(Copy)]
    pub struct CdgConfig {
        /// Round trips over which the gradients of the delay are summed (`window`).
        gradient_window: u64 = default(8).at_least(1).at_most(256).unit("round trips"),
        /// Fraction of the window kept where the gradient reduces it, in whole 1024ths.
        backoff_beta: f64 = default(std::f64::consts::FRAC_1_SQRT_2).at_least(0.0).at_most(1.0),
        /// Weight of the gradient in the probability of a reduction; 0 never reduces.
        backoff_factor: u64 = default(42).at_most(1_000_000),
        /// Signs that end slow start before a loss (`hystart_detect`).
        hystart: CdgHystart = CdgHystart::Both,
        /// Reductions without a falling delay after which the gradient is ignored; 0 never ignores it (`use_ineff`).
        ineffectual_backoffs: u64 = 5,
        /// Lower ssthresh on a loss only as far as the shadow window says (`use_shadow`).
        shadow_window: bool = true,
        /// Keep the window on a loss while the gradients say that the queue is not full (`use_tolerance`).
        loss_tolerance: bool = false,
    }
    apart {
        /// Seed of the random stream that decides about reductions.
        seed: u64 = 0,
    }
}

impl Algorithm for CdgConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "reduces the window with a probability that grows with the gradient of the delay (CAIA Delay-Gradient)",
        source: "Hayes, Armitage, Networking 2011; the behaviour of Linux 7.3",
        departures: "none from Linux's module but that a reduction by the gradient is reported as one by a mark",
        ..Name::called("cdg")
    }];

    fn seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    fn start(&self, start: Start) -> Controller {
        LinuxModule::start(Cdg::new(self, start.initial_window.0 / start.mss.0), start)
    }
}

/// The longest time between ACKs of a train, and the least of what counts as long, microseconds.
const TRAIN_GAP: u64 = 3_000;
const LEAST_THRESHOLD: i64 = 125;
/// The round trips of a window that come before the delay is judged.
const HYSTART_SAMPLES: u64 = 8;
/// The most delayed ACKs that are expected.
const MOST_DELAYED: u64 = 5;
/// A sum of gradients that shows an effect, and the size of those that loss tolerance takes for one, microseconds.
const EFFECT: i64 = -32;
const TOLERANCE: i64 = 64;
const LEAST_WINDOW: u64 = 2;

/// Least and greatest RTT of a round trip, or their changes, microseconds; both are zero while nothing is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Extremes {
    least: i64,
    greatest: i64,
}

impl Extremes {
    fn is_known(self) -> bool {
        self != Self::default()
    }

    fn take(&mut self, rtt: i64) {
        self.least = least_known(self.least, rtt);
        self.greatest = self.greatest.max(rtt);
    }

    fn since(self, earlier: Self) -> Self {
        Self { least: self.least - earlier.least, greatest: self.greatest - earlier.greatest }
    }

    fn and(self, other: Self) -> Self {
        Self { least: self.least + other.least, greatest: self.greatest + other.greatest }
    }
}

/// The lesser of two times, of which zero is none.
fn least_known(one: i64, other: i64) -> i64 {
    if one == 0 || other == 0 { one.max(other) } else { one.min(other) }
}

/// The queue, as the gradients show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Queue {
    #[default]
    Unknown,
    NotFull,
    Full,
    /// A reduction by the gradient has begun.
    BackedOff,
}

#[derive(Clone, Debug)]
pub(crate) struct Cdg {
    config: CdgConfig,
    random: RandomStream,
    begins: bool,
    shadow: u64,
    measured: Measured,
}

/// The measurements, which idle time makes it forget.
#[derive(Clone, Debug)]
struct Measured {
    /// The round trip under way, and the one before.
    rtt: Extremes,
    previous: Extremes,
    /// The gradients of the last round trips, the place of the next, and their sum.
    gradients: Vec<Extremes>,
    next: usize,
    sum: Extremes,
    is_filled: bool,
    queue: Queue,
    delayed: u64,
    /// SND.NXT when the round trip began.
    end: u64,
    backoffs: u64,
    samples: u64,
    least_rtt: i64,
    /// The beginning and the last ACK of a train, microseconds.
    train: Option<(u64, u64)>,
}

impl Measured {
    fn new(gradients: u64, end: u64) -> Self {
        Self {
            rtt: Extremes::default(),
            previous: Extremes::default(),
            gradients: vec![Extremes::default(); gradients as usize],
            next: 0,
            sum: Extremes::default(),
            is_filled: false,
            queue: Queue::Unknown,
            delayed: 0,
            end,
            backoffs: 0,
            samples: 0,
            least_rtt: 0,
            train: None,
        }
    }

    fn begin_round(&mut self, end: u64) {
        (self.previous, self.rtt, self.end) = (std::mem::take(&mut self.rtt), Extremes::default(), end);
    }

    /// The sum of the gradients with that of the round trip that ends, as if the window were full.
    fn gradient(&mut self, has_tolerance: bool) -> i64 {
        let newest = self.rtt.since(self.previous);
        let oldest = std::mem::replace(&mut self.gradients[self.next], newest);
        self.sum = self.sum.and(newest.since(oldest));
        self.next = (self.next + 1) % self.gradients.len();
        let Extremes { least, greatest } = self.sum;
        let mut gradient = if least > 0 { least } else { greatest };
        self.is_filled |= self.next == 0;
        if !self.is_filled {
            gradient = gradient * self.gradients.len() as i64 / self.next as i64;
        }
        if least <= EFFECT || greatest <= EFFECT {
            self.backoffs = 0;
        }
        if has_tolerance {
            let rounded = |sum: i64| (sum + TOLERANCE / 2 * sum.signum()) / TOLERANCE;
            let (least, greatest) = (rounded(least), rounded(greatest));
            if least > 0 && greatest <= 0 {
                self.queue = Queue::Full;
            } else if (least > 0 && greatest > 0) || greatest < 0 {
                self.queue = Queue::NotFull;
            }
        }
        gradient
    }
}

impl Cdg {
    pub(crate) fn new(config: &CdgConfig, cwnd: u64) -> Self {
        Self {
            config: *config,
            random: RandomStream::new(config.seed, "cdg"),
            begins: false,
            shadow: cwnd,
            measured: Measured::new(config.gradient_window, 0),
        }
    }

    /// Ends slow start with the present window where the path shows that it is full.
    fn seek_exit(&mut self, window: &mut SegmentWindow, growth: &Growth) {
        let Measured { rtt, least_rtt, train, samples, .. } = &mut self.measured;
        *least_rtt = least_known(*least_rtt, rtt.least);
        if *least_rtt == 0 {
            return;
        }
        if matches!(self.config.hystart, CdgHystart::AckTrain | CdgHystart::Both) {
            let now = growth.now.0 / 1_000;
            match train {
                Some((began, last)) if growth.is_in_use => {
                    if now < *last + TRAIN_GAP {
                        *last = now;
                        if now > *began + (*least_rtt / 2).max(LEAST_THRESHOLD) as u64 {
                            window.ssthresh = Some(window.cwnd);
                            return;
                        }
                    }
                }
                _ => *train = Some((now, now)),
            }
        }
        if matches!(self.config.hystart, CdgHystart::Delay | CdgHystart::Both) {
            if *samples < HYSTART_SAMPLES {
                *samples += 1;
            } else if rtt.least > (*least_rtt + *least_rtt / 8).max(LEAST_THRESHOLD) {
                window.ssthresh = Some(window.cwnd);
            }
        }
    }

    fn backs_off(&mut self, gradient: i64) -> bool {
        let exponent = gradient as f64 * self.config.backoff_factor as f64 * 1e-6;
        if !self.random.chance(1.0 - math::exp(-exponent)) {
            return false;
        }
        let most = self.config.ineffectual_backoffs;
        if most > 0 {
            self.measured.backoffs += 1;
        }
        most == 0 || self.measured.backoffs <= most
    }
}

impl Module for Cdg {
    fn on_ack(&mut self, _window: &mut SegmentWindow, acked: &Acked) {
        let Some(rtt) = acked.rtt.map(|rtt| (rtt.0 / 1_000) as i64).filter(|rtt| *rtt > 0) else { return };
        let Measured { rtt: extremes, delayed, .. } = &mut self.measured;
        if !acked.has_sacked {
            if acked.segments == 1 && *delayed > 0 {
                *delayed -= 1;
                // The ACK may have been delayed: it is sure to show a lower delay only.
                extremes.least = extremes.least.min(rtt);
                return;
            }
            if acked.segments > 1 && *delayed < MOST_DELAYED {
                *delayed += 1;
            }
        }
        extremes.take(rtt);
    }

    /// The SYN's round trip counts for the first one.
    fn on_handshake(&mut self, window: &mut SegmentWindow, handshake: &HandshakeEvent) {
        if handshake.is_opener {
            self.measured.rtt.take((handshake.srtt.0 / 1_000) as i64);
        }
        self.shadow = window.cwnd;
    }

    fn grows_unused(&self) -> bool {
        true
    }

    fn grow(&mut self, window: &mut SegmentWindow, growth: &Growth) {
        if window.in_slow_start() {
            self.seek_exit(window, growth);
        }
        let measured = &mut self.measured;
        if growth.snd_una > measured.end && measured.rtt.is_known() {
            let has_two = measured.previous.is_known();
            let gradient = if has_two { measured.gradient(self.config.loss_tolerance) } else { 0 };
            measured.begin_round(growth.snd_nxt);
            (measured.train, measured.samples) = (None, 0);
            if gradient > 0 && self.backs_off(gradient) {
                self.shadow = self.shadow.max(window.cwnd);
                self.measured.queue = Queue::BackedOff;
                self.begins = true;
                return;
            }
        }
        if growth.is_in_use {
            let before = window.cwnd;
            growth.reno(window);
            self.shadow += window.cwnd - before;
        } else {
            self.shadow = self.shadow.min(window.cwnd);
        }
    }

    fn begins_reduction(&mut self) -> bool {
        std::mem::take(&mut self.begins)
    }

    fn decrease(&mut self, &Episode { cwnd, .. }: &Episode) -> u64 {
        if self.measured.queue == Queue::BackedOff {
            return ((cwnd * (1_024.0 * self.config.backoff_beta) as u64) >> 10).max(LEAST_WINDOW);
        }
        if self.measured.queue == Queue::NotFull && self.config.loss_tolerance {
            return cwnd;
        }
        self.shadow = (self.shadow / 2).min(cwnd);
        let half = (cwnd / 2).max(LEAST_WINDOW);
        if self.config.shadow_window { half.max(self.shadow) } else { half }
    }

    fn on_state(&mut self, _window: &mut SegmentWindow, change: &Change) {
        if change.completes {
            self.measured.queue = Queue::Unknown;
            self.measured.begin_round(change.snd_nxt);
        }
    }

    fn on_restart(&mut self, cwnd: u64, snd_nxt: u64) {
        (self.measured, self.shadow) = (Measured::new(self.config.gradient_window, snd_nxt), cwnd);
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("shadow_window_segments", self.shadow as f64);
        record("gradient_us", self.measured.sum.least as f64);
    }

    fn boxed_clone(&self) -> Box<dyn Module> {
        Box::new(self.clone())
    }
}
