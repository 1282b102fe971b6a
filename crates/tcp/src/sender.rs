//! The sending half: an ACK processor and a transmitter, put in sequence.
//!
//! `ack` takes in what ACKs say; it owns what is in `flight`, with the `congestion` control over it. `transmitter` lets data
//! leave. `opening` is the handshake. The rules live in files of their own: scoreboard, loss recovery (with loss detection by
//! time, PRR, undo), write queue, retransmission and persist timers, tail loss probes, ECN, pacing, bursts, use of the window.
//!
//! Sources: RFC 5681 and those of the files that it composes. Departures: those of the files.

mod ack;
mod congestion;
mod flight;
mod invariants;
mod opening;
mod transmitter;

use std::sync::Arc;

use ackclock_cc::{AckEvent, CongestionController, Controller, Growth};
use ackclock_events::{AckArrived, Event, EventKinds};
use ackclock_units::{Bytes, SimTime};
use ackclock_wire::Flags;

use crate::clock::TimestampClock;
use crate::config::{AppLimitedFrom, TcpConfig};
use crate::ecn::EcnSender;
use crate::endpoint::SocketOption;
use crate::episode::Episode;
use crate::event_log::EventLog;
use crate::write_queue::Write;

use ack::{AckOutcome, AckProcessor};
pub(crate) use ack::{IncomingAck, SackReport};
pub(crate) use flight::Flight;
use transmitter::Run;
pub(crate) use transmitter::{DataSegment, FullSegment, Limit, RunEnd, Transmitter, pacing_rate};

/// Counts over the life of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SenderCounters {
    /// Payload octets sent, retransmissions included.
    pub sent_octets: u64,
    /// Segments with payload sent, retransmissions included.
    pub sent_segments: u64,
    /// Delivered, cumulatively or selectively, as windows count.
    pub delivered: u64,
    /// Segments with payload retransmitted.
    pub retransmitted_segments: u64,
    /// Payload octets that were sent again.
    pub retransmitted_octets: u64,
    /// Octets that were taken for lost.
    pub lost_octets: u64,
    /// Delivered segments that the network had marked.
    pub delivered_ce: u64,
    /// Expiries of the retransmission timer, those of the handshake included.
    pub timeouts: u64,
    /// Fast recoveries (Tahoe: fast retransmits).
    pub fast_recoveries: u64,
    /// Tail loss probes sent (RFC 8985).
    pub probes: u64,
    /// Congestion episodes that were undone as spurious.
    pub undone: u64,
    /// Duplicates that the receiver reported.
    pub dsacks: u64,
    /// Times that reordering was seen.
    pub reorderings: u64,
}

/// The sending half of an endpoint. Offset 0 is the SYN, data begins at 1, the FIN comes last. The first pieces of its parts are
/// read for segments that only bring data, too.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Sender {
    pub(crate) transmitter: Transmitter,
    acks: AckProcessor,
}

impl Sender {
    /// Its controller comes with what the handshake settles.
    pub(crate) fn new(config: &Arc<TcpConfig>) -> Self {
        Self { transmitter: Transmitter::new(config), acks: AckProcessor::new(config) }
    }

    #[inline]
    pub(crate) fn flight(&self) -> &Flight {
        &self.acks.flight
    }

    #[inline]
    pub(crate) fn clock_mut(&mut self) -> &mut TimestampClock {
        &mut self.acks.flight.clock
    }

    #[inline]
    pub(crate) fn ecn_mut(&mut self) -> &mut EcnSender {
        &mut self.acks.flight.ecn
    }

    pub(crate) fn controller_mut(&mut self) -> &mut Controller {
        &mut self.acks.flight.congestion.controller
    }

    /// Measures the delivery rate, whatever the controller requests.
    pub(crate) fn measure_delivery(&mut self) {
        self.acks.flight.congestion.feed.measure();
    }

    /// Episodes that have ended since the last call.
    pub(crate) fn take_episodes(&mut self) -> Vec<Episode> {
        self.acks.flight.congestion.episodes.take_finished()
    }

    /// Events since the last call, if there are any and somebody watches.
    #[inline]
    pub(crate) fn events(&mut self) -> Option<&mut Vec<Event>> {
        self.acks.flight.congestion.log.as_mut().filter(|log| !log.is_empty()).map(|log| log.events())
    }

    /// Reports changes of the controller.
    pub(crate) fn report_controller(&mut self, now: SimTime) {
        self.acks.flight.congestion.report_controller(now);
    }

    /// A segment arrives whose ACK is not taken: it gives no RTT sample.
    pub(crate) fn on_challenged(&mut self) {
        self.acks.flight.rto.begin_ack();
    }

    /// Takes an acceptable ACK: `snd_una <= ack <= snd_max`.
    pub(crate) fn on_ack(&mut self, now: SimTime, ack: &mut IncomingAck<'_>) {
        let Self { transmitter, acks } = self;
        acks.flight.rto.begin_ack();
        ack.window_changed = transmitter.peer.update(ack.seq, ack.ack, ack.window);
        acks.flight.persist.on_answer();
        if acks.flight.persist.is_running() {
            transmitter.on_window_update(&mut acks.flight, now);
        }
        ack.sendable_end = transmitter.queue.sendable_end().min(transmitter.peer.end());
        let reported = acks.flight.congestion.reported();
        let outcome = acks.on_ack(now, ack);
        if outcome.advanced {
            transmitter.queue.on_acknowledged(ack.ack);
        }
        if outcome.newly_sacked > 0 {
            transmitter.queue.on_sacked(ack.sack.blocks());
        }
        transmitter.control_acks(&acks.flight, &outcome);
        // What comes when nothing is outstanding, a duplicate's report, is no controller's concern.
        if outcome.prior_flight_size > 0 && (outcome.delivered > 0 || outcome.newly_lost > 0) {
            self.notify_controller(now, ack, &outcome);
        }
        self.acks.flight.set_timer(now, &outcome);
        if self.acks.flight.congestion.log.is_some() {
            self.report_ack(now, reported, ack.sack, &outcome);
        }
    }

    /// Reports an ACK to the controller.
    fn notify_controller(&mut self, now: SimTime, ack: &IncomingAck<'_>, outcome: &AckOutcome) {
        let Self { transmitter, acks: AckProcessor { flight, rounds, .. } } = self;
        // Where the network reorders, waiting for the cumulative ACK would starve the window. The report of a duplicate is
        // no progress.
        let reorders = flight.recovery.sees_reordering() && flight.config.growth_on_sack;
        let is_new = outcome.advanced || (reorders && outcome.newly_sacked > 0);
        let is_reducing = flight.recovery.phase().is_reducing();
        //= rfc3168-6.1.2-no-growth
        let holds = is_reducing || (outcome.was_reducing && !flight.config.growth_at_recovery_end);
        let (is_cwnd_limited, congestion) = (transmitter.limited_by == Limit::Cwnd, &flight.congestion);
        let (cwnd, in_slow_start) = (|| congestion.cwnd(), || congestion.in_slow_start());
        let is_in_use = congestion.validation.permits_growth(is_cwnd_limited, cwnd, in_slow_start);
        let growth = Growth { is_due: is_new && !holds, is_in_use };
        let lost_before = std::mem::take(&mut flight.congestion.lost_by_timer);
        let (min_rtt, next_departure) = (flight.rto.stats().min_rtt, transmitter.pacer.next());
        let (board, feed) = (&flight.board, &mut flight.congestion.feed);
        let delivery = feed.delivery_report(min_rtt, board, outcome.prior_pipe, &flight.recovery, next_departure);
        let event = AckEvent {
            now,
            newly_acked: Bytes(outcome.delivered),
            is_cumulative: outcome.advanced,
            newly_lost: Bytes(outcome.newly_lost) + lost_before,
            lost_before,
            newly_ce_marked: Bytes((outcome.marked * flight.board.mss()).min(outcome.delivered)),
            prior_flight_size: Bytes(outcome.prior_flight_size),
            snd_una: flight.board.una(),
            snd_nxt: flight.board.high_data(),
            rtt_sample: flight.rto.sample_of_ack(),
            rtt: flight.rto.fine_stats(),
            timestamps: ack.timestamps,
            is_cwnd_limited,
            in_recovery: outcome.was_reducing || is_reducing,
            growth,
            reduced_window: outcome.reduced_window.map(Bytes),
            round: rounds.count(),
            is_paced: transmitter.pacer.is_active(),
            delivery,
        };
        if growth.is_due {
            flight.congestion.validation.renew(now);
        }
        flight.congestion.controller.on_ack(&event);
        if event.reduced_window.is_some()
            && let Some(ssthresh) = flight.congestion.controller.ssthresh()
        {
            flight.recovery.reduce_to(ssthresh.0);
        }
        if flight.congestion.feed.after_controller(&mut flight.congestion.controller, &flight.board) {
            flight.answer_controller(now, outcome);
        }
        transmitter.note_pacing(&flight.congestion.controller);
        if transmitter.queue.is_tuned() {
            transmitter.queue.tune(flight.congestion.cwnd());
        }
    }

    /// Reports an ACK after its effects, at `place`: before the events that it caused.
    #[cold]
    fn report_ack(&mut self, now: SimTime, place: usize, sack: &SackReport, outcome: &AckOutcome) {
        let flight = &mut self.acks.flight;
        if outcome.prior_flight_size > 0 {
            let (rtt, has_sample) = (flight.rto.stats(), flight.rto.has_sample());
            let arrived = AckArrived {
                newly_delivered: Bytes(outcome.delivered),
                acknowledged: flight.board.una(),
                sacked: sack.padded(),
                cwnd: flight.congestion.controller.cwnd(),
                ssthresh: flight.congestion.controller.ssthresh(),
                flight_size: Bytes(flight.board.flight_size()),
                rtt_sample: flight.rto.sample_of_ack(),
                srtt: has_sample.then_some(rtt.srtt),
                rttvar: has_sample.then_some(rtt.rttvar),
                rto: flight.rto.rto(),
                pacing_rate: self.transmitter.rate_of_pacing(flight),
            };
            flight.congestion.report_at(place, |_| Event::AckArrived(arrived));
        }
        flight.congestion.report_controller(now);
    }

    /// Nothing is outstanding, nothing waits to be sent, and nothing is amiss: the end of a connection that only receives.
    /// [`Self::on_idle_ack`] is then all that an ACK comes down to.
    pub(crate) fn has_nothing_to_do(&self) -> bool {
        self.acks.is_idle()
            && self.transmitter.limited_by == Limit::Application
            && self.transmitter.next_len(&self.acks.flight.board) == 0
    }

    /// Takes in the peer's window while [`Self::has_nothing_to_do`], with flags that report no mark.
    pub(crate) fn on_idle_ack(&mut self, ack: u64, seq: u64, window: u64, flags: Flags) {
        self.acks.flight.rto.begin_ack();
        self.transmitter.peer.update(seq, ack, window);
        self.acks.flight.persist.on_answer();
        self.acks.take_silence(flags, 0);
    }

    /// Takes in a write of the application.
    pub(crate) fn write(&mut self, now: SimTime, write: Write) {
        if self.acks.flight.config.app_limited_from == AppLimitedFrom::Write {
            self.transmitter.note_idle_before_write(&mut self.acks.flight, now);
        }
        self.acks.flight.restart_after_idle(now);
        self.transmitter.queue.write(write, self.transmitter.sent_so_far(&self.acks.flight.board));
    }

    /// More of what is written may be copied into the host's buffers, and sent: true if that has been done.
    #[inline]
    pub(crate) fn refills(&mut self) -> bool {
        let refills = self.transmitter.queue.refills();
        if refills {
            self.transmitter.refill(&self.acks.flight);
        }
        refills
    }

    /// An ACK has been taken in, and all has left that it lets go.
    #[inline]
    pub(crate) fn look_for_memory(&mut self) {
        if self.transmitter.queue.waits() {
            self.transmitter.look_for_memory(&self.acks.flight, 0);
        }
    }

    /// Octets written and not yet sent for the first time.
    pub(crate) fn unsent(&self) -> u64 {
        self.transmitter.queue.unsent(self.acks.flight.board.high_data())
    }

    /// Octets written that were cumulatively acknowledged; the SYN and the FIN do not count.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.transmitter.queue.acknowledged(self.acks.flight.board.una())
    }

    /// Everything, the FIN included, is acknowledged.
    pub(crate) fn is_finished(&self) -> bool {
        self.transmitter.queue.is_acknowledged(self.acks.flight.board.una())
    }

    /// Keeps events of these kinds for [`EventLog::events`] from now on.
    pub(crate) fn watch(&mut self, kinds: EventKinds) {
        let congestion = &mut self.acks.flight.congestion;
        congestion.log = Some(Box::new(EventLog::new(kinds, &congestion.controller)));
        self.settle_fast_path();
    }

    /// The application found no room in the send buffer: it waits for [`Self::is_writable`].
    pub(crate) fn wait_for_room(&mut self, now: SimTime) {
        self.transmitter.wait_for_room(&self.acks.flight, now);
    }

    /// The next segment that may leave now, already accounted for. Call until it gives none.
    pub(crate) fn next_segment(&mut self, now: SimTime) -> Option<DataSegment> {
        self.transmitter.next_segment(&mut self.acks.flight, now)
    }

    /// Budget of a run that begins now, if windows and the pacer alone decide what leaves next.
    #[inline]
    pub(crate) fn begin_run(&self) -> Option<Run> {
        self.transmitter.begin_run(&self.acks.flight)
    }

    /// The next segment of a run. What is not full, or may be the last of the stream, is none of it.
    #[inline]
    pub(crate) fn next_of_run(&mut self, now: SimTime, run: &mut Run) -> Result<FullSegment, RunEnd> {
        self.transmitter.next_full(&mut self.acks.flight, now, run)
    }

    /// A run is over that has sent something: the timer runs for it.
    pub(crate) fn end_run(&mut self, now: SimTime, run: &Run) {
        let flight = &mut self.acks.flight;
        flight.recovery.on_sent(flight.board.high_data() - run.start);
        flight.on_sent_data(now, false);
    }

    /// Notes that `octets` of payload were handed to the host, and when they leave it.
    #[inline]
    pub(crate) fn on_handed_over(&mut self, now: SimTime, octets: u32, leaves_at: impl FnOnce() -> SimTime) {
        self.transmitter.on_handed_over(now, octets, self.acks.flight.board.mss(), leaves_at);
    }

    /// Settles anew, by the controller as it is, whether segments are spread over the round trip.
    pub(crate) fn note_pacing(&mut self) {
        self.transmitter.note_pacing(&self.acks.flight.congestion.controller);
    }

    /// The timer has fired. Returns true if a zero-window probe is to be sent; whatever else is due comes out of
    /// [`Sender::next_segment`].
    pub(crate) fn on_timer(&mut self, now: SimTime) -> bool {
        if self.acks.flight.congestion.on_timer(now) {
            self.note_pacing();
        }
        if now < self.acks.flight.timer.deadline() {
            return false; // the pacer's turn
        }
        if self.acks.flight.persist.is_running() {
            return self.transmitter.on_persist_timer(&mut self.acks.flight, now);
        }
        if self.acks.flight.on_timer(now)
            && let Some(control) = &mut self.transmitter.ack_control
        {
            control.on_timeout();
        }
        false
    }

    /// Time at which [`Self::on_timer`] is due.
    pub(crate) fn deadline(&self) -> SimTime {
        let flight = &self.acks.flight;
        let own = flight.timer.deadline().min(self.transmitter.deadline()).min(flight.congestion.deadline());
        self.transmitter.fq.as_ref().map_or(own, |fq| own.min(fq.next()))
    }

    /// Octets that the application may still write.
    pub(crate) fn writable(&self) -> u64 {
        let board = &self.acks.flight.board;
        self.transmitter.queue.writable(board.una(), board.high_data())
    }

    /// See [`WriteQueue::writable_at_once`].
    pub(crate) fn writable_at_once(&self) -> u64 {
        let board = &self.acks.flight.board;
        self.transmitter.queue.writable_at_once(board.una(), self.transmitter.sent_so_far(board))
    }

    /// True while the application may write more: see [`is_writable`](crate::write_queue::WriteQueue::is_writable).
    pub(crate) fn is_writable(&self) -> bool {
        let board = &self.acks.flight.board;
        self.transmitter.queue.is_writable(board.una(), board.high_data())
    }

    pub(crate) fn set_option(&mut self, now: SimTime, option: &SocketOption) {
        match option {
            SocketOption::NoDelay(no_delay) => self.transmitter.queue.set_no_delay(*no_delay),
            SocketOption::Cork(corked) => self.transmitter.queue.set_corked(*corked),
            SocketOption::NotSentLowat(lowat) => self.transmitter.queue.set_notsent_lowat(*lowat),
            SocketOption::UserTimeout(timeout) => self.acks.flight.timer.set_user_timeout(*timeout),
            SocketOption::SendBuffer(size) => self.transmitter.queue.set_buffer(*size),
            SocketOption::Pacing(most) => {
                self.transmitter.pacer.turn_on(*most);
                self.note_pacing();
            }
            SocketOption::Congestion(config) => {
                self.acks.flight.replace_controller(now, config);
                self.settle_fast_path();
                self.note_pacing();
            }
            SocketOption::QuickAck(_) | SocketOption::ReceiveBuffer(_) | SocketOption::MaxSegment(_) => {}
        }
    }
}
