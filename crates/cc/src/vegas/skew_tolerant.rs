//! The delay of the forward path, from timestamps of clocks that drift apart and are sometimes set.
//!
//! Source: none; this project's extension of Kim and Kim 1999 ([`super::forward`]). Skew is measured and taken off
//! ([`super::envelope`]). A clock cannot change the RTT: a decrease in one direction is an increase in the other. So
//! once a connection has had five seconds to learn its least delays, one that lies below them puts a step on trial
//! ([`super::steps`]): if the other direction is seen less far above its own than the step would have it, it was a
//! queue; else the step holds after eight round trips. Nothing goes into the history meanwhile, so that no skew is
//! fitted to a step. A step that soon goes back was none: both directions have become shorter, one after the other.
//! Where the queue on the reverse path hides a step forward, a jump of both directions' least delays over three round trips
//! is tried.
//!
//! The departure of data is computed from the arrival of its ACK and the RTT sample. So a step of the sender's own
//! clock changes both its times, a delayed ACK counts from its last segment, and each ACK shows both directions.
//!
//! Assumes that the relative skew is constant, below 1000 ppm; that a step is longer than two ticks of both clocks
//! together and a millisecond, and comes after the first five seconds, alone within ten trials; that the queue there is
//! short soon after it, which settles its length. If a queue of others there replaces one of the same length on the way
//! back, and stays, it counts as a step; the flow then fills the path by that much more. A clock that is slewed back
//! after an error is a change of skew, which the history of the connection follows slowly.

#[cfg(test)]
mod tests;

use ackclock_units::SimDuration;

use super::Sample;
use super::envelope::{Envelope, Least, Point};
use super::steps::Watch;
use crate::event::AckEvent;
use crate::peer_clock::{Clocks, Times};

/// The estimator of the forward delay for clocks with skew and steps.
#[derive(Clone, Debug)]
pub(super) struct SkewTolerantDelay {
    clocks: Clocks,
    envelope: Option<Envelope>,
    /// The sum of steps so far, ns: the gain of the receiver's clock beside its skew.
    steps: f64,
    watch: Watch,
}

impl SkewTolerantDelay {
    pub(super) fn new(receiver_tick: Option<SimDuration>) -> Self {
        Self { clocks: Clocks::new(receiver_tick), envelope: None, steps: 0.0, watch: Watch::default() }
    }

    /// The sample of an ACK of new data; `None` without timestamps or RTT sample, or before they are usable.
    pub(super) fn on_ack(&mut self, ack: &AckEvent) -> Option<Sample> {
        let stamps = ack.timestamps.as_ref()?;
        let times = self.clocks.read(stamps)?;
        let rtt = ack.rtt_sample?.0 as f64;
        let ticks = self.clocks.receiver_tick()? as f64 + stamps.tick.0 as f64;
        let at = times.arrived as f64;
        let backward = (times.arrived - times.received) as f64 + self.steps;
        let forward = rtt - backward;
        let mut envelope = self.envelope.take().unwrap_or_else(|| with_early(ticks, &self.clocks.take_early()));
        let point = Least { forward: Point { at, delay: forward }, backward: Point { at, delay: backward } };
        let step = match self.watch.add(ack.round, &point, &mut envelope) {
            Some(step) => {
                self.steps += step.size;
                step.size
            }
            None => self.watch.believed(&envelope),
        };
        let (queued, _) = envelope.above(at, forward - step, backward + step);
        let base_rtt = envelope.base_rtt();
        self.envelope = Some(envelope);
        (base_rtt >= 1.0).then(|| Sample { rtt: (base_rtt + queued.max(0.0)) as i64, base_rtt: base_rtt as i64 })
    }

    pub(super) fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let Some(envelope) = &self.envelope else { return };
        record("skew_ppm", envelope.skew() * 1e6);
        record("clock_steps_s", self.steps / 1e9);
        record("propagation_s", envelope.base_rtt() / 1e9);
        record("receiver_tick_s", self.clocks.receiver_tick().unwrap_or(0) as f64 / 1e9);
    }
}

/// An envelope with the times from before the receiver's tick was known.
fn with_early(ticks: f64, early: &[Times]) -> Envelope {
    let mut envelope = Envelope::new(ticks);
    for times in early {
        let at = times.arrived as f64;
        let forward = Point { at, delay: (times.received - times.sent) as f64 };
        let backward = Point { at, delay: (times.arrived - times.received) as f64 };
        envelope.add(&Least { forward, backward });
    }
    envelope
}
