//! State, window, timers and counts of an endpoint, for observers.

use ackclock_cc::{CongestionController, Controller, ExternalController, RttStats, SharedAgents};
use ackclock_tcp::{Episode, SenderCounters};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use super::{Phase, QuicEndpoint, QuicOutput};

impl QuicEndpoint {
    /// True once data may be sent.
    pub fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Answered | Phase::Open)
    }

    /// UDP payload of a full packet.
    pub fn datagram_size(&self) -> u32 {
        self.config.max_datagram_size
    }

    /// Congestion window of the controller.
    pub fn cwnd(&self) -> Bytes {
        self.sender.controller.cwnd()
    }

    /// The controller, for its ssthresh and internals; before the handshake is over [`Controller::Unopened`].
    pub fn controller(&self) -> &Controller {
        &self.sender.controller
    }

    /// Replaces a shared agent of its controller by the one of the same name in `agents`.
    pub fn join(&mut self, agents: &mut SharedAgents) {
        self.controller.join(agents);
        self.sender.controller.join(agents);
    }

    /// The external controller, if it is one.
    pub fn external_controller(&mut self) -> Option<&mut dyn ExternalController> {
        match &mut self.sender.controller {
            Controller::External(external) => Some(external.as_mut()),
            _ => None,
        }
    }

    /// True if the controller is to decide: see [`Self::decide`].
    pub fn is_decision_due(&self) -> bool {
        self.sender.controller.is_decision_due()
    }

    /// Lets the controller decide, and sends the packets that this permits.
    pub fn decide(&mut self, now: SimTime, out: &mut impl QuicOutput) {
        self.sender.controller.decide(now);
        self.resume(now, out);
    }

    /// Sends the packets that an external change of the controller's window or rate permits.
    pub fn resume(&mut self, now: SimTime, out: &mut impl QuicOutput) {
        self.sender.note_pacing();
        self.transmit(now, out);
    }

    /// The UDP payload of packets that are neither acknowledged nor lost (`bytes_in_flight`).
    pub fn in_flight(&self) -> Bytes {
        Bytes(self.sender.log.in_flight())
    }

    /// The rate at which packets are spread out; `None` if they leave as the window allows.
    pub fn pacing_rate(&self) -> Option<Bandwidth> {
        self.sender.pacing_rate()
    }

    /// The sender's estimates of the round trip.
    pub fn rtt(&self) -> RttStats {
        self.sender.rtt.stats()
    }

    /// True once there was an RTT sample.
    pub fn has_rtt_sample(&self) -> bool {
        self.sender.rtt.first_sample().is_some()
    }

    /// The RTT sample of the last packet, if it gave one.
    pub fn latest_rtt_sample(&self) -> Option<SimDuration> {
        self.sender.rtt_sample()
    }

    /// The probe timeout with its back-off.
    pub fn pto(&self) -> SimDuration {
        self.sender.pto()
    }

    /// Octets that the peer allows beyond those that it has acknowledged.
    pub fn peer_window(&self) -> Bytes {
        Bytes(self.sender.peer.max_data.saturating_sub(self.sender.stream.acknowledged()))
    }

    /// Octets written and not sent for the first time.
    pub fn unsent(&self) -> Bytes {
        Bytes(self.sender.stream.unsent())
    }

    /// Octets written that the peer has acknowledged.
    pub fn acknowledged(&self) -> Bytes {
        Bytes(self.sender.stream.acknowledged())
    }

    /// Octets that have arrived in order; the application has read them.
    pub fn received(&self) -> Bytes {
        Bytes(self.incoming.in_order())
    }

    /// True while data waits for lost data before it.
    pub fn has_out_of_order_data(&self) -> bool {
        self.incoming.has_gap()
    }

    /// True once all that the peer will ever send has arrived.
    pub fn is_peer_finished(&self) -> bool {
        self.incoming.is_finished()
    }

    /// Time at which the application has read `octets` in all; `None` while they have not all arrived.
    pub fn time_of_read(&self, octets: Bytes, now: SimTime) -> Option<SimTime> {
        (self.received() >= octets).then_some(now)
    }

    /// Counts of the sending half: `timeouts` are expiries of the probe timeout.
    pub fn counters(&self) -> SenderCounters {
        self.sender.counters
    }

    /// Episodes that have ended since the last call.
    pub fn take_episodes(&mut self) -> Vec<Episode> {
        self.sender.episodes.take_finished()
    }

    /// The episode under way, if there is one.
    pub fn current_episode(&self) -> Option<Episode> {
        self.sender.episodes.current()
    }
}
