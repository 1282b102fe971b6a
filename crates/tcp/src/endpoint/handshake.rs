//! Opening: SYN, SYN-ACK, ACK, and what their options settle (RFC 9293 section 3.5, RFC 7323, RFC 2018).

use ackclock_cc::Controller;
use ackclock_units::{Bytes, SimDuration, SimTime};
use ackclock_wire::{Flags, Segment, Seq, SynOptions, Timestamps};

use super::{ConnectionError, ConnectionPhase, Endpoint, Negotiated, Output, TIMESTAMPS_LEN};
use crate::ack_control::FIRST_RATIO;
use crate::ecn;

impl Endpoint {
    pub(super) fn answer_syn(&mut self, now: SimTime, syn: &Segment, out: &mut impl Output) {
        let (feedback, flags) = ecn::answer(self.config.ecn, syn.flags, syn.ecn);
        self.handshake.ecn = flags;
        self.set_feedback(feedback);
        self.negotiate(syn);
        self.phase = ConnectionPhase::SynReceived;
        self.handshake.retries = 0;
        self.send_syn(now, out);
    }

    pub(super) fn set_feedback(&mut self, feedback: ecn::Feedback) {
        let with_option = self.config.ecn.accurate_option;
        self.ecn.set_feedback(feedback, with_option);
        self.sender.ecn_mut().set_feedback(feedback, self.phase != ConnectionPhase::SynSent, with_option);
    }

    pub(super) fn acknowledges_syn(&self, segment: &Segment) -> bool {
        segment.flags.has(Flags::ACK) && segment.ack == Seq::of_offset(self.initial_sequence, 1)
    }

    /// Takes in the peer's SYN: an option is in force if both ends sent it.
    pub(super) fn negotiate(&mut self, syn: &Segment) {
        let config = &*self.config;
        //= rfc7323-3.2-both-ends
        let timestamps = config.timestamps && syn.timestamps.is_some();
        //= rfc7323-2.2-both-ends
        let scale = syn.syn.window_scale.filter(|_| config.window_scaling);
        self.negotiated = Negotiated {
            timestamps,
            scaling: scale.is_some(),
            sack: config.offers_sack() && syn.syn.sack_permitted,
            //= rfc5690-4.1-both-ends
            ack_control: config.ack_control.is_some() && syn.syn.ack_control_permitted,
            //= rfc7323-2.3-fourteen
            snd_scale: scale.unwrap_or(0).min(14), // RFC 7323 section 2.3: a shift above 14 means 14
        };
        //= rfc9293-3.7.1-options-within-mss
        let options = if timestamps { TIMESTAMPS_LEN } else { 0 };
        // RFC 9293 section 3.7.1: without the option, 536 octets.
        //= rfc9293-3.7.1-mss-default
        let peer = if syn.syn.mss == 0 { 536 } else { u32::from(syn.syn.mss) };
        // Either end may ask for less than the options take.
        let payload = |offered: u32| u64::from(offered.saturating_sub(options).max(1));
        //= rfc9293-3.7.1-mss-bounds-segments
        let mss = payload(self.handshake.offered_mss.min(peer));
        let window = self.initial_window(mss);
        let controller = Controller::new(&self.controller, Bytes(mss), window, self.config.initial_ssthresh);
        self.sender.set_negotiated(mss, self.negotiated.sack, window, controller);
        self.receiver.on_syn(syn.seq.0, syn.timestamps.map(|timestamps| timestamps.value));
        if self.negotiated.ack_control {
            self.sender.control_acks_of_peer();
            self.receiver.acks.set_ratio(FIRST_RATIO);
        }
        let own_scale = if scale.is_some() { self.receiver.own_scale() } else { 0 };
        self.receiver.set_scale(own_scale, payload(self.handshake.offered_mss));
    }

    /// Initial window in octets: a window given in segments keeps its number of segments where a full one is not as
    /// large as configured.
    fn initial_window(&self, mss: u64) -> Bytes {
        let (window, configured) = (self.config.initial_window.0, u64::from(self.config.mss));
        Bytes(if window.is_multiple_of(configured) { window / configured * mss } else { window })
    }

    /// The handshake has settled what a controller is made from.
    pub(super) fn has_controller(&self) -> bool {
        !matches!(self.sender.flight().congestion.controller, Controller::Unopened(_))
    }

    pub(super) fn open(&mut self, now: SimTime, segment: &Segment, out: &mut impl Output) {
        self.phase = ConnectionPhase::Open;
        self.receiver.on_open(now, self.negotiated.sack);
        // The window of a SYN is not scaled.
        let is_opener = segment.flags.has(Flags::SYN);
        let shift = if is_opener { 0 } else { self.negotiated.snd_scale };
        let window = u64::from(segment.window) << shift;
        let echo = segment.timestamps.filter(|ts| ts.echo != 0 && self.negotiated.timestamps);
        let echoed = echo.map(|ts| self.sender.clock_mut().time_of(ts.echo, now));
        self.sender.on_syn_acknowledged(now, window, self.handshake.retries, echoed, is_opener);
        self.transmit(now, out);
        self.flush_ack(now, out);
    }

    pub(super) fn send_syn(&mut self, now: SimTime, out: &mut impl Output) {
        self.sender.on_syn_sent(now);
        if self.handshake.retries == 0 {
            self.handshake.began = now;
        }
        let answers = self.phase == ConnectionPhase::SynReceived;
        let offer = |configured: bool, agreed: bool| if answers { agreed } else { configured };
        let timestamps = offer(self.config.timestamps, self.negotiated.timestamps);
        let acknowledgement = self.receiver.acknowledgement(now);
        let wants_scale = offer(self.config.window_scaling, self.negotiated.scaling);
        //= rfc3168-6.1.1-syn-not-ect
        let mut syn = Segment {
            seq: Seq::of_offset(self.initial_sequence, 0),
            ack: if answers { acknowledgement.ack } else { Seq(0) },
            window: self.receiver.syn_window((!answers).then_some(self.handshake.offered_mss)),
            flags: if answers {
                Flags::SYN.with(Flags::ACK).with(self.handshake.ecn)
            } else {
                Flags::SYN.with(ecn::syn_flags(self.config.ecn, self.handshake.retries))
            },
            syn: SynOptions {
                //= rfc9293-3.7.1-mss-in-every-syn
                mss: self.handshake.offered_mss.min(u32::from(u16::MAX)) as u16,
                window_scale: wants_scale.then(|| self.receiver.own_scale()),
                sack_permitted: offer(self.config.offers_sack(), self.negotiated.sack),
                ack_control_permitted: offer(self.config.ack_control.is_some(), self.negotiated.ack_control),
            },
            timestamps: timestamps.then(|| Timestamps {
                value: self.sender.clock_mut().tick(now),
                echo: if answers { acknowledgement.ts_recent } else { 0 },
            }),
            ..Segment::default()
        };
        // Sent again it goes without: the option may be what was in the way.
        //= rfc9768-3.2.3.2.1-lost-syn-ack
        if let Some(option) = self.ecn.first_option().filter(|_| answers && self.handshake.retries == 0) {
            syn.set_accurate_ecn(option);
        }
        out.send(&syn);
    }

    pub(super) fn on_syn_timer(&mut self, now: SimTime, out: &mut impl Output) {
        if now < self.sender.flight().timer.deadline() {
            return;
        }
        self.handshake.retries = self.handshake.retries.saturating_add(1);
        // Linux's linear timeouts are of the SYN alone, and come on top of the others.
        let linear = if self.phase == ConnectionPhase::SynSent { self.config.syn_linear_timeouts } else { 0 };
        // The largest number of tries is for ever, whatever comes on top of it.
        let is_last = self.handshake.retries > self.config.syn_retries.saturating_add(linear)
            || (linear > 0 && now.saturating_since(self.handshake.began) >= self.time_of_syns());
        self.sender.on_syn_timeout(self.handshake.retries, !is_last && self.handshake.retries > linear);
        self.hand_over(out);
        if is_last {
            return self.fail(now, ConnectionError::TimedOut);
        }
        self.send_syn(now, out);
    }

    /// Time that all SYNs take without linear timeouts, each timeout twice the one before: with them a connection is
    /// given up by then, too (two retransmissions in 3 s on Linux 6.18 with `TCP_SYNCNT` = 1).
    fn time_of_syns(&self) -> SimDuration {
        let syns = self.config.syn_retries.saturating_add(1);
        let timeouts = 1_u64.checked_shl(syns).map_or(u64::MAX, |power| power - 1);
        SimDuration(self.config.rto.initial.0.saturating_mul(timeouts))
    }
}
