//! The queue of a paced host, as one connection sees it: what TCP hands over ahead of its time waits here, and leaves then.
//!
//! Source: Linux 6.18, `net/sched/sch_fq.c` and `net/ipv4/tcp_output.c`, by what they do. Since 4.20 TCP gives each burst its earliest
//! departure time (`pacing.rs`), and `fq` holds it until then. So a change of the rate does not reach what is already here, an ACK
//! waits behind the data before it, a segment's timestamp and its RTT count from its departure, and one that still waits is not
//! retransmitted. TCP Small Queues bound how much is here: two bursts, or a millisecond of the rate. What would leave beyond the horizon is
//! refused, which TCP answers as it does a mark, or leaves at the horizon.
//!
//! Departures: the turns that connections of one host take (`quantum`, `initial_quantum` and the credit of each) are those of the
//! host's link: of segments that carry a departure time, Linux uses them for nothing else, and TCP itself leaves the first ten
//! unpaced, as the initial quantum did. A link with the discipline `fq` and `variant = "linux"` has them. Retransmissions beyond
//! the horizon wait as new data does, and what was refused is tried again when it is within the horizon, if no ACK comes before. A
//! reset leaves at once. `limit` and `flow_limit` are not reached with small queues, and `ce_threshold` is off, as by default.

use std::collections::VecDeque;

use ackclock_units::{SimDuration, SimTime};
use ackclock_wire::Segment;

use crate::config::PacingConfig;
use crate::ranges::Range;

/// Queue that holds each segment until its departure time.
#[derive(Clone, Debug)]
pub(crate) struct Fq {
    horizon: SimDuration,
    /// Segments in the order in which they leave.
    waiting: VecDeque<Waiting>,
    /// Octets of payload in the queue.
    octets: u64,
}

/// A segment that waits for its time.
#[derive(Clone, Debug)]
struct Waiting {
    at: SimTime,
    /// Its data, in offsets.
    data: Range,
    segment: Segment,
}

impl Fq {
    /// `None` if segments wait elsewhere.
    pub(crate) fn new(config: &PacingConfig) -> Option<Box<Self>> {
        let new = || Self { horizon: config.horizon, waiting: VecDeque::new(), octets: 0 };
        config.is_by_fq().then(|| Box::new(new()))
    }

    /// Takes a segment at `now` that departs at `at`, at the horizon if that is later.
    pub(crate) fn push(&mut self, now: SimTime, at: SimTime, start: u64, segment: &Segment) {
        let data = Range { start, end: start + u64::from(segment.payload) };
        self.octets += data.len();
        self.waiting.push_back(Waiting { at: at.min(now + self.horizon), data, segment: *segment });
    }

    /// The next segment whose time has come.
    pub(crate) fn pop(&mut self, now: SimTime) -> Option<Segment> {
        let due = self.waiting.pop_front_if(|first| first.at <= now)?;
        self.octets -= due.data.len();
        Some(due.segment)
    }

    /// Departure time of the next segment.
    pub(crate) fn next(&self) -> SimTime {
        self.waiting.front().map_or(SimTime::NEVER, |first| first.at)
    }

    /// Payload that waits, octets.
    pub(crate) fn octets(&self) -> u64 {
        self.octets
    }

    /// True if some of this data waits.
    pub(crate) fn holds(&self, range: Range) -> bool {
        self.waiting.iter().any(|waiting| waiting.data.start < range.end && range.start < waiting.data.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PacedBy;

    const S: u64 = 1_000_000_000;

    #[test]
    fn segments_leave_at_their_time_and_at_the_horizon_at_the_latest() {
        let config = PacingConfig { enabled: true, by: PacedBy::Fq, ..PacingConfig::default() };
        let mut fq = Fq::new(&config).expect("paced by fq");
        let segment = Segment { payload: 1_000, ..Segment::default() };
        fq.push(SimTime(0), SimTime(S), 1, &segment);
        fq.push(SimTime(0), SimTime(12 * S), 1_001, &segment); // beyond the 10 s of the horizon
        assert_eq!((fq.octets(), fq.next()), (2_000, SimTime(S)));
        assert!(fq.pop(SimTime(S - 1)).is_none());
        assert!(fq.holds(Range { start: 1_000, end: 1_001 }), "the first one's last octet");
        assert!(fq.pop(SimTime(S)).is_some() && fq.pop(SimTime(S)).is_none());
        assert!(!fq.holds(Range { start: 1_000, end: 1_001 }));
        assert_eq!((fq.octets(), fq.next()), (1_000, SimTime(10 * S)));
        assert!(Fq::new(&PacingConfig { by: PacedBy::Tcp, ..config }).is_none());
    }
}
