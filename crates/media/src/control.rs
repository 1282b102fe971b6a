//! The interface of every controller of a media rate: its events, and its decisions.

use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use crate::gcc::Gcc;
use crate::report::Reporting;
use crate::scream::Scream;
use crate::scream_v1::ScreamV1;

/// The limits of a controller. Rates count the payload of datagrams, with RTP's headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The least rate of the encoder.
    pub least: Bandwidth,
    /// Largest rate of the encoder.
    pub most: Bandwidth,
    /// The rate before the first measurement.
    pub start: Bandwidth,
    /// Interval between frames.
    pub frame_interval: SimDuration,
    /// True if packets are ECT(1), so that marks are those of L4S.
    pub is_l4s: bool,
}

impl Limits {
    /// A rate in bit/s, within the limits.
    pub(crate) fn clamp(&self, rate: f64) -> f64 {
        rate.clamp(self.least.0 as f64, self.most.0 as f64)
    }
}

/// A packet has left the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentEvent {
    /// The time of departure.
    pub now: SimTime,
    /// Size of the packet.
    pub size: Bytes,
    /// Octets sent and not acknowledged, with this packet: up to the highest number in a report.
    pub in_flight: Bytes,
}

/// A frame that comes out of the encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameEvent {
    /// Time of the frame.
    pub now: SimTime,
    /// Size of the frame.
    pub size: Bytes,
    /// Waiting time of the oldest packet in the sender's queue; zero if that is empty.
    pub waited: SimDuration,
    /// Octets in that queue, without this frame.
    pub queued: Bytes,
}

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketResult {
    /// Number of the packet in its flow.
    pub number: u32,
    /// Size of the packet.
    pub size: Bytes,
    /// Time of departure, by the sender's clock.
    pub sent: SimTime,
    /// Time of arrival, by the receiver's clock; `None` if it is lost.
    pub arrived: Option<SimTime>,
    /// True if it arrived with a mark.
    pub is_marked: bool,
}

/// A report with news that has arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback<'a> {
    /// Time of the report's arrival.
    pub now: SimTime,
    /// Packets that are newly known to have arrived, or to be lost, in the order of their numbers.
    pub packets: &'a [PacketResult],
    /// Octets by which the highest arrived number moved on, including lost packets.
    pub advanced: Bytes,
    /// Octets sent beyond that number.
    pub in_flight: Bytes,
    /// Time since the sending of the packet with that number, if the report brought it.
    pub rtt: Option<SimDuration>,
    /// Time for which the receiver held it before the report.
    pub held: SimDuration,
}

impl Feedback<'_> {
    /// Packets that have arrived.
    pub(crate) fn arrived(&self) -> impl Iterator<Item = (&PacketResult, SimTime)> {
        self.packets.iter().filter_map(|packet| packet.arrived.map(|at| (packet, at)))
    }

    /// Number of lost packets.
    pub(crate) fn lost(&self) -> usize {
        self.packets.iter().filter(|packet| packet.arrived.is_none()).count()
    }

    /// Number of marked packets.
    pub(crate) fn marked(&self) -> usize {
        self.packets.iter().filter(|packet| packet.is_marked).count()
    }
}

/// A controller of the rate of a media flow.
pub trait RateController {
    /// A packet has left.
    fn on_sent(&mut self, _sent: &SentEvent) {}
    /// A report with news has come.
    fn on_feedback(&mut self, feedback: &Feedback<'_>);
    /// A frame has been encoded.
    fn on_frame(&mut self, _frame: &FrameEvent) {}
    /// Target rate of the encoder.
    fn target_rate(&self) -> Bandwidth;
    /// Rate at which the queue is drained.
    fn pacing_rate(&self) -> Bandwidth;
    /// Bound of the octets in flight below which a packet may leave.
    fn window(&self) -> Option<Bytes> {
        None
    }
}

/// A controller at work.
#[derive(Clone, Debug)]
pub enum Controller {
    /// Google congestion control (GCC).
    Gcc(Box<Gcc>),
    /// Version 2 of SCReAM.
    Scream(Box<Scream>),
    /// SCReAM of RFC 8298.
    ScreamV1(Box<ScreamV1>),
}

impl Controller {
    fn as_dyn(&self) -> &dyn RateController {
        match self {
            Self::Gcc(controller) => &**controller,
            Self::Scream(controller) => &**controller,
            Self::ScreamV1(controller) => &**controller,
        }
    }

    fn as_dyn_mut(&mut self) -> &mut dyn RateController {
        match self {
            Self::Gcc(controller) => &mut **controller,
            Self::Scream(controller) => &mut **controller,
            Self::ScreamV1(controller) => &mut **controller,
        }
    }

    /// Reporting of its receiver.
    pub fn reporting(&self) -> Reporting {
        match self {
            Self::Gcc(_) => crate::gcc::REPORTING,
            Self::Scream(_) => crate::scream::REPORTING,
            Self::ScreamV1(_) => crate::scream_v1::REPORTING,
        }
    }
}

impl RateController for Controller {
    fn on_sent(&mut self, sent: &SentEvent) {
        self.as_dyn_mut().on_sent(sent);
    }
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.as_dyn_mut().on_feedback(feedback);
    }
    fn on_frame(&mut self, frame: &FrameEvent) {
        self.as_dyn_mut().on_frame(frame);
    }
    fn target_rate(&self) -> Bandwidth {
        self.as_dyn().target_rate()
    }
    fn pacing_rate(&self) -> Bandwidth {
        self.as_dyn().pacing_rate()
    }
    fn window(&self) -> Option<Bytes> {
        self.as_dyn().window()
    }
}
