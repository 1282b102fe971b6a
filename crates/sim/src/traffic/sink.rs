//! The receiver's statistics of datagrams.
//!
//! Sources: jitter by RFC 3550 (section 6.4.1), and loss up to the highest number that arrived (appendix A.3); copies
//! by RFC 4737 section 3.3 and RFC 5560: only the first to arrive is measured, the others are counted. Departures: RFC
//! 3550 counts a copy as an arrival, so that copies hide losses.

use std::collections::VecDeque;

use ackclock_units::{Histogram, SimDuration, SimTime};
use serde::Serialize;

use super::config::DatagramConfig;
use super::media::MediaSummary;
use crate::config::MeasureWindow;
use crate::outcome::Distribution;
use crate::summary::distribution;

/// The gain of the jitter estimator (RFC 3550 section 6.4.1).
const JITTER_GAIN: f64 = 1.0 / 16.0;

/// The receiver's statistics of the datagrams that left within the measurement window.
#[derive(Clone, Debug)]
pub(super) struct Sink {
    window: MeasureWindow,
    sent: u64,
    sent_octets: u64,
    /// Number of the first datagram that left in the window.
    first: Option<u32>,
    received: u64,
    received_octets: u64,
    /// One more than the highest number received.
    next: u32,
    out_of_order: u64,
    marked: u64,
    /// Arrivals of datagrams that had already arrived.
    duplicates: u64,
    arrived: Arrived,
    /// One-way delays in nanoseconds.
    delay: Histogram,
    last_delay: Option<SimDuration>,
    /// The jitter in nanoseconds.
    jitter: f64,
}

/// Numbers that have arrived: a bit for each from the first missing one.
#[derive(Clone, Debug, Default)]
struct Arrived {
    words: VecDeque<u64>,
    /// Number of the first bit.
    first: u32,
}

impl Arrived {
    /// Adds a number; false if it was already there.
    fn insert(&mut self, number: u32) -> bool {
        let Some(place) = number.checked_sub(self.first) else { return false };
        let (word, bit) = (place as usize / 64, 1 << (place % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let is_new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        while self.words.front() == Some(&u64::MAX) {
            self.words.pop_front();
            self.first += 64;
        }
        is_new
    }
}

/// One flow of datagrams; those that left within the measurement window count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DatagramSummary {
    /// Name in the scenario.
    pub name: String,
    /// Datagrams that left the sender.
    pub sent: u64,
    /// Datagrams that arrived before the run ended, each counted once.
    pub received: u64,
    /// Datagrams that did not arrive although a later one did.
    pub lost: u64,
    /// Datagrams that arrived after a later one; of copies, the first counts.
    pub out_of_order: u64,
    /// Datagrams that arrived with a CE mark.
    pub marked: u64,
    /// Further arrivals of datagrams that had already arrived.
    pub duplicates: u64,
    /// Payload sent, in bit/s.
    pub sent_bps: f64,
    /// Payload that arrived, in bit/s.
    pub goodput_bps: f64,
    /// Time from the sender to the receiver; null if none arrived.
    pub one_way_delay_ms: Option<Distribution>,
    /// Interarrival jitter at the end, as RFC 3550 estimates it; null with fewer than two arrivals.
    pub jitter_ms: Option<f64>,
    /// Frames, target rate and reports of interactive media; null for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaSummary>,
}

impl Sink {
    pub(super) fn new(window: MeasureWindow) -> Self {
        Self {
            window,
            sent: 0,
            sent_octets: 0,
            first: None,
            received: 0,
            received_octets: 0,
            next: 0,
            out_of_order: 0,
            marked: 0,
            duplicates: 0,
            arrived: Arrived::default(),
            delay: Histogram::default(),
            last_delay: None,
            jitter: 0.0,
        }
    }

    pub(super) fn on_sent(&mut self, now: SimTime, number: u32, octets: u32) {
        if self.window.holds(now) {
            self.sent += 1;
            self.sent_octets += u64::from(octets);
            if self.first.is_none() {
                (self.first, self.arrived.first) = (Some(number), number);
            }
        }
    }

    pub(super) fn on_received(&mut self, now: SimTime, sent: SimTime, number: u32, octets: u32, marked: bool) {
        if !self.window.holds(sent) {
            return self.on_other(number);
        }
        if !self.arrived.insert(number) {
            self.duplicates += 1;
            return;
        }
        self.received += 1;
        self.received_octets += u64::from(octets);
        self.marked += u64::from(marked);
        self.out_of_order += u64::from(number < self.next);
        self.next = self.next.max(number + 1);
        let delay = now - sent;
        self.delay.add(delay.0);
        if let Some(last) = self.last_delay.replace(delay) {
            // J = J + (|D| - J) / 16, where D is the difference of the two delays.
            self.jitter += (delay.0.abs_diff(last.0) as f64 - self.jitter) * JITTER_GAIN;
        }
    }

    /// Takes the arrival of a datagram that left outside the window. If it left behind the window, all missing ones
    /// that left within are late or lost.
    fn on_other(&mut self, number: u32) {
        if let Some(first) = self.first.filter(|first| *first < number) {
            self.next = first + self.sent as u32;
        }
    }

    /// The period in which datagrams count, in a run that ends at `end`.
    pub(super) fn span(&self, config: &DatagramConfig, end: SimTime) -> (SimTime, SimTime) {
        let from = self.window.from.map_or(config.start, |from| from.max(config.start));
        let until = self.window.until.map_or(end, |until| until.min(end)).min(config.until);
        (from, until)
    }

    pub(super) fn summary(
        &self,
        config: &DatagramConfig,
        end: SimTime,
        media: Option<MediaSummary>,
    ) -> DatagramSummary {
        let (from, until) = self.span(config, end);
        let seconds = until.saturating_since(from).as_secs_f64();
        let rate = |octets: u64| if seconds > 0.0 { (octets * 8) as f64 / seconds } else { 0.0 };
        let expected = self.first.map_or(0, |first| self.next.saturating_sub(first));
        DatagramSummary {
            name: config.name.clone(),
            sent: self.sent,
            received: self.received,
            lost: u64::from(expected).saturating_sub(self.received),
            out_of_order: self.out_of_order,
            marked: self.marked,
            duplicates: self.duplicates,
            sent_bps: rate(self.sent_octets),
            goodput_bps: rate(self.received_octets),
            one_way_delay_ms: (self.received > 0).then(|| distribution(&self.delay, 1e6)),
            jitter_ms: (self.received > 1).then_some(self.jitter / 1e6),
            media,
        }
    }
}
