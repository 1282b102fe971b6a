//! Loss recovery: detects losses by duplicate ACKs, SACKs and time, and keeps the phase of the recovery with its
//! window, and whether the repair may still prove spurious.
//!
//! Sources: RFC 5681 section 3.2, RFC 6582, RFC 6675 sections 4 and 5, RFC 8985 section 6, RFC 5682; Mathis and Mahdavi 1996
//! (forward acknowledgement), given up once something was reordered, as Linux 2.4 does. Departures: those of the
//! pieces, and Linux's counting of duplicate ACKs as if they were SACKs where `dup_acks_as_sacks` says so.

use ackclock_cc::RttStats;
use ackclock_units::{SimDuration, SimTime};

use crate::config::{LossDetection, LossRecovery, TcpConfig};
use crate::prr::PrrAck;
use crate::rack::{IsLost, Rack, ReoWndInputs};
use crate::recovery::{FastRecovery, Frto, LossPhase, Phase, RecoveryWindow};
use crate::scoreboard::{Scoreboard, Sent};
use crate::undo::Undo;

/// Result of loss detection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Detected {
    pub(crate) newly_lost: u64,
    /// Other segments are lost unless they are delivered until then.
    pub(crate) wait_until: Option<SimTime>,
    /// Retransmissions that were thought to be in the network are lost: when the last of them left.
    pub(crate) lost_retransmission: Option<SimTime>,
}

/// See the module. Positions are offsets in the stream; amounts count as the scoreboard's do.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Recovery {
    phase: Phase,
    method: LossRecovery,
    /// Duplicate ACKs are counted as if the peer had reported SACKs.
    emulates_sack: bool,
    dup_acks: u32,
    /// Segments SACKed above, or duplicate ACKs, that mean a loss: as configured, as the reordering seen has raised it, and
    /// how far it may.
    dup_thresh: u32,
    least_dup_thresh: u32,
    max_dup_thresh: u32,
    /// The highest SACK determines what is lost, as long as no reordering was observed.
    is_fack: bool,
    undo: Undo,
    /// `FlightSize` when the first duplicate ACK came that does not advance.
    flight_size_before_dup_acks: Option<u64>,
    /// No fast retransmit for duplicate ACKs of data below this (RFC 6582 section 3.2 step 2, RFC 6675 section 5.1).
    no_recovery_below: u64,
    rack: Option<Rack>,
}

impl Recovery {
    pub(crate) fn new(config: &TcpConfig) -> Self {
        Self {
            phase: Phase::Open,
            method: config.loss_recovery,
            emulates_sack: false,
            rack: (config.loss_detection == LossDetection::Rack).then(|| Rack::new(config)),
            is_fack: config.loss_detection == LossDetection::Fack,
            undo: Undo::new(config.undo),
            dup_thresh: config.dup_thresh,
            least_dup_thresh: config.dup_thresh,
            max_dup_thresh: config.max_dup_thresh,
            dup_acks: 0,
            flight_size_before_dup_acks: None,
            no_recovery_below: 0,
        }
    }

    /// The peer does not report SACK: duplicate ACKs are counted, as SACKs if `as_sacks`.
    pub(crate) fn do_without_sack(&mut self, as_sacks: bool) {
        self.rack = None; // RFC 8985 section 3.1
        if self.method == LossRecovery::Sack {
            self.emulates_sack = as_sacks;
            if !as_sacks {
                self.method = LossRecovery::NewReno;
            }
        }
    }

    #[inline]
    pub(crate) fn phase(&self) -> &Phase {
        &self.phase
    }

    /// Nothing is being repaired, and no mark answered.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Open)
    }

    pub(crate) fn method(&self) -> LossRecovery {
        self.method
    }

    #[inline]
    pub(crate) fn emulates_sack(&self) -> bool {
        self.emulates_sack
    }

    /// The peer reports what has arrived out of order.
    pub(crate) fn has_sack(&self) -> bool {
        self.method == LossRecovery::Sack && !self.emulates_sack
    }

    /// Method by which losses are detected while ACKs arrive, as observers name it.
    pub(crate) fn detection(&self) -> ackclock_events::LossDetection {
        if self.has_rack() { ackclock_events::LossDetection::Time } else { ackclock_events::LossDetection::Acks }
    }

    pub(crate) fn has_rack(&self) -> bool {
        self.rack.is_some()
    }

    pub(crate) fn rack_mut(&mut self) -> Option<&mut Rack> {
        self.rack.as_mut()
    }

    pub(crate) fn undo(&self) -> &Undo {
        &self.undo
    }

    pub(crate) fn undo_mut(&mut self) -> &mut Undo {
        &mut self.undo
    }

    pub(crate) fn dup_thresh(&self) -> u32 {
        self.dup_thresh
    }

    #[inline]
    pub(crate) fn dup_acks(&self) -> u32 {
        self.dup_acks
    }

    /// The network has been seen to reorder further than `dup_thresh` was configured for.
    #[inline]
    pub(crate) fn sees_reordering(&self) -> bool {
        self.dup_thresh > self.least_dup_thresh
    }

    /// The window that bounds sending, given the controller's.
    #[inline]
    pub(crate) fn window(&self, cwnd: u64) -> u64 {
        self.phase.window(cwnd)
    }

    // ---- ACKs ------------------------------------------------------------------------------------------------------

    /// An ACK advanced and reported nothing else.
    #[inline]
    pub(crate) fn forget_duplicates(&mut self) {
        self.dup_acks = 0;
    }

    /// An ACK arrived with `prior_flight_size` outstanding.
    pub(crate) fn count_duplicate(&mut self, is_duplicate: bool, advanced: bool, prior_flight_size: u64) {
        if is_duplicate && (self.dup_acks == 0 || self.flight_size_before_dup_acks.is_none()) {
            self.flight_size_before_dup_acks = Some(prior_flight_size);
        }
        self.dup_acks = if advanced { 0 } else { self.dup_acks + u32::from(is_duplicate) };
    }

    /// RFC 6675 section 2: an ACK that brings new SACK information is the first duplicate, though it advances. What it lets out is not
    /// yet limited transmit.
    pub(crate) fn begin_duplicates(&mut self) {
        if self.has_sack() && self.rack.is_none() && !self.is_fack {
            //= rfc6675-2-duplicate-that-advances
            (self.dup_acks, self.flight_size_before_dup_acks) = (1, None);
        }
    }

    //= rfc5681-3.2-without-limited-transmit
    /// Data that duplicate ACKs let out before (limited transmit) does not count as in flight (RFC 5681 section 3.2 step 2).
    pub(crate) fn flight_size_at_loss(&self, flight_size: u64) -> u64 {
        self.flight_size_before_dup_acks
            .filter(|_| self.dup_acks > 0)
            .map_or(flight_size, |before| flight_size.min(before))
    }

    /// A segment arrived `distance` segments after one sent later, without having been retransmitted.
    pub(crate) fn adapt_to_reordering(&mut self, distance: u32) {
        self.dup_thresh = self.dup_thresh.max(distance.min(self.max_dup_thresh));
        self.is_fack = false;
        if let Some(rack) = &mut self.rack {
            rack.on_reordering();
        }
    }

    /// Adapts `dup_thresh` without SACK to the degree of reordering, upwards or downwards (Linux).
    pub(crate) fn set_reordering(&mut self, degree: u32) {
        self.dup_thresh = degree.min(self.max_dup_thresh);
    }

    /// Takes in a report of a duplicate that ends at `end` and contains `retransmissions` retransmissions; `is_probe`:
    /// of a tail loss probe.
    pub(crate) fn on_dsack(&mut self, end: u64, retransmissions: u32, is_probe: bool) {
        self.undo.on_dsack(end, retransmissions);
        if let Some(rack) = self.rack.as_mut().filter(|_| !is_probe) {
            rack.on_dsack();
        }
    }

    /// True if nothing holds a fast retransmit back that duplicate ACKs, or losses found, ask for. Adds to `newly_lost` what
    /// that takes for lost.
    pub(crate) fn asks_for_recovery(&self, board: &mut Scoreboard, is_duplicate: bool, newly_lost: &mut u64) -> bool {
        if self.method != LossRecovery::Sack {
            //= rfc6582-3.2-not-twice
            let is_above = board.una() > self.no_recovery_below || self.no_recovery_below == 0;
            //= rfc5681-3.2-third-duplicate
            return is_duplicate && self.dup_acks == self.dup_thresh && is_above;
        }
        //= rfc6675-5.1-after-timeout
        //= rfc5681-4.3-one-episode
        if board.una() < self.no_recovery_below && self.rack.is_none() {
            return false;
        }
        if self.emulates_sack && board.sacked() >= self.dup_thresh_amount(board) {
            *newly_lost += board.mark_first_lost();
        //= rfc6675-5-enter
        } else if self.rack.is_none() && !self.emulates_sack && self.dup_acks >= self.dup_thresh {
            *newly_lost += board.mark_first_segment_lost();
        }
        board.lost() > 0
    }

    fn dup_thresh_amount(&self, board: &Scoreboard) -> u64 {
        u64::from(self.dup_thresh) * board.mss()
    }

    // ---- Loss detection ----------------------------------------------------------------------------------------------

    /// Marks segments that are lost by now, according to SACKs and time.
    pub(crate) fn detect_loss(&mut self, now: SimTime, board: &mut Scoreboard, rtt: &RttStats) -> Detected {
        if !self.has_sack() {
            return Detected::default();
        }
        match self.rack.as_mut().map(Rack::take_advance) {
            None if self.is_fack => self.detect_by_fack(board),
            None => Detected { newly_lost: board.detect_loss(self.dup_thresh), ..Detected::default() },
            Some(false) => Detected::default(),
            Some(true) => self.detect_by_time(now, board, rtt),
        }
    }

    /// Forward acknowledgement. What was sent since a repair began is looked at once that has ended, and a retransmission is lost
    /// if what left later has arrived (Linux 2.4).
    fn detect_by_fack(&self, board: &mut Scoreboard) -> Detected {
        let is_fast = self.phase.is_fast_recovery();
        let is_repairing = is_fast || matches!(self.phase, Phase::Loss(_));
        let until = self.phase.ends_at().filter(|_| is_repairing).unwrap_or(u64::MAX);
        let once = board.detect_loss_by_fack(self.dup_thresh, until);
        let (again, lost_retransmission) = if is_fast { board.mark_overtaken_retransmissions() } else { (0, None) };
        Detected { newly_lost: once + again, wait_until: None, lost_retransmission }
    }

    /// RFC 8985 section 6.2, step 5.
    pub(crate) fn detect_by_time(&self, now: SimTime, board: &mut Scoreboard, rtt: &RttStats) -> Detected {
        let Some(rack) = self.rack else { return Detected::default() };
        let retransmitted = board.retransmitted();
        let detector = rack.detector(&self.inputs(board, rtt), now);
        let mut waits = false;
        let mut judge = |sent: &Sent| {
            let verdict = detector.is_lost(sent);
            waits |= verdict == IsLost::NotYet;
            verdict == IsLost::Yes
        };
        let once = board.mark_lost_while(&mut judge);
        //= rfc8985-6.2-lost-retransmission
        let mut left = SimTime::ZERO;
        let again = board.mark_retransmissions_lost_while(|sent| {
            let is_lost = judge(sent);
            left = if is_lost { left.max(sent.at) } else { left };
            is_lost
        });
        let wait_until = if waits { detector.latest_due(board) } else { None };
        let lost_retransmission = (board.retransmitted() < retransmitted).then_some(left);
        Detected { newly_lost: once + again, wait_until, lost_retransmission }
    }

    fn inputs(&self, board: &Scoreboard, rtt: &RttStats) -> ReoWndInputs {
        ReoWndInputs {
            min_rtt: rtt.min_rtt,
            srtt: rtt.srtt,
            in_recovery: self.phase.is_fast_recovery() || matches!(self.phase, Phase::Loss(_)),
            has_dup_thresh: board.has_sacked(self.dup_thresh),
        }
    }

    /// The retransmission timer expired: marks what has not been delivered by then (RFC 6298 section 5, RFC 8985 section
    /// 6.3).
    pub(crate) fn mark_timed_out(&self, now: SimTime, board: &mut Scoreboard, rtt: &RttStats) -> u64 {
        if board.first().is_some_and(Sent::is_sacked) {
            //= rfc2018-5-timeout-forgets
            board.forget_sacks(); // RFC 2018 section 8: the receiver has thrown them away
            return board.mark_all_lost(|_| true);
        }
        match self.rack {
            None => board.mark_all_lost(|_| true),
            Some(rack) => {
                let timeout: SimDuration = rack.timeout(&self.inputs(board, rtt));
                //= rfc8985-6.3-timeout
                board.mark_all_lost(|sent| sent.at + timeout <= now)
            }
        }
    }

    // ---- Phases ------------------------------------------------------------------------------------------------------

    /// Fast recovery begins: until all that is outstanding now is acknowledged.
    pub(crate) fn enter_fast(&mut self, until: u64, window: RecoveryWindow) {
        //= rfc6582-3.2-timeout
        self.no_recovery_below = until;
        self.phase = Phase::Fast(FastRecovery { until, window, partial_acks: 0, rescued: false });
    }

    /// The answer to a mark begins.
    pub(crate) fn enter_cwr(&mut self, until: u64, window: RecoveryWindow) {
        self.phase = Phase::Cwr { until, window };
    }

    /// Slow start over what is lost begins.
    pub(crate) fn enter_loss(&mut self, until: u64, frto: Frto) {
        self.no_recovery_below = until;
        self.dup_acks = 0;
        self.phase = Phase::Loss(LossPhase { until, frto });
    }

    /// Nothing is to be repaired any more.
    pub(crate) fn leave(&mut self) {
        self.phase = Phase::Open;
    }

    /// A recovery ended without a sign that it was spurious.
    pub(crate) fn on_success(&mut self) {
        if let Some(rack) = &mut self.rack {
            rack.on_recovery_end();
        }
    }

    /// The last episode is taken back.
    pub(crate) fn on_undo(&mut self) {
        self.undo.clear();
        if self.emulates_sack {
            self.no_recovery_below = 0; // there was none, so that duplicate ACKs may ask for one (Linux)
        }
        if let Some(rack) = &mut self.rack {
            rack.on_undo();
        }
    }

    /// An episode begins that may prove spurious. `probe` is where a tail loss probe that repeats something ends, if one is out: it
    /// has to prove a duplicate, too, also where it was just taken for lost.
    pub(crate) fn begin_undo(&mut self, board: &Scoreboard, probe: Option<u64>) {
        let retransmitted = (board.retransmitted() / board.mss()) as u32;
        if retransmitted == 0 {
            self.undo.forget_first();
        }
        let uncounted = probe.is_some_and(|end| !board.is_retransmitted(end));
        self.undo.begin(board.una(), retransmitted + u32::from(uncounted));
    }

    /// A timeout. Amid SACKs for as many segments as once meant a loss, the reordering was over-estimated (Linux).
    pub(crate) fn doubt_reordering(&mut self, board: &Scoreboard) {
        if board.has_sacked(self.least_dup_thresh) {
            self.dup_thresh = self.dup_thresh.min(self.least_dup_thresh);
        }
    }

    /// F-RTO moves on (RFC 5682 section 3.1).
    pub(crate) fn set_loss_phase(&mut self, loss: LossPhase) {
        self.phase = Phase::Loss(loss);
    }

    /// New data goes before retransmissions: F-RTO's step 2b.
    pub(crate) fn sends_new_first(&self) -> bool {
        matches!(self.phase, Phase::Loss(LossPhase { frto: Frto::SendsNew, .. }))
    }

    /// New data has gone, or could not: what was lost comes next, after the next ACK if there is new data out. Returns true
    /// in that case.
    pub(crate) fn stop_sending_new_first(&mut self, high_data: u64) -> bool {
        let is_beyond = self.phase.ends_at().is_some_and(|end| high_data > end);
        if let Phase::Loss(loss) = &mut self.phase {
            loss.frto = if is_beyond { Frto::Watching } else { Frto::Off };
        }
        is_beyond
    }

    /// RFC 6675 `NextSeg` rule 4 may be used once in a recovery. Returns true if this is that time.
    pub(crate) fn take_rescue(&mut self) -> bool {
        match &mut self.phase {
            Phase::Fast(recovery) => !std::mem::replace(&mut recovery.rescued, true),
            _ => false,
        }
    }

    // ---- The window of a recovery ------------------------------------------------------------------------------------

    /// A further duplicate ACK (RFC 5681 section 3.2 step 4).
    pub(crate) fn inflate(&mut self, mss: u64) {
        self.phase.inflate(mss as i64);
    }

    /// A partial ACK of `octets` (RFC 6582 section 3.2 step 3).
    pub(crate) fn on_partial_ack(&mut self, octets: u64, cwnd: u64, mss: u64) {
        if let Phase::Fast(recovery) = &mut self.phase {
            //= rfc6582-3.2-partial-ack
            recovery.partial_acks += 1;
        }
        self.phase.deflate(octets, cwnd, mss);
    }

    /// RFC 6582: only the first partial ACK restarts the timer.
    pub(crate) fn keeps_timer_on_partial_ack(&self) -> bool {
        //= rfc6582-3.2-first-partial-restarts
        matches!(&self.phase, Phase::Fast(recovery) if recovery.partial_acks >= 2)
    }

    /// See [`Phase::prr_window_mut`].
    pub(crate) fn prr_window_mut(&mut self) -> Option<&mut u64> {
        self.phase.prr_window_mut()
    }

    /// The controller has lowered ssthresh, perhaps.
    pub(crate) fn reduce_to(&mut self, ssthresh: u64) {
        self.phase.reduce_to(ssthresh);
    }

    pub(crate) fn on_prr_ack(&mut self, ack: PrrAck) {
        self.phase.on_prr_ack(ack);
    }

    /// Notes that a segment left.
    #[inline]
    pub(crate) fn on_sent(&mut self, amount: u64) {
        if self.phase.is_reducing() {
            self.phase.on_sent(amount);
        }
    }
}
