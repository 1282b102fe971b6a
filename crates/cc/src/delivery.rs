//! What a sender keeps only for controllers that model the path: samples of the delivery rate, the fate of each segment.
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation-02, whose names these are, and draft-ietf-ccwg-bbr section 4.1,
//! which took it over. Departures: none.

use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

/// What a controller wants of its sender beyond the events that every one gets. Nothing is kept for one that wants none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demands {
    /// Delivery reports with each ACK, the fate of each segment, and the timer.
    pub samples: bool,
    /// The timer ([`crate::CongestionController::deadline`]) without the rest of what [`Self::samples`] brings.
    pub timer: bool,
    /// No proportional rate reduction: the controller's cwnd bounds sending during fast recovery too.
    pub recovery_window: bool,
    /// Marks by the network begin no episode: the controller finds them in the ACKs and answers by itself.
    pub marks: bool,
    /// A timeout leaves another window than the loss window of RFC 5681 section 3.1, by the algorithm's source.
    pub own_loss_window: bool,
    /// The controller says itself when how much leaves: a stack adds no pacing of the window (RFC 9002 section 7.7).
    pub at_once: bool,
    /// The controller has no answer to marks: data leaves as not ECN-capable, so that a queue drops it instead.
    pub no_ecn: bool,
}

impl Demands {
    /// The sender keeps the timer.
    pub fn has_timer(self) -> bool {
        self.samples || self.timer
    }
}

/// Whether the sender is repairing losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repair {
    /// No, or only answering a mark.
    #[default]
    None,
    /// It is in fast recovery; over QUIC from a loss on until the last of what was lost has arrived.
    Fast,
    /// It recovers from a retransmission timeout, or over QUIC from persistent congestion.
    Timeout,
}

/// The state of delivery after an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveryReport {
    /// `C.delivered`: delivered since the connection began.
    pub delivered: Bytes,
    /// `C.lost`: taken for lost since the connection began.
    pub lost: Bytes,
    /// `C.inflight`: thought to be in the network (RFC 6675's pipe).
    pub inflight: Bytes,
    /// What is being repaired.
    pub repair: Repair,
    /// The receiver reports what it has out of order, so that several losses in a round trip are found.
    pub has_sack: bool,
    /// Pacing holds the next segment back until then; what lies in the past holds nothing back.
    pub next_departure: SimTime,
    /// The sample of this ACK; `None` if it delivered nothing whose sending is known.
    pub sample: Option<RateSample>,
}

/// A sample of the delivery rate, taken from the segment sent last among those that an ACK delivers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// `RS.delivered`: delivered between the two ACKs that bound the sample.
    pub delivered: Bytes,
    /// `RS.interval`: the longer of the times that sending it and acknowledging it took. Zero if it is shorter than the
    /// least round trip, when it tells no rate.
    pub interval: SimDuration,
    /// `RS.prior_delivered`: `C.delivered` when the segment left.
    pub prior_delivered: Bytes,
    /// `RS.is_app_limited`: the segment left while the application did not fill the window.
    pub is_app_limited: bool,
    /// `RS.tx_in_flight`: in flight when the segment left, itself included.
    pub tx_in_flight: Bytes,
    /// `RS.lost`: taken for lost since the segment left.
    pub lost: Bytes,
}

impl RateSample {
    /// `RS.delivery_rate`, rounded down; `None` if the interval is too short to tell.
    pub fn rate(&self) -> Option<Bandwidth> {
        let bit_ns = u128::from(self.delivered.0) * 8_000_000_000;
        bit_ns.checked_div(u128::from(self.interval.0)).map(|rate| Bandwidth(rate as u64))
    }
}

/// A segment has reached the receiver, or is taken for lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentReport {
    /// When the sender learned of it.
    pub now: SimTime,
    /// When the segment, or its latest retransmission, left.
    pub sent_at: SimTime,
    /// Where it begins in the stream.
    pub start: u64,
    /// Its payload in octets.
    pub size: Bytes,
    /// `C.delivered` now, the segment included if it is delivered.
    pub delivered: Bytes,
    /// `P.delivered`: `C.delivered` when it left.
    pub prior_delivered: Bytes,
    /// `P.tx_in_flight`: in flight when it left, itself included.
    pub tx_in_flight: Bytes,
    /// Taken for lost since it left; itself included if it is lost.
    pub lost: Bytes,
    /// It left while the application did not fill the window.
    pub is_app_limited: bool,
    /// It had been sent before.
    pub is_retransmission: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_what_was_delivered_over_the_interval() {
        let interval = SimDuration::from_millis(10);
        let sample = RateSample { delivered: Bytes(12_500), interval, ..RateSample::default() };
        assert_eq!(sample.rate(), Some(Bandwidth(10_000_000))); // 12 500 * 8 bit / 10 ms
        assert_eq!(RateSample { interval: SimDuration::ZERO, ..sample }.rate(), None);
    }
}
