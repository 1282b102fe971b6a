//! What may be sent now, and sending it.

use ackclock_cc::{CongestionController, RestartCause, RestartEvent, SendEvent};
use ackclock_units::{Bytes, SimDuration, SimTime};
use ackclock_wire::{Ecn, Flags};

use super::Sender;
use crate::autotuning::grown_send_buffer;
use crate::bursts::Opening;
use crate::config::{IdleRestart, LossRecovery, UserTimeoutFrom, ZeroWindowProbeFrom};
use crate::ranges::Range;
use crate::recovery::{Frto, LossPhase, Phase};
use crate::usage::{WindowInUse, restart_window};

/// A segment to send, in offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataSegment {
    pub(crate) start: u64,
    /// Payload octets.
    pub(crate) payload: u32,
    /// ACK, and FIN, PSH, CWR where they belong.
    pub(crate) flags: Flags,
    pub(crate) ecn: Ecn,
    /// The ACK Ratio option, zero for none.
    pub(crate) ack_ratio: u8,
}

/// Why nothing more could be sent.
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
}

impl Sender {
    /// The next segment that may leave now, already accounted for. Call until it gives none.
    pub(crate) fn next_segment(&mut self, now: SimTime) -> Option<DataSegment> {
        if self.wants_probe {
            return self.send_probe(now);
        }
        //= rfc6675-5-pipe-bounds-sending
        let allowed = self.window().saturating_sub(self.board.pipe());
        if self.phase.is_open() {
            return self.next_new(now, allowed);
        }
        if !self.sends_new_first()
            && let Some(range) = self.board.next_lost()
        {
            return self.next_retransmission(now, range, allowed);
        }
        //= rfc6675-4-next-seg-2
        if let Some(segment) = self.next_new(now, allowed) {
            return Some(segment);
        }
        if self.sends_new_first() {
            self.stop_sending_new_first();
            if self.high_data_is_beyond_recovery() {
                return None;
            }
            return self.next_segment(now);
        }
        self.next_speculative(now, allowed)
    }

    /// F-RTO's step 2b.
    fn sends_new_first(&self) -> bool {
        matches!(self.phase, Phase::Loss(LossPhase { frto: Frto::SendsNew, .. }))
    }

    fn high_data_is_beyond_recovery(&self) -> bool {
        self.phase.ends_at().is_some_and(|end| self.board.high_data() > end)
    }

    /// New data has gone, or could not: what was lost comes next, after the next ACK if there is new data out.
    fn stop_sending_new_first(&mut self) {
        let beyond = self.high_data_is_beyond_recovery();
        if let Phase::Loss(loss) = &mut self.phase {
            loss.frto = if beyond { Frto::Watching } else { Frto::Off };
        }
    }

    fn next_retransmission(&mut self, now: SimTime, range: Range, allowed: u64) -> Option<DataSegment> {
        if !self.may_retransmit(range, allowed) {
            self.limited_by = Limit::Cwnd;
            return None;
        }
        if self.waits_for_pacer(now) {
            return None;
        }
        Some(self.retransmit(now, range))
    }

    fn may_retransmit(&self, range: Range, allowed: u64) -> bool {
        //= rfc5681-3.2-retransmission-at-once
        // The retransmission that opens a recovery leaves whatever the window says (RFC 5681 section 3.2 step 3,
        // RFC 6675 section 5 step 4.3); PRR makes room for it by itself.
        self.board.weight(range.len()) <= allowed || (self.board.resent() == 0 && !self.uses_prr())
    }

    fn uses_prr(&self) -> bool {
        self.config.prr && self.loss_recovery == LossRecovery::Sack && self.phase.is_fast_recovery()
    }

    /// RFC 6675 `NextSeg` rules 3 and 4: when there is no new data, holes not yet known to be lost, then once the tail.
    /// RACK and its probes take their place.
    fn next_speculative(&mut self, now: SimTime, allowed: u64) -> Option<DataSegment> {
        let Phase::Fast(recovery) = &mut self.phase else { return None };
        let is_sack = self.loss_recovery == LossRecovery::Sack && self.rack.is_none() && !self.emulates_sack;
        if !is_sack || self.limited_by == Limit::Cwnd || allowed < self.mss {
            return None;
        }
        if let Some(range) = self.board.next_hole() {
            return Some(self.retransmit(now, range));
        }
        if recovery.rescued {
            return None;
        }
        recovery.rescued = true;
        let tail = self.board.last_unsacked()?;
        Some(self.retransmit(now, tail))
    }

    /// RFC 8985 section 7.3: new data if there is some, else the last segment once more.
    fn send_probe(&mut self, now: SimTime) -> Option<DataSegment> {
        self.wants_probe = false;
        //= rfc8985-7.3-one-probe
        let segment = if self.tlp.is_out() { None } else { self.probe_segment(now) };
        //= rfc8985-7.3-timeout-next
        self.timer = super::Timer::OFF;
        self.rearm_timeout(now);
        segment
    }

    fn probe_segment(&mut self, now: SimTime) -> Option<DataSegment> {
        let available = self.available();
        //= rfc8985-7.3-new-data
        if available > 0 && available <= self.usable_window() {
            let segment = self.send_new(now, available);
            self.tlp.on_probe(self.board.high_data(), false);
            self.counters.probes += 1;
            return Some(segment);
        }
        let range = self.board.last()?.range();
        let segment = self.retransmit(now, range);
        self.tlp.on_probe(self.board.high_data(), true);
        self.counters.probes += 1;
        Some(segment)
    }

    fn retransmit(&mut self, now: SimTime, range: Range) -> DataSegment {
        let is_first = range.start <= self.board.una();
        self.board.on_retransmitted(range, now);
        self.undo.on_retransmission(self.clock.tick(now));
        if self.config.user_timeout_from == UserTimeoutFrom::Retransmission {
            self.stalled_since.get_or_insert(now);
        }
        if is_first && self.rto.restarts_on_retransmission() && self.probes == 0 {
            self.timer = super::Timer::OFF;
            self.rearm_timeout(now);
        }
        self.account(now, range, true)
    }

    /// Octets of the next new segment.
    pub(super) fn available(&self) -> u64 {
        let high = self.board.high_data();
        let payload = self.written_end.saturating_sub(high);
        //= rfc9293-3.6-close-after-data
        // The FIN rides on the last segment, full or not.
        if payload <= self.mss { self.stream_end().saturating_sub(high) } else { self.mss }
    }

    /// New data, if there is some and every window has room for it.
    fn next_new(&mut self, now: SimTime, allowed: u64) -> Option<DataSegment> {
        let available = self.available();
        if available == 0 {
            return self.stop(now, Limit::Application);
        }
        //= rfc3042-2-peers-window
        let window = self.usable_window();
        if window < available && !self.is_worth_sending(now, window) {
            self.arm_persist(now);
            return self.stop(now, Limit::Window);
        }
        let len = available.min(window);
        let allowed = allowed + self.limited_transmit_allowance();
        if self.board.weight(len) > allowed {
            return self.stop(now, Limit::Cwnd);
        }
        if self.is_held_back(len) {
            self.arm_persist(now);
            return self.stop(now, Limit::Application);
        }
        if !self.bursts.is_incomplete() && self.waits_for_pacer(now) {
            return None;
        }
        if self.bursts.is_on() && !self.phase.is_reducing() && !self.burst_is_due(now, allowed, window) {
            return self.stop(now, if allowed < window { Limit::Cwnd } else { Limit::Window });
        }
        self.send_small = false;
        Some(self.send_new(now, len))
    }

    /// Without SACK, the first two duplicate ACKs each let a segment out (RFC 3042); with SACK, pipe sees to it, unless
    /// limited transmit is off.
    fn limited_transmit_allowance(&self) -> u64 {
        //= rfc3042-2-new-segments
        let counts_dup_acks = self.dup_acks > 0 && self.loss_recovery != LossRecovery::Sack;
        if counts_dup_acks && self.config.limited_transmit && matches!(self.phase, Phase::Open) {
            //= rfc3042-2-two-beyond
            let extended = self.window() + u64::from(self.dup_acks.min(2)) * self.mss;
            //= rfc3042-2-cwnd-stays
            extended.saturating_sub(self.board.pipe().max(self.window()))
        } else {
            0
        }
    }

    /// A segment shorter than a full one may have to wait (Nagle); the FIN does not.
    fn is_held_back(&self, len: u64) -> bool {
        let end = self.board.high_data() + len;
        let has_fin = end > self.written_end;
        len < self.mss
            && !has_fin
            && !self.send_small
            && self.small.holds(end, self.board.una(), self.board.high_data())
    }

    fn burst_is_due(&mut self, now: SimTime, allowed: u64, peer_window: u64) -> bool {
        let cwnd = self.window();
        let rtt = self.rto.stats();
        let opening = Opening {
            allowed: allowed.min(peer_window),
            window: cwnd.min(self.peer.size()),
            unsent: self.stream_end() - self.board.high_data(),
            mss: self.mss,
            first_sent: self.board.first().map(|sent| sent.at),
            srtt: rtt.srtt,
            min_rtt: rtt.min_rtt,
            rate: self.pacing_rate(),
        };
        self.bursts.is_due(now, &opening)
    }

    fn waits_for_pacer(&mut self, now: SimTime) -> bool {
        let waits = self.is_paced && !self.pacer.is_open(now);
        if waits {
            self.limited_by = Limit::Pacing;
            if self.usage.is_on() && self.last_sent == now {
                self.account_for_use(now, Limit::Pacing);
            }
        }
        waits
    }

    /// Nothing new leaves for now.
    fn stop(&mut self, now: SimTime, limit: Limit) -> Option<DataSegment> {
        self.limited_by = limit;
        if limit == Limit::Application {
            self.note_application_limit();
        }
        if self.bursts.is_on() {
            self.bursts.end();
        }
        if self.usage.is_on() {
            self.account_for_use(now, limit);
        }
        None
    }

    /// How much of the window is in use, now that nothing more leaves.
    fn account_for_use(&mut self, now: SimTime, limit: Limit) {
        let flight = self.board.flight_size();
        let is_limited = limit == Limit::Cwnd || self.board.pipe() >= self.window();
        self.usage.on_sent_all(is_limited, flight, self.board.una(), self.board.high_data());
        let state = WindowInUse {
            cwnd: self.cwnd(),
            initial: self.initial_window(),
            flight,
            rto: self.rto.rto(),
            in_slow_start: self.in_slow_start(),
        };
        if limit == Limit::Application
            && matches!(self.phase, Phase::Open)
            && self.last_sent == now
            && let Some(cwnd) = self.usage.decay(now, state)
        {
            self.shrink_unused(now, RestartCause::Unused, cwnd);
        }
    }

    fn initial_window(&self) -> u64 {
        self.initial_window.0
    }

    /// RFC 5681 section 4.1, RFC 2861: the first write after an idle time.
    pub(super) fn restart_after_idle(&mut self, now: SimTime) {
        if !self.board.is_empty() {
            return;
        }
        let idle = now.saturating_since(self.last_sent);
        let window = restart_window(self.config.idle_restart, idle, self.rto.rto(), self.cwnd(), self.initial_window());
        if let Some(cwnd) = window {
            self.shrink_unused(now, RestartCause::Idle, cwnd / self.mss * self.mss);
            self.usage.restart(now);
        }
        self.controller.set_cwnd(Bytes(cwnd / self.mss * self.mss));
        self.usage.restart(now);
    }

    /// A window that was not used shrinks, and remembers in ssthresh three quarters of what it was (RFC 2861).
    fn shrink_unused(&mut self, now: SimTime, cause: RestartCause, cwnd: u64) {
        let three_quarters = Bytes(self.cwnd() / self.mss * 3 / 4 * self.mss);
        let ssthresh = self.controller.ssthresh().map_or(three_quarters, |ssthresh| ssthresh.max(three_quarters));
        self.controller.on_restart(&RestartEvent { now, cause, window: Bytes(cwnd), ssthresh: Some(ssthresh) });
    }

    /// The window starts over, and ssthresh stays.
    pub(super) fn restart_window(&mut self, now: SimTime, cause: RestartCause, cwnd: u64) {
        self.controller.on_restart(&RestartEvent { now, cause, window: Bytes(cwnd), ssthresh: None });
    }

    fn send_new(&mut self, now: SimTime, len: u64) -> DataSegment {
        let start = self.board.high_data();
        let was_empty = self.board.is_empty();
        if len < self.mss {
            self.small.on_small_sent(start + len);
        }
        self.board.on_new_data(len, now);
        if self.bursts.is_on() {
            self.bursts.on_sent(now, len);
        }
        let segment = self.account(now, Range { start, end: start + len }, false);
        self.on_sent_data(now, was_empty);
        if self.tlp.is_enabled() {
            self.schedule_probe(now, self.timeout_from(now));
        }
        segment
    }

    /// What the peer's window and the send buffer leave.
    pub(super) fn usable_window(&self) -> u64 {
        let high = self.board.high_data();
        let peer = self.peer.end().saturating_sub(high);
        let buffer = (self.board.una() + self.send_buffer).saturating_sub(high);
        peer.min(buffer)
    }

    /// After an ACK: the send buffer follows the window, upwards.
    pub(super) fn tune_send_buffer(&mut self) {
        if let Some(tuning) = self.config.send_autotuning.filter(|_| self.tunes_send_buffer) {
            self.send_buffer = grown_send_buffer(self.send_buffer, tuning, self.cwnd());
        }
    }

    /// RFC 9293 section 3.8.6.2.1: less than a segment only if it is half of the largest window ever seen. A burst may
    /// end with whatever the window has room for.
    fn is_worth_sending(&self, now: SimTime, window: u64) -> bool {
        window > 0
            && (self.send_small
                //= rfc9293-3.8.6.2.1-sender-silly-window
                || window >= self.peer.largest() / 2
                || (self.bursts.is_under_way(now) && !self.is_held_back(window)))
    }

    /// Books a segment that leaves now.
    fn account(&mut self, now: SimTime, range: Range, is_retransmission: bool) -> DataSegment {
        let fin = range.end > self.written_end;
        let payload = range.len() - u64::from(fin);
        if payload > 0 {
            self.counters.sent_segments += 1;
            self.counters.sent_octets += payload;
            if is_retransmission {
                self.counters.retransmitted_segments += 1;
                self.counters.retransmitted_octets += payload;
            }
        }
        if self.phase.is_reducing() {
            self.phase.on_sent(self.board.weight(range.len()));
        }
        self.note_rate_of(now, range, is_retransmission);
        let idle_for = self.idle_since.take().map_or(SimDuration::ZERO, |since| now.saturating_since(since));
        self.last_sent = now;
        self.controller.on_send(&SendEvent {
            now,
            size: Bytes(payload),
            flight_size: Bytes(self.board.flight_size()),
            idle_for,
        });
        if self.is_paced {
            let rate = self.pacing_rate();
            self.pacer.on_sent(now, payload, rate);
        }
        //= rfc6298-5.1-start
        if self.timer.is_off() {
            self.rearm_timeout(now);
        }
        let (ecn, cwr) =
            //= rfc3168-6.1.5-retransmissions
            if is_retransmission || !self.ecn.is_on() { (Ecn::NotEct, false) } else { self.ecn.mark_new_data() };
        let mut flags = Flags::ACK;
        if fin {
            flags = flags.with(Flags::FIN);
        }
        //= rfc9293-3.9.1.2-push
        if payload > 0 && self.is_pushed(range) {
            flags = flags.with(Flags::PSH);
        }
        if cwr {
            flags = flags.with(Flags::CWR);
        }
        let ack_ratio = self.ack_ratio_option(range, payload > 0, is_retransmission);
        DataSegment { start: range.start, payload: payload as u32, flags, ecn, ack_ratio }
    }

    /// A write ends in this segment.
    fn is_pushed(&self, range: Range) -> bool {
        let next = self.pushes.partition_point(|end| *end <= range.start);
        self.pushes.get(next).is_some_and(|end| *end <= range.end)
    }

    pub(super) fn forget_pushes(&mut self, una: u64) {
        while self.pushes.front().is_some_and(|end| *end <= una) {
            self.pushes.pop_front();
        }
    }

    /// The peer's window opened: no more probes of a closed one.
    pub(super) fn on_window_update(&mut self, now: SimTime) {
        if self.peer.size() > 0 {
            self.probes = 0;
            self.stalled_since = None;
            self.timer = super::Timer::OFF;
            if !self.board.is_empty() {
                self.rearm_timeout(now);
            }
        } else if self.board.is_empty() && self.config.zero_window_probe_from == ZeroWindowProbeFrom::Answer {
            self.on_probe_answered(now);
        }
    }

    /// Nothing is outstanding and the peer's window is closed: probe it (RFC 9293 section 3.8.6.1).
    fn arm_persist(&mut self, now: SimTime) {
        if self.board.is_empty() && self.timer.is_off() {
            self.probes = 1;
            self.timer = super::Timer::retransmission(now + self.rto.rto());
        }
    }
}
