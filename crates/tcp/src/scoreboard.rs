//! The sender's record of each segment that it has sent: its departure time, and whether it is `SACKed`, lost,
//! retransmitted.
//!
//! Sources: RFC 6675, with its names `IsLost`, `SetPipe`, `NextSeg`; RFC 8985 section 5 for what is kept of a segment.
//!
//! A segment's record is made when it leaves and dropped when it is cumulatively acknowledged. The counts that make up
//! `pipe` are kept with the marks, and searches start from where the last one ended, so an ACK costs O(1) amortised in
//! the window (O(log window) where SACK blocks begin in its middle).
//!
//! Departures: none. A segment is cut where a cumulative acknowledgement ends inside it; a SACK block counts for the segments
//! that it covers whole, as a receiver reports what it keeps.

mod invariants;
mod losses;
mod sacks;

use std::collections::VecDeque;

use ackclock_units::SimTime;

use crate::config::Counting;
use crate::ranges::{Range, RangeSet};

/// One segment, as it was last sent. It begins where the one before it ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// The offset after its last octet.
    pub(crate) end: u64,
    /// Departure time of the segment or its latest retransmission.
    pub(crate) at: SimTime,
    len: u32,
    marks: u8,
    /// It was the first of what the host was handed at once.
    pub(crate) begins_burst: bool,
}

/// The octets for which a segment counts, or zero for those that it has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale(u64);

impl Scale {
    /// Counted size of `len` octets in one segment.
    pub(crate) fn weight(self, len: u64) -> u64 {
        self.weight_of(len, 1)
    }

    /// Counted size of `len` octets in so many `segments`.
    pub(crate) fn weight_of(self, len: u64, segments: u64) -> u64 {
        if self.0 == 0 { len } else { segments * self.0 }
    }
}

const SACKED: u8 = 1;
const LOST: u8 = 2;
/// A retransmission is thought to be in the network.
const RETRANSMITTED: u8 = 4;
/// It has been retransmitted at some time.
const EVER_RETRANSMITTED: u8 = 8;

impl Sent {
    pub(crate) fn start(&self) -> u64 {
        self.end - u64::from(self.len)
    }

    pub(crate) fn range(&self) -> Range {
        Range { start: self.start(), end: self.end }
    }

    fn has(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    pub(crate) fn is_sacked(&self) -> bool {
        self.has(SACKED)
    }

    pub(crate) fn was_retransmitted(&self) -> bool {
        self.has(EVER_RETRANSMITTED)
    }

    fn waits_for_retransmission(&self) -> bool {
        //= rfc2018-5-not-sacked-again
        self.marks & (LOST | RETRANSMITTED | SACKED) == LOST
    }

    /// Neither SACKed, nor lost without having been retransmitted: it may still arrive.
    pub(crate) fn may_arrive(&self) -> bool {
        !self.is_sacked() && !self.waits_for_retransmission()
    }
}

/// Send times of segments that an ACK completes: the oldest and the newest of those sent once, and of those retransmitted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SendTimes {
    pub(crate) oldest: Option<SimTime>,
    pub(crate) newest: Option<SimTime>,
    pub(crate) retransmitted: Option<(SimTime, SimTime)>,
}

impl SendTimes {
    #[inline]
    pub(super) fn note(&mut self, sent: &Sent) {
        if sent.was_retransmitted() {
            let oldest = self.retransmitted.map_or(sent.at, |(oldest, _)| oldest.min(sent.at));
            self.retransmitted = Some((oldest, sent.at));
        } else {
            self.oldest.get_or_insert(sent.at);
            self.newest = Some(sent.at);
        }
    }

    /// Departure time of the segment that gives an RTT sample: the oldest or the newest. By Karn's rule (RFC 6298
    /// section 3), an ACK that covers a retransmission gives none.
    #[inline]
    pub(crate) fn sample(&self, takes_oldest: bool, karn: bool) -> Option<SimTime> {
        let once = if takes_oldest { self.oldest } else { self.newest };
        match self.retransmitted {
            None => once,
            //= rfc6298-3-karn
            Some(_) if karn => None,
            Some((oldest, _)) if takes_oldest => Some(once.map_or(oldest, |once| once.min(oldest))),
            Some((_, newest)) => once.max(Some(newest)),
        }
    }
}

/// A retransmission, in the order of leaving.
#[derive(Clone, Copy, Debug)]
struct Retransmission {
    start: u64,
    at: SimTime,
    /// End of the data that had been sent by then.
    high_data: u64,
}

/// See the module. All positions are offsets in the stream; all amounts count as [`Counting`] says.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Scoreboard {
    /// First octet not cumulatively acknowledged.
    una: u64,
    /// The offset after the highest octet sent.
    high_data: u64,
    segments: VecDeque<Sent>,
    /// Amounts outstanding, and of these SACKed, lost, and retransmitted.
    outstanding: u64,
    sacked_out: u64,
    lost_out: u64,
    retransmitted_out: u64,
    /// Octets that have left the network according to duplicate ACKs, without SACK.
    presumed: u64,
    /// Counted size of a segment; zero for its length in octets.
    unit: u64,
    mss: u64,
    /// Below this, every segment sent once is SACKed or lost.
    lost_edge: u64,
    /// Below this, no lost segment waits to be retransmitted.
    retransmit_edge: u64,
    /// Segments taken out at the front so far. Hints of where a segment lies count from the first ever, too.
    popped: u64,
    sacked: RangeSet,
    /// Retransmissions that may still be in the network; entries may be stale.
    retransmissions: VecDeque<Retransmission>,
    /// Probes, and retransmissions that an undo took for arriving after all, lie below this.
    resent_below: u64,
    /// No lost segment reaches above this.
    lost_below: u64,
    /// Holes below this that are not known to be lost have been retransmitted (`NextSeg` rule 3).
    holes_edge: u64,
    /// Index hint: end of the last SACK block.
    sack_hint: u64,
    /// Index hint: the last position of `lost_edge`
    lost_hint: u64,
    /// Segments taken for lost, for who wants to know which.
    newly_lost: Option<Vec<Range>>,
}

impl Scoreboard {
    pub(crate) fn new(counting: Counting, mss: u64) -> Self {
        Self {
            una: 0,
            high_data: 0,
            segments: VecDeque::new(),
            sacked: RangeSet::default(),
            retransmissions: VecDeque::new(),
            lost_edge: 0,
            retransmit_edge: 0,
            resent_below: 0,
            lost_below: 0,
            holes_edge: 0,
            popped: 0,
            sack_hint: 0,
            lost_hint: 0,
            outstanding: 0,
            sacked_out: 0,
            lost_out: 0,
            retransmitted_out: 0,
            presumed: 0,
            newly_lost: None,
            unit: if counting == Counting::Segments { mss } else { 0 },
            mss,
        }
    }

    /// The payload of a full segment, settled at the handshake; only the SYN has been sent.
    pub(crate) fn set_mss(&mut self, mss: u64) {
        self.mss = mss;
        if let Some(segments) = self.outstanding.checked_div(self.unit) {
            self.unit = mss;
            self.outstanding = segments * mss;
        }
    }

    /// The payload of a full segment.
    #[inline]
    pub(crate) fn mss(&self) -> u64 {
        self.mss
    }

    /// Counted size of `len` octets in one segment.
    pub(crate) fn weight(&self, len: u64) -> u64 {
        self.scale().weight(len)
    }

    /// The rule by which segments are counted.
    pub(crate) fn scale(&self) -> Scale {
        Scale(self.unit)
    }

    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    pub(crate) fn high_data(&self) -> u64 {
        self.high_data
    }

    /// `FlightSize`: sent and not cumulatively acknowledged (RFC 5681).
    pub(crate) fn flight_size(&self) -> u64 {
        //= rfc5681-2-flight-size
        self.outstanding
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.una == self.high_data
    }

    /// SACKed, or presumed so by duplicate ACKs, and not cumulatively acknowledged.
    pub(crate) fn sacked(&self) -> u64 {
        self.sacked_out + self.presumed
    }

    /// True if at least `count` segments are SACKed, however long they are.
    pub(crate) fn has_sacked(&self, count: u32) -> bool {
        let is_enough = self.sacked() >= u64::from(count) * self.mss; // none is longer
        if is_enough || self.unit > 0 {
            return is_enough;
        }
        let within = |range: Range| {
            let from = self.segments.range(self.index_of(range.start)..);
            from.take_while(move |sent| sent.end <= range.end)
        };
        self.sacked.iter().flat_map(within).take(count as usize).count() == count as usize
    }

    /// RFC 6675 section 4, `SetPipe`: thought to be in the network: neither SACKed nor lost, and once more if
    /// retransmitted.
    pub(crate) fn pipe(&self) -> u64 {
        //= rfc6675-4-set-pipe
        self.outstanding + self.retransmitted_out - (self.sacked_out + self.lost_out + self.presumed)
    }

    /// Lost and neither SACKed nor acknowledged.
    pub(crate) fn lost(&self) -> u64 {
        self.lost_out
    }

    /// Retransmissions thought to be in the network.
    pub(crate) fn retransmitted(&self) -> u64 {
        self.retransmitted_out
    }

    /// True if the segment that ends at `end` was retransmitted, and that is thought to be in the network.
    pub(crate) fn is_retransmitted(&self, end: u64) -> bool {
        let found = self.segments.get(self.index_of(end.saturating_sub(1)));
        found.is_some_and(|sent| sent.end == end && sent.has(RETRANSMITTED))
    }

    /// The end of the highest SACKed octets.
    pub(crate) fn high_sacked(&self) -> Option<u64> {
        self.sacked.last().map(|range| range.end)
    }

    pub(crate) fn first(&self) -> Option<&Sent> {
        self.segments.front()
    }

    /// Number of segments outstanding.
    pub(crate) fn count(&self) -> usize {
        self.segments.len()
    }

    /// A new segment left.
    pub(crate) fn on_new_data(&mut self, len: u64, now: SimTime) {
        self.high_data += len;
        self.outstanding += self.weight(len);
        self.segments.push_back(Sent { end: self.high_data, at: now, len: len as u32, marks: 0, begins_burst: false });
    }

    /// Notes that the segment sent last began a burst.
    pub(crate) fn note_burst(&mut self) {
        if let Some(sent) = self.segments.back_mut() {
            sent.begins_burst = true;
        }
    }

    /// A cumulative ACK up to `to`. Hands every segment that it completes to `acked`, as it was before. Returns what it
    /// delivers: what was not SACKed before.
    pub(crate) fn acknowledge(&mut self, to: u64, mut acked: impl FnMut(&Sent)) -> u64 {
        debug_assert!(to > self.una && to <= self.high_data);
        let mut delivered = 0;
        while let Some(front) = self.segments.front_mut() {
            if front.end > to {
                if front.start() < to {
                    delivered += self.trim_first(to);
                }
                break;
            }
            let sent = *front;
            self.segments.pop_front();
            self.popped += 1;
            delivered += self.forget(&sent);
            acked(&sent);
        }
        self.una = to;
        self.lost_edge = self.lost_edge.max(to);
        self.retransmit_edge = self.retransmit_edge.max(to);
        if !self.sacked.is_empty() {
            self.sacked.remove_below(to);
        }
        if self.retransmitted_out == 0 && !self.retransmissions.is_empty() {
            self.forget_retransmissions();
        }
        delivered
    }

    /// True if nothing outstanding is SACKed, lost or retransmitted, nor presumed to be.
    pub(crate) fn has_no_marks(&self) -> bool {
        self.sacked_out | self.lost_out | self.retransmitted_out | self.presumed == 0 && self.sacked.is_empty()
    }

    /// Same as [`Self::acknowledge`] while [`Self::has_no_marks`]. Returns the octets that it delivers, and the
    /// departure times of the segments that it completes.
    #[inline]
    pub(crate) fn acknowledge_without_marks(&mut self, to: u64, mut acked: impl FnMut(&Sent)) -> (u64, SendTimes) {
        let mut times = SendTimes::default();
        let mut delivered = 0;
        while let Some(front) = self.segments.front() {
            if front.end > to {
                if front.start() < to {
                    delivered += self.trim_first(to);
                }
                break;
            }
            times.note(front);
            acked(front);
            let weight = self.weight(u64::from(front.len));
            self.segments.pop_front();
            self.popped += 1;
            self.outstanding -= weight;
            delivered += weight;
        }
        self.una = to;
        self.lost_edge = self.lost_edge.max(to);
        self.retransmit_edge = self.retransmit_edge.max(to);
        if !self.retransmissions.is_empty() {
            self.forget_retransmissions();
        }
        (delivered, times)
    }

    /// None is marked as being in the network.
    fn forget_retransmissions(&mut self) {
        if self.una >= self.resent_below {
            self.retransmissions.clear();
        }
    }

    /// The counts lose a segment. Returns what that delivers.
    fn forget(&mut self, sent: &Sent) -> u64 {
        let weight = self.weight(u64::from(sent.len));
        self.outstanding -= weight;
        if sent.marks == 0 {
            return weight;
        }
        self.uncount(sent.marks, weight);
        if sent.is_sacked() { 0 } else { weight }
    }

    fn count_marks(&mut self, marks: u8, weight: u64) {
        for (mark, count) in
            [(SACKED, &mut self.sacked_out), (LOST, &mut self.lost_out), (RETRANSMITTED, &mut self.retransmitted_out)]
        {
            if marks & mark != 0 {
                *count += weight;
            }
        }
    }

    fn uncount(&mut self, marks: u8, weight: u64) {
        for (mark, count) in
            [(SACKED, &mut self.sacked_out), (LOST, &mut self.lost_out), (RETRANSMITTED, &mut self.retransmitted_out)]
        {
            if marks & mark != 0 {
                *count -= weight;
            }
        }
    }

    /// The first segment is acknowledged in part. Segment counts see nothing of that.
    fn trim_first(&mut self, to: u64) -> u64 {
        let front = &mut self.segments[0];
        let cut = to - front.start();
        front.len -= cut as u32;
        if self.unit > 0 {
            return 0;
        }
        let marks = front.marks;
        self.outstanding -= cut;
        self.uncount(marks, cut);
        if marks & SACKED == 0 { cut } else { 0 }
    }

    /// Keeps the ranges considered lost for [`Self::take_newly_lost`] from now on.
    pub(crate) fn keep_newly_lost(&mut self, keep: bool) {
        self.newly_lost = keep.then(Vec::new);
    }

    /// Ranges considered lost since the last call.
    pub(crate) fn take_newly_lost(&mut self) -> Vec<Range> {
        self.newly_lost.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Presumes without SACK that `amount` more has left the network; never more than all but one segment. Returns how
    /// much of it is.
    pub(crate) fn presume(&mut self, amount: u64) -> u64 {
        let most = self.outstanding - self.lost_out.max(self.mss.min(self.outstanding));
        let before = self.presumed;
        self.presumed = (before + amount).min(most);
        self.presumed.saturating_sub(before)
    }

    /// Removes `amount` acknowledged octets from those presumed to have left the network. Returns true if more was left
    /// than may have left the network.
    pub(crate) fn unpresume(&mut self, amount: u64) -> bool {
        let left = self.presumed.saturating_sub(amount); // it may have been forgotten since
        self.presumed = left;
        self.presume(0);
        self.presumed < left
    }

    pub(crate) fn forget_presumed(&mut self) {
        self.presumed = 0;
    }
}

#[cfg(test)]
mod tests;
