//! Rate at which segments leave, where they are spread out.

use ackclock_cc::{CongestionController, Controller};
use ackclock_units::{Bandwidth, SimTime};

use super::Transmitter;
use crate::pacing::{Pacer, RateInputs};
use crate::sender::flight::Flight;

impl Transmitter {
    /// Settles, when the connection opens and after an ACK or a decision, whether segments are spread out: the controller may have
    /// found a rate.
    pub(in crate::sender) fn note_pacing(&mut self, controller: &Controller) {
        let spreads_for_few_acks = self.ack_control.as_ref().is_some_and(|control| control.spreads());
        self.pacer.set_wanted(controller.pacing_rate().is_some() || spreads_for_few_acks);
    }

    /// The rate of the pacer, if pacing is active.
    pub(crate) fn rate_of_pacing(&self, flight: &Flight) -> Option<Bandwidth> {
        if self.pacer.is_active() { pacing_rate(&self.pacer, flight) } else { None }
    }

    /// Notes that `octets` left, and schedules what follows.
    #[inline(never)] // most senders send at once what windows allow
    pub(super) fn note_paced(&mut self, flight: &Flight, now: SimTime, octets: u64) {
        let rate = pacing_rate(&self.pacer, flight);
        self.pacer.on_sent(now, octets, rate, flight.counters.sent_segments);
    }
}

/// The rate to pace at, whether segments are spread out or not, for it sizes bursts, too: the controller's, or that of
/// the window, which is cwnd over the round trip, times Linux's factor.
pub(crate) fn pacing_rate(pacer: &Pacer, flight: &Flight) -> Option<Bandwidth> {
    let controller = &flight.congestion.controller;
    let window_rate = || {
        pacer.window_rate(RateInputs {
            cwnd: controller.cwnd().0,
            ssthresh: controller.ssthresh().map(|ssthresh| ssthresh.0),
            outstanding: flight.board.flight_size(),
            srtt: flight.rto.fine_stats().srtt,
        })
    };
    controller.pacing_rate().or_else(window_rate).map(|rate| rate.min(pacer.most()))
}
