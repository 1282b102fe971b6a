//! Reports for controllers that model the path: samples of the delivery rate, and the fate of each segment.
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation-02, whose names these are, and draft-ietf-ccwg-bbr section 4.1,
//! which took it over. Departures: none.

use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

/// A controller's demands of its sender beyond the events for all. The sender keeps no state for a controller without
/// demands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demands {
    /// Delivery reports with each ACK, the fate of each segment, and the timer.
    pub samples: bool,
    /// The timer ([`crate::CongestionController::deadline`]) without the other reports of [`Self::samples`].
    pub timer: bool,
    /// No proportional rate reduction: the controller's cwnd also bounds sending during fast recovery.
    pub recovery_window: bool,
    /// Marks by the network begin no episode: the controller reads them from the ACKs and answers by itself.
    pub marks: bool,
    /// Another window after a timeout than the loss window of RFC 5681 section 3.1, by the algorithm's source.
    pub own_loss_window: bool,
    /// Full control of departures: a stack does not pace the window (RFC 9002 section 7.7).
    pub at_once: bool,
    /// Data that is not ECN-capable, because the controller has no answer to marks; a queue then drops it instead.
    pub no_ecn: bool,
}

impl Demands {
    /// True if the sender keeps the timer.
    pub fn has_timer(self) -> bool {
        self.samples || self.timer
    }
}

/// The kind of loss recovery under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repair {
    /// No recovery, or only the answer to a mark.
    #[default]
    None,
    /// Fast recovery; over QUIC from a loss until the last of the lost data has arrived.
    Fast,
    /// Recovery from a retransmission timeout, or over QUIC from persistent congestion.
    Timeout,
}

/// The state of delivery after an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveryReport {
    /// The octets delivered since the connection began (`C.delivered`).
    pub delivered: Bytes,
    /// The octets marked lost since the connection began (`C.lost`).
    pub lost: Bytes,
    /// The octets thought to be in the network, RFC 6675's pipe (`C.inflight`).
    pub inflight: Bytes,
    /// The octets thought to be in the network before the ACK (Linux's `prior_in_flight`).
    pub prior_inflight: Bytes,
    /// The kind of recovery under way.
    pub repair: Repair,
    /// True if the receiver reports out-of-order data, so that several losses in a round trip are found.
    pub has_sack: bool,
    /// The time until which pacing holds the next segment back; a time in the past holds nothing back.
    pub next_departure: SimTime,
    /// The sample of this ACK; `None` if it delivers no segment whose sending is known.
    pub sample: Option<RateSample>,
}

/// A sample of the delivery rate, taken from the latest-sent segment among those that an ACK delivers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// The octets delivered between the two ACKs that bound the sample (`RS.delivered`).
    pub delivered: Bytes,
    /// The longer of the sending and the acknowledging time (`RS.interval`). Zero if it is shorter than the minimum
    /// RTT: then there is no rate.
    pub interval: SimDuration,
    /// The value of `C.delivered` when the segment left (`RS.prior_delivered`).
    pub prior_delivered: Bytes,
    /// True if the segment left while the application did not fill the window (`RS.is_app_limited`).
    pub is_app_limited: bool,
    /// The octets in flight when the segment left, itself included (`RS.tx_in_flight`).
    pub tx_in_flight: Bytes,
    /// The octets marked lost since the segment left (`RS.lost`).
    pub lost: Bytes,
}

impl RateSample {
    /// The rate of the sample, rounded down; `None` if the interval is too short (`RS.delivery_rate`).
    pub fn rate(&self) -> Option<Bandwidth> {
        let bit_ns = u128::from(self.delivered.0) * 8_000_000_000;
        bit_ns.checked_div(u128::from(self.interval.0)).map(|rate| Bandwidth(rate as u64))
    }
}

/// A segment that has reached the receiver, or is marked lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentReport {
    /// The time at which the sender learned of it.
    pub now: SimTime,
    /// The departure of the segment, or of its latest retransmission.
    pub sent_at: SimTime,
    /// The segment's offset in the stream, octets.
    pub start: u64,
    /// The segment's payload.
    pub size: Bytes,
    /// The present value of `C.delivered`, which includes the segment if it is delivered.
    pub delivered: Bytes,
    /// The value of `C.delivered` when the segment left (`P.delivered`).
    pub prior_delivered: Bytes,
    /// The octets in flight when the segment left, itself included (`P.tx_in_flight`).
    pub tx_in_flight: Bytes,
    /// The octets marked lost since the segment left; itself included if it is lost.
    pub lost: Bytes,
    /// True if the segment left while the application did not fill the window.
    pub is_app_limited: bool,
    /// True if the segment had been sent before.
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
