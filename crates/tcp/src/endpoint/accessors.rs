//! Accessors of an endpoint's state, window, timers and counters, and reports from its host.

use ackclock_cc::{CongestionController, Controller, HopRecord, RttStats};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use super::{ConnectionError, ConnectionPhase, Endpoint, State};
use crate::chronograph::Spent;
use crate::episode::Episode;
use crate::info::{TcpInfo, tcp_info};
use crate::sender::SenderCounters;

impl Endpoint {
    /// The segment that is about to arrive brings what links wrote into data of this end.
    pub fn on_telemetry(&mut self, hops: &[HopRecord]) {
        self.sender.controller_mut().on_telemetry(hops);
    }

    /// Notes that `octets` of payload were dropped at the host. What may leave now does so at [`Self::deadline`].
    pub fn on_refused(&mut self, now: SimTime, octets: u32) {
        if let Some(queue) = &mut self.sender.transmitter.host_queue {
            queue.on_refused(now, u64::from(octets));
        }
    }

    /// Notes that `octets` of payload have left the host, whose [`crate::Output::leaves_at`] could not say when they
    /// would. What may leave now does so at [`Self::deadline`].
    pub fn on_left(&mut self, now: SimTime, octets: u32) {
        if let Some(queue) = &mut self.sender.transmitter.host_queue {
            queue.on_left(now, u64::from(octets));
        }
    }

    /// The state by RFC 9293's names.
    pub fn state(&self) -> State {
        match self.phase {
            ConnectionPhase::Closed => State::Closed,
            ConnectionPhase::Listen | ConnectionPhase::DeferredAccept => State::Listen,
            ConnectionPhase::SynSent => State::SynSent,
            ConnectionPhase::SynReceived => State::SynReceived,
            ConnectionPhase::Open => {
                let is_closed = self.sender.transmitter.queue.is_closed();
                match (is_closed, self.sender.is_finished(), self.receiver.is_finished()) {
                    (false, _, false) => State::Established,
                    (false, _, true) => State::CloseWait,
                    (true, false, false) => State::FinWait1,
                    (true, true, false) => State::FinWait2,
                    (true, false, true) if self.peer_closed_first => State::LastAck,
                    //= rfc9293-3.6-simultaneous-close
                    (true, false, true) => State::Closing,
                    (true, true, true) if self.peer_closed_first => State::Closed,
                    (true, true, true) => State::TimeWait,
                }
            }
        }
    }

    /// True if the connection was given up or reset.
    pub fn is_aborted(&self) -> bool {
        self.error.is_some() || (self.phase == ConnectionPhase::Closed && self.sender.flight().board.high_data() > 0)
    }

    /// The congestion window in force: the controller's, or during recovery what the recovery leaves of it.
    pub fn cwnd(&self) -> Bytes {
        Bytes(self.sender.flight().window())
    }

    /// The controller, for its ssthresh and internals; before the handshake is over [`Controller::Unopened`].
    pub fn controller(&self) -> &Controller {
        &self.sender.flight().congestion.controller
    }

    /// Sent and not cumulatively acknowledged.
    pub fn flight_size(&self) -> Bytes {
        Bytes(self.sender.flight().board.flight_size())
    }

    /// RFC 6675's estimate of what is in the network.
    pub fn pipe(&self) -> Bytes {
        Bytes(self.sender.flight().board.pipe())
    }

    /// Taken for lost and not yet retransmitted.
    pub fn to_repair(&self) -> Bytes {
        // A probe, or `NextSeg` rules 3 and 4, retransmit what is not known to be lost.
        Bytes(self.sender.flight().board.lost().saturating_sub(self.sender.flight().board.retransmitted()))
    }

    /// True while cwnd is below ssthresh.
    pub fn is_in_slow_start(&self) -> bool {
        self.sender.flight().congestion.in_slow_start()
    }

    /// The rate at which segments are spread out; `None` if they leave as windows allow.
    pub fn pacing_rate(&self) -> Option<Bandwidth> {
        self.sender.transmitter.rate_of_pacing(self.sender.flight())
    }

    /// The sender's estimates of the round trip.
    pub fn rtt(&self) -> RttStats {
        self.sender.flight().rto.stats()
    }

    /// The smoothed round trip, by a fine clock also where the stack counts ticks. Zero until there is a sample.
    pub fn fine_srtt(&self) -> SimDuration {
        self.sender.flight().rto.fine_stats().srtt
    }

    /// True once there was an RTT sample.
    pub fn has_rtt_sample(&self) -> bool {
        self.sender.flight().rto.has_sample()
    }

    /// The RTT sample that the last ACK gave, if it gave one.
    pub fn latest_rtt_sample(&self) -> Option<SimDuration> {
        self.sender.flight().rto.sample_of_ack()
    }

    /// The retransmission timeout with its back-off.
    pub fn rto(&self) -> SimDuration {
        self.sender.flight().rto.rto()
    }

    /// The window that the peer advertises, scaled.
    pub fn rwnd(&self) -> Bytes {
        Bytes(self.sender.transmitter.peer.size())
    }

    /// Octets written and not sent for the first time.
    pub fn unsent(&self) -> Bytes {
        Bytes(self.sender.unsent())
    }

    /// Octets written that the peer has acknowledged.
    pub fn acknowledged(&self) -> Bytes {
        Bytes(self.sender.acknowledged())
    }

    /// True while data waits for what was lost before it.
    pub fn has_out_of_order_data(&self) -> bool {
        self.receiver.has_out_of_order_data()
    }

    /// The window that was advertised, and not used since.
    pub fn advertised_window(&self) -> Bytes {
        Bytes(self.receiver.window_end() - self.receiver.rcv_nxt())
    }

    /// Octets that the application may write now without exceeding the send buffer or `TCP_NOTSENT_LOWAT`.
    pub fn writable(&self) -> Bytes {
        Bytes(self.sender.writable())
    }

    /// Octets that a write takes before it must ask for room again: buffer by buffer where there is a
    /// `TCP_NOTSENT_LOWAT`
    pub fn writable_at_once(&self) -> Bytes {
        Bytes(self.sender.writable_at_once())
    }

    /// True if polling shows the socket as writable, and a write that waits for room goes on: a third of the send buffer is
    /// free, and what is unsent is below half of `TCP_NOTSENT_LOWAT`.
    pub fn is_writable(&self) -> bool {
        self.sender.is_writable()
    }

    /// Octets in order that the application, reading on call, has not read.
    pub fn unread(&self) -> Bytes {
        Bytes(self.receiver.unread())
    }

    /// True once all that the peer will ever send has arrived.
    pub fn is_peer_finished(&self) -> bool {
        self.receiver.is_finished()
    }

    /// The error that ended the connection early.
    pub fn error(&self) -> Option<ConnectionError> {
        self.error
    }

    /// The time since the handshake, by what kept the sending half from sending more.
    pub fn spent(&self, now: SimTime) -> Spent {
        self.sender.transmitter.times.spent(now)
    }

    /// State of the endpoint, in the form of `TCP_INFO`
    pub fn tcp_info(&self, now: SimTime) -> TcpInfo {
        tcp_info(now, self.state(), &self.sender, &self.receiver, &self.ecn)
    }

    /// Counts of the sending half.
    pub fn counters(&self) -> SenderCounters {
        self.sender.flight().counters
    }

    /// Number of segments for which the peer is asked to send an ACK; `None` without ACK congestion control.
    pub fn ack_ratio(&self) -> Option<u32> {
        self.sender.transmitter.ack_control.as_ref().map(|control| control.ratio())
    }

    /// ACKs that ACK congestion control found missing.
    pub fn lost_acks(&self) -> u64 {
        self.sender.transmitter.ack_control.as_ref().map_or(0, |control| control.lost_acks())
    }

    /// Payload that has arrived in order.
    pub fn received(&self) -> Bytes {
        Bytes(self.receiver.payload_octets())
    }

    /// Payload that the application has read at `now`.
    pub fn read(&self, now: SimTime) -> Bytes {
        Bytes(self.receiver.read_octets(now))
    }

    /// Time at which the application will have read `octets` in all; `None` while they have not all arrived.
    pub fn time_of_read(&mut self, octets: Bytes, now: SimTime) -> Option<SimTime> {
        self.receiver.time_of_read(octets.0, now)
    }

    /// Payload of a full segment, as negotiated.
    pub fn mss(&self) -> u32 {
        self.sender.flight().board.mss() as u32
    }

    /// Episodes that have ended since the last call.
    pub fn take_episodes(&mut self) -> Vec<Episode> {
        self.sender.take_episodes()
    }

    /// The episode under way, if there is one.
    pub fn current_episode(&self) -> Option<Episode> {
        self.sender.flight().congestion.episodes.current()
    }
}
