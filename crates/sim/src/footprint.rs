//! The memory of a run, as far as its configuration shows before it begins.
//!
//! A lower bound, roughly: the state that certainly exists at the same time, by measured sizes
//! (docs/how-to/plan-large-runs.md). It excludes all that depends on the traffic: queues that fill, captures, events,
//! and rows for each event.

use ackclock_cc::ControllerConfig;
use ackclock_net::{LinkConfig, QueueConfig, QueueLimit};

use crate::config::{FlowConfig, Sampling, SimulationConfig};

/// A flow with its access links, at a window of a few segments.
const FLOW: u64 = 10_000;
/// A segment that is outstanding and waits: the packet, its place in a ring, the sender's record, each with room to
/// grow.
const WAITING_SEGMENT: u64 = 700;
/// A segment that was dropped, or will be: only the sender's record.
const RECORDED_SEGMENT: u64 = 60;
/// A row of a table before its columns: time and name.
const ROW: u64 = 12;
const COLUMN: u64 = 8;

impl SimulationConfig {
    /// Octets of memory that a run takes at least, roughly.
    pub fn least_memory(&self) -> u64 {
        let flows = self.flows.iter().map(|flow| self.least_memory_of(flow));
        flows.fold(self.least_memory_of_series(), u64::saturating_add)
    }

    /// True if the state in memory grows with simulated time; captures go to the disk.
    pub fn keeps_over_time(&self) -> bool {
        let trace = &self.trace;
        !trace.flows.is_empty()
            || !trace.internals.is_empty()
            || (!trace.links.is_empty() && !trace.traced_links.is_empty())
            || trace.events.is_some()
    }

    /// The memory of a flow: a window that is never reduced fills early, as far as the receiver permits.
    fn least_memory_of(&self, flow: &FlowConfig) -> u64 {
        let ControllerConfig::Fixed(fixed) = &flow.controller else { return FLOW };
        let (sender, receiver) = (&flow.sender, &flow.receiver);
        let mss = u64::from(sender.mss);
        let buffered = receiver.receive_autotuning.map_or(receiver.receive_buffer, |tuning| tuning.max);
        let sent = sender.send_autotuning.map_or(sender.send_buffer, |tuning| tuning.max);
        let segments = fixed.window.in_bytes(mss).min(buffered).min(sent).0 / mss;
        let is_unbounded = |link: &LinkConfig| {
            link.from == flow.from
                && matches!(&link.queue, QueueConfig::DropTail(queue) if queue.limit == QueueLimit::Unlimited)
        };
        let each = if self.network.links.iter().any(is_unbounded) { WAITING_SEGMENT } else { RECORDED_SEGMENT };
        FLOW + segments * each
    }

    /// The memory of series that are recorded at intervals.
    fn least_memory_of_series(&self) -> u64 {
        let trace = &self.trace;
        let (interval, per_event) = match trace.sampling {
            Sampling::Interval(interval) => (interval, false),
            Sampling::Events(interval) => (interval, true),
        };
        let samples = self.duration.0 / interval.0.max(1);
        let row = |columns: usize| if columns == 0 { 0 } else { ROW + COLUMN * columns as u64 };
        let flows = if per_event { 0 } else { row(trace.flows.len() + trace.internals.len()) };
        let each = flows * self.flows.len() as u64 + row(trace.links.len()) * trace.traced_links.len() as u64;
        samples.saturating_mul(each)
    }
}
