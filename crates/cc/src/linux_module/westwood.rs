//! Linux's Westwood+: an estimate of the bandwidth in octets a tick, twice filtered; ssthresh is what it brings in the least RTT.
//!
//! An episode begins as Reno's, and its end sets window and ssthresh by the estimate; a timeout sets ssthresh by it at once, and the
//! least RTT begins anew. A sample spans more than a round trip and more than 50 ms. A duplicate ACK counts for a segment, which is
//! taken from what a later ACK of more than one acknowledges.
//!
//! Departures: the header prediction of Linux, which skips that, is taken to fail only for ACKs with SACK blocks or ECE, not where the
//! receiver's window has changed.

use ackclock_units::{SimDuration, SimTime};

use super::{Acked, Change, Episode, Growth, Module, State};
use crate::classic::WestwoodConfig;
use crate::event::{CongestionCause, HandshakeEvent};
use crate::jiffies::Jiffies;
use crate::segment_window::SegmentWindow;

/// The round trip before the first sample, and the shortest span of a sample of the bandwidth.
const FIRST_RTT: SimDuration = SimDuration::from_secs(20);
const SHORTEST_SAMPLE: SimDuration = SimDuration::from_millis(50);
const LEAST_WINDOW: u64 = 2;

#[derive(Clone, Debug)]
pub(crate) struct Westwood {
    clock: Jiffies,
    /// The estimates of the bandwidth after one filter and after both, octets a tick.
    once: u64,
    bandwidth: u64,
    /// The beginning of the sample, ticks, and the octets acknowledged since.
    began: Option<u64>,
    pub(super) octets: u64,
    /// The octets that duplicate ACKs counted.
    accounted: u64,
    /// The latest and the least RTT, ticks.
    rtt: u64,
    least_rtt: u64,
    /// True if the next ACK begins the least RTT anew.
    forgets: bool,
    is_first: bool,
    mss: u64,
}

impl Westwood {
    pub(crate) fn new(config: &WestwoodConfig) -> Self {
        let clock = Jiffies::new(config.tick, config.tick_offset);
        let rtt = clock.of(FIRST_RTT);
        Self {
            clock,
            once: 0,
            bandwidth: 0,
            began: None,
            octets: 0,
            accounted: 0,
            rtt,
            least_rtt: rtt,
            forgets: true,
            is_first: true,
            mss: 1,
        }
    }

    fn take_sample(&mut self, now: u64) {
        let began = *self.began.get_or_insert(now);
        let span = now - began;
        if self.rtt == 0 || span <= self.rtt.max(self.clock.of(SHORTEST_SAMPLE)) {
            return;
        }
        let filter = |old: u64, new: u64| (7 * old + new) / 8;
        let sample = self.octets / span;
        if self.once == 0 && self.bandwidth == 0 {
            (self.once, self.bandwidth) = (sample, sample);
        } else {
            self.once = filter(self.once, sample);
            self.bandwidth = filter(self.bandwidth, self.once);
        }
        (self.octets, self.began) = (0, Some(now));
    }

    /// The octets for which an ACK counts.
    fn counted(&mut self, acked: &Acked) -> u64 {
        let octets = acked.octets;
        if octets > 0 && acked.is_plain {
            octets
        } else if octets == 0 {
            self.accounted += acked.mss;
            acked.mss
        } else if octets <= acked.mss {
            octets
        } else if self.accounted >= octets {
            self.accounted -= octets;
            acked.mss
        } else {
            octets - std::mem::take(&mut self.accounted)
        }
    }

    /// The window that the bandwidth fills in the least RTT, segments.
    fn window(&self) -> u64 {
        (self.bandwidth * self.least_rtt / self.mss).max(LEAST_WINDOW)
    }
}

impl Module for Westwood {
    fn on_ack(&mut self, _window: &mut SegmentWindow, acked: &Acked) {
        self.mss = acked.mss;
        if let Some(rtt) = acked.rtt.filter(|rtt| rtt.0 >= 1_000) {
            self.rtt = self.clock.of(rtt);
        }
        self.take_sample(self.clock.at(acked.now));
        // The first ACK counts as a duplicate.
        let octets = if std::mem::take(&mut self.is_first) { 0 } else { acked.octets };
        self.octets += self.counted(&Acked { octets, ..*acked });
        self.least_rtt = if self.forgets { self.rtt } else { self.least_rtt.min(self.rtt) };
        self.forgets = false;
    }

    fn grow(&mut self, window: &mut SegmentWindow, growth: &Growth) {
        growth.reno(window);
    }

    fn decrease(&mut self, episode: &Episode) -> u64 {
        if let CongestionCause::Timeout { .. } = episode.cause { self.window() } else { episode.cwnd / 2 }
    }

    fn on_state(&mut self, window: &mut SegmentWindow, change: &Change) {
        match change.to {
            State::Loss(_) => self.forgets = true,
            _ if change.completes => window.set(self.window()),
            _ => (),
        }
    }

    fn on_handshake(&mut self, _window: &mut SegmentWindow, handshake: &HandshakeEvent) {
        self.began = Some(self.clock.at(handshake.now));
    }

    fn on_idle(&mut self, now: SimTime, _snd_nxt: u64) {
        self.began.get_or_insert(self.clock.at(now));
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("bandwidth_segments_per_s", (self.bandwidth * self.clock.hz()) as f64 / self.mss as f64);
    }

    fn boxed_clone(&self) -> Box<dyn Module> {
        Box::new(self.clone())
    }
}
