//! Window rules that differ from Reno's in two numbers: the increase for an acknowledged segment, and the decrease
//! after a loss. All share the slow start, undo and bookkeeping here; each rule is a file.
//!
//! Windows are segments as `f64`: the increase of a large window for one segment is far below a byte.
//!
//! All have these departures: slow start is RFC 5681's with the byte counting of RFC 3465 (L = 2). Acknowledged
//! segments are counted by octets where the sources count ACKs, so that delayed ACKs do not slow a rule down. A
//! spurious episode is undone in cwnd and ssthresh, not in the state of a rule.

pub mod aimd;
pub mod bic;
pub mod highspeed;
pub mod htcp;
pub mod hybla;
pub mod illinois;
pub mod scalable;
pub mod veno;
pub mod westwood;
pub mod yeah;

use std::fmt::Debug;

use ackclock_declare::words;
use ackclock_units::{Bytes, SimTime};

use crate::controller::{CongestionController, Controller, Start};
use crate::event::{AckEvent, CongestionEvent, RestartCause, RestartEvent, SendEvent};
use crate::slow_start::{Hystart, Pace, Parts, SlowStart};

#[doc(inline)]
pub use aimd::{Aimd, AimdConfig};
#[doc(inline)]
pub use bic::{Bic, BicConfig};
#[doc(inline)]
pub use highspeed::{HighSpeed, HighSpeedConfig, HighSpeedIncrease, HighSpeedResponse, HighSpeedVariant};
#[doc(inline)]
pub use htcp::{Htcp, HtcpConfig};
#[doc(inline)]
pub use hybla::{Hybla, HyblaConfig};
#[doc(inline)]
pub use illinois::{Illinois, IllinoisConfig};
#[doc(inline)]
pub use scalable::{Scalable, ScalableConfig};
#[doc(inline)]
pub use veno::{Veno, VenoConfig};
#[doc(inline)]
pub use westwood::{Westwood, WestwoodConfig};
#[doc(inline)]
pub use yeah::{Yeah, YeahConfig};

words! {
    /// The source of a controller's rules.
    #[derive(Default)]
    pub enum ClassicVariant {
        /// The rules of the paper.
        #[default]
        "paper" = Paper,
        /// The rules of Linux's module, in whole segments.
        "linux" = Linux,
    }
}

/// The state that an ACK finds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grown<'a> {
    pub(crate) ack: &'a AckEvent,
    /// The congestion window, segments.
    pub(crate) cwnd: f64,
    /// The acknowledged data, segments.
    pub(crate) acked: f64,
}

/// A rule of congestion avoidance.
pub(crate) trait Rule: Debug {
    /// Takes every ACK, also during recovery and slow start.
    fn on_ack(&mut self, _ack: &AckEvent, _cwnd: f64, _mss: u64) {}

    /// The segments to take away at once, also in slow start, which ends then.
    fn shed(&mut self) -> f64 {
        0.0
    }

    /// The segments to add for an ACK in congestion avoidance.
    fn increase(&mut self, grown: &Grown<'_>) -> f64;

    /// The segments to add for an ACK in slow start; `None` adds as many as it acknowledges.
    fn slow_start(&self, _grown: &Grown<'_>) -> Option<f64> {
        None
    }

    /// Begins an episode: returns the decreased window, segments. `flight` is the flight size.
    fn decrease(&mut self, event: &CongestionEvent, cwnd: f64, flight: f64) -> f64;

    /// Answers a segment that leaves after nothing was outstanding.
    fn on_idle(&mut self) {}

    /// Answers a retransmission timeout, within an episode or not; [`Self::decrease`] comes first if the timeout begins
    /// one.
    fn on_timeout(&mut self) {}

    /// Reports internals: see [`CongestionController::inspect`].
    fn inspect(&self, _record: &mut dyn FnMut(&'static str, f64)) {}
}

/// A [`Rule`] that can be cloned, as a simulation can at any moment.
trait AnyRule: Rule + Send + Sync {
    fn boxed_clone(&self) -> Box<dyn AnyRule>;
}

impl<T: Rule + Clone + Send + Sync + 'static> AnyRule for T {
    fn boxed_clone(&self) -> Box<dyn AnyRule> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn AnyRule> {
    fn clone(&self) -> Self {
        self.as_ref().boxed_clone()
    }
}

/// A window rule with the slow start and undo of its kind: [`mod@crate::classic`]. Rules differ from Reno's in their
/// increase and decrease.
#[derive(Clone, Debug)]
pub struct Classic {
    rule: Box<dyn AnyRule>,
    mss: u64,
    /// The congestion window, segments.
    cwnd: f64,
    ssthresh: Option<f64>,
    slow_start: SlowStart,
    before_episode: Option<(f64, Option<f64>)>,
}

impl Classic {
    /// Starts the controller of a rule.
    fn start(rule: impl Rule + Clone + Send + Sync + 'static, start: Start) -> Controller {
        Controller::Classic(Box::new(Self::new(rule, start)))
    }

    fn new(rule: impl Rule + Clone + Send + Sync + 'static, start: Start) -> Self {
        let segments = |bytes: u64| bytes as f64 / start.mss.0 as f64;
        Self {
            rule: Box::new(rule),
            mss: start.mss.0,
            cwnd: segments(start.initial_window.0),
            ssthresh: start.ssthresh().map(segments),
            slow_start: SlowStart::new(Hystart::Off),
            before_episode: None,
        }
    }

    fn in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh)
    }

    /// Grows in slow start; returns the segments left over for congestion avoidance.
    fn grow_in_slow_start(&mut self, ack: &AckEvent) -> f64 {
        let grown = Grown { ack, cwnd: self.cwnd, acked: ack.newly_acked.0 as f64 / self.mss as f64 };
        if let Some(more) = self.rule.slow_start(&grown) {
            self.cwnd += more;
            self.cwnd = self.ssthresh.map_or(self.cwnd, |ssthresh| self.cwnd.min(ssthresh));
            return 0.0;
        }
        let window = Parts { cwnd: self.cwnd, ssthresh: self.ssthresh, mss: self.mss };
        let left;
        (self.cwnd, left) = self.slow_start.grow_segments(Pace::Ordinary, window, ack.newly_acked.0);
        left
    }
}

impl CongestionController for Classic {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.rule.on_ack(ack, self.cwnd, self.mss);
        let shed = self.rule.shed();
        if shed > 0.0 {
            self.cwnd = (self.cwnd - shed).max(2.0);
            self.ssthresh = Some(self.cwnd);
            return;
        }
        if !ack.may_grow() {
            return;
        }
        let mut acked = ack.newly_acked.0 as f64 / self.mss as f64;
        if self.in_slow_start() {
            acked = self.grow_in_slow_start(ack);
            if acked <= 0.0 {
                return;
            }
        }
        let grown = Grown { ack, cwnd: self.cwnd, acked };
        let more = self.rule.increase(&grown);
        debug_assert!(more >= 0.0, "an increase is none below zero: {more} of {:?}", self.rule);
        self.cwnd += more;
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.slow_start.on_congestion(event);
        if !event.is_repeated() {
            self.before_episode = Some((self.cwnd, self.ssthresh));
            let flight = event.decrease_from.0 as f64 / self.mss as f64;
            let kept = self.rule.decrease(event, self.cwnd, flight);
            debug_assert!(kept >= 0.0 && kept <= flight.max(self.cwnd), "a decrease to {kept} of {:?}", self.rule);
            self.ssthresh = Some(kept.max(2.0));
        }
        self.cwnd = if event.is_timeout() { 1.0 } else { self.ssthresh.unwrap_or(self.cwnd) };
    }

    fn on_spurious(&mut self, _now: SimTime) {
        if let Some((cwnd, ssthresh)) = self.before_episode.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = ssthresh;
        }
    }

    fn on_send(&mut self, sent: &SendEvent) {
        if !sent.idle_for.is_zero() {
            self.rule.on_idle();
        }
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        Bytes((self.cwnd * self.mss as f64) as u64)
    }

    fn on_restart(&mut self, restart: &RestartEvent) {
        self.slow_start.on_restart(restart);
        if restart.cause == RestartCause::Timeout {
            self.rule.on_timeout();
        }
        if let Some(ssthresh) = restart.ssthresh {
            self.ssthresh = Some(ssthresh.0 as f64 / self.mss as f64);
        }
        self.cwnd = restart.window.0 as f64 / self.mss as f64;
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.ssthresh.map(|segments| Bytes((segments * self.mss as f64) as u64))
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        self.rule.inspect(record);
    }
}

/// The delays of a path, in seconds: least and greatest of the connection, mean and least of the present round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delays {
    pub(crate) least: f64,
    pub(crate) greatest: f64,
    round: u64,
    sum: f64,
    count: f64,
    least_of_round: f64,
}

/// The delays of one round trip, seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundDelays {
    pub(crate) mean: f64,
    pub(crate) least: f64,
    pub(crate) samples: f64,
}

impl Delays {
    /// Forgets all delays, but not the number of the round trip.
    pub(crate) fn restart(&mut self) {
        *self = Self { round: self.round, ..Self::default() };
    }

    /// Takes an ACK; returns the delays of the round trip that it ends.
    pub(crate) fn on_ack(&mut self, ack: &AckEvent) -> Option<RoundDelays> {
        self.on_ack_that(true, ack)
    }

    /// Takes an ACK, which ends a round trip only if it `may`; returns the delays of that.
    pub(crate) fn on_ack_that(&mut self, may: bool, ack: &AckEvent) -> Option<RoundDelays> {
        let ends = may && ack.round != self.round;
        let ended = (ends && self.count > 0.0).then(|| RoundDelays {
            mean: self.sum / self.count,
            least: self.least_of_round,
            samples: self.count,
        });
        if ends {
            (self.round, self.sum, self.count) = (ack.round, 0.0, 0.0);
        }
        if let Some(sample) = ack.rtt_sample {
            let rtt = sample.as_secs_f64();
            self.least = if self.least > 0.0 { self.least.min(rtt) } else { rtt };
            self.greatest = self.greatest.max(rtt);
            self.least_of_round = if self.count > 0.0 { self.least_of_round.min(rtt) } else { rtt };
            self.sum += rtt;
            self.count += 1.0;
        }
        ended
    }
}

#[cfg(test)]
mod testing {
    use super::Classic;
    use crate::algorithm::Algorithm;
    use crate::controller::{CongestionController, Controller, Start};
    use crate::event::AckEvent;
    use crate::testing::{ack, loss};
    use ackclock_units::{SimDuration, SimTime};

    pub(super) const MSS: u64 = 1_000;

    /// A controller in congestion avoidance with a window of `segments`.
    pub(super) fn avoiding(config: &impl Algorithm, segments: f64) -> Classic {
        let window = (segments * MSS as f64) as u64;
        let start = Start::of(MSS, window, Some(window));
        let Controller::Classic(classic) = config.start(start) else { panic!("a rule of this module") };
        *classic
    }

    /// The segments gained in a round trip of `rtt_ms` that began at `from_ms`, with an ACK for each segment.
    pub(super) fn gain_of_round(controller: &mut Classic, round: u64, from_ms: u64, rtt_ms: u64) -> f64 {
        let before = controller.cwnd;
        let segments = before as u64;
        for number in 0..segments {
            let now =
                SimTime::ZERO + SimDuration::from_millis(from_ms) + SimDuration(rtt_ms * 1_000_000 * number / segments);
            controller.on_ack(&AckEvent { now, round, rtt_sample: Some(SimDuration::from_millis(rtt_ms)), ..ack(MSS) });
        }
        controller.cwnd - before
    }

    /// The fraction of the window that remains after a loss with the whole window in flight.
    pub(super) fn kept_of_loss(controller: &mut Classic) -> f64 {
        let before = controller.cwnd;
        controller.on_congestion(&loss((before * MSS as f64) as u64));
        controller.cwnd / before
    }
}
