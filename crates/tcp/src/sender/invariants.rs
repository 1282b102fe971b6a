//! Invariants of a sending half after every call.

use ackclock_cc::CongestionController;
use ackclock_units::SimTime;

use super::{Limit, Sender};

impl Sender {
    /// Panics with the invariant that is violated; `recounts` recounts every outstanding segment.
    pub(crate) fn check_invariants(&self, recounts: bool) {
        let flight = self.flight();
        flight.board.check_invariants(recounts);
        assert!(
            flight.board.high_data() <= self.transmitter.queue.stream_end(),
            "nothing is sent that was not written: {self:?}"
        );
        self.check_octets();
        assert!(
            flight.congestion.controller.cwnd().0 > 0,
            "a congestion window of nothing ends a flow: {:?}",
            flight.congestion.controller
        );
        assert!(
            flight.window() > 0 || flight.recovery.phase().is_reducing(),
            "only PRR may close the window: {self:?}"
        );
        let is_raised = flight.recovery.dup_thresh() >= flight.config.dup_thresh;
        assert!(is_raised || flight.recovery.emulates_sack(), "reordering raises the threshold: {self:?}");
        self.check_timers();
    }

    /// New data lies in the stream without a gap; the rest are retransmissions.
    fn check_octets(&self) {
        let flight = self.flight();
        let high = flight.board.high_data();
        let new = high.min(self.transmitter.queue.end()).saturating_sub(1); // without the SYN, which may not have left
        let counters = &flight.counters;
        assert_eq!(counters.sent_octets, new + counters.retransmitted_octets, "octets sent are new or retransmitted");
        assert!(counters.retransmitted_segments <= counters.sent_segments, "retransmissions are sent: {counters:?}");
    }

    /// The timer that goes off at this moment.
    pub(crate) fn due(&self, deadline: SimTime) -> &'static str {
        let flight = self.flight();
        let timers = [
            ("the retransmission or persist timer", flight.timer.deadline()),
            ("the pacer, or the host's queue,", self.transmitter.deadline()),
            ("the controller's timer", flight.congestion.deadline()),
        ];
        timers.iter().find(|(_, at)| *at == deadline).map_or("fq's timer", |(name, _)| name)
    }

    /// Nothing waits for ever.
    fn check_timers(&self) {
        let flight = self.flight();
        if flight.timer.gave_up() {
            return;
        }
        assert!(flight.board.is_empty() || !flight.timer.is_off(), "a timer runs for what is outstanding: {self:?}");
        let is_stuck = flight.board.is_empty()
            && self.deadline() == SimTime::NEVER
            && match self.transmitter.limited_by {
                Limit::Window => true,
                Limit::Cwnd => flight.window() >= flight.board.mss(),
                _ => false,
            };
        assert!(
            !is_stuck || self.transmitter.next_len(&flight.board) == 0,
            "a closed window is probed, and a window of a segment lets one out: {self:?}"
        );
    }
}
