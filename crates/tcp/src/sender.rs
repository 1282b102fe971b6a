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
mod congestion;
mod fast_path;
mod flight;
mod invariants;
mod notify;
mod opening;
mod transmitter;

use std::sync::Arc;

use ackclock_events::EventKinds;
use ackclock_units::{Bandwidth, SimTime};

use crate::config::{AppLimitedFrom, TcpConfig};
use crate::controller_feed::DeliveryRate;
use crate::endpoint::SocketOption;
use crate::rounds::Rounds;
use crate::write_queue::Write;

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

/// The sending half of an endpoint. Offset 0 is the SYN, data begins at 1, the FIN comes last. The first pieces are read for
/// segments that only bring data, too.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Sender {
    pub(crate) transmitter: Transmitter,
    /// True if no mechanism inspects every ACK, so that plain ACKs take the fast path.
    has_fast_path: bool,
    rounds: Rounds,
    pub(crate) flight: Flight,
}

impl Sender {
    /// Its controller comes with what the handshake settles.
    pub(crate) fn new(config: &Arc<TcpConfig>) -> Self {
        Self {
            transmitter: Transmitter::new(config),
            has_fast_path: false,
            rounds: Rounds::default(),
            flight: Flight::new(config),
        }
    }

    /// Takes in a write of the application.
    pub(crate) fn write(&mut self, now: SimTime, write: Write) {
        if self.flight.config.app_limited_from == AppLimitedFrom::Write {
            self.transmitter.note_idle_before_write(&mut self.flight, now);
        }
        self.flight.restart_after_idle(now);
        self.transmitter.queue.write(write, self.transmitter.sent_so_far(&self.flight.board));
    }

    /// The application will write no more.
    pub(crate) fn close(&mut self) {
        self.transmitter.queue.close();
    }

    /// Octets written and not yet sent for the first time.
    pub(crate) fn unsent(&self) -> u64 {
        self.transmitter.queue.unsent(self.flight.board.high_data())
    }

    /// Octets written that were cumulatively acknowledged; the SYN and the FIN do not count.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.transmitter.queue.acknowledged(self.flight.board.una())
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.transmitter.queue.is_closed()
    }

    /// Everything, the FIN included, is acknowledged.
    pub(crate) fn is_finished(&self) -> bool {
        self.transmitter.queue.is_acknowledged(self.flight.board.una())
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

    /// The application found no room in the send buffer: it waits for [`Self::is_writable`].
    pub(crate) fn wait_for_room(&mut self, now: SimTime) {
        self.transmitter.wait_for_room(&self.flight.board, now);
    }

    /// The next segment that may leave now, already accounted for. Call until it gives none.
    pub(crate) fn next_segment(&mut self, now: SimTime) -> Option<DataSegment> {
        self.transmitter.next_segment(&mut self.flight, now)
    }

    /// False if more than windows and the pacer has a say in what leaves next.
    #[inline]
    pub(crate) fn may_run(&self) -> bool {
        self.transmitter.may_run(&self.flight)
    }

    /// Budget of a run that begins now.
    pub(crate) fn begin_run(&self) -> Run {
        self.transmitter.begin_run(&self.flight)
    }

    /// The next segment of a run. What is not full, or may be the last of the stream, is none of it.
    #[inline]
    pub(crate) fn next_of_run(&mut self, now: SimTime, run: &mut Run) -> Result<FullSegment, RunEnd> {
        self.transmitter.next_of_run(&mut self.flight, now, run)
    }

    /// A run is over that has sent something: the timer runs for it.
    pub(crate) fn end_run(&mut self, now: SimTime, run: &Run) {
        self.flight.end_run(now, run.start);
    }

    /// Notes that `octets` of payload were handed to the host, and when they leave it.
    #[inline]
    pub(crate) fn on_handed_over(&mut self, now: SimTime, octets: u32, leaves_at: impl FnOnce() -> SimTime) {
        self.transmitter.host.on_handed_over(now, octets, self.flight.mss(), leaves_at);
    }

    /// The controller may have changed.
    pub(crate) fn note_pacing(&mut self) {
        self.transmitter.note_pacing(&self.flight.congestion.controller);
    }

    /// The rate at which segments are spread out; `None` if they leave as windows allow.
    pub(crate) fn rate_of_pacing(&self) -> Option<Bandwidth> {
        self.transmitter.rate_of_pacing(&self.flight)
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
            return self.transmitter.on_persist_timer(&mut self.flight, now);
        }
        if self.flight.on_timer(now)
            && let Some(control) = &mut self.transmitter.ack_control
        {
            control.on_timeout();
        }
        false
    }

    /// Time at which a segment of the handshake must be sent again. The controller's timer and the pacer's do not run
    /// before data may be sent.
    pub(crate) fn handshake_deadline(&self) -> SimTime {
        self.flight.timer.deadline()
    }

    /// Time at which [`Self::on_timer`] is due.
    pub(crate) fn deadline(&self) -> SimTime {
        let own = self.flight.timer.deadline().min(self.transmitter.deadline()).min(self.flight.congestion.deadline());
        self.transmitter.host.fq.as_ref().map_or(own, |fq| own.min(fq.next()))
    }

    /// Octets that the application may still write.
    pub(crate) fn writable(&self) -> u64 {
        self.transmitter.queue.writable(self.flight.board.una(), self.flight.board.high_data())
    }

    /// See [`WriteQueue::writable_at_once`].
    pub(crate) fn writable_at_once(&self) -> u64 {
        self.transmitter
            .queue
            .writable_at_once(self.flight.board.una(), self.transmitter.sent_so_far(&self.flight.board))
    }

    /// See [`WriteQueue::is_writable`].
    pub(crate) fn is_writable(&self) -> bool {
        self.transmitter.queue.is_writable(self.flight.board.una(), self.flight.board.high_data())
    }

    pub(crate) fn set_option(&mut self, option: &SocketOption) {
        match option {
            SocketOption::NoDelay(no_delay) => self.transmitter.queue.set_no_delay(*no_delay),
            SocketOption::Cork(corked) => self.transmitter.queue.set_corked(*corked),
            SocketOption::NotSentLowat(lowat) => self.transmitter.queue.set_notsent_lowat(*lowat),
            SocketOption::UserTimeout(timeout) => self.flight.timer.set_user_timeout(*timeout),
            SocketOption::SendBuffer(size) => self.transmitter.queue.set_buffer(*size),
            SocketOption::Pacing(most) => {
                self.transmitter.pacer.turn_on(*most);
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
