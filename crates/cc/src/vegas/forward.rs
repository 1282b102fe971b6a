//! The delay of the forward path, from timestamps of clocks that do not agree.
//!
//! Source: J.-D. Kim and C.-K. Kim 1999. With `t_s` the time at which data left (sender's clock), `t_r` that at which its
//! ACK left (receiver's clock) and `t_a` that at which the ACK arrived (sender's clock),
//!
//! ```text
//! T_f0 = min(t_r - t_s)      forward propagation plus the offset between the clocks
//! T_b0 = min(t_a - t_r)      backward propagation minus that offset
//! BaseRTT = T_f0 + T_b0
//! F_Actual = W / ((t_r - t_s) + T_b0)
//! ```
//!
//! so that the offset cancels and a queue on the backward path counts for nothing.
//!
//! Departures, where the paper is silent. The receiver's tick is estimated ([`crate::peer_clock`]); until it is known,
//! and where ticks are so coarse that `BaseRTT` is zero, the round trip counts, as in plain Vegas; so a receiver with
//! ticks of the length of the round trip, 100 or 500 ms, gains nothing. (Only the first ACK of each tick, which left
//! when the tick began, would give too few samples for a minimum.) A delayed ACK echoes the timestamp of the first
//! segment it covers (RFC 7323 section 4.3), so that `t_r - t_s` would hold the wait for the second: the sender knows
//! when it sent the last one and takes that wait off. The wait of a segment that stays alone until the delayed-ACK
//! timer cannot be told from a queue. Clocks that run at different speeds or are adjusted break the minima. While a
//! receiver's clock gains on the sender's, `T_b0` follows it down and `T_f0` does not follow it up: `BaseRTT` falls by
//! what it gains (500 ppm: 30 ms a minute), `Diff` rises, the window shrinks to nothing. While it loses, `T_f0` follows
//! a queue that stands longer than the drift takes to cover it: `Diff` no longer sees it, and the window grows until
//! there is loss.

use ackclock_units::SimDuration;

use super::Sample;
use crate::event::AckEvent;
use crate::peer_clock::{Clocks, Times};

/// The estimator of the delay of the forward path.
#[derive(Clone, Debug)]
pub(super) struct ForwardDelay {
    clocks: Clocks,
    mss: u64,
    /// The least delays `T_f0` and `T_b0`, ns.
    least: Option<(i64, i64)>,
    /// The latest `t_r - t_s`, ns.
    forward: i64,
}

impl ForwardDelay {
    pub(super) fn new(receiver_tick: Option<SimDuration>, mss: u64) -> Self {
        Self { clocks: Clocks::new(receiver_tick), mss, least: None, forward: 0 }
    }

    /// The sample of an ACK of new data; `None` without timestamps, or before they are usable.
    pub(super) fn on_ack(&mut self, ack: &AckEvent) -> Option<Sample> {
        let times = self.clocks.read(ack.timestamps.as_ref()?)?;
        let forward = times.received - times.sent - waited(&times, ack, self.mss);
        let backward = times.arrived - times.received;
        if self.least.is_none() {
            self.least = Some(least_early(&self.clocks.take_early()).unwrap_or((forward, backward)));
        }
        let (least_forward, least_backward) = self.least.get_or_insert((forward, backward));
        *least_forward = forward.min(*least_forward);
        *least_backward = backward.min(*least_backward);
        self.forward = forward;
        let sample = Sample { rtt: forward + *least_backward, base_rtt: *least_forward + *least_backward };
        (sample.base_rtt > 0).then_some(sample)
    }

    pub(super) fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let Some((forward, backward)) = self.least else { return };
        record("forward_base_s", forward as f64 / 1e9);
        record("backward_base_s", backward as f64 / 1e9);
        record("forward_queueing_s", (self.forward - forward) as f64 / 1e9);
        record("receiver_tick_s", self.clocks.receiver_tick().unwrap_or(0) as f64 / 1e9);
    }
}

/// The least delays there and back before the receiver's tick was known.
fn least_early(early: &[Times]) -> Option<(i64, i64)> {
    let forward = early.iter().map(|times| times.received - times.sent).min()?;
    let backward = early.iter().map(|times| times.arrived - times.received).min()?;
    Some((forward, backward))
}

/// The wait of the first segment that an ACK covers for the last one, ns.
pub(super) fn waited(times: &Times, ack: &AckEvent, mss: u64) -> i64 {
    match ack.rtt_sample {
        Some(newest) if ack.newly_acked.0 > mss => (times.arrived - times.sent - newest.0 as i64).max(0),
        _ => 0,
    }
}
