//! The handshake, as the sending half sees it: what was settled, and the SYN, which occupies offset 0.

use ackclock_cc::{CongestionController, Controller, HandshakeEvent, RestartCause};
use ackclock_events::Event;
use ackclock_units::{Bytes, SimTime};

use super::Sender;
use super::congestion::Congestion;
use super::transmitter::PeerWindow;
use crate::ack_control::AckControl;
use crate::tlp::Tlp;

impl Sender {
    /// Settled at the handshake: the payload of a full segment and whether the peer reports SACK, and with that the initial
    /// window and the controller.
    pub(crate) fn set_negotiated(&mut self, mss: u64, sack: bool, initial_window: Bytes, mut controller: Controller) {
        let flight = &mut self.acks.flight;
        flight.ecn.introduce(&mut controller);
        flight.board.set_mss(mss);
        flight.congestion.validation.set_initial_window(initial_window);
        if !sack {
            //= rfc8985-7.1-needs-sack
            flight.recovery.do_without_sack(flight.config.dup_acks_as_sacks);
            flight.tlp = Tlp::new(false); // RFC 8985 section 7 needs SACK
        }
        flight.set_controller(controller);
        if let Some(log) = &mut flight.congestion.log {
            log.begin(&flight.congestion.controller);
        }
        self.settle_fast_path();
    }

    /// The handshake has settled that both ends control the congestion of ACKs (RFC 5690).
    pub(crate) fn control_acks_of_peer(&mut self) {
        let config = self.acks.flight.config.ack_control;
        self.transmitter.ack_control =
            config.map(|config| Box::new(AckControl::new(config, self.acks.flight.board.mss())));
        self.settle_fast_path();
    }

    /// Settles which ACKs take the fast path, and whether segments leave as runs: neither where a mechanism inspects each.
    pub(super) fn settle_fast_path(&mut self) {
        let Self { transmitter, acks } = self;
        let Congestion { log, controller, .. } = &acks.flight.congestion;
        let reports_every_ack = log.as_ref().is_some_and(|log| log.wants_every_ack());
        let is_told_of_segments = log.as_ref().is_some_and(|log| log.wants_every_segment());
        let controls_acks = transmitter.ack_control.is_some();
        acks.has_fast_path = !controls_acks && !acks.flight.recovery.emulates_sack() && !reports_every_ack;
        transmitter.sends_runs = !controls_acks && controller.keeps_window_on_send() && !is_told_of_segments;
        // A refused segment ends what a run takes for granted.
        transmitter.sends_runs &= transmitter.device_queue.is_none();
    }

    /// The SYN left, at `now`; it occupies offset 0.
    pub(crate) fn on_syn_sent(&mut self, now: SimTime) {
        let flight = &mut self.acks.flight;
        if flight.board.high_data() == 0 {
            flight.board.on_new_data(1, now);
        }
        flight.timer.start(now, flight.rto.rto());
    }

    /// The SYN is sent again at `at`, and not when its timer was to expire.
    pub(crate) fn retransmit_syn_at(&mut self, at: SimTime) {
        self.acks.flight.timer.start_at(at);
    }

    /// The timer of a SYN or a SYN-ACK has expired for the `in_a_row`-th time. It counts as every expiry does: Linux's
    /// `tcpi_total_rto` is of "RTO timeouts, including SYN/SYN-ACK and recurring timeouts".
    pub(crate) fn on_syn_timeout(&mut self, in_a_row: u32, backs_off: bool) {
        let flight = &mut self.acks.flight;
        if backs_off {
            flight.rto.back_off();
        }
        flight.counters.timeouts += 1;
        flight.congestion.report(|_| Event::TimedOut { in_a_row, rto: flight.rto.rto() });
    }

    /// Takes in the acknowledgement of the SYN, after `retries` retransmissions of it. `echoed` is the departure time
    /// of the acknowledged SYN by its timestamp; `is_opener` at the end that opened the connection.
    pub(crate) fn on_syn_acknowledged(
        &mut self,
        now: SimTime,
        window: u64,
        retries: u32,
        echoed: Option<SimTime>,
        is_opener: bool,
    ) {
        let flight = &mut self.acks.flight;
        let mut sent_at = None;
        if flight.board.una() == 0 {
            flight.board.acknowledge(1, |sent| sent_at = Some(sent.at));
        }
        if retries > 0 {
            flight.rto.on_syn_timed_out();
            //= rfc5681-3.1-lost-syn-window
            // RFC 5681 section 3.1: a lost SYN leaves an initial window of one segment.
            if retries > flight.config.syn_losses_tolerated {
                flight.congestion.restart_window(now, RestartCause::SynLost, flight.board.mss());
            }
            sent_at = echoed;
        }
        if let Some(sent_at) = sent_at {
            flight.take_sample(now, sent_at, None);
            flight.congestion.controller.on_handshake(&HandshakeEvent {
                now,
                srtt: flight.rto.fine_stats().srtt,
                is_opener,
            });
        }
        self.transmitter.peer = PeerWindow::at_start(window, &flight.config);
        (flight.idle_since, flight.last_sent) = (Some(now), now);
        flight.congestion.validation.restart(now);
        self.transmitter.note_pacing(&flight.congestion.controller);
        flight.timer.stop();
        self.transmitter.times.start(now);
    }
}
