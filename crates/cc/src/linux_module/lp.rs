//! TCP-LP: Reno that gives way to others as soon as one-way delays grow.
//!
//! Sources: Kuzmanovic and Knightly, TCP-LP: A Distributed Algorithm for Low Priority Data Transfer, INFOCOM 2003; the behaviour of
//! Linux 7.3, whose rules these are. The delay is that of the timestamps option, in milliseconds, once the ratio of the two clocks is
//! known. A smoothed delay above the least by 15 % of the range halves the window; within three round trips of that, no ACK grows
//! the window, and another such delay leaves one segment. Either way the range begins anew, from the smoothed delay to twice that.
//!
//! Delays are differences of the two clocks, of which the receiver's has an offset of its own on Linux. Numbers have 32 bits, and eighths of the smoothed
//! delay are counted: from an offset of 2^29 ms on the delay never seems long. A peer's clock that seems to have more than 1000 ticks in a
//! second has a delay of minus the time of departure.
//!
//! Departures: the sender's own offset is taken for part of its clock. Delays of an ACK that begins an episode count after it.

use ackclock_declare::declare;

use super::{Acked, Episode, Growth, LinuxModule, Module, State};
use crate::algorithm::{Algorithm, Name, Need, Setting, Stack};
use crate::controller::{Controller, Start};
use crate::event::SegmentTimestamps;
use crate::segment_window::SegmentWindow;

declare! {
    /// The parameters of TCP-LP: none.
    #[derive(Copy)]
    pub struct LpConfig {}
}

impl Algorithm for LpConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "TCP-LP: Reno that gives way as soon as one-way delays grow",
        source: "Kuzmanovic, Knightly, INFOCOM 2003; the behaviour of Linux 7.3",
        departures: "none from Linux's module but that an ACK which begins an episode is measured after the decrease",
        stack: Stack {
            needs: &[Need {
                switch: "timestamps",
                setting: Setting::Switch(true),
                why: "must have timestamps at both ends: it measures one-way delays with them",
                remedy: "set tcp.timestamps = true at both ends, or use \"ledbat\"",
            }],
            ..Stack::ANY
        },
        ..Name::called("lp")
    }];

    fn start(&self, start: Start) -> Controller {
        LinuxModule::start(Lp::default(), start)
    }
}

/// Ticks of the timestamp clock in a second, which are also the unit of delays.
const HZ: u32 = 1_000;
/// Percent of the range of delays above the least that are not long.
const THRESHOLD: u32 = 15;
/// Round trips after a reduction in which the window does not grow.
const INFERENCE: u32 = 3;
const LEAST_SSTHRESH: u64 = 2;

#[derive(Clone, Debug)]
pub(crate) struct Lp {
    /// The peer's clock and the own one as the last ACK with a sample told them.
    reference: (u32, u32),
    /// The ticks of the peer's clock in a second.
    peer_hz: u32,
    /// Eighths of the smoothed delay, milliseconds.
    smoothed: u32,
    least: u32,
    greatest: u32,
    /// The greatest of all, one above `greatest`.
    reserved: u32,
    last_drop: u32,
    inference: u32,
    is_within_inference: bool,
}

impl Default for Lp {
    fn default() -> Self {
        Self {
            reference: (0, 0),
            peer_hz: 0,
            smoothed: 0,
            least: u32::MAX,
            greatest: 0,
            reserved: 0,
            last_drop: 0,
            inference: 0,
            is_within_inference: false,
        }
    }
}

impl Lp {
    /// Takes the clocks of an ACK; returns the ticks of the peer's in a second, if they are known.
    fn estimate_peer_hz(&mut self, stamps: &SegmentTimestamps) -> Option<u32> {
        let (peer, own) = std::mem::replace(&mut self.reference, (stamps.tsval, stamps.tsecr));
        let mut smoothed = i64::from(self.peer_hz << 6);
        let (peer_ticks, own_ticks) = (stamps.tsval.wrapping_sub(peer), stamps.tsecr.wrapping_sub(own));
        if peer != 0 && own != 0 && peer_ticks != 0 && own_ticks != 0 {
            let hz = i64::from(HZ.wrapping_mul(peer_ticks) / own_ticks);
            smoothed = if smoothed > 0 { smoothed + hz - (smoothed >> 6) } else { hz << 6 };
        }
        self.peer_hz = (smoothed >> 6) as u32;
        Some(self.peer_hz).filter(|hz| *hz > 0)
    }

    /// Takes the one-way delay of an ACK.
    fn measure(&mut self, stamps: &SegmentTimestamps) {
        let Some(hz) = self.estimate_peer_hz(stamps) else { return };
        let delay = stamps.tsval.wrapping_mul(HZ / hz).wrapping_sub(stamps.tsecr);
        if delay == 0 {
            return;
        }
        self.least = self.least.min(delay);
        if delay > self.reserved.max(self.greatest) {
            self.greatest = if self.reserved == 0 { delay } else { self.reserved };
            self.reserved = delay;
        } else {
            self.greatest = self.greatest.max(delay);
        }
        self.smoothed = if self.smoothed == 0 {
            delay << 3
        } else {
            self.smoothed.wrapping_add(delay.wrapping_sub(self.smoothed >> 3))
        };
    }

    fn is_short(&self) -> bool {
        let range = self.greatest.wrapping_sub(self.least);
        self.smoothed >> 3 < self.least.wrapping_add(THRESHOLD.wrapping_mul(range) / 100)
    }
}

impl Module for Lp {
    fn on_ack(&mut self, window: &mut SegmentWindow, acked: &Acked) {
        let Some(stamps) = &acked.timestamps else { return };
        if acked.rtt.is_some_and(|rtt| rtt.0 >= 1_000) {
            self.measure(stamps);
        }
        let now = stamps.arrival;
        let round_trip = now.wrapping_sub(stamps.tsecr);
        if round_trip.cast_signed() > 0 {
            self.inference = INFERENCE.wrapping_mul(round_trip);
        }
        self.is_within_inference = self.last_drop != 0 && now.wrapping_sub(self.last_drop) < self.inference;
        if self.is_short() {
            return;
        }
        (self.least, self.greatest, self.reserved) = (self.smoothed >> 3, self.smoothed >> 2, self.smoothed >> 2);
        self.last_drop = now;
        // A reduction under way decides about the window by itself.
        if acked.state != State::Reducing {
            window.cwnd = if self.is_within_inference { 1 } else { (window.cwnd / 2).max(1) };
        }
    }

    fn grow(&mut self, window: &mut SegmentWindow, growth: &Growth) {
        if !self.is_within_inference {
            growth.reno(window);
        }
    }

    fn decrease(&mut self, episode: &Episode) -> u64 {
        (episode.cwnd / 2).max(LEAST_SSTHRESH)
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("one_way_delay_ms", (self.smoothed >> 3).into());
        record("peer_hz", self.peer_hz.into());
    }

    fn boxed_clone(&self) -> Box<dyn Module> {
        Box::new(self.clone())
    }
}
