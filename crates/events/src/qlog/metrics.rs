//! Metrics of a sender, reported only when they have changed: window, threshold, flight, round trips, rate.

use ackclock_units::{Bandwidth, Bytes, SimDuration};
use serde::Serialize;

use crate::event::{AckArrived, Event};

/// A value of which there may be none, which is `null`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Perhaps(Option<u64>);

impl Perhaps {
    fn bytes(value: Option<Bytes>) -> Self {
        Self(value.map(|Bytes(bytes)| bytes))
    }

    fn rate(value: Option<Bandwidth>) -> Self {
        Self(value.map(|Bandwidth(bps)| bps))
    }
}

/// Metrics in an event; `None` for those that it does not contain.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    cwnd: Option<Bytes>,
    ssthresh: Option<Perhaps>,
    flight_size: Option<Bytes>,
    latest_rtt: Option<SimDuration>,
    srtt: Option<SimDuration>,
    rttvar: Option<SimDuration>,
    rto: Option<SimDuration>,
    pacing_rate: Option<Perhaps>,
}

impl Reading {
    pub(super) fn of_ack(ack: &AckArrived) -> Self {
        Self {
            cwnd: Some(ack.cwnd),
            ssthresh: Some(Perhaps::bytes(ack.ssthresh)),
            flight_size: Some(ack.flight_size),
            latest_rtt: ack.rtt_sample,
            srtt: ack.srtt,
            rttvar: ack.rttvar,
            rto: Some(ack.rto),
            pacing_rate: Some(Perhaps::rate(ack.pacing_rate)),
        }
    }

    pub(super) fn of(event: &Event) -> Self {
        let none = Self::default();
        match *event {
            Event::AckArrived(ref ack) => Self::of_ack(ack),
            Event::SegmentSent(sent) => Self { flight_size: Some(sent.flight_size), ..none },
            Event::RecoveryEntered { cwnd, ssthresh, .. } => {
                Self { cwnd: Some(cwnd), ssthresh: Some(Perhaps::bytes(ssthresh)), ..none }
            }
            Event::RecoveryLeft { cwnd } | Event::Undone { cwnd } | Event::SlowStartExited { cwnd, .. } => {
                Self { cwnd: Some(cwnd), ..none }
            }
            Event::TimedOut { rto, .. } => Self { rto: Some(rto), ..none },
            _ => none,
        }
    }
}

/// The values that were reported last.
#[derive(Debug, Default)]
pub(super) struct Metrics(Reading);

/// Metrics that differ, in the draft's names and units.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Changes {
    #[serde(skip_serializing_if = "Option::is_none")]
    smoothed_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latest_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rtt_variance: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rto: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_in_flight: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ssthresh: Option<Perhaps>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pacing_rate: Option<Perhaps>,
}

impl Metrics {
    /// Takes in a reading, and gives what it changed; none if nothing.
    pub(super) fn update(&mut self, reading: &Reading) -> Option<Changes> {
        let Reading { cwnd, ssthresh, flight_size, latest_rtt, srtt, rttvar, rto, pacing_rate } = *reading;
        let last = &mut self.0;
        let milliseconds = |value: Option<SimDuration>| value.map(SimDuration::as_millis_f64);
        // There is neither a threshold nor a rate to begin with, so that none is no news.
        last.ssthresh.get_or_insert(Perhaps(None));
        last.pacing_rate.get_or_insert(Perhaps(None));
        let changes = Changes {
            smoothed_rtt: milliseconds(news(&mut last.srtt, srtt)),
            latest_rtt: milliseconds(news(&mut last.latest_rtt, latest_rtt)),
            rtt_variance: milliseconds(news(&mut last.rttvar, rttvar)),
            rto: milliseconds(news(&mut last.rto, rto)),
            congestion_window: news(&mut last.cwnd, cwnd).map(|Bytes(cwnd)| cwnd),
            bytes_in_flight: news(&mut last.flight_size, flight_size).map(|Bytes(flight)| flight),
            ssthresh: news(&mut last.ssthresh, ssthresh),
            pacing_rate: news(&mut last.pacing_rate, pacing_rate),
        };
        (changes != Changes::default()).then_some(changes)
    }
}

/// The new value if it differs from the last one, which it replaces.
fn news<T: Copy + PartialEq>(last: &mut Option<T>, told: Option<T>) -> Option<T> {
    let news = told.filter(|told| *last != Some(*told));
    *last = news.or(*last);
    news
}
