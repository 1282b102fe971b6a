//! The sending half: octets in flight, loss detection, probes, and events for the controller.
//!
//! Source: RFC 9002. `ack` takes in an ACK (section 6.1, appendix A.7), `congestion` begins and ends recovery periods (section 7),
//! `report` informs observers. The controller owns cwnd; pacing, samples of the delivery rate, round trips and episodes are
//! those of [`ackclock_tcp`].
//!
//! Controllers that model the path need the state of repair ([`ackclock_cc::Repair`]). RFC 9002 does not define it:
//! here a repair lasts, as over TCP, until the last of the lost data has arrived, while a recovery period lasts one
//! round trip.
//!
//! Departures: no packet is sent beyond the window when a recovery period begins (section 7.3.2 allows one); an ACK of packets
//! from before and after the start of that period lets the window grow by all of them, where appendix B.5 judges each packet; the
//! validation of ECN (RFC 9000 section 13.4.2) takes every path for one that keeps marks.

mod ack;
mod congestion;
mod report;

use ackclock_cc::{CongestionController, Controller, ControllerConfig, SendEvent};
use ackclock_tcp::event_log::EventLog;
use ackclock_tcp::pacing::{Pacer, RateInputs};
use ackclock_tcp::rate_sample::RateSampler;
use ackclock_tcp::rounds::Rounds;
use ackclock_tcp::{Episodes, PacingConfig, SenderCounters};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};
use ackclock_wire::quic::QuicFrames;

use crate::config::QuicConfig;
use crate::rtt::RttEstimator;
use crate::send_stream::SendStream;
use crate::sent_log::{SentLog, SentPacket};
use congestion::Repairing;

pub(crate) use ack::IncomingAck;

/// Limit that ended the last attempt to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// Nothing to send, or the peer's `MAX_DATA` was reached.
    Application,
    Cwnd,
    Pacing,
}

/// Frames to send beside data, because their packet is lost or they were never sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Control {
    pub(crate) crypto: bool,
    pub(crate) ack_frequency: bool,
    pub(crate) max_data: bool,
}

/// Limits that the peer has advertised.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) max_data: u64,
    /// Zero while the handshake is under way (RFC 9002 section 6.2.1).
    pub(crate) max_ack_delay: SimDuration,
}

/// Sending half of a QUIC connection.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub(crate) config: QuicConfig,
    pub(crate) log: SentLog,
    pub(crate) rtt: RttEstimator,
    pub(crate) stream: SendStream,
    pub(crate) controller: Controller,
    pub(crate) peer: Peer,
    pub(crate) control: Control,
    /// True if the peer has this end's part of the handshake.
    crypto_arrived: bool,
    /// Probes that leave whatever the window, and the number of the first packet younger than the probed ones.
    pub(crate) probes: u32,
    probe_for: u64,
    probe_count: u32,
    /// Expiries in a row (`pto_count`).
    pto_count: u32,
    last_eliciting: SimTime,
    idle_since: Option<SimTime>,
    loss_time: SimTime,
    /// Octets found lost by the timer since the last ACK was reported to the controller.
    lost_by_timer: Bytes,
    limited_by: Limit,
    pacer: Pacer,
    rates: Option<Box<RateSampler>>,
    has_controller_timer: bool,
    rounds: Rounds,
    /// The beginning of the recovery period (`congestion_recovery_start_time`), and whether it is under way.
    recovery_start: Option<SimTime>,
    is_recovering: bool,
    /// It began with a mark, and no loss has been found in it.
    answers_mark: bool,
    repairing: Repairing,
    /// True if data leaves as ECN-capable: ECN is on, and the controller has an answer to marks.
    pub(crate) sends_ect: bool,
    marked_before: u64,
    rtt_sample: Option<SimDuration>,
    pub(crate) episodes: Episodes,
    pub(crate) counters: SenderCounters,
    pub(crate) events: Option<Box<EventLog>>,
    /// Packet numbers while an ACK is handled.
    scratch: Vec<u64>,
}

impl Sender {
    pub(crate) fn new(config: QuicConfig) -> Self {
        let gain = config.pacing_gain;
        let (slow_start_ratio, avoidance_ratio) = (gain, gain);
        let pacing =
            PacingConfig { enabled: config.pacing, slow_start_ratio, avoidance_ratio, ..PacingConfig::default() };
        Self {
            config,
            log: SentLog::default(),
            rtt: RttEstimator::new(config.initial_rtt),
            stream: SendStream::new(),
            controller: Controller::unopened(config.initial_window(), None),
            peer: Peer { max_data: 0, max_ack_delay: SimDuration::ZERO },
            control: Control::default(),
            crypto_arrived: false,
            probes: 0,
            probe_for: 0,
            probe_count: 0,
            pto_count: 0,
            last_eliciting: SimTime::ZERO,
            idle_since: Some(SimTime::ZERO),
            loss_time: SimTime::NEVER,
            lost_by_timer: Bytes::ZERO,
            limited_by: Limit::Application,
            pacer: Pacer::new(pacing),
            rates: None,
            has_controller_timer: false,
            rounds: Rounds::default(),
            recovery_start: None,
            answers_mark: false,
            is_recovering: false,
            repairing: Repairing::default(),
            sends_ect: false,
            marked_before: 0,
            rtt_sample: None,
            episodes: Episodes::default(),
            counters: SenderCounters::default(),
            events: None,
            scratch: Vec::new(),
        }
    }

    /// Starts the controller at the end of the handshake.
    pub(crate) fn open(&mut self, controller: &ControllerConfig) {
        let datagram = Bytes(self.config.datagram());
        self.controller = Controller::new(controller, datagram, self.config.initial_window(), None);
        // With ECN, QUIC always counts marks (RFC 9000 section 13.4.1).
        self.sends_ect = self.controller.on_feedback(self.config.ecn) && self.config.ecn;
        let demands = self.controller.demands();
        self.has_controller_timer = demands.has_timer();
        if demands.samples {
            self.rates = Some(Box::default());
        }
        if demands.at_once {
            self.pacer = Pacer::new(PacingConfig { enabled: false, ..PacingConfig::default() });
        }
        self.control.ack_frequency = self.config.ack_frequency.is_some();
        self.note_pacing();
        if let Some(events) = &mut self.events {
            events.begin(&self.controller);
        }
    }

    /// Takes note of a rate that the controller may have found after an ACK or a decision.
    pub(crate) fn note_pacing(&mut self) {
        self.pacer.set_wanted(self.controller.pacing_rate().is_some());
    }

    /// The rate of pacing, if packets are spread out at all: the controller's, or that of the window (RFC 9002 section 7.7).
    pub(crate) fn pacing_rate(&self) -> Option<Bandwidth> {
        if !self.pacer.is_active() {
            return None;
        }
        let inputs = RateInputs {
            cwnd: self.controller.cwnd().0,
            ssthresh: self.controller.ssthresh().map(|ssthresh| ssthresh.0),
            outstanding: self.log.in_flight(),
            srtt: self.rtt.stats().srtt,
        };
        self.controller.pacing_rate().or_else(|| self.pacer.window_rate(inputs))
    }

    /// True if a packet of `size` octets may leave now; otherwise the limit is noted.
    pub(crate) fn may_send(&mut self, now: SimTime, size: u32) -> bool {
        self.limited_by = if self.log.in_flight() + u64::from(size) > self.controller.cwnd().0 {
            Limit::Cwnd
        } else if self.pacer.is_active() && !self.pacer.begin_burst(now) {
            Limit::Pacing
        } else {
            return true;
        };
        false
    }

    /// Takes note that there is nothing more to send.
    pub(crate) fn on_nothing_to_send(&mut self) {
        self.limited_by = Limit::Application;
        let in_flight = self.log.in_flight();
        if let Some(rates) = &mut self.rates
            && in_flight < self.controller.cwnd().0
        {
            rates.on_application_limited(in_flight);
        }
    }

    /// Takes note that a packet has left.
    pub(crate) fn on_sent(&mut self, packet: SentPacket, is_retransmission: bool) {
        let now = packet.at;
        let was_idle = self.log.in_flight() == 0;
        let place = self.log.next();
        self.log.push(packet);
        let packet = *self.log.get(place).expect("it has just left");
        if packet.size == 0 {
            return;
        }
        self.last_eliciting = now;
        let payload = packet.stream.map_or(0, |range| range.end - range.start);
        if payload > 0 {
            self.counters.sent_segments += 1;
            self.counters.sent_octets += payload;
            if is_retransmission {
                self.counters.retransmitted_segments += 1;
                self.counters.retransmitted_octets += payload;
            }
        }
        if let Some(rates) = &mut self.rates {
            // Octets in flight are without what is declared lost, as the draft on BBR has it (`C.inflight`).
            let in_flight = self.log.in_flight();
            rates.on_sent(now, packet.span(), in_flight, in_flight <= packet.size.into(), false);
        }
        // The handshake is none of the initial window, which leaves at once (section 7.7).
        if self.pacer.is_active() && payload > 0 {
            let rate = self.pacing_rate();
            self.pacer.on_sent(now, packet.size.into(), rate, self.counters.sent_segments);
        }
        if is_retransmission {
            self.repairing.on_sent_again(packet.position);
        }
        let idle_since = self.idle_since.take().filter(|_| was_idle);
        let (size, flight_size) = (Bytes(packet.size.into()), Bytes(self.log.in_flight()));
        self.controller.on_send(&SendEvent {
            now,
            size,
            flight_size,
            snd_nxt: self.log.position(),
            idle_for: idle_since.map_or(SimDuration::ZERO, |since| now - since),
            is_app_limited: idle_since.is_some() && self.rates.as_ref().is_some_and(|rates| rates.is_app_limited()),
        });
        if self.events.is_some() {
            self.report_sent(&packet, is_retransmission);
        }
    }

    /// The probe timeout with its back-off (RFC 9002 section 6.2.1).
    pub(crate) fn pto(&self) -> SimDuration {
        let pto = self.rtt.pto() + self.peer.max_ack_delay;
        SimDuration(pto.0.saturating_mul(1 << self.pto_count.min(30)))
    }

    /// Time at which [`Self::on_timer`] is due.
    pub(crate) fn deadline(&self) -> SimTime {
        let pace = if self.limited_by == Limit::Pacing { self.pacer.next() } else { SimTime::NEVER };
        self.loss_deadline().min(pace).min(self.controller_deadline())
    }

    /// The timer that goes off at this moment.
    pub(crate) fn due(&self, deadline: SimTime) -> &'static str {
        let timers =
            [("the loss or probe timer", self.loss_deadline()), ("the controller's timer", self.controller_deadline())];
        timers.iter().find(|(_, at)| *at == deadline).map_or("the pacer", |(name, _)| name)
    }

    fn controller_deadline(&self) -> SimTime {
        if self.has_controller_timer { self.controller.deadline() } else { SimTime::NEVER }
    }

    /// Time of the timer of RFC 9002 appendix A.8: time threshold, or probe.
    fn loss_deadline(&self) -> SimTime {
        if self.loss_time < SimTime::NEVER || self.log.in_flight() == 0 {
            return self.loss_time;
        }
        self.last_eliciting + self.pto()
    }

    /// Handles a deadline.
    pub(crate) fn on_timer(&mut self, now: SimTime) {
        if now >= self.loss_deadline() {
            if self.loss_time < SimTime::NEVER {
                let octets = self.detect_losses(now);
                self.lost_by_timer += Bytes(octets);
            } else {
                self.on_probe_timeout();
            }
        }
        if now >= self.controller_deadline() {
            self.controller.on_timer(now);
            self.note_pacing();
        }
    }

    /// Requests two ack-eliciting packets; nothing is marked lost (RFC 9002 section 6.2.4).
    fn on_probe_timeout(&mut self) {
        self.pto_count += 1;
        (self.probes, self.probe_count) = (2, 0);
        self.probe_for = self.log.next();
        let has_crypto = |packet: &SentPacket| packet.frames.has(QuicFrames::CRYPTO);
        self.control.crypto |= !self.crypto_arrived && self.log.outstanding(self.probe_for).any(has_crypto);
        self.counters.timeouts += 1;
        self.report_probe_timeout();
    }

    /// Data for a probe without other data: outstanding data, the oldest first, each once.
    pub(crate) fn outstanding_data(&self) -> Option<ackclock_tcp::ranges::Range> {
        let with_data = self.log.outstanding(self.probe_for).filter_map(|packet| packet.stream);
        with_data.filter(|range| range.end > range.start).nth(self.probe_count as usize)
    }

    /// Takes note that a probe has left.
    pub(crate) fn on_probe_sent(&mut self, repeats: bool) {
        self.probes -= 1;
        self.probe_count += u32::from(repeats);
        self.counters.probes += 1;
    }

    /// The RTT sample of the last ACK, if it gave one.
    pub(crate) fn rtt_sample(&self) -> Option<SimDuration> {
        self.rtt_sample
    }

    pub(crate) fn begin_packet(&mut self) {
        self.rtt_sample = None;
    }
}
