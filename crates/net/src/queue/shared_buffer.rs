//! A shared buffer: a queue for every flow, all in one memory, and a rule for its use.
//!
//! Sources: longest-queue drop, as McKenney 1990 and Suter et al. 1998 have it; dynamic thresholds, Choudhury and Hahne
//! 1998: a packet may enter its queue if that is shorter than `alpha` times the room that is left.
//!
//! Departures: the queues share one link in turn (deficit round robin), where Choudhury and Hahne's each have an output of
//! their own.

use ackclock_declare::{About, Context, Json, Mistake, Range, Review, Unordered, Value, declare};
use ackclock_units::{Bandwidth, Bytes, SimTime};

use super::limit::{QueueLimit, of_link, quantum};
use super::round_robin::{RoundRobin, Rule};
use super::{Parameters, QueueDiscipline, QueuePlace, Queued, Room, Tally};

declare! {
    /// The parameters of [`SharedBuffer`].
    #[derive(Copy)]
    pub struct SharedBufferConfig {
        /// Rule for the use of the memory; alpha bounds a queue to a multiple of the remaining room.
        sharing: Sharing = Sharing::LongestQueueDrop,
        /// Octets that a flow may send in a turn; at least the largest packet, or turns are empty.
        quantum: Bytes = quantum(Bytes(1_500)),
        /// Size of the memory, all flows together: packets or octets; a time is converted to the octets that the link
        /// sends in it.
        limit: QueueLimit = of_link(),
    }
    check super::review;
}

impl Parameters for SharedBufferConfig {
    const ABOUT: About = About {
        name: "shared_buffer",
        aliases: &[],
        summary: "a queue for every flow in one memory, and a rule for its use",
        source: "longest-queue drop: McKenney 1990; dynamic thresholds: Choudhury and Hahne 1998",
        departures: "the queues share one link in turn, by octets; a switch has an output for each",
    };

    fn limits(&self) -> Vec<(String, QueueLimit)> {
        vec![("limit".to_owned(), self.limit)]
    }

    fn review(&self, review: &mut Review<'_>) {
        let is_settled = review.context.crossing().is_some();
        if is_settled && self.limit == QueueLimit::Unlimited && self.sharing != Sharing::LongestQueueDrop {
            let remedy = "give the buffer a size, such as limit = \"1 MB\"";
            review.report("limit", "must be a size: dynamic thresholds are parts of it", remedy);
        }
    }
}

/// The rule for the use of a buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sharing {
    /// No bound of a queue; when the buffer is full, the longest queue loses a packet.
    LongestQueueDrop,
    /// A bound of each queue: this multiple of the remaining room.
    DynamicThreshold {
        /// Choudhury and Hahne's factor.
        alpha: f64,
    },
}

/// The word of [`Sharing::LongestQueueDrop`], and that of [`Sharing::DynamicThreshold`] with its factor's range.
const LONGEST: &str = "longest_queue_drop";
const DYNAMIC: &str = "dynamic_threshold";
const MAX_ALPHA: f64 = 1e6;

/// Written as a word, or as a table with a `kind` and the factor `alpha`, which is 1 by default.
impl Value for Sharing {
    type Bound = Unordered;

    fn wanted() -> String {
        format!(
            "\"{LONGEST}\", or {{ kind = \"{DYNAMIC}\", alpha = 1 }} with alpha more than 0 and at most {MAX_ALPHA}"
        )
    }

    fn read(raw: &Json) -> Result<Self, String> {
        let wrong = || format!("must be {wanted}; write {wanted}", wanted = Self::wanted());
        let (kind, alpha) = match raw {
            Json::String(kind) => (kind.as_str(), None),
            Json::Object(table) if table.keys().all(|key| ["kind", "alpha"].contains(&key.as_str())) => {
                (table.get("kind").and_then(Json::as_str).unwrap_or_default(), table.get("alpha"))
            }
            _ => return Err(wrong()),
        };
        match (kind, alpha) {
            (LONGEST, None) => Ok(Self::LongestQueueDrop),
            (DYNAMIC, None) => Ok(Self::DynamicThreshold { alpha: 1.0 }),
            (DYNAMIC, Some(alpha)) => alpha.as_f64().map(|alpha| Self::DynamicThreshold { alpha }).ok_or_else(wrong),
            _ => Err(wrong()),
        }
    }

    fn read_in(raw: &Json, _: &Context) -> Result<Self, Vec<Mistake>> {
        match Self::read(raw) {
            Ok(Self::DynamicThreshold { alpha }) if !(alpha > 0.0 && alpha <= MAX_ALPHA) => {
                let mistake = Mistake::new(format!("must be more than 0 and at most {MAX_ALPHA}"), "the default is 1");
                Err(vec![mistake.within("alpha")])
            }
            sharing => sharing.map_err(|message| vec![Mistake::new(message, "")]),
        }
    }

    fn write(&self) -> Json {
        match self {
            Self::LongestQueueDrop => LONGEST.into(),
            Self::DynamicThreshold { alpha } => {
                let fields = [("kind", Json::from(DYNAMIC)), ("alpha", Json::from(*alpha))];
                fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            }
        }
    }

    fn schema() -> Json {
        ackclock_declare::kinds_schema(&[(LONGEST, &[]), (DYNAMIC, &[("alpha", f64::schema())])])
    }

    fn bounded(&self) -> Vec<Unordered> {
        Vec::new()
    }

    fn inside(_: &Range<Unordered>) -> Vec<Self> {
        vec![Self::LongestQueueDrop, Self::DynamicThreshold { alpha: f64::MIN_POSITIVE }]
    }

    fn outside(_: &Range<Unordered>) -> Vec<Self> {
        vec![Self::DynamicThreshold { alpha: 0.0 }, Self::DynamicThreshold { alpha: MAX_ALPHA.next_up() }]
    }
}

/// A memory for the queues of all flows, and a rule for its use. Sources and departures:
/// [`mod@crate::queue::shared_buffer`].
#[derive(Clone, Debug)]
pub struct SharedBuffer {
    sharing: Sharing,
    flows: RoundRobin,
    room: Room,
    tally: Tally,
}

impl SharedBuffer {
    /// An empty buffer with these parameters.
    pub fn new(config: &SharedBufferConfig, _place: &QueuePlace<'_>) -> Self {
        Self {
            sharing: config.sharing,
            flows: RoundRobin::new(config.quantum.0, Rule::Deficit),
            room: Room::new(config.limit),
            tally: Tally::default(),
        }
    }

    /// True if the arriving packet's queue is below its threshold.
    fn is_below(&mut self, alpha: f64, key: u32) -> bool {
        let (all_packets, all_octets) = (self.flows.len() as u64, self.flows.octets());
        let queue = self.flows.queue(key);
        let (own, left) = match self.room.limit_at_rate() {
            QueueLimit::Packets(limit) => (queue.len() as u64, limit.saturating_sub(all_packets)),
            QueueLimit::Bytes(limit) => (queue.octets(), limit.0.saturating_sub(all_octets)),
            QueueLimit::Unlimited | QueueLimit::Time(_) => return true,
        };
        (own as f64) < alpha * left as f64
    }
}

impl QueueDiscipline for SharedBuffer {
    fn enqueue(&mut self, _now: SimTime, arrival: Queued) {
        let key = arrival.packet.to.number();
        match self.sharing {
            Sharing::LongestQueueDrop => {
                self.flows.push(key, arrival);
                while !self.room.holds(self.flows.len(), self.flows.octets(), arrival.octets)
                    && let Some(dropped) = self.flows.steal()
                {
                    self.tally.drop(&dropped.packet);
                }
            }
            Sharing::DynamicThreshold { alpha } => {
                let fits = self.room.takes(self.flows.len(), self.flows.octets(), arrival.octets);
                if fits && self.is_below(alpha, key) {
                    self.flows.push(key, arrival);
                } else {
                    self.tally.drop(&arrival.packet);
                }
            }
        }
    }

    fn dequeue(&mut self, _now: SimTime) -> Option<Queued> {
        self.flows.pop()
    }

    fn set_rate(&mut self, _now: SimTime, rate: Bandwidth) {
        self.room.set_rate(rate);
    }

    crate::accounts!(flows);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::EndpointId;
    use crate::packet::Packet;
    use crate::queue::testing::{PLACE, at_rate};
    use ackclock_units::SimDuration;

    /// The lengths of `flows` queues that all demand more than there is, in a buffer of 1200 packets.
    fn lengths(sharing: Sharing, flows: u32) -> Vec<usize> {
        let config = SharedBufferConfig { sharing, quantum: Bytes(1_500), limit: QueueLimit::Packets(1_200) };
        let place = QueuePlace { link: "test", seed: 1 };
        let mut buffer = SharedBuffer::new(&config, &place);
        for _ in 0..2_000 {
            for flow in 0..flows {
                let packet = Packet { to: EndpointId::of_number(flow), ..Packet::default() };
                buffer.enqueue(SimTime::ZERO, Queued { packet, octets: 1_500, since: SimTime::ZERO });
            }
        }
        assert_eq!(buffer.counters().drops as usize + buffer.len(), 2_000 * flows as usize);
        (0..flows).map(|flow| buffer.flows.queue(flow).len()).collect()
    }

    #[test]
    fn dynamic_thresholds_leave_the_room_that_choudhury_and_hahne_say() {
        // S saturated queues: each alpha B / (1 + S alpha); free B / (1 + S alpha).
        let check = |alpha, flows, each: usize| {
            for length in lengths(Sharing::DynamicThreshold { alpha }, flows) {
                assert!(length.abs_diff(each) <= 1, "{length} is not {each}");
            }
        };
        check(1.0, 1, 600); // 1200 / 2
        check(1.0, 3, 300); // 1200 / 4
        check(2.0, 1, 800); // 2400 / 3
        check(0.5, 2, 300); // 600 / 2
    }

    /// A link of 1 Mbit/s sends less than a packet in 1 ms; one may wait all the same, as before any queue with a limit
    /// in time.
    #[test]
    fn a_limit_in_time_lets_one_packet_wait() {
        let limit = QueueLimit::Time(SimDuration::from_millis(1));
        for sharing in [Sharing::LongestQueueDrop, Sharing::DynamicThreshold { alpha: 1.0 }] {
            let config = SharedBufferConfig { sharing, quantum: Bytes(1_500), limit };
            let mut buffer = at_rate(SharedBuffer::new(&config, &PLACE), Bandwidth(1_000_000)); // a packet takes 12 ms
            for _ in 0..2 {
                buffer
                    .enqueue(SimTime::ZERO, Queued { packet: Packet::default(), octets: 1_500, since: SimTime::ZERO });
            }
            assert_eq!((buffer.len(), buffer.counters().drops), (1, 1), "{sharing:?}");
        }
    }

    #[test]
    fn longest_queue_drop_uses_all_of_it_and_shares_it_evenly() {
        for (flows, each) in [(1, 1_200), (3, 400), (4, 300)] {
            let lengths = lengths(Sharing::LongestQueueDrop, flows);
            assert_eq!(lengths.iter().sum::<usize>(), 1_200);
            assert!(lengths.iter().all(|length| length.abs_diff(each) <= 1), "{lengths:?}");
        }
    }
}
