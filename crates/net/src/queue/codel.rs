//! CoDel (RFC 8289): drops, or marks, at the head once packets have waited longer than `target` for an `interval`,
//! and then at times that come closer as one over the square root of their count.
//!
//! `ce_threshold` is Linux's: whatever leaves having waited longer is marked, which is a step for DCTCP's kind.
//!
//! **Departures**: the square root is exact, where Linux iterates in 16 bits; the largest packet, below which a backlog
//! is never reduced, is the largest seen.

use ackclock_units::{SimDuration, SimTime};
use ackclock_wire::Ecn;

use super::fifo::{Fifo, Head};
use super::{QueueCounters, QueueDiscipline, QueuePlace, Queued, Room};
use crate::config::QueueLimit;

/// The parameters of the control law; RFC 8289 section 4 gives the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodelParameters {
    /// Waiting that is acceptable for good.
    pub target: SimDuration,
    /// How long waiting may be longer; of the order of a round trip.
    pub interval: SimDuration,
    /// Mark what is ECN-capable instead of dropping it.
    pub ecn: bool,
    /// Mark every ECN-capable packet that waited longer than this.
    pub ce_threshold: Option<SimDuration>,
}

impl Default for CodelParameters {
    fn default() -> Self {
        Self {
            target: SimDuration::from_millis(5),
            interval: SimDuration::from_millis(100),
            ecn: true,
            ce_threshold: None,
        }
    }
}

/// Parameters of a CoDel queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodelConfig {
    /// How much may wait at most; Linux allows 1000 packets.
    pub limit: QueueLimit,
    /// The control law.
    pub control: CodelParameters,
}

impl Default for CodelConfig {
    fn default() -> Self {
        Self { limit: QueueLimit::Packets(1000), control: CodelParameters::default() }
    }
}

/// The state of the control law for one queue (RFC 8289 section 5).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CodelControl {
    /// When waiting will have been too long for an interval; `None` while it is not too long.
    first_above: Option<SimTime>,
    dropping: bool,
    drop_next: SimTime,
    count: u64,
    last_count: u64,
    largest_packet: u64,
    /// How long the packet that left last had waited.
    sojourn: SimDuration,
}

/// The packet at the head, and whether waiting has been too long for an interval.
struct Candidate {
    packet: Queued,
    ok_to_drop: bool,
}

impl CodelControl {
    /// The packet to send; those before it may have been dropped.
    pub(super) fn dequeue(
        &mut self,
        now: SimTime,
        parameters: &CodelParameters,
        counters: &mut QueueCounters,
        queue: &mut impl Head,
    ) -> Option<Queued> {
        let candidate = self.next(now, parameters, queue);
        let kept = if self.dropping {
            self.go_on_dropping(now, parameters, counters, queue, candidate)
        } else if candidate.as_ref().is_some_and(|candidate| candidate.ok_to_drop) {
            self.begin_dropping(now, parameters, counters, queue, candidate?.packet)
        } else {
            candidate.map(|candidate| candidate.packet)
        };
        kept.map(|mut packet| {
            let beyond = parameters.ce_threshold.is_some_and(|threshold| now - packet.since > threshold);
            if beyond && packet.packet.segment.ecn != Ecn::Ce {
                counters.mark(&mut packet.packet);
            }
            packet
        })
    }

    fn next(&mut self, now: SimTime, parameters: &CodelParameters, queue: &mut impl Head) -> Option<Candidate> {
        let Some(packet) = queue.pop() else {
            self.first_above = None;
            return None;
        };
        self.largest_packet = self.largest_packet.max(packet.octets);
        self.sojourn = now - packet.since;
        // Below one packet's backlog there is nothing to gain: at low rates the link itself takes longer than `target`.
        if self.sojourn < parameters.target || queue.octets() <= self.largest_packet {
            self.first_above = None;
            return Some(Candidate { packet, ok_to_drop: false });
        }
        let first_above = *self.first_above.get_or_insert(now + parameters.interval);
        Some(Candidate { packet, ok_to_drop: now >= first_above })
    }

    fn go_on_dropping(
        &mut self,
        now: SimTime,
        parameters: &CodelParameters,
        counters: &mut QueueCounters,
        queue: &mut impl Head,
        mut candidate: Option<Candidate>,
    ) -> Option<Queued> {
        self.dropping = candidate.as_ref().is_some_and(|candidate| candidate.ok_to_drop);
        while self.dropping && now >= self.drop_next {
            let mut packet = candidate?.packet;
            self.count += 1;
            if parameters.ecn && counters.mark(&mut packet.packet) {
                self.drop_next = control_law(self.drop_next, parameters.interval, self.count);
                return Some(packet);
            }
            counters.drops += 1;
            candidate = self.next(now, parameters, queue);
            self.dropping = candidate.as_ref().is_some_and(|candidate| candidate.ok_to_drop);
            if self.dropping {
                self.drop_next = control_law(self.drop_next, parameters.interval, self.count);
            }
        }
        candidate.map(|candidate| candidate.packet)
    }

    fn begin_dropping(
        &mut self,
        now: SimTime,
        parameters: &CodelParameters,
        counters: &mut QueueCounters,
        queue: &mut impl Head,
        mut packet: Queued,
    ) -> Option<Queued> {
        self.dropping = true;
        // Soon after the last time: go on at the rate that controlled the queue then.
        let since_then = self.count - self.last_count;
        let recent = now.saturating_since(self.drop_next) < parameters.interval * 16;
        self.count = if since_then > 1 && recent { since_then } else { 1 };
        self.last_count = self.count;
        self.drop_next = control_law(now, parameters.interval, self.count);
        if parameters.ecn && counters.mark(&mut packet.packet) {
            return Some(packet);
        }
        counters.drops += 1;
        self.next(now, parameters, queue).map(|candidate| candidate.packet)
    }

    /// Reports the state to whoever asks.
    pub(super) fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("queue_delay", self.sojourn.as_secs_f64());
        record("drop_count", self.count as f64);
        record("dropping", f64::from(u8::from(self.dropping)));
    }
}

/// When to drop next: an interval over the square root of the count later.
fn control_law(from: SimTime, interval: SimDuration, count: u64) -> SimTime {
    from + SimDuration((interval.0 as f64 / (count as f64).sqrt()) as u64)
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Codel {
    room: Room,
    parameters: CodelParameters,
    queue: Fifo,
    control: CodelControl,
    counters: QueueCounters,
}

impl Codel {
    /// An empty queue.
    pub fn new(config: &CodelConfig, place: &QueuePlace<'_>) -> Self {
        Self {
            room: Room::new(config.limit, place.rate),
            parameters: config.control,
            queue: Fifo::default(),
            control: CodelControl::default(),
            counters: QueueCounters::default(),
        }
    }
}

impl QueueDiscipline for Codel {
    fn enqueue(&mut self, _now: SimTime, arrival: Queued) {
        if self.room.takes(self.queue.len(), self.queue.octets(), arrival.octets) {
            self.queue.push(arrival);
        } else {
            self.counters.drops += 1;
        }
    }

    fn dequeue(&mut self, now: SimTime) -> Option<Queued> {
        self.control.dequeue(now, &self.parameters, &mut self.counters, &mut self.queue)
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn octets(&self) -> u64 {
        self.queue.octets()
    }

    fn counters(&self) -> QueueCounters {
        self.counters
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        self.control.inspect(record);
    }
}

#[cfg(test)]
mod tests;
