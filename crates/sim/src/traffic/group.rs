//! A group of short flows, whoever carries them: when each arrives and how large it is, what is counted, and what is complete.
//!
//! The simulator's endpoints are one carrier ([`super::ShortFlows`]), real sockets may be another.

use ackclock_net::LinkId;
use ackclock_units::{Bytes, SimTime};

use super::arrivals::{Arrival, ArrivalStream};
use super::completions::{Completion, CompletionLog, GroupCounts, GroupSummary};
use super::config::ArrivalsConfig;
use super::empty_path::EmptyPath;
use crate::config::SimulationConfig;

/// See the module. Its configuration is the caller's to keep, and the same at every call.
#[derive(Clone, Debug)]
pub struct FlowGroup {
    stream: ArrivalStream,
    path: EmptyPath,
    counts: GroupCounts,
    log: CompletionLog,
}

impl FlowGroup {
    /// None has arrived yet; `there` and `back` are the links between the ends of its flows.
    pub fn new(arrivals: &ArrivalsConfig, config: &SimulationConfig, there: &[LinkId], back: &[LinkId]) -> Self {
        Self {
            stream: ArrivalStream::new(arrivals, config.seed),
            path: EmptyPath::new(&arrivals.flow, &config.network, there, back),
            counts: GroupCounts::default(),
            log: CompletionLog::new(&arrivals.buckets),
        }
    }

    /// Time at which the next flow arrives, if one does.
    pub fn next(&self, arrivals: &ArrivalsConfig) -> Option<SimTime> {
        self.stream.next(arrivals)
    }

    /// The flow whose time has come, which begins at `now`.
    pub fn begin(&mut self, now: SimTime, arrivals: &ArrivalsConfig, config: &SimulationConfig) -> Arrival {
        let counts = &mut self.counts;
        counts.started += u64::from(config.measure.holds(now));
        counts.concurrent += 1;
        counts.max_concurrent = counts.max_concurrent.max(counts.concurrent);
        self.stream.take(arrivals)
    }

    /// The last octet of a flow that began at `start` was read at `now`.
    pub fn complete(&mut self, (start, now): (SimTime, SimTime), flow: Arrival, config: &SimulationConfig) {
        let time = now - start;
        let ideal = self.path.completion(flow.size, flow.reply, time);
        self.log.add(Completion { start, size: flow.size + flow.reply, time, ideal }, &config.measure);
    }

    /// A flow is over: all of it is acknowledged, or it has failed.
    pub fn end(&mut self, is_complete: bool) {
        self.counts.concurrent -= 1;
        self.counts.aborted += u64::from(!is_complete);
    }

    /// Adds what one end of a flow has counted.
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
