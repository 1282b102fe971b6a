//! `CoDel` (RFC 8289): drops, or marks, at the head once packets have waited longer than `target` for an `interval`,
//! and then at times that come closer as one over the square root of their count.
//!
//! `ce_threshold` is RFC 8290's (section 4.2.3): whatever leaves having waited longer is marked, which is a step for
//! DCTCP's kind.
//!
//! **Departures**: the square root is exact, where Linux iterates in 16 bits; the largest packet, below which a backlog
//! is never reduced, is the largest seen.

use ackclock_units::{Bandwidth, SimDuration, SimTime};
use ackclock_wire::Ecn;

use super::fifo::{Fifo, Head, Room};
use super::{QueueCounters, QueueDiscipline, Queued};
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

/// Parameters of a `CoDel` queue.
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
    /// An empty queue; `rate` is the link's, for a limit in time.
    pub fn new(config: &CodelConfig, rate: Bandwidth) -> Self {
        Self {
            room: Room::new(config.limit, rate),
            parameters: config.control,
            queue: Fifo::default(),
            control: CodelControl::default(),
            counters: QueueCounters::default(),
        }
    }
}

impl QueueDiscipline for Codel {
    fn enqueue(&mut self, _now: SimTime, arrival: Queued) {
        if self.room.has_room(self.queue.len(), self.queue.octets(), arrival.octets) {
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
mod tests {
    use super::*;
    use crate::queue::testing::{arrival, arrival_with};

    const STEP: SimDuration = SimDuration::from_micros(100);

    fn queue(packets: usize, ecn: Ecn) -> Codel {
        let config = CodelConfig { limit: QueueLimit::Unlimited, ..CodelConfig::default() };
        let mut queue = Codel::new(&config, Bandwidth(0));
        for _ in 0..packets {
            queue.enqueue(SimTime::ZERO, arrival_with(SimTime::ZERO, 0, 1500, ecn));
        }
        queue
    }

    /// Takes a packet every 0.1 ms from `from` to `until` (in ms); returns when (in ms) a packet was dropped or marked.
    fn signals(queue: &mut Codel, from: u64, until: u64) -> Vec<f64> {
        let mut times = Vec::new();
        let mut now = SimTime(from * 1_000_000);
        while now.0 < until * 1_000_000 {
            let before = queue.counters();
            queue.dequeue(now);
            if queue.counters() != before {
                times.push(now.0 as f64 / 1e6);
            }
            now += STEP;
        }
        times
    }

    fn assert_times(times: &[f64], expected: &[f64]) {
        assert_eq!(times.len(), expected.len(), "{times:?}");
        for (time, expected) in times.iter().zip(expected) {
            // a queue that is looked at every 0.1 ms acts up to 0.1 ms late
            assert!((0.0..=0.1001).contains(&(time - expected)), "{times:?}, expected {expected}");
        }
    }

    #[test]
    fn drops_come_closer_as_the_square_root_of_their_count() {
        // First looked at, and found above target, at 10 ms; an interval later the first drop, at 110 ms. Then 100/sqrt(1),
        // 100/sqrt(2), 100/sqrt(3), 100/sqrt(4) ms: 100, 170.71, 228.45, 278.45 ms after it.
        let mut queue = queue(10_000, Ecn::NotEct);
        let times = signals(&mut queue, 10, 400);
        assert_times(&times, &[110.0, 210.0, 280.71, 338.45, 388.45]);
        assert_eq!(queue.counters(), QueueCounters { drops: 5, marks: 0 });
    }

    #[test]
    fn marks_come_when_drops_would() {
        let mut queue = queue(10_000, Ecn::Ect0);
        let times = signals(&mut queue, 10, 400);
        assert_times(&times, &[110.0, 210.0, 280.71, 338.45, 388.45]);
        assert_eq!(queue.counters(), QueueCounters { drops: 0, marks: 5 });
    }

    #[test]
    fn a_second_episode_soon_after_goes_on_at_the_rate_of_the_first() {
        let mut queue = queue(10_000, Ecn::NotEct);
        signals(&mut queue, 10, 350); // four drops: the count went from 1 to 4
        while queue.dequeue(SimTime(350_000_000)).is_some() {} // the next to go, and all that wait, leave at once
        for _ in 0..5_000 {
            queue.enqueue(SimTime(350_000_000), arrival(SimTime(350_000_000), 0, 1500));
        }
        // above target from 360 ms, dropping from 460 ms, with count 4 - 1 = 3: 100/sqrt(3) = 57.74 ms, then 50 ms
        assert_times(&signals(&mut queue, 360, 580), &[460.0, 517.74, 567.74]);
    }

    #[test]
    fn an_episode_long_after_begins_anew() {
        let mut queue = queue(10_000, Ecn::NotEct);
        signals(&mut queue, 10, 350);
        while queue.dequeue(SimTime(350_000_000)).is_some() {}
        let later = SimTime(2_500_000_000); // more than 16 intervals after the next drop was due, at 388 ms
        for _ in 0..5_000 {
            queue.enqueue(later, arrival(later, 0, 1500));
        }
        assert_times(&signals(&mut queue, 2_510, 2_730), &[2_610.0, 2_710.0]);
    }

    #[test]
    fn a_backlog_of_one_packet_is_never_reduced_however_long_it_waits() {
        let mut queue = queue(1, Ecn::NotEct);
        for second in 1..10 {
            queue.enqueue(SimTime::ZERO, arrival(SimTime::ZERO, 0, 1500));
            assert!(queue.dequeue(SimTime(second * 1_000_000_000)).is_some(), "one leaves, one stays");
        }
        assert_eq!((queue.counters().drops, queue.len()), (0, 1));
    }

    #[test]
    fn less_than_an_interval_above_target_is_a_good_queue() {
        let mut queue = queue(10_000, Ecn::NotEct);
        assert_eq!(signals(&mut queue, 10, 110), Vec::<f64>::new()); // 99.9 ms
    }

    #[test]
    fn the_threshold_marks_what_waited_longer() {
        let control = CodelParameters { ce_threshold: Some(SimDuration::from_millis(1)), ..CodelParameters::default() };
        let mut queue = Codel::new(&CodelConfig { control, ..CodelConfig::default() }, Bandwidth(0));
        for _ in 0..2 {
            queue.enqueue(SimTime::ZERO, arrival_with(SimTime::ZERO, 0, 1500, Ecn::Ect1));
        }
        let at_the_threshold = queue.dequeue(SimTime(1_000_000)).expect("two wait");
        assert_eq!(at_the_threshold.packet.segment.ecn, Ecn::Ect1);
        let beyond = queue.dequeue(SimTime(1_000_001)).expect("one waits");
        assert_eq!(beyond.packet.segment.ecn, Ecn::Ce);
    }
}
