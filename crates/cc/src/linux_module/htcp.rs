//! Linux's H-TCP: alpha and beta in 128ths, time in ticks of the clock, and a smoothed throughput.
//!
//! The largest round trip rises by 20 ms at a time, outside of episodes, and 95 % of its excess over the least outlives one. alpha is
//! found anew with each segment of growth. Throughput is measured over at least the least round trip and about a window, and three
//! quarters of the last estimate stay in the next, three round trips after an episode. beta is 0.5 where the largest throughput
//! changed by more than a fifth, and in the first episode where it did not.

use ackclock_units::{SimDuration, SimTime};

use super::{Acked, Change, Episode, Growth, Module, State};
use crate::classic::HtcpConfig;
use crate::event::HandshakeEvent;
use crate::jiffies::Jiffies;
use crate::segment_window::SegmentWindow;

const ONE: u64 = 128;
const LEAST_BETA: u64 = ONE / 2;
const MOST_BETA: u64 = 102;
/// The duration that the least RTT must exceed for another beta than 0.5.
const SHORT_RTT: SimDuration = SimDuration::from_millis(10);
/// The duration by which the largest RTT rises at once.
const MOST_RISE: SimDuration = SimDuration::from_millis(20);

#[derive(Clone, Debug)]
pub(crate) struct Htcp {
    config: HtcpConfig,
    clock: Jiffies,
    pub(super) alpha: u64,
    beta: u64,
    /// True after an episode in which the throughput was that of the one before.
    is_steady: bool,
    /// The segments that the next ACK of congestion avoidance counts for.
    counts: u64,
    /// The least and the largest RTT, ticks.
    least_rtt: Option<u64>,
    pub(super) largest_rtt: u64,
    /// The end of the last episode, or its beginning, ticks; the beginning of the connection before the first.
    last_congestion: Option<u64>,
    throughput: Throughput,
    /// The state before the episode under way, which an undo restores: times in ticks, and `last_peak`.
    undo: Option<(Option<u64>, u64, u64)>,
    /// The largest throughput before the last episode, segments/s.
    last_peak: u64,
}

/// The delivery since a time, and estimates, segments/s.
#[derive(Clone, Copy, Debug, Default)]
struct Throughput {
    acked: u64,
    /// The beginning of the measured time, ticks.
    began: Option<u64>,
    mean: u64,
    peak: u64,
}

impl Htcp {
    pub(crate) fn new(config: HtcpConfig) -> Self {
        Self {
            config,
            clock: Jiffies::new(config.tick, config.tick_offset),
            alpha: ONE,
            beta: LEAST_BETA,
            is_steady: false,
            counts: 1,
            least_rtt: None,
            largest_rtt: 0,
            last_congestion: None,
            throughput: Throughput::default(),
            undo: None,
            last_peak: 0,
        }
    }

    fn measure_rtt(&mut self, rtt: u64, state: State) {
        let least = self.least_rtt.map_or(rtt, |least| least.min(rtt));
        self.least_rtt = Some(least);
        if state == State::Open {
            self.largest_rtt = self.largest_rtt.max(least);
            if rtt <= self.largest_rtt + self.clock.of(MOST_RISE) {
                self.largest_rtt = self.largest_rtt.max(rtt);
            }
        }
    }

    fn measure_throughput(&mut self, cwnd: u64, acked: &Acked) {
        let now = self.clock.at(acked.now);
        if !matches!(acked.state, State::Open | State::Disorder(_)) {
            (self.throughput.acked, self.throughput.began) = (0, Some(now));
            return;
        }
        self.throughput.acked += acked.segments;
        let Some(least) = self.least_rtt else { return };
        let window = cwnd.checked_sub((self.alpha / ONE).max(1));
        let span = self.throughput.began.map(|began| now - began);
        if window.is_none_or(|window| self.throughput.acked < window) || span.is_some_and(|span| span < least) {
            return;
        }
        // Nothing is known of the time before the first.
        let rate = span.and_then(|span| (self.throughput.acked * self.clock.hz()).checked_div(span)).unwrap_or(0);
        let since = self.since_congestion(now);
        let Throughput { mean, peak, .. } = &mut self.throughput;
        if since / least.max(1) <= 3 {
            (*mean, *peak) = (rate, rate);
        } else {
            *mean = (3 * *mean + rate) / 4;
            *peak = (*peak).max(*mean);
        }
        (self.throughput.acked, self.throughput.began) = (0, Some(now));
    }

    fn since_congestion(&self, now: u64) -> u64 {
        self.last_congestion.map_or(0, |last| now - last)
    }

    fn adapt_beta(&mut self) {
        let (peak, before) = (self.throughput.peak, self.last_peak);
        self.last_peak = peak;
        let is_same = (4 * before..=6 * before).contains(&(5 * peak));
        let adapts = is_same && self.is_steady && self.config.adaptive_backoff;
        let least = self.least_rtt.unwrap_or(0);
        self.is_steady = is_same;
        self.beta = match (least * ONE).checked_div(self.largest_rtt) {
            Some(share) if adapts && least > self.clock.of(SHORT_RTT) => share.clamp(LEAST_BETA, MOST_BETA),
            _ => LEAST_BETA,
        };
    }

    fn adapt_alpha(&mut self, now: SimTime) {
        let (now, hz) = (self.clock.at(now), self.clock.hz());
        let beyond = self.since_congestion(now).saturating_sub(hz);
        let mut factor = 1;
        if beyond > 0 {
            factor += (10 * beyond + (beyond / 2) * (beyond / 2) / hz) / hz;
        }
        if self.config.rtt_scaling
            && let Some(least) = self.least_rtt.filter(|least| *least > 0)
        {
            // Eighths of 100 ms in a round trip, at least a half and at most ten.
            let scale = (8 * hz / (10 * least)).clamp(4, 80);
            factor = (8 * factor / scale).max(1);
        }
        self.alpha = 2 * factor * (ONE - self.beta);
    }
}

impl Module for Htcp {
    fn on_ack(&mut self, window: &mut SegmentWindow, acked: &Acked) {
        if acked.state == State::Open {
            self.counts = acked.segments;
        }
        if let Some(rtt) = acked.rtt.filter(|rtt| !rtt.is_zero()) {
            self.measure_rtt(self.clock.of(rtt), acked.state);
        }
        self.measure_throughput(window.cwnd, acked);
    }

    fn grow(&mut self, window: &mut SegmentWindow, growth: &Growth) {
        if growth.slow_start_alone(window) {
            return;
        }
        if window.counted * self.alpha / ONE >= window.cwnd {
            window.cwnd += 1;
            window.counted = 0;
            self.adapt_alpha(growth.now);
        } else {
            window.counted += self.counts;
        }
        self.counts = 1;
    }

    fn decrease(&mut self, &Episode { now, cwnd, .. }: &Episode) -> u64 {
        self.adapt_beta();
        self.adapt_alpha(now);
        let least = self.least_rtt.unwrap_or(0);
        if least > 0 && self.largest_rtt > least {
            self.largest_rtt = least + (self.largest_rtt - least) * 95 / 100;
        }
        cwnd * self.beta / ONE
    }

    fn on_spurious(&mut self) {
        if let Some((last_congestion, largest_rtt, last_peak)) = self.undo.take() {
            (self.last_congestion, self.largest_rtt, self.last_peak) = (last_congestion, largest_rtt, last_peak);
        }
    }

    fn on_state(&mut self, _window: &mut SegmentWindow, change: &Change) {
        let now = self.clock.at(change.now);
        match change.to {
            State::Open => {
                if self.undo.take().is_some() {
                    self.last_congestion = Some(now);
                }
            }
            State::Disorder(_) => (),
            State::Reducing | State::Loss(_) => {
                self.undo = Some((self.last_congestion, self.largest_rtt, self.last_peak));
                self.last_congestion = Some(now);
            }
        }
    }

    fn on_handshake(&mut self, _window: &mut SegmentWindow, handshake: &HandshakeEvent) {
        self.last_congestion = Some(self.clock.at(handshake.now));
    }

    fn on_idle(&mut self, now: SimTime, _snd_nxt: u64) {
        self.last_congestion.get_or_insert(self.clock.at(now));
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("alpha_segments", self.alpha as f64 / ONE as f64);
        record("beta", self.beta as f64 / ONE as f64);
    }

    fn boxed_clone(&self) -> Box<dyn Module> {
        Box::new(self.clone())
    }
}
