//! Initial values and events of a controller, as they cross the boundary, and back.

use ackclock_cc::{
    AckEvent, CongestionCause, CongestionEvent, DeliveryReport, EarlyExit, Growth, RateSample, Repair, RestartCause,
    RestartEvent, RttStats, SegmentReport, SegmentTimestamps, SendEvent, Start,
};
use ackclock_units::{Bytes, SimDuration, SimTime};

use super::{NONE, WatchedC, known, or_none};

/// Form of [`Start`] across the boundary.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct StartC {
    /// Largest segment in octets.
    pub mss: u64,
    /// Initial window in octets.
    pub initial_window: u64,
    /// Initial ssthresh in octets, or [`NONE`].
    pub initial_ssthresh: u64,
    /// Seed of the controller's random stream.
    pub seed: u64,
}

/// The form of [`AckEvent`]; octets and nanoseconds.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "fields are those of the event")]
#[allow(clippy::struct_excessive_bools, reason = "as many as the event has")]
pub struct AckC {
    pub now: u64,
    pub newly_acked: u64,
    pub newly_lost: u64,
    pub lost_before: u64,
    pub newly_ce_marked: u64,
    pub prior_flight_size: u64,
    pub snd_una: u64,
    pub snd_nxt: u64,
    /// Window during a reduction in octets, or [`NONE`].
    pub reduced_window: u64,
    /// Round-trip sample in nanoseconds, or [`NONE`].
    pub rtt_sample: u64,
    pub rtt_latest: u64,
    pub srtt: u64,
    pub rttvar: u64,
    pub min_rtt: u64,
    pub round: u64,
    pub tick: u64,
    pub tsval: u32,
    pub tsecr: u32,
    pub arrival: u32,
    pub has_timestamps: bool,
    pub is_cumulative: bool,
    pub is_cwnd_limited: bool,
    pub in_recovery: bool,
    pub growth_is_due: bool,
    pub growth_is_in_use: bool,
    pub is_paced: bool,
    /// Delivery report, or null.
    pub delivery: *const DeliveryC,
}

/// Form of [`DeliveryReport`] across the boundary.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "fields are those of the report")]
pub struct DeliveryC {
    pub delivered: u64,
    pub lost: u64,
    pub inflight: u64,
    pub prior_inflight: u64,
    pub next_departure: u64,
    /// The recovery: 0 none, 1 fast recovery, 2 a timeout.
    pub repair: u8,
    pub has_sack: bool,
    pub has_sample: bool,
    pub is_app_limited: bool,
    pub sample_delivered: u64,
    pub interval: u64,
    pub prior_delivered: u64,
    pub tx_in_flight: u64,
    pub sample_lost: u64,
}

/// Form of [`CongestionEvent`] across the boundary.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "fields are those of the event")]
pub struct CongestionC {
    pub now: u64,
    pub flight_size: u64,
    pub decrease_from: u64,
    pub newly_lost: u64,
    pub inflight: u64,
    /// The cause: 0 loss, 1 ECN, 2 a timeout, 3 a repeated timeout.
    pub cause: u8,
}

/// Form of [`RestartEvent`] across the boundary.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "fields are those of the event")]
pub struct RestartC {
    pub now: u64,
    pub window: u64,
    /// New ssthresh in octets, or [`NONE`].
    pub ssthresh: u64,
    /// The cause's place in [`RestartCause`].
    pub cause: u8,
}

/// Form of [`SendEvent`] across the boundary.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "fields are those of the event")]
pub struct SendC {
    pub now: u64,
    pub size: u64,
    pub flight_size: u64,
    pub snd_nxt: u64,
    pub idle_for: u64,
    pub is_app_limited: bool,
}

/// Form of [`SegmentReport`] across the boundary.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "fields are those of the report")]
pub struct SegmentC {
    pub now: u64,
    pub sent_at: u64,
    pub start: u64,
    pub size: u64,
    pub delivered: u64,
    pub prior_delivered: u64,
    pub tx_in_flight: u64,
    pub lost: u64,
    pub is_app_limited: bool,
    pub is_retransmission: bool,
}

impl From<&Start> for StartC {
    fn from(start: &Start) -> Self {
        Self {
            mss: start.mss.0,
            initial_window: start.initial_window.0,
            initial_ssthresh: or_none(start.initial_ssthresh.map(|bytes| bytes.0)),
            seed: start.seed,
        }
    }
}

impl From<&StartC> for Start {
    fn from(start: &StartC) -> Self {
        Self {
            mss: Bytes(start.mss),
            initial_window: Bytes(start.initial_window),
            initial_ssthresh: known(start.initial_ssthresh).map(Bytes),
            seed: start.seed,
        }
    }
}

impl AckC {
    /// The form of an ACK with a pointer to `delivery`.
    #[cfg(feature = "host")]
    #[inline]
    pub(crate) fn new(ack: &AckEvent, delivery: Option<&DeliveryC>) -> Self {
        let timestamps =
            ack.timestamps.unwrap_or(SegmentTimestamps { tsval: 0, tsecr: 0, arrival: 0, tick: SimDuration::ZERO });
        Self {
            now: ack.now.0,
            newly_acked: ack.newly_acked.0,
            newly_lost: ack.newly_lost.0,
            lost_before: ack.lost_before.0,
            newly_ce_marked: ack.newly_ce_marked.0,
            prior_flight_size: ack.prior_flight_size.0,
            snd_una: ack.snd_una,
            snd_nxt: ack.snd_nxt,
            reduced_window: or_none(ack.reduced_window.map(|window| window.0)),
            rtt_sample: or_none(ack.rtt_sample.map(|sample| sample.0)),
            rtt_latest: ack.rtt.latest.0,
            srtt: ack.rtt.srtt.0,
            rttvar: ack.rtt.rttvar.0,
            min_rtt: ack.rtt.min_rtt.0,
            round: ack.round,
            tick: timestamps.tick.0,
            tsval: timestamps.tsval,
            tsecr: timestamps.tsecr,
            arrival: timestamps.arrival,
            has_timestamps: ack.timestamps.is_some(),
            is_cumulative: ack.is_cumulative,
            is_cwnd_limited: ack.is_cwnd_limited,
            in_recovery: ack.in_recovery,
            growth_is_due: ack.growth.is_due,
            growth_is_in_use: ack.growth.is_in_use,
            is_paced: ack.is_paced,
            delivery: delivery.map_or(std::ptr::null(), std::ptr::from_ref),
        }
    }

    /// The event, with the report at `delivery`.
    #[inline]
    pub(crate) fn event(&self, delivery: Option<&DeliveryC>) -> AckEvent {
        let ack = self;
        AckEvent {
            now: SimTime(ack.now),
            newly_acked: Bytes(ack.newly_acked),
            is_cumulative: ack.is_cumulative,
            newly_lost: Bytes(ack.newly_lost),
            lost_before: Bytes(ack.lost_before),
            newly_ce_marked: Bytes(ack.newly_ce_marked),
            prior_flight_size: Bytes(ack.prior_flight_size),
            snd_una: ack.snd_una,
            snd_nxt: ack.snd_nxt,
            rtt_sample: known(ack.rtt_sample).map(SimDuration),
            rtt: RttStats {
                latest: SimDuration(ack.rtt_latest),
                srtt: SimDuration(ack.srtt),
                rttvar: SimDuration(ack.rttvar),
                min_rtt: SimDuration(ack.min_rtt),
            },
            timestamps: ack.has_timestamps.then_some(SegmentTimestamps {
                tsval: ack.tsval,
                tsecr: ack.tsecr,
                arrival: ack.arrival,
                tick: SimDuration(ack.tick),
            }),
            is_cwnd_limited: ack.is_cwnd_limited,
            in_recovery: ack.in_recovery,
            growth: Growth { is_due: ack.growth_is_due, is_in_use: ack.growth_is_in_use },
            reduced_window: known(ack.reduced_window).map(Bytes),
            round: ack.round,
            is_paced: ack.is_paced,
            delivery: delivery.map(DeliveryReport::from),
        }
    }
}

impl From<&DeliveryReport> for DeliveryC {
    fn from(report: &DeliveryReport) -> Self {
        let sample = report.sample.unwrap_or_default();
        Self {
            delivered: report.delivered.0,
            lost: report.lost.0,
            inflight: report.inflight.0,
            prior_inflight: report.prior_inflight.0,
            next_departure: report.next_departure.0,
            repair: report.repair as u8,
            has_sack: report.has_sack,
            has_sample: report.sample.is_some(),
            is_app_limited: sample.is_app_limited,
            sample_delivered: sample.delivered.0,
            interval: sample.interval.0,
            prior_delivered: sample.prior_delivered.0,
            tx_in_flight: sample.tx_in_flight.0,
            sample_lost: sample.lost.0,
        }
    }
}

impl From<&DeliveryC> for DeliveryReport {
    fn from(report: &DeliveryC) -> Self {
        Self {
            delivered: Bytes(report.delivered),
            lost: Bytes(report.lost),
            inflight: Bytes(report.inflight),
            prior_inflight: Bytes(report.prior_inflight),
            repair: [Repair::None, Repair::Fast, Repair::Timeout][usize::from(report.repair).min(2)],
            has_sack: report.has_sack,
            next_departure: SimTime(report.next_departure),
            sample: report.has_sample.then_some(RateSample {
                delivered: Bytes(report.sample_delivered),
                interval: SimDuration(report.interval),
                prior_delivered: Bytes(report.prior_delivered),
                is_app_limited: report.is_app_limited,
                tx_in_flight: Bytes(report.tx_in_flight),
                lost: Bytes(report.sample_lost),
            }),
        }
    }
}

impl From<&CongestionEvent> for CongestionC {
    fn from(event: &CongestionEvent) -> Self {
        let cause = match event.cause {
            CongestionCause::Loss => 0,
            CongestionCause::Ecn => 1,
            CongestionCause::Timeout { repeated: false } => 2,
            CongestionCause::Timeout { repeated: true } => 3,
        };
        Self {
            now: event.now.0,
            flight_size: event.flight_size.0,
            decrease_from: event.decrease_from.0,
            newly_lost: event.newly_lost.0,
            inflight: event.inflight.0,
            cause,
        }
    }
}

impl From<&CongestionC> for CongestionEvent {
    fn from(event: &CongestionC) -> Self {
        let cause = match event.cause {
            0 => CongestionCause::Loss,
            1 => CongestionCause::Ecn,
            cause => CongestionCause::Timeout { repeated: cause == 3 },
        };
        Self {
            now: SimTime(event.now),
            cause,
            flight_size: Bytes(event.flight_size),
            decrease_from: Bytes(event.decrease_from),
            newly_lost: Bytes(event.newly_lost),
            inflight: Bytes(event.inflight),
        }
    }
}

/// Causes in the order of their numbers.
const RESTARTS: [RestartCause; 5] =
    [RestartCause::SynLost, RestartCause::Timeout, RestartCause::Idle, RestartCause::Unused, RestartCause::Outer];

impl From<&RestartEvent> for RestartC {
    fn from(restart: &RestartEvent) -> Self {
        Self {
            now: restart.now.0,
            window: restart.window.0,
            ssthresh: or_none(restart.ssthresh.map(|bytes| bytes.0)),
            cause: restart.cause as u8,
        }
    }
}

impl From<&RestartC> for RestartEvent {
    fn from(restart: &RestartC) -> Self {
        Self {
            now: SimTime(restart.now),
            cause: RESTARTS[usize::from(restart.cause).min(RESTARTS.len() - 1)],
            window: Bytes(restart.window),
            ssthresh: known(restart.ssthresh).map(Bytes),
        }
    }
}

/// Signs in the order of their numbers.
#[cfg(feature = "host")]
const SIGNS: [ackclock_cc::ExitSign; 2] = [ackclock_cc::ExitSign::Delay, ackclock_cc::ExitSign::AckTrain];

impl WatchedC {
    pub(crate) fn exit_of(exit: Option<EarlyExit>) -> (u64, u8) {
        exit.map_or((NONE, 0), |exit| (exit.at.0, exit.sign as u8))
    }

    #[cfg(feature = "host")]
    pub(crate) fn exit(&self) -> Option<EarlyExit> {
        let sign = SIGNS[usize::from(self.exit_sign).min(SIGNS.len() - 1)];
        known(self.exit_at).map(|at| EarlyExit { at: SimTime(at), sign })
    }
}

impl From<&SendEvent> for SendC {
    #[inline]
    fn from(sent: &SendEvent) -> Self {
        let SendEvent { now, size, flight_size, snd_nxt, idle_for, is_app_limited } = *sent;
        Self { now: now.0, size: size.0, flight_size: flight_size.0, snd_nxt, idle_for: idle_for.0, is_app_limited }
    }
}

impl From<&SendC> for SendEvent {
    #[inline]
    fn from(sent: &SendC) -> Self {
        Self {
            now: SimTime(sent.now),
            size: Bytes(sent.size),
            flight_size: Bytes(sent.flight_size),
            snd_nxt: sent.snd_nxt,
            idle_for: SimDuration(sent.idle_for),
            is_app_limited: sent.is_app_limited,
        }
    }
}

impl From<&SegmentReport> for SegmentC {
    #[inline]
    fn from(segment: &SegmentReport) -> Self {
        Self {
            now: segment.now.0,
            sent_at: segment.sent_at.0,
            start: segment.start,
            size: segment.size.0,
            delivered: segment.delivered.0,
            prior_delivered: segment.prior_delivered.0,
            tx_in_flight: segment.tx_in_flight.0,
            lost: segment.lost.0,
            is_app_limited: segment.is_app_limited,
            is_retransmission: segment.is_retransmission,
        }
    }
}

impl From<&SegmentC> for SegmentReport {
    #[inline]
    fn from(segment: &SegmentC) -> Self {
        Self {
            now: SimTime(segment.now),
            sent_at: SimTime(segment.sent_at),
            start: segment.start,
            size: Bytes(segment.size),
            delivered: Bytes(segment.delivered),
            prior_delivered: Bytes(segment.prior_delivered),
            tx_in_flight: Bytes(segment.tx_in_flight),
            lost: Bytes(segment.lost),
            is_app_limited: segment.is_app_limited,
            is_retransmission: segment.is_retransmission,
        }
    }
}

#[cfg(all(test, feature = "host"))]
mod tests {
    use super::*;

    /// A controller of a plug-in receives the same events as a built-in one (docs/reference/own-controllers.md). No
    /// field has its default.
    #[test]
    fn what_is_told_comes_across_whole() {
        let ms = SimDuration::from_millis;
        let sample = RateSample {
            delivered: Bytes(1),
            interval: ms(2),
            prior_delivered: Bytes(3),
            is_app_limited: true,
            tx_in_flight: Bytes(4),
            lost: Bytes(5),
        };
        let delivery = DeliveryReport {
            delivered: Bytes(6),
            lost: Bytes(7),
            inflight: Bytes(8),
            prior_inflight: Bytes(33),
            repair: Repair::Timeout,
            has_sack: true,
            next_departure: SimTime(9),
            sample: Some(sample),
        };
        let ack = AckEvent {
            now: SimTime(10),
            newly_acked: Bytes(11),
            is_cumulative: true,
            newly_lost: Bytes(12),
            lost_before: Bytes(13),
            newly_ce_marked: Bytes(14),
            prior_flight_size: Bytes(15),
            snd_una: 16,
            snd_nxt: 17,
            rtt_sample: Some(ms(18)),
            rtt: RttStats { latest: ms(19), srtt: ms(20), rttvar: ms(21), min_rtt: ms(22) },
            timestamps: Some(SegmentTimestamps { tsval: 23, tsecr: 24, arrival: 25, tick: ms(26) }),
            is_cwnd_limited: true,
            in_recovery: true,
            growth: Growth { is_due: true, is_in_use: true },
            reduced_window: Some(Bytes(27)),
            round: 28,
            is_paced: true,
            delivery: Some(delivery),
        };
        let across = DeliveryC::from(&delivery);
        assert_eq!(format!("{:?}", AckC::new(&ack, Some(&across)).event(Some(&across))), format!("{ack:?}"));
        let sent = SendEvent {
            now: SimTime(29),
            size: Bytes(30),
            flight_size: Bytes(31),
            snd_nxt: 32,
            idle_for: SimDuration(33),
            is_app_limited: true,
        };
        assert_eq!(format!("{:?}", SendEvent::from(&SendC::from(&sent))), format!("{sent:?}"));
    }
}
