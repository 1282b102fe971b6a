//! A group of short flows, whatever carries them: their arrivals and sizes, their counts and their completions.
//!
//! The simulator's endpoints are one carrier ([`super::ShortFlows`]), real sockets may be another.

use ackclock_net::LinkId;
use ackclock_units::{Bytes, SimTime};

use super::arrivals::{Arrival, ArrivalStream};
use super::completions::{Completion, CompletionLog, GroupCounts, GroupSummary};
use super::config::ArrivalsConfig;
use super::empty_path::EmptyPath;
use crate::config::SimulationConfig;

/// A group of short flows. The caller keeps its configuration, which must be the same at every call.
#[derive(Clone, Debug)]
pub struct FlowGroup {
    stream: ArrivalStream,
    path: EmptyPath,
    counts: GroupCounts,
    log: CompletionLog,
}

impl FlowGroup {
    /// A group before its first arrival; `there` and `back` are the links between the ends of its flows.
    pub fn new(arrivals: &ArrivalsConfig, config: &SimulationConfig, there: &[LinkId], back: &[LinkId]) -> Self {
        Self {
            stream: ArrivalStream::new(arrivals, config.seed),
            path: EmptyPath::new(&arrivals.flow, &config.network, there, back),
            counts: GroupCounts::default(),
            log: CompletionLog::new(&arrivals.buckets),
        }
    }

    /// The time of the next arrival, if there is one.
    pub fn next(&self, arrivals: &ArrivalsConfig) -> Option<SimTime> {
        self.stream.next(arrivals)
    }

    /// Takes the flow that arrives at `now`.
    pub fn begin(&mut self, now: SimTime, arrivals: &ArrivalsConfig, config: &SimulationConfig) -> Arrival {
        let counts = &mut self.counts;
        counts.started += u64::from(config.measure.holds(now));
        counts.concurrent += 1;
        counts.max_concurrent = counts.max_concurrent.max(counts.concurrent);
        self.stream.take(arrivals)
    }

    /// Completes a flow that began at `start`: its last octet was read at `now`.
    pub fn complete(&mut self, (start, now): (SimTime, SimTime), flow: Arrival, config: &SimulationConfig) {
        let time = now - start;
        let ideal = self.path.completion(flow.size, flow.reply, time);
        self.log.add(Completion { start, size: flow.size + flow.reply, time, ideal }, &config.measure);
    }

    /// Ends a flow: all of it is acknowledged, or it has failed.
    pub fn end(&mut self, is_complete: bool) {
        self.counts.concurrent -= 1;
        self.counts.aborted += u64::from(!is_complete);
    }

    /// Adds the counts of one end of a flow.
    pub fn count(&mut self, retransmitted_segments: u64, timeouts: u64) {
        self.counts.retransmitted_segments += retransmitted_segments;
        self.counts.timeouts += timeouts;
    }

    /// Summary of the group.
    pub fn summary(&self, arrivals: &ArrivalsConfig) -> GroupSummary {
        GroupSummary::new(&arrivals.flow, &self.counts, &self.log)
    }

    /// Log of the completed flows.
    pub fn log(&self) -> &CompletionLog {
        &self.log
    }
}

impl Arrival {
    /// True if the acceptor answers.
    pub fn has_reply(&self) -> bool {
        self.reply > Bytes::ZERO
    }
}
