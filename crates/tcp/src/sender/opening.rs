//! The handshake, as the sending half sees it: what was settled, and the SYN, which occupies offset 0.

use ackclock_cc::{CongestionController, Controller, RestartCause};
use ackclock_units::{Bytes, SimTime};

use super::Sender;
use super::peer_window::PeerWindow;
use crate::tlp::Tlp;

impl Sender {
    /// Settled at the handshake: the payload of a full segment and whether the peer reports SACK, and with that the initial
    /// window and the controller.
    pub(crate) fn set_negotiated(&mut self, mss: u64, sack: bool, initial_window: Bytes, controller: Controller) {
        self.board.set_mss(mss);
        self.validation.set_initial_window(initial_window);
        self.controller = controller;
        if !sack {
            //= rfc8985-7.1-needs-sack
            self.recovery.do_without_sack(self.config.dup_acks_as_sacks);
            self.tlp = Tlp::new(false); // RFC 8985 section 7 needs SACK
        }
        self.settle_requirements();
        if let Some(log) = &mut self.log {
            log.begin(&self.controller);
        }
    }

    pub(super) fn settle_fast_path(&mut self) {
        let is_told_of_acks = self.log.as_ref().is_some_and(|log| log.wants_every_ack());
        self.has_fast_path = self.ack_control.is_none() && !self.recovery.emulates_sack() && !is_told_of_acks;
        let is_told_of_segments = self.log.as_ref().is_some_and(|log| log.wants_every_segment());
        self.sends_runs = self.ack_control.is_none() && self.controller.keeps_window_on_send() && !is_told_of_segments;
        // A refused segment ends what a run takes for granted.
        self.sends_runs &= self.device_queue.is_none();
    }

    /// The SYN left, at `now`; it occupies offset 0.
    pub(crate) fn on_syn_sent(&mut self, now: SimTime) {
        if self.board.high_data() == 0 {
            self.board.on_new_data(1, now);
        }
        self.timer.start(now + self.rto.rto());
    }

    /// The SYN is sent again then, and not when its timer was to fire.
    pub(crate) fn hasten_syn(&mut self, at: SimTime) {
        self.timer.start(at);
    }

    /// Takes in the acknowledgement of the SYN, after `retries` retransmissions of it. `echoed` is the departure time
    /// of the acknowledged SYN by its timestamp.
    pub(crate) fn on_syn_acknowledged(&mut self, now: SimTime, window: u64, retries: u32, echoed: Option<SimTime>) {
        let mut sent_at = None;
        if self.board.una() == 0 {
            self.board.acknowledge(1, |sent| sent_at = Some(sent.at));
        }
        if retries > 0 {
            self.rto.on_syn_timed_out();
            //= rfc5681-3.1-lost-syn-window
            // RFC 5681 section 3.1: a lost SYN leaves an initial window of one segment.
            if retries > self.config.syn_losses_tolerated {
                self.restart_window(now, RestartCause::SynLost, self.mss());
            }
            sent_at = echoed;
        }
        if let Some(sent_at) = sent_at {
            self.take_sample(now, sent_at, None);
            self.controller.on_handshake(self.rto.fine_stats().srtt);
        }
        self.peer = PeerWindow::at_start(window, &self.config);
        self.idleness = super::Idleness { idle_since: Some(now), last_sent: now };
        self.validation.restart(now);
        self.note_pacing();
        self.timer.stop();
        self.times.start(now);
    }
}
