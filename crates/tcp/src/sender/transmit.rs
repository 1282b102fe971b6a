//! Selection and sending of the segments that may leave now.

use ackclock_cc::{CongestionController, SendEvent};
use ackclock_events::{Event, ProbeKind};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};
use ackclock_wire::{Ecn, Flags};

use super::Sender;
use super::ack::AckOutcome;
use crate::config::{AppLimitedFrom, LossRecovery, UserTimeoutFrom, ZeroWindowProbeFrom};
use crate::ranges::Range;
use crate::scoreboard::Sent;
use crate::tso::{Opening, Place};

/// A segment to send, in offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataSegment {
    pub(crate) start: u64,
    /// Payload of the segment, octets.
    pub(crate) payload: u32,
    /// ACK, and FIN, PSH, CWR where they belong.
    pub(crate) flags: Flags,
    pub(crate) ecn: Ecn,
    /// The ACK Ratio option, zero for none.
    pub(crate) ack_ratio: u8,
}

impl DataSegment {
    /// The last of several that the host gets at once, which offloading hosts push; a FIN by itself has nothing to push.
    pub(super) fn pushed(self) -> Self {
        if self.payload == 0 { self } else { Self { flags: self.flags.with(Flags::PSH), ..self } }
    }
}

/// Limit that kept the sender from sending more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// The congestion window is full.
    Cwnd,
    /// The peer's window or the send buffer is full.
    Window,
    /// Nothing is left to send.
    Application,
    /// The pacer says when.
    Pacing,
    /// Enough waits at the host itself.
    HostQueue,
    /// The host's device has no room: the next ACK asks again.
    DeviceQueue,
}

impl Sender {
    /// The next segment that may leave now, already accounted for. Call until it gives none.
    pub(crate) fn next_segment(&mut self, now: SimTime) -> Option<DataSegment> {
        if self.flight.tlp.is_due()
            && let Some(probe) = self.send_probe(now)
        {
            return Some(probe);
        }
        //= rfc6675-5-pipe-bounds-sending
        let allowed = self.flight.window().saturating_sub(self.flight.board.pipe()); // a window may shrink below what is under way
        if self.flight.recovery.phase().is_open() {
            return self.next_new(now, allowed);
        }
        if !self.flight.recovery.sends_new_first()
            && let Some(lost) = self.flight.board.next_lost()
        {
            return self.next_retransmission(now, &lost, allowed);
        }
        //= rfc6675-4-next-seg-2
        if let Some(segment) = self.next_new(now, allowed) {
            return Some(segment);
        }
        if self.flight.recovery.sends_new_first() {
            let waits = self.flight.recovery.stop_sending_new_first(self.flight.board.high_data());
            return if waits { None } else { self.next_segment(now) };
        }
        self.next_speculative(now, allowed)
    }

    fn next_retransmission(&mut self, now: SimTime, lost: &Sent, allowed: u64) -> Option<DataSegment> {
        let range = lost.range();
        if !self.may_retransmit(range, allowed) {
            self.stop_at(now, Limit::Cwnd);
            return None;
        }
        if self.is_at_host(now, range) {
            return None;
        }
        let goes_on = self.bursts.repairs(lost);
        if !goes_on {
            if self.waits_for_pacer(now) || self.waits_for_host(now, range.len(), 2) {
                return None;
            }
            if self.bursts.is_on() {
                self.bursts.begin_repair(&self.opening(allowed, self.peer.size()));
                self.flight.board.note_repair_burst(range.start);
            }
        }
        self.bursts.on_repaired(lost);
        let segment = self.retransmit(now, range);
        let ends_burst = goes_on && !self.flight.board.next_lost().is_some_and(|next| self.bursts.repairs(&next));
        Some(if ends_burst { segment.pushed() } else { segment })
    }

    fn may_retransmit(&self, range: Range, allowed: u64) -> bool {
        //= rfc5681-3.2-retransmission-at-once
        // The retransmission that opens a recovery leaves whatever the window says (RFC 5681 section 3.2 step 3,
        // RFC 6675 section 5 step 4.3); PRR makes room for it by itself.
        self.flight.board.weight(range.len()) <= allowed || (self.flight.board.retransmitted() == 0 && !self.uses_prr())
    }

    fn uses_prr(&self) -> bool {
        self.flight.config.prr
            && !self.flight.config.rate_halving
            && self.flight.recovery.method() == LossRecovery::Sack
            && self.flight.recovery.phase().is_fast_recovery()
    }

    /// RFC 6675 `NextSeg` rules 3 and 4: when there is no new data, or no window of the peer's for it, holes not yet known to be lost, then
    /// once the tail; not while new data waits for its time. RACK and its probes take their place.
    fn next_speculative(&mut self, now: SimTime, allowed: u64) -> Option<DataSegment> {
        let counts_sacks = self.flight.recovery.has_sack() && !self.flight.recovery.has_rack();
        if !self.flight.recovery.phase().is_fast_recovery() || !counts_sacks {
            return None;
        }
        if !matches!(self.limited_by, Limit::Application | Limit::Window) || allowed < self.flight.mss() {
            return None;
        }
        if let Some(range) = self.flight.board.next_hole() {
            return Some(self.retransmit(now, range));
        }
        if !self.flight.recovery.take_rescue() {
            return None;
        }
        let tail = self.flight.board.last_unsacked()?;
        Some(self.retransmit(now, tail))
    }

    /// RFC 8985 section 7.3: new data if there is some, else the last segment once more, unless it has arrived.
    fn send_probe(&mut self, now: SimTime) -> Option<DataSegment> {
        //= rfc8985-7.3-one-probe
        let segment = if self.flight.tlp.take_due() { self.probe_segment(now) } else { None };
        //= rfc8985-7.3-timeout-next
        if segment.is_some() {
            self.flight.start_timeout(now);
        } else {
            self.flight.rearm_timeout(now); // from where it would have counted
        }
        segment
    }

    fn probe_segment(&mut self, now: SimTime) -> Option<DataSegment> {
        if self.fq.is_some() {
            self.await_turn(now);
        }
        let available = self.next_len();
        //= rfc8985-7.3-new-data
        if available > 0 && available <= self.usable_window() {
            let segment = self.send_new(now, available);
            self.flight.tlp.on_probe(self.flight.board.high_data(), false);
            self.count_probe();
            return Some(segment);
        }
        let range = self.flight.board.last_unsacked()?;
        if self.is_at_host(now, range) {
            return None;
        }
        let now = self.pacer.departure(now);
        self.flight.board.on_probed(range, now);
        let segment = self.account(now, range, true);
        self.flight.tlp.on_probe(self.flight.board.high_data(), true);
        self.count_probe();
        Some(segment)
    }

    fn count_probe(&mut self) {
        self.flight.counters.probes += 1;
        self.flight.congestion.report(|_| Event::ProbeSent { kind: ProbeKind::TailLoss });
    }

    /// True if what is to be retransmitted still waits at the host: it leaves when its time has come.
    fn is_at_host(&mut self, now: SimTime, range: Range) -> bool {
        let waits = self.fq.as_ref().is_some_and(|fq| fq.holds(range));
        if waits {
            self.stop_at(now, Limit::Cwnd);
        }
        waits
    }

    fn retransmit(&mut self, now: SimTime, range: Range) -> DataSegment {
        let now = self.pacer.departure(now);
        let is_first = range.start <= self.flight.board.una();
        self.flight.board.on_retransmitted(range, now);
        self.flight.recovery.on_sent(self.flight.board.weight(range.len()));
        self.flight.recovery.undo_mut().on_retransmission(self.clock.tick(now));
        if self.flight.config.user_timeout_from == UserTimeoutFrom::Retransmission {
            self.flight.timer.stall_since(now);
        }
        let runs_for_other = self.flight.persist.is_running() || self.flight.timer.waits_for_reordering();
        if is_first && self.flight.rto.restarts_on_retransmission() && !runs_for_other {
            self.flight.start_timeout(now);
        }
        self.account(now, range, true)
    }

    /// Octets of the next new segment.
    pub(super) fn next_len(&self) -> u64 {
        self.queue.next_len(self.flight.board.high_data(), self.segment_size())
    }

    /// New data, if there is some and every window has room for it.
    fn next_new(&mut self, now: SimTime, allowed: u64) -> Option<DataSegment> {
        let available = self.next_len();
        if available == 0 {
            return self.stop(now, Limit::Application);
        }
        //= rfc3042-2-peers-window
        let window = self.usable_window();
        if window < available && !self.is_worth_sending(window) {
            self.flight.arm_persist(now);
            return self.stop(now, Limit::Window);
        }
        let len = available.min(window);
        let allowed = allowed + self.limited_transmit_allowance();
        if self.flight.board.weight(len) > allowed {
            return self.stop(now, Limit::Cwnd);
        }
        if self.is_held_back(len) {
            self.flight.arm_persist(now);
            return self.stop(now, Limit::Application);
        }
        if self.bursts.is_incomplete() {
            return Some(self.send_new(now, len));
        }
        if self.waits_for_pacer(now) {
            return None;
        }
        match self.keeps_burst(now, allowed, window, len) {
            Some(limit) => self.stop(now, limit),
            None if self.takes_refusal(now) => self.stop(now, Limit::DeviceQueue),
            None => Some(self.send_new(now, len)),
        }
    }

    /// Limit that keeps a burst from beginning now, though the windows have room for its first segment of `len` octets;
    /// no burst is in progress.
    #[inline]
    pub(super) fn keeps_burst(&mut self, now: SimTime, allowed: u64, window: u64, len: u64) -> Option<Limit> {
        if self.bursts.is_on() && !self.begins_burst(now, allowed, window) {
            return Some(if allowed < window { Limit::Cwnd } else { Limit::Window });
        }
        let waits = self.host_queue.is_some() && self.waits_for_host(now, self.bursts.room().max(len), 1);
        waits.then_some(Limit::HostQueue)
    }

    /// Without SACK, the first two duplicate ACKs each let a segment out (RFC 3042); with SACK, pipe sees to it, unless
    /// limited transmit is off.
    fn limited_transmit_allowance(&self) -> u64 {
        let dup_acks = self.flight.recovery.dup_acks();
        //= rfc3042-2-new-segments
        let counts_dup_acks = dup_acks > 0 && self.flight.recovery.method() != LossRecovery::Sack;
        if counts_dup_acks && self.flight.config.limited_transmit && self.flight.recovery.is_idle() {
            //= rfc3042-2-two-beyond
            let extended = self.flight.window() + u64::from(dup_acks.min(2)) * self.flight.mss();
            //= rfc3042-2-cwnd-stays
            extended.saturating_sub(self.flight.board.pipe().max(self.flight.window())) // zero once both have left
        } else {
            0
        }
    }

    /// A segment shorter than a full one may have to wait (Nagle); the FIN does not.
    fn is_held_back(&self, len: u64) -> bool {
        self.queue.holds_back(len, self.flight.board.una(), self.flight.board.high_data(), self.segment_size())
    }

    fn begins_burst(&mut self, now: SimTime, allowed: u64, peer_window: u64) -> bool {
        let opening = self.opening(allowed, peer_window);
        let may_wait = self.flight.recovery.phase().is_open();
        let begins = self.bursts.begin(now, &opening, may_wait);
        if begins {
            self.bound_burst(peer_window);
        }
        begins
    }

    /// The burst that begins has no more than may leave without waiting for more to be written (Nagle), or for the peer's window.
    fn bound_burst(&mut self, peer_window: u64) {
        let ready = self.queue.rest_of_record(self.flight.board.high_data()).min(peer_window);
        if ready <= self.bursts.room() {
            let partial = ready % self.segment_size();
            let waits = partial > 0 && self.is_held_back(partial);
            self.bursts.bound(if waits { ready - partial } else { ready });
        }
    }

    fn opening(&self, allowed: u64, peer_window: u64) -> Opening {
        let rtt = self.flight.rto.stats();
        Opening {
            allowed: allowed.min(peer_window),
            window: self.flight.window().min(self.peer.size()),
            unsent: self.queue.stream_end() - self.flight.board.high_data(),
            mss: self.segment_size(),
            first_sent: self.flight.board.first().map(|sent| sent.at),
            srtt: rtt.srtt,
            min_rtt: rtt.min_rtt,
            rate: self.pacing_rate(),
            paced_until: self.pacer.next(),
            rule: self.flight.congestion.controller.burst_rule(),
        }
    }

    pub(super) fn waits_for_pacer(&mut self, now: SimTime) -> bool {
        let waits = self.pacer.is_active() && !self.pacer.begin_burst(now);
        if waits {
            if self.fq.is_some() && self.flight.recovery.is_idle() && !self.flight.board.is_empty() {
                self.flight.answer_mark(now, &AckOutcome::default());
            }
            self.stop_at(now, Limit::Pacing);
            if self.flight.congestion.validation.is_on() {
                self.flight.account_for_use(now, Limit::Pacing);
            }
        }
        waits
    }

    /// True if enough data waits at the host that a burst of `burst` octets has to wait, too; retransmissions may have
    /// `times` as much waiting. One segment is always allowed, if nothing else is outstanding.
    fn waits_for_host(&mut self, now: SimTime, burst: u64, times: u64) -> bool {
        let fq = self.fq.as_ref().map(|fq| (fq.octets(), fq.next()));
        let Some(queue) = &mut self.host_queue else { return false };
        // Two bursts may wait whatever the rate is, which takes time to work out.
        if !queue.await_room_beside(now, fq, times * queue.limit(burst, Some(Bandwidth(0)))) {
            return false;
        }
        let rate = self.pacing_rate();
        let Some(queue) = &mut self.host_queue else { return false };
        let limit = times * queue.limit(burst, rate);
        let waits = queue.await_room_beside(now, fq, limit) && !self.flight.board.is_empty();
        if waits {
            self.stop_at(now, Limit::HostQueue);
        }
        waits
    }

    /// True if the host's device has no room; cwnd is then reduced, once for what is outstanding.
    fn takes_refusal(&mut self, now: SimTime) -> bool {
        let is_refused =
            self.device_queue.as_ref().is_some_and(|queue| queue.is_full(now)) && !self.flight.board.is_empty();
        if is_refused && self.flight.recovery.is_idle() {
            self.flight.answer_mark(now, &AckOutcome::default());
        }
        is_refused
    }

    /// Notes that `octets` of payload were handed to the host, and when they leave it.
    #[inline]
    pub(crate) fn on_handed_over(&mut self, now: SimTime, octets: u32, leaves_at: impl FnOnce() -> SimTime) {
        if self.host_queue.is_none() && self.device_queue.is_none() {
            return;
        }
        let leaves_at = leaves_at();
        if let Some(queue) = &mut self.device_queue {
            queue.on_sent(now, u64::from(octets) == self.flight.board.mss(), leaves_at);
        }
        if let Some(queue) = &mut self.host_queue {
            queue.on_sent(now, u64::from(octets), leaves_at);
        }
    }

    /// Notes that `octets` of payload were dropped at the host.
    pub(crate) fn on_refused(&mut self, now: SimTime, octets: u32) {
        if let Some(queue) = &mut self.host_queue {
            queue.on_refused(now, u64::from(octets));
        }
    }

    /// Notes that `octets` of payload have left the host.
    pub(crate) fn on_left(&mut self, now: SimTime, octets: u32) {
        if let Some(queue) = &mut self.host_queue {
            queue.on_left(now, u64::from(octets));
        }
    }

    /// Nothing new leaves for now.
    pub(super) fn stop(&mut self, now: SimTime, limit: Limit) -> Option<DataSegment> {
        self.stop_at(now, limit);
        if limit == Limit::Application && self.flight.config.app_limited_from == AppLimitedFrom::Idle {
            self.flight.congestion.feed.on_nothing_to_send(&self.flight.board, || {
                self.flight.recovery.window(self.flight.congestion.controller.cwnd().0)
            });
        }
        if self.bursts.is_on() {
            self.bursts.end();
        }
        if self.flight.congestion.validation.is_on() {
            self.flight.account_for_use(now, limit);
        }
        None
    }

    /// The application is about to write: less than a segment is left of what it wrote before, here and at the host.
    pub(super) fn note_idle_before_write(&mut self, now: SimTime) {
        let waits_at_host = self.host_queue.as_ref().is_some_and(|queue| !queue.is_empty(now))
            || self.fq.as_ref().is_some_and(|fq| fq.octets() > 0);
        if self.flight.congestion.feed.is_on() && self.unsent() < self.flight.mss() && !waits_at_host {
            self.flight.congestion.feed.on_nothing_to_send(&self.flight.board, || {
                self.flight.recovery.window(self.flight.congestion.controller.cwnd().0)
            });
        }
    }

    /// Notes that `octets` new octets leave. True if they are the last of a burst of several segments.
    #[inline]
    pub(super) fn note_burst(&mut self, now: SimTime, octets: u64) -> bool {
        if !self.bursts.is_on() {
            return false;
        }
        let place = self.bursts.on_sent(now, octets);
        if place == Place::Begins {
            self.flight.board.note_burst();
        }
        place == Place::Ends
    }

    fn send_new(&mut self, now: SimTime, len: u64) -> DataSegment {
        let now = self.pacer.departure(now);
        let start = self.flight.board.high_data();
        let was_empty = self.flight.board.is_empty();
        self.queue.on_new_sent(len, start + len, self.segment_size());
        self.flight.board.on_new_data(len, now);
        self.flight.recovery.on_sent(self.flight.board.weight(len));
        let ends_burst = self.note_burst(now, len);
        let segment = self.account(now, Range { start, end: start + len }, false);
        self.flight.on_sent_data(now, was_empty);
        if ends_burst { segment.pushed() } else { segment }
    }

    /// Octets for which the peer's window and the send buffer have room.
    pub(super) fn usable_window(&self) -> u64 {
        let high = self.flight.board.high_data();
        let peer = self.peer.end().saturating_sub(high); // a peer may shrink its window (RFC 9293 section 3.8.6)
        peer.min(self.queue.room_to_send(self.flight.board.una(), high))
    }

    /// RFC 9293 section 3.8.6.2.1: less than a segment only if it is half of the largest window ever seen. A burst that is under way may
    /// end with whatever the window has room for (Linux).
    fn is_worth_sending(&self, window: u64) -> bool {
        window > 0
            && (self.queue.overrides_silly_window()
                //= rfc9293-3.8.6.2.1-sender-silly-window
                || window >= self.peer.largest() / 2
                || (self.bursts.is_incomplete() && !self.is_held_back(window)))
    }

    /// Books a segment that leaves now.
    fn account(&mut self, now: SimTime, range: Range, is_retransmission: bool) -> DataSegment {
        let fin = self.queue.has_fin(range.end);
        let payload = range.len() - u64::from(fin);
        if payload > 0 {
            self.flight.counters.sent_segments += 1;
            self.flight.counters.sent_octets += payload;
            if is_retransmission {
                self.flight.counters.retransmitted_segments += 1;
                self.flight.counters.retransmitted_octets += payload;
            }
        }
        self.flight.congestion.feed.on_sent(now, range, &self.flight.board, is_retransmission);
        let idle_since = self.flight.idleness.idle_since.take();
        let idle_for = idle_since.map_or(SimDuration::ZERO, |since| now.saturating_since(since));
        self.flight.idleness.last_sent = now;
        self.flight.congestion.controller.on_send(&SendEvent {
            now,
            size: Bytes(payload),
            flight_size: Bytes(self.flight.board.flight_size()),
            idle_for,
            is_app_limited: idle_since.is_some() && self.flight.congestion.feed.is_app_limited(),
        });
        if self.pacer.is_active() {
            self.note_paced(now, payload);
        }
        //= rfc6298-5.1-start
        if self.flight.timer.is_off() {
            self.flight.rearm_timeout(now);
        }
        let (ecn, cwr) =
            //= rfc3168-6.1.5-retransmissions
            if is_retransmission || !self.flight.ecn.is_on() { (Ecn::NotEct, false) } else { self.flight.ecn.mark_new_data() };
        let mut flags = Flags::ACK;
        if fin {
            flags = flags.with(Flags::FIN);
        }
        //= rfc9293-3.9.1.2-push
        if payload > 0 && self.queue.is_pushed(range) {
            flags = flags.with(Flags::PSH);
        }
        if cwr {
            flags = flags.with(Flags::CWR);
        }
        let ack_ratio = self.ack_ratio_option(range, payload > 0, is_retransmission);
        if self.flight.congestion.log.is_some() {
            self.flight.report_sent(range, payload, is_retransmission);
        }
        DataSegment { start: range.start, payload: payload as u32, flags, ecn, ack_ratio }
    }

    /// The timer of a closed window has fired. Returns true if a probe is to be sent.
    pub(super) fn on_persist_timer(&mut self, now: SimTime) -> bool {
        //= rfc9293-3.8.6.1-probe-closed-window
        let interval = self.flight.persist.on_expiry(self.flight.rto.rto());
        let window = self.usable_window();
        if window == 0 {
            return self.flight.probe_closed_window(now, interval);
        }
        //= rfc9293-3.8.6.2.1-override-timeout
        self.queue.override_silly_window(self.flight.board.high_data() + self.next_len().min(window));
        self.flight.timer.start(now + interval); // the pacer or the host may hold back what fits
        false
    }

    /// The peer answers a probe of its closed window.
    pub(super) fn on_window_update(&mut self, now: SimTime) {
        if self.peer.size() > 0 {
            self.flight.persist.stop();
            self.flight.timer.end_stall();
            self.flight.timer.stop();
            if !self.flight.board.is_empty() {
                self.flight.rearm_timeout(now);
            }
            self.flight.restart_after_idle(now);
        } else if self.flight.board.is_empty()
            && self.flight.config.zero_window_probe_from == ZeroWindowProbeFrom::Answer
        {
            self.flight.on_probe_answered(now);
        }
    }
}
