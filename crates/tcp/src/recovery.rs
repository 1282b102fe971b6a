//! Phase of the sender's loss repair or response to a mark, and the window of that phase.
//!
//! Sources: RFC 5681 section 3.2 (Reno), RFC 6582 (`NewReno`), RFC 6675 (SACK), RFC 9937 (PRR), RFC 3168 (CWR),
//! Jacobson 1988 (Tahoe).
//!
//! Departures: Tahoe retransmits from the first missing octet on after a fast retransmit, as it does after a timeout.
//! A SACK recovery that begins while a mark is answered ends with the window of data that was answered, and not with what is outstanding
//! then (RFC 6675 section 5): a loss behind that is a new sign, as in Linux. `NewReno` leaves recovery with cwnd = ssthresh (RFC 6582
//! section 3.2 step 3, option 2) and restarts the timer on the first partial ACK only (the "impatient" variant, section 4); with
//! `rto.restart_on_retransmission` every retransmission of the first segment restarts it, which comes to the "slow but steady" one.

use crate::prr::{Prr, PrrAck};
use crate::rate_halving::RateHalving;

/// The state of loss recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Phase {
    /// Nothing is being repaired.
    #[default]
    Open,
    /// A mark is being answered, until data beyond `until` is acknowledged.
    Cwr { until: u64, window: RecoveryWindow },
    /// Fast recovery, until `until` is acknowledged.
    Fast(FastRecovery),
    /// After a timeout (or Tahoe's fast retransmit): slow start over what is lost, until `until` is acknowledged.
    Loss(LossPhase),
}

/// State of fast recovery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FastRecovery {
    /// `RecoveryPoint` (RFC 6675), `recover` (RFC 6582).
    pub(crate) until: u64,
    pub(crate) window: RecoveryWindow,
    pub(crate) partial_acks: u32,
    /// RFC 6675 rule 4's retransmission was used.
    pub(crate) rescued: bool,
}

/// Recovery from a timeout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LossPhase {
    pub(crate) until: u64,
    pub(crate) frto: Frto,
}

/// F-RTO: after a timeout, new data is sent on the first advancing ACK; if data that was never retransmitted is
/// acknowledged before that data is, the timeout was spurious (RFC 5682 sections 2 and 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frto {
    /// Not tried, or found that the loss is real.
    Off,
    /// Waiting for the first ACK after the timeout, or for what the new data brings.
    Watching,
    /// New data goes before retransmissions.
    SendsNew,
}

/// Bound on sending during fast recovery.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RecoveryWindow {
    /// ssthresh plus what duplicate ACKs say has left the network (Reno, `NewReno`).
    Inflated(i64),
    /// The controller's window: ssthresh at once (RFC 6675), or the window of its own recovery.
    Ssthresh,
    /// The window that PRR gave at the last ACK.
    Prr { prr: Prr, cwnd: u64 },
    /// The window goes down with every second ACK.
    Halving(RateHalving),
}

impl Phase {
    pub(crate) fn is_fast_recovery(&self) -> bool {
        matches!(self, Self::Fast(_))
    }

    /// cwnd is being reduced by other means than the controller's growth.
    pub(crate) fn is_reducing(&self) -> bool {
        matches!(self, Self::Fast(_) | Self::Cwr { .. })
    }

    /// Nothing is to be retransmitted.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Open | Self::Cwr { .. })
    }

    /// Offset that must be acknowledged for the phase to end.
    pub(crate) fn ends_at(&self) -> Option<u64> {
        let is_mark = matches!(self, Self::Cwr { .. });
        self.until().map(|until| until + u64::from(is_mark))
    }

    /// The end of the window of data whose loss or mark is being answered.
    pub(crate) fn until(&self) -> Option<u64> {
        match self {
            Self::Open => None,
            Self::Cwr { until, .. } | Self::Fast(FastRecovery { until, .. }) | Self::Loss(LossPhase { until, .. }) => {
                Some(*until)
            }
        }
    }

    /// The window that bounds sending, given the controller's.
    #[inline]
    pub(crate) fn window(&self, cwnd: u64) -> u64 {
        if matches!(self, Self::Open) { cwnd } else { self.window_of_repair(cwnd) }
    }

    fn window_of_repair(&self, cwnd: u64) -> u64 {
        match self.recovery_window() {
            // A controller may lower its cwnd while duplicate ACKs are counted.
            //= rfc5681-3.2-deflate
            Some(RecoveryWindow::Inflated(by)) => cwnd.saturating_add_signed(*by),
            //= rfc9937-5-end
            Some(RecoveryWindow::Prr { cwnd, .. }) => *cwnd,
            Some(RecoveryWindow::Halving(halving)) => halving.cwnd(),
            _ => cwnd,
        }
    }

    fn recovery_window(&self) -> Option<&RecoveryWindow> {
        match self {
            Self::Fast(FastRecovery { window, .. }) | Self::Cwr { window, .. } => Some(window),
            _ => None,
        }
    }

    fn recovery_window_mut(&mut self) -> Option<&mut RecoveryWindow> {
        match self {
            Self::Fast(FastRecovery { window, .. }) | Self::Cwr { window, .. } => Some(window),
            _ => None,
        }
    }

    /// The reduction under way, if it halves the rate.
    pub(crate) fn halving(&self) -> Option<&RateHalving> {
        match self.recovery_window() {
            Some(RecoveryWindow::Halving(halving)) => Some(halving),
            _ => None,
        }
    }

    /// Window during a stepwise reduction.
    pub(crate) fn reduced_window(&self) -> Option<u64> {
        match self.recovery_window() {
            Some(RecoveryWindow::Prr { cwnd, .. }) => Some(*cwnd),
            Some(RecoveryWindow::Halving(halving)) => Some(halving.cwnd()),
            _ => None,
        }
    }

    /// The controller lowers ssthresh while the window is on its way there.
    pub(crate) fn reduce_to(&mut self, ssthresh: u64) {
        match self.recovery_window_mut() {
            Some(RecoveryWindow::Prr { prr, .. }) => prr.reduce_to(ssthresh),
            Some(RecoveryWindow::Halving(halving)) => halving.reduce_to(ssthresh),
            _ => {}
        }
    }

    /// PRR's window, for an idle time to lower.
    pub(crate) fn prr_window_mut(&mut self) -> Option<&mut u64> {
        match self.recovery_window_mut() {
            Some(RecoveryWindow::Prr { cwnd, .. }) => Some(cwnd),
            _ => None,
        }
    }

    /// The window of a reduction under way, for another that takes its place.
    pub(crate) fn inherited_window(&self) -> Option<RecoveryWindow> {
        self.recovery_window().copied()
    }

    /// Inflates the window by `octets`, which have left the network according to duplicate ACKs.
    pub(crate) fn inflate(&mut self, octets: i64) {
        if let Some(RecoveryWindow::Inflated(by)) = self.recovery_window_mut() {
            *by += octets;
        }
    }

    /// A partial ACK of `octets`: deflates by as much, as far as there is a window, and adds a segment back for one or more
    /// (RFC 6582 section 3.2 step 3). `cwnd` is the controller's.
    pub(crate) fn deflate(&mut self, octets: u64, cwnd: u64, mss: u64) {
        let window = self.window(cwnd);
        if let Some(RecoveryWindow::Inflated(by)) = self.recovery_window_mut() {
            //= rfc6582-3.2-partial-deflation
            let added_back = if octets >= mss { mss } else { 0 };
            let deflated = (window.saturating_sub(octets) + added_back).max(mss);
            *by = deflated as i64 - cwnd as i64;
        }
    }

    /// An ACK during a reduction.
    pub(crate) fn on_prr_ack(&mut self, ack: PrrAck) {
        match self.recovery_window_mut() {
            Some(RecoveryWindow::Prr { prr, cwnd }) if ack.delivered > 0 => *cwnd = prr.on_ack(ack),
            Some(RecoveryWindow::Halving(halving)) => halving.on_ack(ack.pipe, ack.mss),
            _ => {}
        }
    }

    pub(crate) fn on_sent(&mut self, amount: u64) {
        if let Some(RecoveryWindow::Prr { prr, .. }) = self.recovery_window_mut() {
            prr.on_sent(amount);
        }
    }
}
