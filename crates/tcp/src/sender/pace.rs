//! Rate at which segments leave, where they are spread out.

use ackclock_cc::CongestionController;
use ackclock_units::{Bandwidth, SimTime};

use super::Sender;
use crate::pacing::RateInputs;

impl Sender {
    /// Settles, when the connection opens and after an ACK or a decision, whether segments are spread out: the controller may have
    /// found a rate.
    pub(crate) fn note_pacing(&mut self) {
        self.pacer.set_wanted(self.flight.congestion.controller.pacing_rate().is_some() || self.spreads_for_few_acks());
    }

    /// The rate to pace at, whether segments are spread out or not, for it sizes bursts, too: the controller's, or that of
    /// the window.
    pub(crate) fn pacing_rate(&self) -> Option<Bandwidth> {
        self.flight
            .congestion
            .controller
            .pacing_rate()
            .or_else(|| self.window_rate())
            .map(|rate| rate.min(self.pacer.most()))
    }

    /// cwnd over the round trip, times Linux's factor.
    fn window_rate(&self) -> Option<Bandwidth> {
        self.pacer.window_rate(RateInputs {
            cwnd: self.flight.congestion.controller.cwnd().0,
            ssthresh: self.flight.congestion.controller.ssthresh().map(|ssthresh| ssthresh.0),
            outstanding: self.flight.board.flight_size(),
            srtt: self.flight.rto.fine_stats().srtt,
        })
    }

    /// Same as [`Self::pacing_rate`], if pacing is active.
    pub(crate) fn rate_of_pacing(&self) -> Option<Bandwidth> {
        if self.pacer.is_active() { self.pacing_rate() } else { None }
    }

    /// Notes that `octets` left, and schedules what follows.
    #[inline(never)] // most senders send at once what windows allow
    pub(super) fn note_paced(&mut self, now: SimTime, octets: u64) {
        let rate = self.pacing_rate();
        self.pacer.on_sent(now, octets, rate, self.flight.counters.sent_segments);
    }

    /// Departure time of a segment sent now, in the burst that has begun.
    pub(crate) fn departure(&self, now: SimTime) -> SimTime {
        self.pacer.departure(now)
    }

    /// Begins a burst now that departs no earlier than the next slot.
    #[cold]
    pub(crate) fn await_turn(&mut self, now: SimTime) {
        self.pacer.begin_burst(now);
    }
}
