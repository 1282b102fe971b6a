//! Selection of the segment that may leave now.

use ackclock_cc::CongestionController;
use ackclock_units::{Bandwidth, SimTime};

use super::pacing_rate;
use super::{DataSegment, Limit, Transmitter};
use crate::config::LossRecovery;
use crate::ranges::Range;
use crate::recovery::Phase;
use crate::scoreboard::{Scoreboard, Sent};
use crate::send_buffers::Head;
use crate::sender::ack::AckOutcome;
use crate::sender::flight::Flight;
use crate::tso::Opening;

impl Transmitter {
    /// The next segment that may leave now, already accounted for. Call until it gives none.
    pub(crate) fn next_segment(&mut self, flight: &mut Flight, now: SimTime) -> Option<DataSegment> {
        if flight.tlp.is_due()
            && let Some(probe) = self.send_probe(flight, now)
        {
            return Some(probe);
        }
        //= rfc6675-5-pipe-bounds-sending
        let allowed = flight.window().saturating_sub(flight.board.pipe()); // a window may shrink below what is under way
        if flight.recovery.phase().is_open() {
            return self.next_new(flight, now, allowed);
        }
        if !flight.recovery.sends_new_first()
            && let Some(lost) = flight.board.next_lost()
        {
            return self.next_repair(flight, now, &lost, allowed);
        }
        //= rfc6675-4-next-seg-2
        if let Some(segment) = self.next_new(flight, now, allowed) {
            return Some(segment);
        }
        if flight.recovery.sends_new_first() {
            let waits = flight.recovery.stop_sending_new_first(flight.board.high_data());
            return if waits { None } else { self.next_segment(flight, now) };
        }
        self.next_speculative(flight, now, allowed)
    }

    fn next_repair(&mut self, flight: &mut Flight, now: SimTime, lost: &Sent, allowed: u64) -> Option<DataSegment> {
        let range = lost.range();
        if !may_retransmit(flight, range, allowed) {
            self.stop_at(flight, now, Limit::Cwnd);
            return None;
        }
        if self.is_at_host(flight, now, range) {
            return None;
        }
        let goes_on = self.bursts.repairs(now, lost);
        if !goes_on {
            if self.waits_for_pacer(flight, now) || self.waits_for_host(flight, now, range.len(), 2) {
                return None;
            }
            if self.bursts.is_on() {
                self.bursts.begin_repair(&self.opening(flight, allowed, self.peer.size()));
                flight.board.note_repair_burst(range.start);
                self.queue.on_repair(range.start, self.bursts.repair_room().max(range.len()));
            }
        }
        self.bursts.on_repaired(now, lost);
        let segment = self.retransmit(flight, now, range);
        let ends_burst = goes_on && !flight.board.next_lost().is_some_and(|next| self.bursts.repairs(now, &next));
        Some(if ends_burst { segment.pushed() } else { segment })
    }

    /// RFC 6675 `NextSeg` rules 3 and 4: when there is no new data, or no window of the peer's for it, holes not yet known to be lost, then
    /// once the tail; not while new data waits for its time. RACK and its probes take their place.
    fn next_speculative(&mut self, flight: &mut Flight, now: SimTime, allowed: u64) -> Option<DataSegment> {
        let counts_sacks = flight.recovery.has_sack() && !flight.recovery.has_rack();
        if !flight.recovery.phase().is_fast_recovery() || !counts_sacks {
            return None;
        }
        if !matches!(self.limited_by, Limit::Application | Limit::Window) || allowed < flight.board.mss() {
            return None;
        }
        if let Some(range) = flight.board.next_hole() {
            return Some(self.retransmit(flight, now, range));
        }
        if !flight.recovery.take_rescue() {
            return None;
        }
        let tail = flight.board.last_unsacked()?;
        Some(self.retransmit(flight, now, tail))
    }

    /// True if what is to be retransmitted still waits at the host: it leaves when its time has come.
    pub(super) fn is_at_host(&mut self, flight: &Flight, now: SimTime, range: Range) -> bool {
        let waits = self.fq.as_ref().is_some_and(|fq| fq.holds(range));
        if waits {
            self.stop_at(flight, now, Limit::Cwnd);
        }
        waits
    }

    /// New data, if there is some and every window has room for it.
    fn next_new(&mut self, flight: &mut Flight, now: SimTime, allowed: u64) -> Option<DataSegment> {
        let available = self.next_len(&flight.board);
        if available == 0 {
            return self.stop(flight, now, Limit::Application);
        }
        //= rfc3042-2-peers-window
        let window = self.usable_window(&flight.board);
        if window < available && !self.is_worth_sending(&flight.board, window) {
            flight.arm_persist(now);
            return self.stop(flight, now, Limit::Window);
        }
        let len = available.min(window);
        let allowed = allowed + limited_transmit_allowance(flight);
        if flight.board.weight(len) > allowed && !self.exceeds_by_fin(&flight.board, len, allowed) {
            return self.stop(flight, now, Limit::Cwnd);
        }
        if self.is_held_back(&flight.board, len) {
            flight.arm_persist(now);
            return self.stop(flight, now, Limit::Application);
        }
        if self.bursts.is_incomplete() {
            return Some(self.send_new(flight, now, len));
        }
        if self.waits_for_pacer(flight, now) {
            return None;
        }
        match self.keeps_burst(flight, now, allowed, window, len) {
            Some(limit) => self.stop(flight, now, limit),
            None if self.takes_refusal(flight, now) => self.stop(flight, now, Limit::DeviceQueue),
            None => Some(self.send_new(flight, now, len)),
        }
    }

    /// True if a segment is longer than the window by its FIN alone. Nothing outstanding would ever let it out, and SMSS, of which the
    /// least window is one, counts data (RFC 5681 section 2).
    #[cold]
    fn exceeds_by_fin(&self, board: &Scoreboard, len: u64, allowed: u64) -> bool {
        board.is_empty() && len == allowed + 1 && self.queue.has_fin(board.high_data() + len)
    }

    /// Limit that keeps a burst from beginning now, though the windows have room for its first segment of `len` octets;
    /// no burst is in progress.
    #[inline]
    pub(super) fn keeps_burst(
        &mut self,
        flight: &Flight,
        now: SimTime,
        allowed: u64,
        window: u64,
        len: u64,
    ) -> Option<Limit> {
        if self.sends_one_burst && self.has_sent_burst && self.bursts.is_on() {
            self.has_sent_burst = false;
            return Some(Limit::Application); // whatever the windows have room for (Linux: `tcp_push_one`)
        }
        if self.bursts.is_on() && !self.begins_burst(flight, now, allowed, window) {
            return Some(if allowed < window { Limit::Cwnd } else { Limit::Window });
        }
        let waits = self.host_queue.is_some() && self.waits_for_host(flight, now, self.bursts.room().max(len), 1);
        waits.then_some(Limit::HostQueue)
    }

    fn begins_burst(&mut self, flight: &Flight, now: SimTime, allowed: u64, peer_window: u64) -> bool {
        let mut opening = self.opening(flight, allowed, peer_window);
        opening.aim = self.bursts.size(&opening);
        // Two bursts at least are under way.
        let half = (flight.window() / opening.mss / 2).max(1) * opening.mss;
        let most = opening.aim.min(half).min(allowed.max(opening.mss));
        opening.head = self.queue.head(flight.board.high_data(), most);
        opening.is_end = self.queue.is_closed() && opening.head.is_last;
        let is_repairing = !matches!(flight.recovery.phase(), Phase::Open | Phase::Cwr { .. });
        let may_wait = !is_repairing && !self.sends_one_burst;
        let begins = self.bursts.begin(now, &opening, most, may_wait);
        self.has_sent_burst = begins;
        if begins {
            self.bound_burst(&flight.board, peer_window);
        }
        begins
    }

    /// The burst that begins has no more than may leave without waiting for more to be written (Nagle), or for the peer's window.
    fn bound_burst(&mut self, board: &Scoreboard, peer_window: u64) {
        let ready = self.queue.rest_of_record(board.high_data()).min(peer_window);
        if ready <= self.bursts.room() {
            let partial = ready % self.segment_size(board);
            let waits = partial > 0 && self.is_held_back(board, partial);
            self.bursts.bound(if waits { ready - partial } else { ready });
        }
    }

    fn opening(&self, flight: &Flight, allowed: u64, peer_window: u64) -> Opening {
        let rtt = flight.rto.stats();
        Opening {
            allowed: allowed.min(peer_window),
            window: flight.window().min(self.peer.size()),
            aim: 0,
            head: Head { octets: 0, is_last: true },
            is_end: false,
            mss: self.segment_size(&flight.board),
            first_sent: flight.board.first().map(|sent| sent.at),
            srtt: rtt.srtt,
            min_rtt: rtt.min_rtt,
            rate: pacing_rate(&self.pacer, flight),
            paced_until: self.pacer.next(),
            rule: flight.congestion.controller.burst_rule(),
        }
    }

    pub(super) fn waits_for_pacer(&mut self, flight: &mut Flight, now: SimTime) -> bool {
        let waits = self.pacer.is_active() && !self.pacer.begin_burst(now);
        if waits {
            if self.fq.is_some() && flight.recovery.is_idle() && !flight.board.is_empty() {
                flight.answer_mark(now, &AckOutcome::default());
            }
            self.stop_at(flight, now, Limit::Pacing);
            if flight.congestion.validation.is_on() {
                flight.account_for_use(now, Limit::Pacing);
            }
        }
        waits
    }

    /// True if enough data waits at the host that a burst of `burst` octets has to wait, too; retransmissions may have
    /// `times` as much waiting. One segment is always allowed, if nothing else is outstanding.
    fn waits_for_host(&mut self, flight: &Flight, now: SimTime, burst: u64, times: u64) -> bool {
        let fq = self.fq.as_ref().map(|fq| (fq.octets(), fq.next()));
        let Some(queue) = &mut self.host_queue else { return false };
        // Two bursts may wait whatever the rate is, which takes time to work out.
        let waits = queue.await_room_beside(now, fq, times * queue.limit(burst, Some(Bandwidth(0))))
            && queue.await_room_beside(now, fq, times * queue.limit(burst, pacing_rate(&self.pacer, flight)))
            && !flight.board.is_empty();
        if waits {
            self.stop_at(flight, now, Limit::HostQueue);
        }
        waits
    }

    /// True if the host's device has no room; cwnd is then reduced, once for what is outstanding.
    fn takes_refusal(&mut self, flight: &mut Flight, now: SimTime) -> bool {
        let is_refused = self.device_queue.as_ref().is_some_and(|queue| queue.is_full(now)) && !flight.board.is_empty();
        if is_refused && flight.recovery.is_idle() {
            flight.answer_mark(now, &AckOutcome::default());
        }
        is_refused
    }
}

fn may_retransmit(flight: &Flight, range: Range, allowed: u64) -> bool {
    //= rfc5681-3.2-retransmission-at-once
    // The retransmission that opens a recovery leaves whatever the window says (RFC 5681 section 3.2 step 3,
    // RFC 6675 section 5 step 4.3); PRR makes room for it by itself.
    let uses_prr = flight.config.prr
        && !flight.config.rate_halving
        && flight.recovery.method() == LossRecovery::Sack
        && flight.recovery.phase().is_fast_recovery();
    flight.board.weight(range.len()) <= allowed || (flight.board.retransmitted() == 0 && !uses_prr)
}

/// Without SACK, the first two duplicate ACKs each let a segment out (RFC 3042); with SACK, pipe sees to it, unless
/// limited transmit is off.
fn limited_transmit_allowance(flight: &Flight) -> u64 {
    let dup_acks = flight.recovery.dup_acks();
    //= rfc3042-2-new-segments
    let counts_dup_acks = dup_acks > 0 && flight.recovery.method() != LossRecovery::Sack;
    if counts_dup_acks && flight.config.limited_transmit && flight.recovery.is_idle() {
        //= rfc3042-2-two-beyond
        let extended = flight.window() + u64::from(dup_acks.min(2)) * flight.board.mss();
        //= rfc3042-2-cwnd-stays
        extended.saturating_sub(flight.board.pipe().max(flight.window())) // zero once both have left
    } else {
        0
    }
}
