//! ACK congestion control, the data sender's half: it notices ACKs that were lost or marked on the reverse path, and
//! asks the receiver to send one for a number of segments.
//!
//! Source: RFC 5690, sections 4.2 (the option), 4.4 (lost and marked ACKs), 4.5 (the ratio R), 4.7 (spreading what an ACK
//! lets out).
//!
//! Where the RFC leaves a choice: R is never below 2, which it permits. ACKs are missed in whole multiples of R full
//! segments, so that short segments hide a loss and never feign one. What was missed is judged once a window, less the
//! ACKs that came late in it; what the last three ACKs stepped over waits for the next window: the parallel to duplicate
//! ACKs of section 5.4. While the receiver is being informed of a new ratio, none is
//! missed (the last way of section 4.4). The option is on the first new segment after the change and on every
//! retransmission until that segment is acknowledged, beside the payload of a full segment. While R is above 2, the sender
//! paces (4.7); what an ACK adds to the window is the controller's matter. What a peer's data carries counts as an ACK.

use crate::config::AckControlConfig;

/// R to begin with (section 4.1), and the least.
pub(crate) const FIRST_RATIO: u32 = 2;

/// The least number of ACKs for a window of data (K of section 4.5).
const ACKS_PER_WINDOW: u64 = 2;

/// Number of ACKs that may overtake one before it counts as lost.
const OVERTAKING: usize = 3;

/// State of the connection after an ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckSeen {
    /// `snd_una` before and after.
    pub(crate) from: u64,
    pub(crate) una: u64,
    pub(crate) high_data: u64,
    pub(crate) cwnd: u64,
    /// Nothing is being repaired, and nothing had arrived above a hole: the ACK covers what came since the one before.
    pub(crate) is_in_order: bool,
}

/// The receiver's knowledge of the ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Knowledge {
    /// The receiver uses the ratio.
    Current,
    /// The receiver is being informed; `first_new` is where the first new segment since the change begins.
    Stale { first_new: Option<u64> },
}

/// Watches the peer's ACKs and adapts the ACK ratio (RFC 5690).
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckControl {
    config: AckControlConfig,
    mss: u64,
    ratio: u32,
    knowledge: Knowledge,
    /// The window of data ends when this is acknowledged.
    window_end: u64,
    /// Data below was outstanding at a retransmission: ACKs of it say nothing about lost ACKs (section 4.4.1).
    retransmitted_below: u64,
    /// ACKs that should have come before the last three ACKs, and before each of these, the newest first.
    missed: u64,
    overtaken: [u64; OVERTAKING],
    /// ACKs that came late, and whether one of this window was marked.
    late: u64,
    marked: bool,
    /// Octets acknowledged since the ratio changed or an ACK was lost, and how many make R one less.
    clean: u64,
    enough: u64,
    /// Over the life of the connection.
    lost_acks: u64,
}

impl AckControl {
    pub(crate) fn new(config: AckControlConfig, mss: u64) -> Self {
        Self {
            config,
            mss,
            ratio: FIRST_RATIO,
            knowledge: Knowledge::Current,
            window_end: 0,
            retransmitted_below: 0,
            missed: 0,
            overtaken: [0; OVERTAKING],
            late: 0,
            marked: false,
            clean: 0,
            enough: 0,
            lost_acks: 0,
        }
    }

    /// The ACK ratio R, as the receiver knows it or is being informed.
    pub(crate) fn ratio(&self) -> u32 {
        self.ratio
    }

    /// ACKs found missing, those that came late not counted.
    pub(crate) fn lost_acks(&self) -> u64 {
        self.lost_acks
    }

    /// Section 4.7: what one ACK lets out is spread.
    pub(crate) fn spreads(&self) -> bool {
        //= rfc5690-4.7-spread
        self.ratio > FIRST_RATIO
    }

    /// New data leaves, beginning at `start`. Returns the option that it carries, zero for none.
    pub(crate) fn on_new_data(&mut self, start: u64) -> u8 {
        match &mut self.knowledge {
            Knowledge::Stale { first_new: first_new @ None } => {
                *first_new = Some(start);
                self.ratio as u8
            }
            _ => 0,
        }
    }

    /// Data leaves again, while `high_data` is the end of what has been sent. Returns the option as above.
    pub(crate) fn on_retransmission(&mut self, high_data: u64) -> u8 {
        self.retransmitted_below = high_data;
        //= rfc5690-4.2-option
        if self.knowledge == Knowledge::Current { 0 } else { self.ratio as u8 }
    }

    /// The retransmission timer expired: R is 2 (section 4.5.1).
    pub(crate) fn on_timeout(&mut self) {
        //= rfc5690-4.5.1-timeout
        if self.ratio != FIRST_RATIO {
            self.change_to(FIRST_RATIO, 0);
        }
    }

    /// An ACK without data came after a higher one, or marked.
    pub(crate) fn on_pure_ack(&mut self, is_late: bool, is_marked: bool) {
        self.late += u64::from(is_late);
        //= rfc5690-4.4-marked-acks
        self.marked |= is_marked;
    }

    /// An ACK was taken in.
    pub(crate) fn on_ack(&mut self, ack: AckSeen) {
        match self.knowledge {
            Knowledge::Stale { first_new: Some(first) } if ack.una > first => {
                self.knowledge = Knowledge::Current;
                self.window_end = ack.high_data;
                (self.missed, self.overtaken, self.late, self.marked) = (0, [0; OVERTAKING], 0, false);
            }
            Knowledge::Stale { .. } => {}
            Knowledge::Current => self.watch(ack),
        }
    }

    fn watch(&mut self, ack: AckSeen) {
        if ack.is_in_order && ack.from >= self.retransmitted_below {
            self.count_missed(ack.una - ack.from);
        }
        if ack.una >= self.window_end {
            self.end_window(ack);
        }
        let highest = self.highest(ack.cwnd);
        if self.ratio > highest {
            self.change_to(highest, ack.cwnd);
        }
    }

    /// An ACK of more than R segments stands for those that should have come before it (section 4.4).
    fn count_missed(&mut self, acked: u64) {
        self.overtaken.rotate_right(1);
        // Whole multiples of R segments beyond the one that the ACK is due for; an ACK of nothing steps over nothing.
        //= rfc5690-4.4-lost-acks
        let stepped_over = acked.saturating_sub(1) / (u64::from(self.ratio) * self.mss);
        self.missed += std::mem::replace(&mut self.overtaken[0], stepped_over);
        self.clean += acked;
    }

    /// Section 4.5: doubled after a window with lost or marked ACKs, one less after cwnd / (R^2 - R) windows without.
    fn end_window(&mut self, ack: AckSeen) {
        // What came late this window may have been missed in an earlier one.
        let lost = self.missed.saturating_sub(self.late);
        let overtaken: u64 = self.overtaken.iter().sum();
        self.late = self.late.saturating_sub(self.missed).min(overtaken);
        self.lost_acks += lost;
        if lost > 0 || self.marked {
            //= rfc5690-4.5-double
            let doubled = (2 * self.ratio).min(self.highest(ack.cwnd));
            self.change_to(doubled.max(self.ratio), ack.cwnd);
        //= rfc5690-4.5-lower
        } else if self.ratio > FIRST_RATIO && self.clean >= self.enough && overtaken == 0 {
            self.change_to(self.ratio - 1, ack.cwnd);
        }
        self.window_end = ack.high_data;
        (self.missed, self.marked) = (0, false);
    }

    /// `max(2, cwnd / (K*MSS))`, rounded up, and what the option and the configuration can say.
    fn highest(&self, cwnd: u64) -> u32 {
        //= rfc5690-4.5-two-a-window
        let by_window = cwnd.div_ceil(ACKS_PER_WINDOW * self.mss).min(u64::from(self.config.max_ratio));
        (by_window as u32).max(FIRST_RATIO)
    }

    /// Sets the ratio, and starts to count anew; a different ratio is sent to the receiver.
    fn change_to(&mut self, ratio: u32, cwnd: u64) {
        if ratio != self.ratio {
            self.ratio = ratio;
            self.knowledge = Knowledge::Stale { first_new: None };
        }
        self.clean = 0;
        // cwnd / (MSS * (R^2 - R)) windows of cwnd octets each.
        let steps = u128::from(ratio) * u128::from(ratio - 1);
        let octets = u128::from(cwnd) * u128::from(cwnd) / (u128::from(self.mss) * steps);
        self.enough = u64::try_from(octets).unwrap_or(u64::MAX);
    }
}

#[cfg(test)]
mod tests;
