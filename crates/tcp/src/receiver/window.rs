//! The advertised window: what the buffer and a grant leave, in steps that are worth announcing (RFC 9293 section 3.8.6).

use ackclock_units::SimTime;
use ackclock_wire::Seq;

use super::Receiver;
use crate::config::MAX_UNSCALED_WINDOW;

/// Fields of every segment after the SYN.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledgement {
    pub(crate) ack: Seq,
    pub(crate) window: u16,
    pub(crate) ts_recent: u32,
}

impl Receiver {
    /// The window is twice what the peer knows of, and that by a worthwhile amount.
    pub(super) fn has_opened(&self) -> bool {
        // A probe of a closed window may have filled what was not advertised.
        let (free, left) = (self.free(), self.advertised_edge.saturating_sub(self.rcv_nxt));
        free >= 2 * left && self.rcv_nxt + free >= self.advertised_edge + self.worthwhile()
    }

    /// The window opens with segments.
    fn opens(&self) -> bool {
        self.tuning.as_ref().is_some_and(|tuning| tuning.opens())
    }

    /// The edge moves in steps of the scale, as Linux moves it.
    fn moves_in_steps(&self) -> bool {
        self.opens() && self.scale > 0
    }

    /// Free space of the buffer, in windows, while `held` octets lie in it.
    fn room(&self, held: u64) -> u64 {
        self.tuning.as_ref().map_or(0, |tuning| tuning.room(held))
    }

    /// Least free space of which a window is offered, in steps of the scale.
    fn least_room(&self) -> u64 {
        self.mss.max(self.room(0) / 16)
    }

    /// The window as it was advertised last.
    #[inline]
    pub(super) fn advertised(&self) -> u64 {
        self.advertised_edge.saturating_sub(self.last_ack_sent)
    }

    /// Window that may be advertised beyond what has arrived.
    pub(super) fn free(&self) -> u64 {
        let granted = self.granted_edge.saturating_sub(self.rcv_nxt); // more may have been advertised before the grant
        let room = match &self.tuning {
            Some(tuning) if tuning.opens() => tuning.room(self.held()).min(self.buffer),
            _ => self.buffer.saturating_sub(self.reader.unread()),
        };
        room.min(granted)
    }

    /// More than a segment is to be acknowledged, and the window stays as large until the `octets` are read that have just come into order: that
    /// is acknowledged at once (Linux). One segment fits in what the window is rounded up by.
    pub(super) fn is_due_anyway(&self, octets: u64) -> bool {
        let unread = self.rcv_nxt - self.last_ack_sent;
        let free = match &self.tuning {
            Some(tuning) if tuning.opens() => tuning.room(self.held() + unread).min(self.buffer),
            _ if self.reader.is_immediate() => self.buffer.saturating_sub(octets.saturating_sub(self.mss)),
            _ => self.buffer.saturating_sub(self.reader.unread() + unread),
        };
        unread > self.mss && free >= self.advertised()
    }

    /// Largest excess of the field over the intended window. A grant between two values that the field can express is
    /// rounded up: rounded down it could be less than a segment, and the peer would wait for more.
    pub(super) fn excess(&self) -> u64 {
        if self.granted_edge == u64::MAX { 0 } else { (1 << self.scale) - 1 }
    }

    /// Time at which the application will have read enough for a window update; only while the window holds the peer
    /// back, that is when less than a segment of it is left.
    #[inline(never)] // few applications read at a rate, and every segment asks
    pub(super) fn window_update_deadline(&self) -> SimTime {
        if !self.reader.reads_at_a_rate() || self.advertised_edge - self.rcv_nxt >= self.worthwhile() {
            return SimTime::NEVER;
        }
        let free_wanted = self.advertised_edge - self.rcv_nxt + self.worthwhile();
        // No more than the buffer can be free, and less may be unread by now.
        let mut unread_then = self.buffer.saturating_sub(free_wanted);
        if self.moves_in_steps() {
            let wanted = free_wanted.max(self.least_room()).next_multiple_of(1 << self.scale);
            let most = self.room(0).saturating_sub(wanted);
            unread_then = unread_then.min(most - most / 64); // what an octet takes is rounded
            if self.room(unread_then) < wanted {
                return SimTime::NEVER; // the buffer has to grow first
            }
        }
        self.reader.time_to_read(self.reader.unread().saturating_sub(unread_then))
    }

    /// RFC 9293 section 3.8.6.2.2: the right edge moves by at least min(buffer / 2, MSS), or not at all.
    pub(super) fn worthwhile(&self) -> u64 {
        //= rfc9293-3.8.6.2.2-receiver-silly-window
        self.mss.min(self.buffer / 2).max(1)
    }

    /// Acknowledgement fields of an outgoing segment. Settles every pending ACK.
    pub(crate) fn acknowledgement(&mut self, now: SimTime) -> Acknowledgement {
        //= rfc9293-3.8.6.3-ack-with-data
        self.acks.on_ack_sent();
        self.last_ack_sent = self.rcv_nxt;
        self.reader.catch_up(now);
        if self.moves_in_steps() {
            self.advertise_in_steps_of_scale();
        } else {
            let edge = self.rcv_nxt + self.free();
            //= rfc9293-3.8.6-no-shrinking
            if edge >= self.advertised_edge + self.worthwhile() || self.advertised_edge == 0 {
                self.advertised_edge = edge;
            }
        }
        // What the field cannot express is not advertised (the shift rounds down), but for what is granted.
        let left = self.advertised_edge.saturating_sub(self.rcv_nxt) + self.excess();
        let field = (left >> self.scale).min(MAX_UNSCALED_WINDOW.0);
        Acknowledgement {
            ack: Seq::of_offset(self.peer_initial, self.rcv_nxt),
            window: field as u16,
            ts_recent: self.ts_recent,
        }
    }

    /// Moves the edge as Linux does: in steps that the field can express, rounded up while half of the buffer is free, and down
    /// where there is less; a sixteenth of it, or less than a segment, is none.
    fn advertise_in_steps_of_scale(&mut self) {
        let step = 1 << self.scale;
        let held = self.held() + std::mem::take(&mut self.being_read);
        let mut room = self.room(held);
        if room < self.room(0) / 2 {
            self.acks.end_quick();
            room = if room < self.least_room() { 0 } else { room / step * step };
        }
        let granted = self.granted_edge.saturating_sub(self.rcv_nxt);
        let mut window = room.min(self.buffer).min(granted).next_multiple_of(step);
        //= rfc9293-3.8.6-no-shrinking
        let offered = self.advertised_edge.saturating_sub(self.rcv_nxt);
        if window < offered {
            // Linux rounds up, too; there memory ends what would come of that while nothing is read.
            let rounded = offered.next_multiple_of(step);
            window = if rounded <= granted.min(self.room(self.reader.unread())) { rounded } else { offered };
        }
        self.advertised_edge = self.rcv_nxt + window;
    }

    /// The window of a SYN is never scaled (RFC 7323 section 2.2). One that opens is whole segments of the `mss` that the first SYN
    /// offers (Linux).
    pub(crate) fn syn_window(&mut self, mss: Option<u32>) -> u16 {
        //= rfc7323-2.2-syn-unscaled
        let first = self.rcv_nxt.max(1);
        let granted = self.granted_edge.saturating_sub(first);
        let mut window = self.buffer.min(granted).min(MAX_UNSCALED_WINDOW.0);
        if let Some(mss) = mss.map(u64::from).filter(|mss| self.opens() && window >= *mss) {
            window = window / mss * mss;
        }
        self.advertised_edge = first + window;
        window as u16
    }
}
