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
        self.acks.flight.board.set_mss(mss);
        self.acks.flight.congestion.validation.set_initial_window(initial_window);
        if !sack {
            self.acks.flight.do_without_sack();
        }
        self.acks.flight.set_controller(controller);
        self.settle_fast_path();
        if let Some(log) = &mut self.acks.flight.congestion.log {
            log.begin(&self.acks.flight.congestion.controller);
        }
    }

    /// The handshake has settled that both ends control the congestion of ACKs (RFC 5690).
    pub(crate) fn control_acks_of_peer(&mut self) {
        let config = self.acks.flight.config.ack_control;
        self.transmitter.ack_control = config.map(|config| Box::new(AckControl::new(config, self.acks.flight.mss())));
        self.settle_fast_path();
    }

    /// Settles which ACKs take the fast path, and whether segments leave as runs.
    pub(super) fn settle_fast_path(&mut self) {
        self.acks.settle_fast_path(self.transmitter.ack_control.is_some());
        self.transmitter.settle_runs(&self.acks.flight.congestion);
    }

    /// The SYN left, at `now`; it occupies offset 0.
    pub(crate) fn on_syn_sent(&mut self, now: SimTime) {
        if self.acks.flight.board.high_data() == 0 {
            self.acks.flight.board.on_new_data(1, now);
        }
        self.acks.flight.timer.start(now + self.acks.flight.rto.rto());
    }

    /// Takes in the acknowledgement of the SYN, after `retries` retransmissions of it. `echoed` is the departure time
    /// of the acknowledged SYN by its timestamp.
    pub(crate) fn on_syn_acknowledged(&mut self, now: SimTime, window: u64, retries: u32, echoed: Option<SimTime>) {
        let mut sent_at = None;
        if self.acks.flight.board.una() == 0 {
            self.acks.flight.board.acknowledge(1, |sent| sent_at = Some(sent.at));
        }
        if retries > 0 {
            self.acks.flight.rto.on_syn_timed_out();
            //= rfc5681-3.1-lost-syn-window
            // RFC 5681 section 3.1: a lost SYN leaves an initial window of one segment.
            if retries > self.acks.flight.config.syn_losses_tolerated {
                self.acks.flight.congestion.restart_window(now, RestartCause::SynLost, self.acks.flight.mss());
            }
            sent_at = echoed;
        }
        if let Some(sent_at) = sent_at {
            self.acks.flight.take_sample(now, sent_at, None);
            self.acks.flight.congestion.controller.on_handshake(self.acks.flight.rto.fine_stats().srtt);
        }
        self.transmitter.peer = PeerWindow::at_start(window, &self.acks.flight.config);
        self.acks.flight.idle_from(now);
        self.acks.flight.congestion.validation.restart(now);
        self.transmitter.note_pacing(&self.acks.flight.congestion.controller);
        self.acks.flight.timer.stop();
        self.transmitter.times.start(now);
    }
}
