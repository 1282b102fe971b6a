//! The sender's side of ACK congestion control, where both ends agreed to it (RFC 5690).

use super::Sender;
use crate::ack_control::{AckControl, AckSeen};
use crate::ranges::Range;

/// State before an ACK was processed.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckWatch {
    una: u64,
    is_in_order: bool,
}

impl Sender {
    /// Settled at the handshake.
    pub(crate) fn control_acks_of_peer(&mut self) {
        let config = self.flight.config.ack_control;
        self.ack_control = config.map(|config| Box::new(AckControl::new(config, self.flight.mss())));
        self.settle_fast_path();
    }

    /// Before an ACK is taken in; `None` without ACK congestion control.
    pub(super) fn watch_of_acks(&self) -> Option<AckWatch> {
        self.ack_control.as_ref()?;
        let is_in_order = self.flight.recovery.phase().is_open()
            && self.flight.recovery.dup_acks() == 0
            && self.flight.board.sacked() == 0;
        Some(AckWatch { una: self.flight.board.una(), is_in_order })
    }

    /// Compares the state after the ACK with the one before.
    pub(super) fn control_acks(&mut self, watch: AckWatch) {
        let cwnd = self.flight.congestion.cwnd();
        if let Some(control) = &mut self.ack_control {
            control.on_ack(AckSeen {
                from: watch.una,
                una: self.flight.board.una(),
                high_data: self.flight.board.high_data(),
                cwnd,
                is_in_order: watch.is_in_order && self.flight.recovery.phase().is_open(),
            });
        }
    }

    pub(super) fn ack_ratio_option(&mut self, range: Range, has_payload: bool, is_retransmission: bool) -> u8 {
        match &mut self.ack_control {
            Some(control) if is_retransmission => {
                let option = control.on_retransmission(self.flight.board.high_data());
                if has_payload { option } else { 0 }
            }
            Some(control) if has_payload => control.on_new_data(range.start),
            _ => 0,
        }
    }

    pub(super) fn spreads_for_few_acks(&self) -> bool {
        self.ack_control.as_ref().is_some_and(|control| control.spreads())
    }
}
