//! An ACK arrives: what it says of the segments sent, of the round trip, and to the controller.

mod fast_path;

use std::sync::Arc;

use ackclock_cc::{CongestionController, Controller, EchoEvent, SegmentTimestamps};
use ackclock_units::{Bytes, SimDuration, SimTime};
use ackclock_wire::Flags;

use super::congestion::Congestion;
use super::flight::Flight;
use crate::clock::{TimestampClock, is_before};
use crate::config::TcpConfig;
use crate::controller_feed::ControllerFeed;
use crate::ecn::EcnEcho;
use crate::rack::Rack;
use crate::rounds::Rounds;
use crate::scoreboard::{Scale, Scoreboard, SendTimes, Sent};
use crate::tlp::{ProbeAck, ProbeOutcome};

/// The acknowledging part of a segment, in offsets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IncomingAck<'a> {
    /// Offset acknowledged cumulatively.
    pub(crate) ack: u64,
    /// Advertised window, after scaling.
    pub(crate) window: u64,
    /// Position of the segment itself in the peer's stream, for SND.WL1.
    pub(crate) seq: u64,
    /// The segment carries payload, SYN or FIN, so it is no duplicate ACK.
    pub(crate) occupies: bool,
    pub(crate) flags: Flags,
    pub(crate) sack: &'a SackReport,
    pub(crate) timestamps: Option<SegmentTimestamps>,
    /// It changes the size of the peer's window; the sender fills this in, and the next field.
    pub(crate) window_changed: bool,
    /// End of the data that is written and that the peer's window has room for.
    pub(crate) sendable_end: u64,
}

impl IncomingAck<'_> {
    pub(super) fn echoed_tick(&self) -> Option<u32> {
        self.timestamps.map(|timestamps| timestamps.tsecr)
    }
}

/// SACK option of an ACK, in offsets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SackReport {
    blocks: [(u64, u64); 4],
    count: usize,
    /// The ACK has a report, whether it is made use of or not.
    pub(crate) is_there: bool,
    /// A duplicate that the receiver reports, `[start, end)` (RFC 2883).
    pub(crate) dsack: Option<(u64, u64)>,
}

impl SackReport {
    /// Appends `[start, end)`; there are at most four.
    pub(crate) fn push(&mut self, start: u64, end: u64) {
        self.blocks[self.count] = (start, end);
        self.count += 1;
    }

    /// Blocks, `[start, end)`, those that only repeat the last ACK left out.
    pub(super) fn blocks(&self) -> &[(u64, u64)] {
        &self.blocks[..self.count]
    }

    /// Blocks of the report, and empty ones behind them.
    pub(super) fn padded(&self) -> [(u64, u64); 4] {
        self.blocks
    }

    /// True if there is nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0 && self.dsack.is_none()
    }
}

/// Effect of an ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckOutcome {
    pub(super) prior_una: u64,
    pub(super) prior_flight_size: u64,
    pub(super) prior_pipe: u64,
    pub(super) prior_sacked: u64,
    pub(super) delivered: u64,
    pub(super) newly_sacked: u64,
    pub(super) newly_lost: u64,
    pub(super) advanced: bool,
    pub(super) is_duplicate: bool,
    /// It arrived during fast recovery or the answer to a mark.
    pub(super) was_reducing: bool,
    /// Nothing was being repaired, SACKed or duplicated before.
    pub(super) was_in_order: bool,
    /// Bound on sending at that time, if not cwnd.
    pub(super) reduced_window: Option<u64>,
    /// Packets that the network marked, or 1 for the classic echo.
    pub(super) marked: u64,
    /// Segments never retransmitted, of before the recovery point, are among the delivered.
    pub(super) original_arrived: bool,
    /// A retransmission that was thought to be in the network is lost.
    pub(super) lost_retransmission: Option<SimTime>,
    /// It undid a recovery that would have gone on; marks on it are then not answered, and what duplicate ACKs stood for is not forgotten
    /// (Linux).
    pub(super) undid_recovery: bool,
    /// The timer starts anew.
    pub(super) restarts_timer: bool,
}

/// Send times of what an ACK delivered.
#[derive(Clone, Copy, Debug, Default)]
struct Timing {
    /// Departure times of segments acknowledged cumulatively and not SACKed before.
    acked: SendTimes,
    /// Departure times of segments newly SACKed and never retransmitted.
    sacked: SendTimes,
    /// The lowest segment delivered after one sent later.
    lowest_late: Option<u64>,
}

/// Observers of each segment that an ACK delivers: loss detection by time, and the controller if it requests that.
pub(super) struct Observers<'a> {
    rack: Option<&'a mut Rack>,
    feed: &'a mut ControllerFeed,
    controller: &'a mut Controller,
    clock: &'a mut TimestampClock,
    scale: Scale,
    min_rtt: SimDuration,
    now: SimTime,
}

impl Observers<'_> {
    /// Reports a delivered segment; `echoed` is the timestamp of the ACK, if it may prove that an original was
    /// delivered and no retransmission.
    #[inline]
    pub(super) fn on_delivered(&mut self, sent: &Sent, echoed: Option<u32>) {
        let answers_original = sent.was_retransmitted() && self.answers_original(sent, echoed);
        if let Some(rack) = &mut self.rack {
            rack.on_delivered(sent, self.now, self.min_rtt, answers_original);
        }
        if let Some(report) = self.feed.on_delivered(sent.range(), self.scale, self.now) {
            self.controller.on_delivered(&report);
        }
    }

    /// The ACK that delivers a retransmission echoes a timestamp of before it left.
    #[inline(never)] // few are
    fn answers_original(&mut self, sent: &Sent, echoed: Option<u32>) -> bool {
        echoed.is_some_and(|echo| is_before(echo, self.clock.tick(sent.at)))
    }
}

/// Scoreboard, round-trip samples and loss recovery, as ACKs move them.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct AckProcessor {
    /// True if no mechanism inspects every ACK, so that plain ACKs take the fast path.
    pub(super) has_fast_path: bool,
    pub(super) rounds: Rounds,
    pub(super) flight: Flight,
}

impl AckProcessor {
    pub(super) fn new(config: &Arc<TcpConfig>) -> Self {
        Self { has_fast_path: false, rounds: Rounds::default(), flight: Flight::new(config) }
    }

    /// Takes in an acceptable ACK: `snd_una <= ack <= snd_max`. What the controller and the timer make of the outcome comes after.
    pub(super) fn on_ack(&mut self, now: SimTime, ack: &IncomingAck<'_>) -> AckOutcome {
        if self.takes_fast_path(ack) { self.on_plain_ack(now, ack) } else { self.on_slow_path_ack(now, ack) }
    }

    #[inline(never)] // the code of plain ACKs lies together, and that is what caches hold
    fn on_slow_path_ack(&mut self, now: SimTime, ack: &IncomingAck<'_>) -> AckOutcome {
        let outcome = if let Some(sacked_to) = self.takes_sack_fast_path(ack) {
            self.on_lengthened_sack(now, ack, sacked_to)
        } else {
            let mut outcome = self.update_scoreboard(now, ack);
            self.on_probe_ack(now, ack, &outcome);
            self.flight.recover(now, ack, &mut outcome);
            outcome
        };
        if outcome.marked > 0 {
            self.flight.congestion.episodes.on_marked(outcome.marked, self.flight.ecn.counts_marks());
        }
        self.flight.congestion.report_lost(now, &mut self.flight.board);
        outcome
    }

    fn update_scoreboard(&mut self, now: SimTime, ack: &IncomingAck<'_>) -> AckOutcome {
        let (prior_flight_size, prior_pipe) = (self.flight.board.flight_size(), self.flight.board.pipe());
        let prior_sacked = self.flight.board.sacked();
        let una = self.flight.board.una();
        let advanced = ack.ack > una;
        let recovery = &self.flight.recovery;
        let was_reducing = recovery.phase().is_reducing();
        let was_in_order = recovery.phase().is_open() && recovery.dup_acks() == 0 && prior_sacked == 0;
        let reduced_window = self.flight.recovery.phase().reduced_window();
        let mut timing = Timing::default();
        let needless = ack.sack.dsack.map_or(0, |duplicate| self.flight.board.retransmissions_in(duplicate));
        let (newly_sacked, acked, original_arrived) = self.mark_delivered(now, ack, &mut timing);
        let mut delivered = newly_sacked + acked;
        if advanced && self.flight.recovery.emulates_sack() {
            delivered = self.settle_presumed(acked);
        }
        if advanced {
            self.flight.timer.on_progress();
            self.flight.rto.on_new_ack();
        }
        if let Some(duplicate) = ack.sack.dsack {
            delivered += self.on_dsack(now, duplicate, needless);
        }
        //= rfc7323-4.1-advancing-only
        self.sample_rtt(now, ack.echoed_tick().filter(|_| advanced), &timing.acked, Some(&timing.sacked));
        if let Some(lowest) = timing.lowest_late {
            self.flight.adapt_to_reordering(lowest);
        }
        let new_round = advanced && self.rounds.on_ack(ack.ack, self.flight.board.high_data());
        self.count_delivered(now, delivered, new_round, newly_sacked + acked > 0);
        let reported = if self.flight.ecn.is_on() { self.marked_of(ack.flags, delivered) } else { 0 };
        // With nothing outstanding, the ACK of the last segment has reported every mark already; a duplicate that is reported asks again (Linux).
        let marked = if prior_flight_size > 0 || ack.sack.dsack.is_some() { reported } else { 0 };
        self.report_echo(delivered, marked);
        self.flight.counters.delivered_ce += (marked * self.flight.board.mss()).min(delivered);
        let is_duplicate = prior_flight_size > 0 && !advanced && self.is_duplicate(ack, newly_sacked);
        self.flight.recovery.count_duplicate(is_duplicate, advanced, prior_flight_size);
        if advanced && newly_sacked > 0 {
            self.flight.recovery.begin_duplicates();
        }
        AckOutcome {
            prior_una: una,
            prior_flight_size,
            prior_pipe,
            prior_sacked,
            delivered,
            newly_sacked,
            newly_lost: 0,
            advanced,
            is_duplicate,
            was_reducing,
            was_in_order,
            reduced_window,
            marked,
            original_arrived,
            lost_retransmission: None,
            undid_recovery: false,
            //= rfc6298-5.3-restart
            restarts_timer: advanced || self.sack_restarts_timer(timing.sacked.oldest),
        }
    }

    /// The timer starts anew for a SACK, too, if what that reports left before the first segment last did.
    fn sack_restarts_timer(&self, oldest_sacked: Option<SimTime>) -> bool {
        self.flight.rto.restarts_on_sack()
            && oldest_sacked.zip(self.flight.first_sent()).is_some_and(|(sacked, first)| sacked < first)
    }

    /// Updates the counters that depend on round trips; `is_sample` if segments were delivered that RACK has not seen before.
    fn count_delivered(&mut self, now: SimTime, delivered: u64, new_round: bool, is_sample: bool) {
        if is_sample && let Some(rack) = self.flight.recovery.rack_mut() {
            rack.adapt(now);
        }
        if self.flight.congestion.validation.is_on() {
            self.flight.congestion.validation.on_acked(delivered, new_round);
        }
        self.flight.counters.delivered += delivered;
    }

    /// Marks what the ACK delivers. Returns what it SACKs and what it acknowledges, and whether segments never sent
    /// again are among them that were sent before the recovery point.
    fn mark_delivered(&mut self, now: SimTime, ack: &IncomingAck<'_>, timing: &mut Timing) -> (u64, u64, bool) {
        let prior_high = self.flight.board.high_sacked();
        let recovery_point = self.flight.recovery.phase().ends_at();
        let echoed = self.echo_of_retransmission(ack);
        let (board, mut observers) = self.board_and_observers(now);
        let mut original_arrived = false;
        let mut deliver = |sent: &Sent, timing: &mut Timing, echoed: Option<u32>| {
            observers.on_delivered(sent, echoed);
            if !sent.was_retransmitted() {
                original_arrived |= recovery_point.is_some_and(|point| sent.end <= point);
                if prior_high.is_some_and(|high| sent.start() < high) {
                    let lowest = timing.lowest_late.unwrap_or(u64::MAX).min(sent.start());
                    timing.lowest_late = Some(lowest);
                }
            }
        };
        let mut newly_sacked = 0;
        for &(start, end) in ack.sack.blocks() {
            newly_sacked += board.sack(start, end, &mut |sent| {
                deliver(sent, timing, None);
                if !sent.was_retransmitted() {
                    timing.sacked.note(sent);
                }
            });
        }
        let mut acked = 0;
        if ack.ack > board.una() {
            acked = board.acknowledge(ack.ack, |sent| {
                if sent.is_sacked() {
                    return;
                }
                deliver(sent, timing, echoed);
                timing.acked.note(sent);
            });
        }
        // Without SACK, an original that is acknowledged beside a retransmission may have waited for it (RFC 5682 section 2.1).
        original_arrived &= self.flight.recovery.has_sack() || timing.acked.retransmitted.is_none();
        (newly_sacked, acked, original_arrived)
    }

    /// True if no observer needs each delivered segment.
    #[inline]
    fn has_no_observers(&self) -> bool {
        !self.flight.recovery.has_rack() && !self.flight.congestion.feed.is_on()
    }

    /// The scoreboard, and the observers of the segments that an ACK at `now` delivers.
    #[inline]
    fn board_and_observers(&mut self, now: SimTime) -> (&mut Scoreboard, Observers<'_>) {
        let min_rtt = self.flight.rto.stats().min_rtt;
        let Flight { board, recovery, congestion: Congestion { feed, controller, .. }, clock, .. } = &mut self.flight;
        let scale = board.scale();
        (board, Observers { rack: recovery.rack_mut(), feed, controller, clock, scale, min_rtt, now })
    }

    /// The timestamp that an ACK echoes, where RACK asks it of retransmissions: RFC 8985 section 6.2, step 2, first condition.
    fn echo_of_retransmission(&self, ack: &IncomingAck<'_>) -> Option<u32> {
        let asks = self.flight.recovery.has_rack() && self.flight.config.rack_timestamp_check;
        ack.echoed_tick().filter(|echo| *echo != 0 && asks)
    }

    /// Settles an ACK without SACK: one segment fills the hole and the rest had been presumed delivered. Returns what
    /// it delivers beyond that.
    fn settle_presumed(&mut self, acked: u64) -> u64 {
        let mss = self.flight.board.mss();
        // More may have been presumed than this ACK covers, and it may cover less than a segment.
        let delivered = acked.saturating_sub(self.flight.board.sacked()).max(mss.min(acked));
        if self.flight.board.unpresume(acked.saturating_sub(mss)) {
            self.flight.take_for_reordered(acked);
        }
        self.flight.congestion.feed.uncount(acked - delivered);
        delivered
    }

    /// Takes in a reported duplicate with `needless` retransmissions in it. Returns the octets of it that count as
    /// delivered.
    fn on_dsack(&mut self, now: SimTime, (start, end): (u64, u64), needless: u32) -> u64 {
        let segments = (end - start).div_ceil(self.flight.board.mss());
        self.flight.counters.dsacks += segments;
        // The receiver has reported more duplicates than were retransmitted: they are the network's (RFC 3708 section 3).
        if self.flight.counters.dsacks > self.flight.counters.retransmitted_segments {
            return 0;
        }
        self.flight.recovery.on_dsack(end, needless, self.flight.tlp.is_retransmission_of(end));
        if !self.flight.config.dsack_delivers {
            return 0;
        }
        let delivered = self.flight.board.scale().weight_of(end - start, segments);
        self.flight.congestion.feed.count(now, delivered);
        delivered
    }

    /// Takes an RTT sample of what the ACK delivers, or of the timestamp that it echoes. By Karn's rule, retransmitted segments
    /// give none (RFC 6298 section 3), unless their timestamp does (RFC 7323 section 4.1).
    fn sample_rtt(&mut self, now: SimTime, echo: Option<u32>, acked: &SendTimes, sacked: Option<&SendTimes>) {
        let sacked = sacked.filter(|_| self.flight.rto.samples_sacks());
        let (oldest, karn) = (self.flight.rto.samples_oldest(), self.flight.rto.karn());
        let own = acked.sample(oldest, karn).or_else(|| sacked?.sample(oldest, karn));
        let sent_at = own.or_else(|| Some(self.flight.clock.time_of(echo.filter(|echo| *echo != 0)?, now)));
        //= rfc6298-3-one-a-round-trip
        if let Some(sent_at) = sent_at {
            let newest = own.and(sacked.and_then(|sacked| sacked.newest).or(acked.newest));
            self.flight.take_sample(now, sent_at, newest);
        }
    }

    /// Number of newly delivered segments that were marked, by an ACK with these flags.
    fn marked_of(&mut self, flags: Flags, delivered: u64) -> u64 {
        let mss = self.flight.board.mss();
        self.flight.ecn.on_ack(&EcnEcho { flags, segments: delivered.div_ceil(mss), mss })
    }

    /// RFC 5681 section 2, definition of a duplicate ACK, of one that comes while data is outstanding and does not advance;
    /// RFC 6675 counts those with new SACK information.
    fn is_duplicate(&self, ack: &IncomingAck<'_>, newly_sacked: u64) -> bool {
        if self.flight.recovery.has_sack() {
            //= rfc3042-2-new-information
            newly_sacked > 0
        } else {
            //= rfc5681-2-duplicate-ack
            // Who reports ranges may open its window meanwhile, as Linux does: the report says why the ACK came.
            let is_answer = !ack.window_changed || ack.sack.is_there;
            !ack.occupies && is_answer && ack.ack == self.flight.board.una()
        }
    }

    /// Takes in an ACK that reports no mark ([`EcnSender::is_silent`]); its delivery is counted all the same.
    ///
    /// [`EcnSender::is_silent`]: crate::ecn::EcnSender::is_silent
    #[inline]
    pub(super) fn take_silence(&mut self, flags: Flags, delivered: u64) {
        if self.flight.ecn.is_on() {
            let marked = self.marked_of(flags, delivered);
            debug_assert_eq!(marked, 0, "no mark is reported");
            self.report_echo(delivered, 0);
        }
    }

    /// Reports the feedback of an ACK to the controller.
    fn report_echo(&mut self, delivered: u64, marked: u64) {
        let Flight { board, ecn, congestion, .. } = &mut self.flight;
        if ecn.is_on() {
            congestion.controller.on_echo(&EchoEvent {
                snd_una: board.una(),
                snd_nxt: board.high_data(),
                newly_acked: Bytes(delivered),
                newly_ce_marked: Bytes((marked * board.mss()).min(delivered)),
            });
        }
    }

    fn on_probe_ack(&mut self, now: SimTime, ack: &IncomingAck<'_>, outcome: &AckOutcome) {
        if !self.flight.tlp.is_out() {
            return;
        }
        let is_pure_duplicate = !outcome.advanced && outcome.newly_sacked == 0 && !ack.occupies;
        let has_dsack = ack.sack.dsack.is_some_and(|(_, end)| self.flight.tlp.is_retransmission_of(end));
        let probe = ProbeAck { ack: ack.ack, has_dsack, is_pure_duplicate };
        if self.flight.tlp.on_ack(probe) == ProbeOutcome::RepairedLoss {
            self.flight.answer_loss_repaired_by_probe(now);
        }
    }
}
