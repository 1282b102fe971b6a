//! The sending half: puts its pieces in sequence and owns none of their rules.
//!
//! `opening` is the handshake, `ack` takes in what an ACK says (`fast_path` what most say), `recover` moves through
//! loss recovery, `loss` through what follows a timeout, `timers` says what is due, `transmit` decides what leaves
//! (`run` when windows alone decide), at a rate that `pace` knows. `notify` tells the controller of ACKs, `episodes` of
//! congestion, `report` observers of all that. The rules live in files of their own: scoreboard, loss recovery (with
//! loss detection by time, PRR, undo), write queue, retransmission and persist timers, tail loss probes, ECN, pacing,
//! bursts, use of the window.
//!
//! Sources: RFC 9293 (windows, probes), RFC 5681 and the files it composes. Departures: a zero-window probe is an empty
//! segment one octet below `snd_una`, as Linux sends it, and not one octet of new data; it draws the same ACK.

mod ack;
mod ack_congestion;
mod congestion;
mod fast_path;
mod flight;
mod invariants;
mod notify;
mod opening;
mod pace;
mod peer_window;
mod run;
mod transmit;

use std::sync::Arc;

use ackclock_events::EventKinds;
use ackclock_units::SimTime;

use crate::ack_control::AckControl;
use crate::chronograph::{Activity, Chronograph};
use crate::clock::TimestampClock;
use crate::config::{AppLimitedFrom, TcpConfig};
use crate::controller_feed::DeliveryRate;
use crate::device_queue::DeviceQueue;
use crate::endpoint::SocketOption;
use crate::fq::Fq;
use crate::host_queue::HostQueue;
use crate::pacing::Pacer;
use crate::rounds::Rounds;
use crate::tso::TsoBursts;
use crate::write_queue::{SentSoFar, Write, WriteQueue};

pub(crate) use ack::{IncomingAck, SackReport};
pub(crate) use flight::Flight;
use peer_window::PeerWindow;
pub(crate) use run::{FullSegment, RunEnd};
pub(crate) use transmit::{DataSegment, Limit};

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

/// The sending half of an endpoint. Offset 0 is the SYN, data begins at 1, the FIN comes last. The first pieces are read for
/// segments that only bring data, too.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Sender {
    pub(crate) peer: PeerWindow,
    /// Timestamp clock of the endpoint's segments.
    pub(crate) clock: TimestampClock,
    /// Limit that ended the last attempt to send.
    limited_by: Limit,
    /// True if no mechanism inspects every ACK, so that plain ACKs take the fast path.
    has_fast_path: bool,
    /// Nor at every segment: those of one moment leave as a run.
    sends_runs: bool,
    /// ACK congestion control, where both ends agreed to it.
    pub(crate) ack_control: Option<Box<AckControl>>,
    rounds: Rounds,
    pub(crate) flight: Flight,
    queue: WriteQueue,
    bursts: TsoBursts,
    pacer: Pacer,
    /// Queue where segments wait for their time, if the host paces them.
    pub(crate) fq: Option<Box<Fq>>,
    host_queue: Option<Box<HostQueue>>,
    device_queue: Option<Box<DeviceQueue>>,
    pub(crate) times: Chronograph,
    /// The application found no room in the send buffer, and has not been notified of any since.
    waits_for_room: bool,
}

impl Sender {
    /// Its controller comes with what the handshake settles.
    pub(crate) fn new(config: &Arc<TcpConfig>) -> Self {
        Self {
            flight: Flight::new(config),
            peer: PeerWindow::at_start(0, config),
            ack_control: None,
            queue: WriteQueue::new(config),
            pacer: Pacer::new(config.pacing),
            fq: Fq::new(&config.pacing),
            bursts: TsoBursts::new(config.bursts),
            host_queue: config.small_queues.map(|queues| Box::new(HostQueue::new(queues.limit))),
            device_queue: config.device_queue.map(|queue| Box::new(DeviceQueue::new(queue.limit))),
            rounds: Rounds::default(),
            clock: TimestampClock::new(config.clock),
            limited_by: Limit::Application,
            times: Chronograph::default(),
            waits_for_room: false,
            has_fast_path: false,
            sends_runs: false,
        }
    }

    /// Takes in a write of the application.
    pub(crate) fn write(&mut self, now: SimTime, write: Write) {
        if self.flight.config.app_limited_from == AppLimitedFrom::Write {
            self.note_idle_before_write(now);
        }
        self.flight.restart_after_idle(now);
        self.queue.write(write, self.sent_so_far());
    }

    fn sent_so_far(&self) -> SentSoFar {
        SentSoFar {
            high_data: self.flight.board.high_data(),
            largest_window: self.peer.largest(),
            mss: self.segment_size(),
        }
    }

    /// The application will write no more.
    pub(crate) fn close(&mut self) {
        self.queue.close();
    }

    /// Octets written and not yet sent for the first time.
    pub(crate) fn unsent(&self) -> u64 {
        self.queue.unsent(self.flight.board.high_data())
    }

    /// Octets written that were cumulatively acknowledged; the SYN and the FIN do not count.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.queue.acknowledged(self.flight.board.una())
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }

    /// Everything, the FIN included, is acknowledged.
    pub(crate) fn is_finished(&self) -> bool {
        self.queue.is_acknowledged(self.flight.board.una())
    }

    /// Given up after too many timeouts.
    pub(crate) fn is_aborted(&self) -> bool {
        self.flight.timer.gave_up()
    }

    /// See [`crate::Endpoint::measure_delivery`].
    pub(crate) fn measure_delivery(&mut self) {
        self.flight.congestion.feed.measure();
    }

    pub(crate) fn delivery_rate(&self) -> Option<DeliveryRate> {
        self.flight.congestion.feed.delivery_rate()
    }

    /// Keeps events of these kinds from now on.
    pub(crate) fn watch(&mut self, kinds: EventKinds) {
        self.flight.congestion.watch(kinds);
        self.settle_fast_path();
    }

    /// The timer has fired. Returns true if a zero-window probe is to be sent; whatever else is due comes out of
    /// [`Sender::next_segment`].
    pub(crate) fn on_timer(&mut self, now: SimTime) -> bool {
        if self.flight.congestion.on_timer(now) {
            self.note_pacing();
        }
        if now < self.flight.timer.deadline() {
            return false; // the pacer's turn
        }
        if self.flight.persist.is_running() {
            return self.on_persist_timer(now);
        }
        if self.flight.on_timer(now)
            && let Some(control) = &mut self.ack_control
        {
            control.on_timeout();
        }
        false
    }

    /// An attempt to send has stopped at this: the time until the next one is its.
    #[inline]
    fn stop_at(&mut self, now: SimTime, limit: Limit) {
        self.limited_by = limit;
        let activity = match limit {
            Limit::Cwnd => Activity::Cwnd,
            Limit::Pacing => Activity::Pacing,
            _ => self.activity_at(now, limit),
        };
        self.times.observe(now, activity);
    }

    #[inline(never)] // most stop at the congestion window or the pacer
    fn activity_at(&mut self, now: SimTime, limit: Limit) -> Activity {
        let (una, high) = (self.flight.board.una(), self.flight.board.high_data());
        match limit {
            Limit::Cwnd => Activity::Cwnd,
            Limit::Pacing => Activity::Pacing,
            Limit::Window if self.queue.room_to_send(una, high) < self.peer.end().saturating_sub(high) => {
                Activity::SendBuffer
            }
            Limit::Window => Activity::PeerWindow,
            Limit::HostQueue if self.fq.as_ref().is_some_and(|fq| fq.octets() > 0) => Activity::Pacing,
            Limit::HostQueue | Limit::DeviceQueue => Activity::Host,
            Limit::Application => self.activity_of_application(now),
        }
    }

    fn activity_of_application(&mut self, now: SimTime) -> Activity {
        self.waits_for_room = self.waits_for_room && !self.is_writable();
        if self.is_finished() {
            self.times.end(now);
        }
        let has_unsent = self.queue.stream_end() > self.flight.board.high_data();
        match (self.flight.board.is_empty(), has_unsent) {
            (true, false) => Activity::Idle,
            (false, false) if self.waits_for_room => Activity::SendBuffer,
            _ => Activity::Application,
        }
    }

    /// The application found no room in the send buffer: it waits for [`Self::is_writable`].
    pub(crate) fn wait_for_room(&mut self, now: SimTime) {
        self.waits_for_room = true;
        self.stop_at(now, self.limited_by);
    }

    /// Time at which a segment of the handshake must be sent again. The controller's timer and the pacer's do not run
    /// before data may be sent.
    pub(crate) fn handshake_deadline(&self) -> SimTime {
        self.flight.timer.deadline()
    }

    /// Time at which [`Self::on_timer`] is due.
    pub(crate) fn deadline(&self) -> SimTime {
        let own = self.flight.timer.deadline().min(self.pacing_deadline()).min(self.flight.congestion.deadline());
        self.fq.as_ref().map_or(own, |fq| own.min(fq.next()))
    }

    /// Segments wait for the pacer, or for the host's queue, until then.
    fn pacing_deadline(&self) -> SimTime {
        match (self.limited_by, &self.host_queue) {
            (Limit::Pacing, _) => self.pacer.opens_at(),
            (Limit::HostQueue, Some(queue)) => queue.wake(),
            _ => SimTime::NEVER,
        }
    }

    /// The payload of a new segment: a full one's, unless the peer's window never had room for two.
    #[inline]
    pub(crate) fn segment_size(&self) -> u64 {
        self.peer.longest_segment().min(self.flight.mss())
    }

    /// Octets that the application may still write.
    pub(crate) fn writable(&self) -> u64 {
        self.queue.writable(self.flight.board.una(), self.flight.board.high_data())
    }

    /// See [`WriteQueue::writable_at_once`].
    pub(crate) fn writable_at_once(&self) -> u64 {
        self.queue.writable_at_once(self.flight.board.una(), self.sent_so_far())
    }

    /// See [`WriteQueue::is_writable`].
    pub(crate) fn is_writable(&self) -> bool {
        self.queue.is_writable(self.flight.board.una(), self.flight.board.high_data())
    }

    pub(crate) fn set_option(&mut self, option: &SocketOption) {
        match option {
            SocketOption::NoDelay(no_delay) => self.queue.set_no_delay(*no_delay),
            SocketOption::Cork(corked) => self.queue.set_corked(*corked),
            SocketOption::NotSentLowat(lowat) => self.queue.set_notsent_lowat(*lowat),
            SocketOption::UserTimeout(timeout) => self.flight.timer.set_user_timeout(*timeout),
            SocketOption::SendBuffer(size) => self.queue.set_buffer(*size),
            SocketOption::Pacing(most) => {
                self.pacer.turn_on(*most);
                self.note_pacing();
            }
            SocketOption::Congestion(config) => {
                self.flight.replace_controller(config);
                self.settle_fast_path();
                self.note_pacing();
            }
            SocketOption::QuickAck(_) | SocketOption::ReceiveBuffer(_) | SocketOption::MaxSegment(_) => {}
        }
    }
}
