//! One direction of a split connection.

use ackclock_net::EndpointId;
use ackclock_relay::{Discipline, FarSide, Orders, Readings};
use ackclock_units::{Bytes, SimTime};

use super::latency::LatencyLog;
use super::totals::{RelayedCounts, Totals};
use crate::config::MeasureWindow;
use crate::connections::Connections;

/// One direction of a flow through an appliance.
#[derive(Clone, Debug)]
pub(crate) struct RelayedStream {
    /// The endpoint that receives.
    pub(crate) from: EndpointId,
    /// The endpoint that sends on.
    pub(crate) to: EndpointId,
    pub(crate) discipline: Discipline,
    pub(crate) orders: Orders,
    /// Time of the discipline's pending event; [`SimTime::NEVER`] without one.
    pub(crate) wake: SimTime,
    /// Octets read and not yet written.
    pub(crate) copying: Bytes,
    pub(crate) written: Bytes,
    /// True while it waits for its turn to be copied.
    pub(crate) is_queued: bool,
    /// True once the sender's FIN has been passed on.
    pub(crate) is_finished: bool,
    pub(crate) ece_raised: u64,
    pub(crate) latency: LatencyLog,
    /// Time since which its discipline holds data back; only known with observers.
    pub(super) held_since: Option<SimTime>,
    /// Octets that have arrived and were not sent on, and those not acknowledged by the other side, as of the last
    /// record.
    kept: [Bytes; 2],
}

impl RelayedStream {
    pub(crate) fn new(from: EndpointId, to: EndpointId, discipline: Discipline) -> Self {
        Self {
            from,
            to,
            discipline,
            orders: Orders::default(),
            wake: SimTime::NEVER,
            copying: Bytes::ZERO,
            written: Bytes::ZERO,
            is_queued: false,
            is_finished: false,
            ece_raised: 0,
            latency: LatencyLog::default(),
            held_since: None,
            kept: [Bytes::ZERO; 2],
        }
    }

    /// Values that its discipline reads.
    pub(crate) fn readings(&self, now: SimTime, connections: &Connections) -> Readings {
        let (from, to) = (&connections[self.from], &connections[self.to]);
        let rtt = to.rtt();
        Readings {
            now,
            arrived: from.received(),
            written: self.written,
            sent: self.written.saturating_sub(to.unsent()),
            retransmitted: Bytes(to.counters().retransmitted_octets),
            acknowledged: to.acknowledged(),
            near_rtt: from.rtt().srtt,
            near_mss: Bytes(u64::from(from.mss())),
            far: FarSide {
                srtt: rtt.srtt,
                min_rtt: rtt.min_rtt,
                mss: Bytes(u64::from(to.mss())),
                cwnd: to.cwnd(),
                pipe: to.pipe(),
                to_repair: to.to_repair(),
                is_in_slow_start: to.is_in_slow_start(),
                pacing_rate: to.pacing_rate(),
                rwnd: to.rwnd(),
            },
        }
    }

    /// Records the arrived data and the data sent on.
    pub(crate) fn note(&mut self, readings: &Readings, window: &MeasureWindow, totals: &mut Totals) {
        let counts = window.holds(readings.now);
        self.latency.on_arrived(readings.now, readings.arrived);
        self.latency.on_sent(readings.now, readings.sent, counts.then_some(&mut totals.latency));
        self.keep(readings.now, [readings.backlog(), readings.in_socket()], window, totals);
    }

    /// Sets the held octets: not sent on, not acknowledged.
    pub(crate) fn keep(&mut self, now: SimTime, kept: [Bytes; 2], window: &MeasureWindow, totals: &mut Totals) {
        let before = std::mem::replace(&mut self.kept, kept);
        for (part, gauge) in [&mut totals.backlog, &mut totals.in_socket].into_iter().enumerate() {
            gauge.change(now, before[part], kept[part], window);
        }
    }

    /// The counts over the whole run.
    pub(crate) fn counts(&self, connections: &Connections) -> RelayedCounts {
        RelayedCounts::new(&connections[self.from], &connections[self.to], self.ece_raised)
    }

    /// Octets that may be read and passed on now.
    pub(crate) fn ready(&self, connections: &Connections) -> Bytes {
        let (from, to) = (&connections[self.from], &connections[self.to]);
        let low = self.orders.not_sent.map_or(Bytes(u64::MAX), |mark| mark.saturating_sub(to.unsent()));
        from.unread().min(to.writable().min(low).saturating_sub(self.copying))
    }

    /// True if its discipline holds data back: the near side may not send a segment, or arrived data waits though the
    /// send buffer has room.
    pub(super) fn is_held(&self, connections: &Connections) -> bool {
        let (from, to) = (&connections[self.from], &connections[self.to]);
        let is_shut = self.orders.window.is_some_and(|window| window < Bytes(u64::from(from.mss())));
        let waits = from.unread() > Bytes::ZERO && self.ready(connections) == Bytes::ZERO;
        is_shut || (waits && self.orders.not_sent.is_some() && to.writable() > self.copying)
    }

    /// True if all data of the sender has been passed on, except for the end of the stream.
    pub(crate) fn is_at_end(&self, connections: &Connections) -> bool {
        let from = &connections[self.from];
        !self.is_finished && from.is_peer_finished() && from.unread() == Bytes::ZERO && self.copying == Bytes::ZERO
    }
}
