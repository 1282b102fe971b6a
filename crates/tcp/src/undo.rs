//! Detection of a spurious repair, which is then undone.
//!
//! Sources: Eifel (RFC 3522, RFC 4015), DSACK (RFC 2883, RFC 3708). F-RTO (RFC 5682) is a part of the recovery from a
//! timeout.
//!
//! Departures: the answer is the controller's own undo (RFC 9438 section 4.9 for CUBIC), not RFC 4015's restoring of
//! half the pipe; SRTT is not reinitialised.

use crate::clock::is_before;
use crate::config::UndoConfig;

/// The retransmissions of one episode, while it can still prove spurious.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    config: UndoConfig,
    /// `snd_una` when the episode began; `None` when there is nothing to undo.
    marker: Option<u64>,
    /// An undo restores no window, as the network has marked (Linux: `prior_ssthresh` is zero).
    keeps_window: bool,
    /// Retransmissions not yet reported as duplicates; `None` before the first.
    unexplained: Option<u32>,
    /// Timestamp clock at the first retransmission.
    first_retransmitted: Option<u32>,
}

impl Undo {
    pub(crate) fn new(config: UndoConfig) -> Self {
        Self { config, marker: None, keeps_window: false, unexplained: None, first_retransmitted: None }
    }

    /// An episode begins; `resent` retransmissions of an earlier one are still in the network.
    pub(crate) fn begin(&mut self, una: u64, resent: u32) {
        (self.marker, self.keeps_window) = (Some(una), false);
        self.unexplained = (resent > 0).then_some(resent);
    }

    /// The network has marked, which is no mistake: what is repaired may have been late all the same, but the window stays.
    pub(crate) fn keep_window(&mut self) {
        self.keeps_window = true;
    }

    /// True if an undo restores no window.
    pub(crate) fn keeps_window(&self) -> bool {
        self.keeps_window
    }

    /// A mark is answered: nothing of what was repaired before is undone.
    pub(crate) fn forbid(&mut self) {
        (self.marker, self.keeps_window) = (None, true);
    }

    /// There is nothing to undo any more.
    pub(crate) fn clear(&mut self) {
        self.marker = None;
    }

    /// No retransmission is outstanding.
    pub(crate) fn forget_first(&mut self) {
        self.first_retransmitted = None;
    }

    pub(crate) fn is_possible(&self) -> bool {
        self.marker.is_some()
    }

    /// A segment left again when the timestamp clock showed `tick`.
    pub(crate) fn on_retransmission(&mut self, tick: u32) {
        self.unexplained = Some(self.unexplained.unwrap_or(0) + 1);
        //= rfc3522-3.2-first-timestamp
        self.first_retransmitted.get_or_insert(tick);
    }

    /// Takes in a reported duplicate `[.., end)` with `retransmissions` retransmissions in it.
    pub(crate) fn on_dsack(&mut self, end: u64, retransmissions: u32) {
        if let (Some(marker), Some(unexplained)) = (self.marker, &mut self.unexplained)
            && end > marker
        {
            *unexplained = unexplained.saturating_sub(retransmissions); // the network may duplicate, too
        }
    }

    /// Every retransmission arrived in duplicate (RFC 3708 section 3).
    pub(crate) fn all_were_duplicates(&self) -> bool {
        //= rfc3708-3-all-duplicates
        self.config.dsack && self.marker.is_some() && self.unexplained == Some(0)
    }

    /// The ACK was sent before the retransmission could have arrived (RFC 3522 section 3.2, step 4); or there was none yet, as
    /// pacing may hold it back, and what arrived is the original in any case (Linux).
    pub(crate) fn answers_original(&self, echoed: Option<u32>) -> bool {
        if !self.config.eifel {
            return false;
        }
        match (self.first_retransmitted, echoed.filter(|tick| *tick != 0)) {
            (None, _) => true,
            //= rfc3522-3.2-older-echo
            (Some(resent), Some(echoed)) => is_before(echoed, resent),
            (Some(_), None) => false,
        }
    }

    /// True if either proof shows that the repair was spurious.
    pub(crate) fn is_spurious(&self, echoed: Option<u32>) -> bool {
        self.marker.is_some() && (self.all_were_duplicates() || self.answers_original(echoed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: UndoConfig = UndoConfig { eifel: true, dsack: true, frto: true };

    //= rfc3522-3.2-older-echo
    //= rfc3522-3.2-first-timestamp
    #[test]
    fn an_echo_older_than_the_retransmission_proves_it_spurious() {
        let mut undo = Undo::new(ALL);
        undo.begin(1, 0);
        undo.on_retransmission(500);
        assert!(undo.is_spurious(Some(499)));
        assert!(!undo.is_spurious(Some(500)));
        assert!(!undo.is_spurious(None));
    }

    #[test]
    fn what_arrives_before_any_retransmission_was_not_lost() {
        let mut undo = Undo::new(ALL);
        undo.begin(1, 0);
        assert!(undo.is_spurious(None));
        undo.on_retransmission(500);
        assert!(!undo.is_spurious(None));
    }

    //= rfc3708-3-all-duplicates
    #[test]
    fn every_retransmission_must_be_a_duplicate() {
        let mut undo = Undo::new(UndoConfig { eifel: false, ..ALL });
        undo.begin(1_000, 0);
        assert!(!undo.is_spurious(None)); // nothing was retransmitted
        undo.on_retransmission(500);
        undo.on_retransmission(500);
        undo.on_dsack(2_000, 1);
        undo.on_dsack(900, 1); // of before the episode
        undo.on_dsack(4_000, 0); // the network's copy of what was sent once
        assert!(!undo.is_spurious(None));
        undo.on_dsack(3_000, 1);
        assert!(undo.is_spurious(None));
    }
}
