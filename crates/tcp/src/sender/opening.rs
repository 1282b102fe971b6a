//! The handshake, as the sending half sees it: what was settled, and the SYN, which occupies offset 0.

use ackclock_cc::{CongestionController, Controller, RestartCause};
use ackclock_units::{Bytes, SimTime};

use super::Sender;
use super::transmitter::PeerWindow;
use crate::ack_control::AckControl;

impl Sender {
    /// Settled at the handshake: the payload of a full segment and whether the peer reports SACK, and with that the initial
    /// window and the controller.
    pub(crate) fn set_negotiated(&mut self, mss: u64, sack: bool, initial_window: Bytes, controller: Controller) {
        self.flight.board.set_mss(mss);
        self.flight.congestion.validation.set_initial_window(initial_window);
        if !sack {
            self.flight.do_without_sack();
        }
        self.flight.set_controller(controller);
        self.settle_fast_path();
        if let Some(log) = &mut self.flight.congestion.log {
            log.begin(&self.flight.congestion.controller);
        }
    }

    /// The handshake has settled that both ends control the congestion of ACKs (RFC 5690).
    pub(crate) fn control_acks_of_peer(&mut self) {
        let config = self.flight.config.ack_control;
        self.transmitter.ack_control = config.map(|config| Box::new(AckControl::new(config, self.flight.mss())));
        self.settle_fast_path();
    }

    pub(super) fn settle_fast_path(&mut self) {
        let is_told_of_acks = self.flight.congestion.log.as_ref().is_some_and(|log| log.wants_every_ack());
        self.has_fast_path =
            self.transmitter.ack_control.is_none() && !self.flight.recovery.emulates_sack() && !is_told_of_acks;
        let is_told_of_segments = self.flight.congestion.log.as_ref().is_some_and(|log| log.wants_every_segment());
        self.transmitter.sends_runs = self.transmitter.ack_control.is_none()
            && self.flight.congestion.controller.keeps_window_on_send()
            && !is_told_of_segments;
        // A refused segment ends what a run takes for granted.
        self.transmitter.sends_runs &= !self.transmitter.host.has_device();
    }

    /// The SYN left, at `now`; it occupies offset 0.
    pub(crate) fn on_syn_sent(&mut self, now: SimTime) {
        if self.flight.board.high_data() == 0 {
            self.flight.board.on_new_data(1, now);
        }
        self.flight.timer.start(now + self.flight.rto.rto());
    }

    /// The SYN is sent again then, and not when its timer was to fire.
    pub(crate) fn hasten_syn(&mut self, at: SimTime) {
        self.flight.timer.start(at);
    }

    /// Takes in the acknowledgement of the SYN, after `retries` retransmissions of it. `echoed` is the departure time
    /// of the acknowledged SYN by its timestamp.
    pub(crate) fn on_syn_acknowledged(&mut self, now: SimTime, window: u64, retries: u32, echoed: Option<SimTime>) {
        let mut sent_at = None;
        if self.flight.board.una() == 0 {
            self.flight.board.acknowledge(1, |sent| sent_at = Some(sent.at));
        }
        if retries > 0 {
            self.flight.rto.on_syn_timed_out();
            //= rfc5681-3.1-lost-syn-window
            // RFC 5681 section 3.1: a lost SYN leaves an initial window of one segment.
            if retries > self.flight.config.syn_losses_tolerated {
                self.flight.congestion.restart_window(now, RestartCause::SynLost, self.flight.mss());
            }
            sent_at = echoed;
        }
        if let Some(sent_at) = sent_at {
            self.flight.take_sample(now, sent_at, None);
            self.flight.congestion.controller.on_handshake(self.flight.rto.fine_stats().srtt);
        }
        self.transmitter.peer = PeerWindow::at_start(window, &self.flight.config);
        self.flight.idle_from(now);
        self.flight.congestion.validation.restart(now);
        self.transmitter.note_pacing(&self.flight.congestion.controller);
        self.flight.timer.stop();
        self.transmitter.times.start(now);
    }
}
