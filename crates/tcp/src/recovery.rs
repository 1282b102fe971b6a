//! Where the sender stands in repairing loss, and the window that this leaves it.
//!
//! Sources: RFC 5681 section 3.2 (Reno), RFC 6582 (`NewReno`), RFC 6675 (SACK), RFC 9937 (PRR), Jacobson 1988 (Tahoe).
//!
//! Departures: Tahoe retransmits from the first missing octet on after a fast retransmit, as it does after a timeout.
//! `NewReno` leaves recovery with cwnd = ssthresh (RFC 6582 section 3.2 step 3, option 2) and restarts the timer on the
//! first partial ACK only (the "impatient" variant, section 4).

use crate::prr::{Prr, PrrAck};

/// The state of loss recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Phase {
    /// Nothing is being repaired.
    #[default]
    Open,
    /// Fast recovery, until `until` is acknowledged.
    Fast(FastRecovery),
    /// After a timeout (or Tahoe's fast retransmit): slow start over what is lost, until `until` is acknowledged.
    Loss { until: u64 },
}

/// Fast recovery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FastRecovery {
    /// `RecoveryPoint` (RFC 6675), `recover` (RFC 6582).
    pub(crate) until: u64,
    pub(crate) window: RecoveryWindow,
    pub(crate) partial_acks: u32,
    /// RFC 6675 rule 4's retransmission was used.
    pub(crate) rescued: bool,
}

/// What bounds sending during fast recovery.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RecoveryWindow {
    /// ssthresh plus what duplicate ACKs say has left the network (Reno, `NewReno`).
    Inflated(i64),
    /// ssthresh at once (RFC 6675).
    Ssthresh,
    /// The window that PRR gave at the last ACK.
    Prr { prr: Prr, cwnd: u64 },
}

impl Phase {
    pub(crate) fn is_fast_recovery(&self) -> bool {
        matches!(self, Self::Fast(_))
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }

    /// What has to be acknowledged for the phase to end.
    pub(crate) fn ends_at(&self) -> Option<u64> {
        match self {
            Self::Open => None,
            Self::Fast(FastRecovery { until, .. }) | Self::Loss { until } => Some(*until),
        }
    }

    /// The window that bounds sending, given the controller's.
    pub(crate) fn window(&self, cwnd: u64) -> u64 {
        match self {
            Self::Fast(FastRecovery { window: RecoveryWindow::Inflated(by), .. }) => cwnd.saturating_add_signed(*by),
            Self::Fast(FastRecovery { window: RecoveryWindow::Prr { cwnd, .. }, .. }) => *cwnd,
            _ => cwnd,
        }
    }

    /// Duplicate ACKs tell that `octets` have left the network.
    pub(crate) fn inflate(&mut self, octets: i64) {
        if let Self::Fast(FastRecovery { window: RecoveryWindow::Inflated(by), .. }) = self {
            *by += octets;
        }
    }

    /// An ACK during fast recovery.
    pub(crate) fn on_prr_ack(&mut self, ack: PrrAck) {
        if let Self::Fast(FastRecovery { window: RecoveryWindow::Prr { prr, cwnd }, .. }) = self
            && ack.delivered > 0
        {
            *cwnd = prr.on_ack(ack);
        }
    }

    pub(crate) fn on_sent(&mut self, octets: u64) {
        if let Self::Fast(FastRecovery { window: RecoveryWindow::Prr { prr, .. }, .. }) = self {
            prr.on_sent(octets);
        }
    }
}
