//! The choice of quantities to record, as a file says it.

use std::fmt;

use ackclock_events::{EventKind, EventKinds};
use ackclock_sim::{FlowSeries, LinkSeries};
use schemars::JsonSchema;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::macros::{table, words};
use super::{Duration, List, SwitchOr};

table! {
    /// The quantities to record over time.
    pub(crate) struct TraceTable {
        /// Time between rows; by default the larger of 10 ms and a 2000th of the duration.
        interval: Duration,
        /// Record flows at every interval, or at every ACK and timeout; links stay on the interval.
        per: Per,
        /// Series of flows; "all" by default.
        flows: SeriesChoice<FlowSeriesWord>,
        /// Internal variables of controllers; `ackclock list controllers NAME` lists their names. None by default.
        internals: List<String>,
        /// Series of links; "all" by default.
        links: SeriesChoice<LinkSeriesWord>,
        /// Links to record; by default a dumbbell's or parking lot's bottlenecks, else every link that data crosses.
        which_links: List<String>,
        /// Events to record, a row each; "none" by default.
        events: SeriesChoice<EventWord>,
        /// Flows whose events, and whose packets' events, are recorded; by default all.
        event_flows: List<String>,
        /// Links whose events are recorded; by default all.
        event_links: List<String>,
    }
}

impl TraceTable {
    /// The table that records what `trace` records, and events of these kinds.
    pub(crate) fn with_events(trace: Option<SwitchOr<Self>>, kinds: EventKinds) -> Self {
        let table = match trace {
            Some(SwitchOr::Table(table)) => table,
            Some(SwitchOr::Switch(false)) => Self {
                flows: Some(SeriesChoice::Word(AllOrNone::None)),
                links: Some(SeriesChoice::Word(AllOrNone::None)),
                ..Self::default()
            },
            Some(SwitchOr::Switch(true)) | None => Self::default(),
        };
        let words = EventKind::ALL.iter().filter(|kind| kinds.has(**kind)).map(|kind| EventWord::from(*kind));
        let events = if kinds == EventKinds::ALL {
            SeriesChoice::Word(AllOrNone::All)
        } else {
            SeriesChoice::List(words.collect())
        };
        Self { events: Some(events), ..table }
    }
}

/// The moments at which flows are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Per {
    Interval,
    Event,
}

words! {
    /// A quantity of a flow that can be recorded.
    pub(crate) enum FlowSeriesWord for FlowSeries {
        "cwnd" = Cwnd,
        "ssthresh" = Ssthresh,
        "flight_size" = FlightSize,
        "srtt" = Srtt,
        "rttvar" = Rttvar,
        "rto" = Rto,
        "rtt_sample" = RttSample,
        "rwnd" = Rwnd,
        "throughput" = Throughput,
        "goodput" = Goodput,
        "ack_ratio" = AckRatio,
    }
}

words! {
    /// A quantity of a link that can be recorded.
    pub(crate) enum LinkSeriesWord for LinkSeries {
        "queue_length" = QueueLength,
        "queue_bytes" = QueueBytes,
        "drops" = Drops,
        "throughput" = Throughput,
        "marks" = Marks,
        "queue_delay" = QueueDelay,
        "drop_probability" = DropProbability,
        "average_queue" = AverageQueue,
    }
}

words! {
    /// A kind of event that can be recorded.
    pub(crate) enum EventWord for EventKind {
        "packet_sent" = PacketSent,
        "packet_dropped" = PacketDropped,
        "packet_marked" = PacketMarked,
        "packet_delivered" = PacketDelivered,
        "segment_sent" = SegmentSent,
        "ack_arrived" = AckArrived,
        "marked_lost" = MarkedLost,
        "recovery_entered" = RecoveryEntered,
        "recovery_left" = RecoveryLeft,
        "timed_out" = TimedOut,
        "undone" = Undone,
        "probe_sent" = ProbeSent,
        "controller_state" = ControllerState,
        "slow_start_exited" = SlowStartExited,
        "relay_held" = RelayHeld,
        "relay_released" = RelayReleased,
    }
}

/// A word of a list of choices, described for messages.
pub(crate) trait Choosable {
    /// The plural noun for the words, and an example of one.
    const WANTED: (&'static str, &'static str);
}

impl Choosable for FlowSeriesWord {
    const WANTED: (&'static str, &'static str) = ("series", "throughput");
}

impl Choosable for LinkSeriesWord {
    const WANTED: (&'static str, &'static str) = ("series", "throughput");
}

impl Choosable for EventWord {
    const WANTED: (&'static str, &'static str) = ("events", "timed_out");
}

/// "all", "none", or a list.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum SeriesChoice<Word> {
    Word(AllOrNone),
    List(List<Word>),
}

/// A choice of all or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AllOrNone {
    All,
    None,
}

impl AllOrNone {
    pub(crate) fn is_all(self) -> bool {
        self == Self::All
    }
}

impl<'de, Word: Deserialize<'de> + Choosable> Deserialize<'de> for SeriesChoice<Word> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<Word>(std::marker::PhantomData<Word>);
        impl<'de, Word: Deserialize<'de> + Choosable> Visitor<'de> for Either<Word> {
            type Value = SeriesChoice<Word>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "\"all\", \"none\", or a list of {}", Word::WANTED.0)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                match text {
                    "all" => Ok(SeriesChoice::Word(AllOrNone::All)),
                    "none" => Ok(SeriesChoice::Word(AllOrNone::None)),
                    _ => {
                        let (what, example) = Word::WANTED;
                        Err(E::custom(format!(
                            "must be a choice of {what}; write \"all\", \"none\" or a list such as [\"{example}\"]"
                        )))
                    }
                }
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                List::deserialize(SeqAccessDeserializer::new(list)).map(SeriesChoice::List)
            }
        }
        deserializer.deserialize_any(Either(std::marker::PhantomData))
    }
}
