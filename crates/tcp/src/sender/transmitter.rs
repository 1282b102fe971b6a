//! Transmission: the write queue, the peer's window, pacing, bursts and the queues of the host, beside the congestion window,
//! which is the [`Flight`]'s.
//!
//! `selection` decides what leaves next (`run` when windows alone decide), `departure` books what does.
//!
//! Sources: RFC 9293 (windows, probes). Departures: a zero-window probe is an empty segment one octet below `snd_una`, as Linux
//! sends it, and not one octet of new data; it draws the same ACK.

mod departure;
mod peer_window;
mod run;
mod selection;

use ackclock_cc::{CongestionController, Controller};
use ackclock_units::{Bandwidth, SimTime};
use ackclock_wire::{Ecn, Flags};

use super::ack::AckOutcome;
use super::flight::Flight;
use crate::ack_control::{AckControl, AckSeen};
use crate::chronograph::{Activity, Chronograph};
use crate::config::{AppLimitedFrom, TcpConfig, ZeroWindowProbeFrom};
use crate::device_queue::DeviceQueue;
use crate::fq::Fq;
use crate::host_queue::HostQueue;
use crate::pacing::{Pacer, RateInputs};
use crate::scoreboard::Scoreboard;
use crate::tso::TsoBursts;
use crate::write_queue::{SentSoFar, WriteQueue};
pub(crate) use peer_window::PeerWindow;
pub(crate) use run::{FullSegment, Run, RunEnd};

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

/// The data that is to leave, and all that it may wait for beside the congestion window.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Transmitter {
    pub(crate) peer: PeerWindow,
    /// Limit that ended the last attempt to send.
    pub(super) limited_by: Limit,
    /// True if no mechanism inspects every segment, so that those of one moment leave as a run.
    pub(super) sends_runs: bool,
    /// The writer goes on: one burst leaves at most, of the buffer that it fills, and does not wait for more of the window.
    sends_one_burst: bool,
    has_sent_burst: bool,
    /// The application found no room in the send buffer, and has not been notified of any since.
    waits_for_room: bool,
    /// ACK congestion control, where both ends agreed to it.
    pub(crate) ack_control: Option<Box<AckControl>>,
    /// Queue where segments wait for their time, if the host paces them.
    pub(crate) fq: Option<Box<Fq>>,
    pub(crate) host_queue: Option<Box<HostQueue>>,
    pub(super) device_queue: Option<Box<DeviceQueue>>,
    pub(crate) queue: WriteQueue,
    bursts: TsoBursts,
    pub(crate) pacer: Pacer,
    pub(crate) times: Chronograph,
}

impl Transmitter {
    pub(super) fn new(config: &TcpConfig) -> Self {
        Self {
            peer: PeerWindow::at_start(0, config),
            limited_by: Limit::Application,
            sends_runs: false,
            ack_control: None,
            fq: Fq::new(&config.pacing),
            host_queue: config.small_queues.map(|queues| Box::new(HostQueue::new(queues.limit))),
            device_queue: config.device_queue.map(|queue| Box::new(DeviceQueue::new(queue.limit))),
            queue: WriteQueue::new(config),
            bursts: TsoBursts::new(config.bursts),
            sends_one_burst: false,
            has_sent_burst: false,
            pacer: Pacer::new(config.pacing),
            times: Chronograph::default(),
            waits_for_room: false,
        }
    }

    /// An attempt to send has stopped at this: the time until the next one is its.
    #[inline]
    fn stop_at(&mut self, flight: &Flight, now: SimTime, limit: Limit) {
        self.limited_by = limit;
        let activity = match limit {
            Limit::Cwnd => Activity::Cwnd,
            Limit::Pacing => Activity::Pacing,
            _ => self.activity_at(flight, now, limit),
        };
        self.times.observe(now, activity);
    }

    #[inline(never)] // most stop at the congestion window or the pacer
    fn activity_at(&mut self, flight: &Flight, now: SimTime, limit: Limit) -> Activity {
        let (una, high) = (flight.board.una(), flight.board.high_data());
        match limit {
            Limit::Cwnd => Activity::Cwnd,
            Limit::Pacing => Activity::Pacing,
            Limit::Window if self.queue.room_to_send(una, high) < self.peer.end().saturating_sub(high) => {
                of_full_buffer(flight)
            }
            Limit::Window => Activity::PeerWindow,
            Limit::HostQueue if self.waits_in_fq() => Activity::Pacing,
            Limit::HostQueue | Limit::DeviceQueue => Activity::Host,
            Limit::Application if self.queue.waits() => of_full_buffer(flight),
            Limit::Application => self.activity_of_application(flight, now),
        }
    }

    fn activity_of_application(&mut self, flight: &Flight, now: SimTime) -> Activity {
        let board = &flight.board;
        self.waits_for_room = self.waits_for_room && !self.queue.is_writable(board.una(), board.high_data());
        if self.queue.is_acknowledged(board.una()) {
            self.times.end(now);
        }
        let has_unsent = self.queue.stream_end() > board.high_data();
        match (board.is_empty(), has_unsent) {
            (true, false) => Activity::Idle,
            (false, false) if self.waits_for_room => of_full_buffer(flight),
            _ => Activity::Application,
        }
    }

    /// Segments wait for their time.
    fn waits_in_fq(&self) -> bool {
        self.fq.as_ref().is_some_and(|fq| fq.octets() > 0)
    }

    /// Notes that `octets` of payload were handed to the host, and when they leave it; a full segment has `mss`.
    #[inline]
    pub(super) fn on_handed_over(&mut self, now: SimTime, octets: u32, mss: u64, leaves_at: impl FnOnce() -> SimTime) {
        if self.host_queue.is_none() && self.device_queue.is_none() {
            return;
        }
        let leaves_at = leaves_at();
        if let Some(queue) = &mut self.device_queue {
            queue.on_sent(now, u64::from(octets) == mss, leaves_at);
        }
        if let Some(queue) = &mut self.host_queue {
            queue.on_sent(now, u64::from(octets), leaves_at);
        }
    }

    /// The application found no room in the send buffer: it waits until that is writable.
    pub(super) fn wait_for_room(&mut self, flight: &Flight, now: SimTime) {
        self.waits_for_room = true;
        self.stop_at(flight, now, self.limited_by);
    }

    /// Nothing new leaves for now.
    pub(super) fn stop(&mut self, flight: &mut Flight, now: SimTime, limit: Limit) -> Option<DataSegment> {
        self.stop_at(flight, now, limit);
        if limit == Limit::Application && flight.config.app_limited_from == AppLimitedFrom::Idle {
            flight.on_nothing_to_send();
        }
        if self.bursts.is_on() {
            self.bursts.end();
        }
        if flight.congestion.validation.is_on() {
            flight.account_for_use(now, limit);
        }
        None
    }

    /// The application is about to write: less than a segment is left of what it wrote before, here and at the host.
    pub(super) fn note_idle_before_write(&mut self, flight: &mut Flight, now: SimTime) {
        let waits_at_host = self.waits_in_fq() || self.host_queue.as_ref().is_some_and(|queue| !queue.is_empty(now));
        if flight.congestion.feed.is_on()
            && self.queue.unsent(flight.board.high_data()) < flight.board.mss()
            && !waits_at_host
        {
            flight.on_nothing_to_send();
        }
    }

    /// Compares the state after an ACK with the one before, where the peer's ACKs are controlled.
    pub(super) fn control_acks(&mut self, flight: &Flight, outcome: &AckOutcome) {
        let Some(control) = &mut self.ack_control else { return };
        control.on_ack(AckSeen {
            from: outcome.prior_una,
            una: flight.board.una(),
            high_data: flight.board.high_data(),
            cwnd: flight.congestion.cwnd(),
            is_in_order: outcome.was_in_order && flight.recovery.phase().is_open(),
        });
    }

    /// Settles, when the connection opens and after an ACK or a decision, whether segments are spread out: the controller may have
    /// found a rate.
    pub(super) fn note_pacing(&mut self, controller: &Controller) {
        let spreads_for_few_acks = self.ack_control.as_ref().is_some_and(|control| control.spreads());
        self.pacer.set_wanted(controller.pacing_rate().is_some() || spreads_for_few_acks);
    }

    /// The rate of the pacer, if pacing is active.
    pub(crate) fn rate_of_pacing(&self, flight: &Flight) -> Option<Bandwidth> {
        if self.pacer.is_active() { pacing_rate(&self.pacer, flight) } else { None }
    }

    /// Segments wait for the pacer, or for the host's queue, until then.
    pub(super) fn deadline(&self) -> SimTime {
        match (self.limited_by, &self.host_queue) {
            (Limit::Pacing, _) => self.pacer.opens_at(),
            (Limit::HostQueue, Some(queue)) => queue.wake(),
            _ => SimTime::NEVER,
        }
    }

    /// The payload of a new segment: a full one's, unless the peer's window never had room for two.
    #[inline]
    pub(crate) fn segment_size(&self, board: &Scoreboard) -> u64 {
        self.peer.longest_segment().min(board.mss())
    }

    /// A writer that waits looks for memory, once a burst or an ACK has been taken in; `rest` octets of a burst are about to leave.
    pub(super) fn look_for_memory(&mut self, flight: &Flight, rest: u64) {
        let (board, window) = (&flight.board, flight.window());
        let has_room = board.pipe() + rest < window;
        let least = u64::from(flight.recovery.dup_thresh()) + 1; // Linux
        let segments = has_room.then(|| (window / board.mss()).max(least));
        let windows = flight.congestion.controller.send_buffer_windows();
        self.queue.look_for_memory(board.una(), segments.map(|segments| windows * segments), board.mss());
    }

    /// Copies what was written into another buffer of the host.
    pub(super) fn refill(&mut self, flight: &Flight) {
        let windows = flight.congestion.controller.send_buffer_windows();
        self.sends_one_burst = self.queue.refill(flight.board.una(), self.sent_so_far(&flight.board), windows);
        self.has_sent_burst = !self.queue.has_one_buffer();
    }

    pub(super) fn sent_so_far(&self, board: &Scoreboard) -> SentSoFar {
        SentSoFar { high_data: board.high_data(), largest_window: self.peer.largest(), mss: self.segment_size(board) }
    }

    /// Octets of the next new segment.
    pub(super) fn next_len(&self, board: &Scoreboard) -> u64 {
        self.queue.next_len(board.high_data(), self.segment_size(board))
    }

    /// A segment shorter than a full one may have to wait (Nagle); the FIN does not.
    fn is_held_back(&self, board: &Scoreboard, len: u64) -> bool {
        self.queue.holds_back(len, board.una(), board.high_data(), self.segment_size(board))
    }

    /// Octets for which the peer's window and the send buffer have room.
    pub(super) fn usable_window(&self, board: &Scoreboard) -> u64 {
        let high = board.high_data();
        let peer = self.peer.end().saturating_sub(high); // a peer may shrink its window (RFC 9293 section 3.8.6)
        peer.min(self.queue.room_to_send(board.una(), high))
    }

    /// RFC 9293 section 3.8.6.2.1: less than a segment only if it is half of the largest window ever seen. A burst that is under way may
    /// end with whatever the window has room for (Linux).
    fn is_worth_sending(&self, board: &Scoreboard, window: u64) -> bool {
        window > 0
            && (self.queue.overrides_silly_window()
                //= rfc9293-3.8.6.2.1-sender-silly-window
                || window >= self.peer.largest() / 2
                || (self.bursts.is_incomplete() && !self.is_held_back(board, window)))
    }

    /// The timer of a closed window has fired. Returns true if a probe is to be sent.
    pub(super) fn on_persist_timer(&mut self, flight: &mut Flight, now: SimTime) -> bool {
        //= rfc9293-3.8.6.1-probe-closed-window
        let interval = flight.persist.on_expiry(flight.rto.rto());
        let window = self.usable_window(&flight.board);
        if window == 0 {
            return flight.probe_closed_window(now, interval);
        }
        //= rfc9293-3.8.6.2.1-override-timeout
        self.queue.override_silly_window(flight.board.high_data() + self.next_len(&flight.board).min(window));
        flight.timer.start(now, interval); // the pacer or the host may hold back what fits
        false
    }

    /// The peer answers a probe of its closed window.
    pub(super) fn on_window_update(&mut self, flight: &mut Flight, now: SimTime) {
        if self.peer.size() > 0 {
            flight.persist.stop();
            flight.timer.end_stall();
            flight.timer.stop();
            if !flight.board.is_empty() {
                flight.rearm_timeout(now);
            }
            flight.restart_after_idle(now);
        } else if flight.board.is_empty() && flight.config.zero_window_probe_from == ZeroWindowProbeFrom::Answer {
            flight.on_probe_answered(now);
        }
    }
}

/// A send buffer full of data behind a hole is the loss's: as in Linux, whose count begins with a segment that left room in cwnd, and
/// recovery leaves none.
fn of_full_buffer(flight: &Flight) -> Activity {
    if flight.recovery.phase().is_open() { Activity::SendBuffer } else { Activity::Cwnd }
}

/// The rate to pace at, whether segments are spread out or not, for it sizes bursts, too: the controller's, or that of
/// the window, which is cwnd over the round trip, times Linux's factor.
pub(crate) fn pacing_rate(pacer: &Pacer, flight: &Flight) -> Option<Bandwidth> {
    let controller = &flight.congestion.controller;
    let window_rate = || {
        pacer.window_rate(RateInputs {
            cwnd: controller.cwnd().0,
            ssthresh: controller.ssthresh().map(|ssthresh| ssthresh.0),
            outstanding: flight.board.flight_size(),
            srtt: flight.rto.fine_stats().srtt,
        })
    };
    controller.pacing_rate().or_else(window_rate).map(|rate| rate.min(pacer.most()))
}
