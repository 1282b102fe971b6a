//! What to record, as a file says it.

use std::fmt;

use ackclock_sim::{FlowSeries, LinkSeries};
use schemars::JsonSchema;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::macros::{table, words};
use super::{Duration, List};

table! {
    /// What to record over time.
    pub(crate) struct TraceTable {
        /// The larger of 10 ms and a 2000th of the duration by default.
        interval: Duration,
        /// Record flows at every interval, or at every ACK and timeout; links stay on the interval.
        per: Per,
        /// Series of flows; "all" by default.
        flows: SeriesChoice<FlowSeriesWord>,
        /// What controllers tell of themselves, by name; `ackclock controllers NAME` lists the names. None by default.
        internals: List<String>,
        /// Series of links; "all" by default.
        links: SeriesChoice<LinkSeriesWord>,
        /// Links to record; by default a dumbbell's or parking lot's bottlenecks, else every link that data crosses.
        which_links: List<String>,
    }
}

/// When flows are recorded.
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

/// "all", "none", or a list.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum SeriesChoice<Word> {
    Word(AllOrNone),
    List(List<Word>),
}

/// A choice without a list.
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

impl<'de, Word: Deserialize<'de>> Deserialize<'de> for SeriesChoice<Word> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<Word>(std::marker::PhantomData<Word>);
        impl<'de, Word: Deserialize<'de>> Visitor<'de> for Either<Word> {
            type Value = SeriesChoice<Word>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"all\", \"none\", or a list of series")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                match text {
                    "all" => Ok(SeriesChoice::Word(AllOrNone::All)),
                    "none" => Ok(SeriesChoice::Word(AllOrNone::None)),
                    _ => Err(E::custom(
                        "must be a choice of series; write \"all\", \"none\" or a list such as [\"throughput\"]",
                    )),
                }
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                List::deserialize(SeqAccessDeserializer::new(list)).map(SeriesChoice::List)
            }
        }
        deserializer.deserialize_any(Either(std::marker::PhantomData))
    }
}
