//! A flow of interactive media over datagrams: its sender, its receiver, and the reports that travel back.
//!
//! Source: `ackclock_media` implements the two ends; this module provides times and packets. Both ends share one
//! account, as those of plain datagrams do: a packet carries its number and size. The other content of its headers (the
//! frame, its last packet, a report) is looked up here. Packets have their real size.

mod frames;
mod series;

use std::collections::VecDeque;

use ackclock_media::sender::Action;
use ackclock_media::{Arrival, MediaApp, RateController as _, Receiver, Report, ReportFormat, Sender};
use ackclock_net::{Datagram, RandomStream};
use ackclock_units::{Histogram, SimTime};
use ackclock_wire::Ecn;
use serde::Serialize;

use super::config::DatagramConfig;
use super::sink::{DatagramSummary, Sink};
use crate::config::MeasureWindow;
use crate::outcome::Distribution;
use crate::summary::distribution;
use frames::Frames;

pub(super) use series::MediaSeries;

/// Largest number of reports on their way; an older one counts as lost.
const REPORTS: usize = 4_096;

/// A flow of interactive media.
#[derive(Clone, Debug)]
pub(super) struct MediaFlow {
    controller: &'static str,
    sender: Sender,
    receiver: Receiver,
    format: ReportFormat,
    window: MeasureWindow,
    sink: Sink,
    frames: Frames,
    /// Waiting time of packets at the sender, nanoseconds.
    queue: Histogram,
    target: Average,
    /// Reports under way, by their numbers.
    reports: VecDeque<Option<Report>>,
    first_report: u32,
    /// Buffers for the packets of a report.
    spare: Vec<Vec<Arrival>>,
    reports_sent: u64,
    /// Octets of the reports that left while frames were made.
    report_octets: u64,
    until: SimTime,
    /// The part of the window with frames.
    making: MeasureWindow,
    /// Time of its earliest event, at which it is called next.
    wake: SimTime,
    /// Octets sent in the whole run.
    sent: u64,
    received: u64,
    last_delay: f64,
}

/// A time average of a value.
#[derive(Clone, Copy, Debug, Default)]
struct Average {
    value: f64,
    since: SimTime,
    area: f64,
}

impl Average {
    fn set(&mut self, now: SimTime, value: f64, window: &MeasureWindow) {
        self.area += self.value * window.overlap(self.since, now).as_secs_f64();
        (self.value, self.since) = (value, now);
    }
}

/// Summary of interactive media; it counts the frames made within the measurement window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MediaSummary {
    /// Controller that sets the rate.
    pub controller: &'static str,
    /// Mean of the controller's target rate.
    pub target_bps: f64,
    /// Frames that the encoder made.
    pub frames: u64,
    /// Number of frames that arrived whole before the run ended.
    pub frames_received: u64,
    /// Frames with discarded packets at the sender, over the whole run.
    pub frames_discarded: u64,
    /// Time from the encoder to the arrival of the last packet; null if no frame arrived.
    pub frame_delay_ms: Option<Distribution>,
    /// Waiting time of packets at the sender; null if none left.
    pub queue_ms: Option<Distribution>,
    /// Reports that the receiver sent, over the whole run.
    pub reports: u64,
    /// Payload of the reports that left before the flow's `until`, over its time, in bit/s.
    pub reports_bps: f64,
}

impl MediaFlow {
    pub(super) fn new(app: &MediaApp, config: &DatagramConfig, seed: u64, window: MeasureWindow) -> Self {
        let limits = app.limits(config.ecn == Ecn::Ect1);
        let random = RandomStream::new(seed, &format!("media {}", config.name));
        let sender = Sender::new(app, limits, config.payload, (config.start, config.until), random);
        let reporting = app.reporting(sender.controller());
        let value = sender.controller().target_rate().0 as f64;
        let until = window.until.map_or(config.until, |until| until.min(config.until));
        Self {
            controller: app.controller.name(),
            sender,
            receiver: Receiver::new(reporting),
            format: reporting.format,
            window,
            sink: Sink::new(window),
            frames: Frames::default(),
            queue: Histogram::default(),
            target: Average { value, since: config.start, area: 0.0 },
            reports: VecDeque::new(),
            first_report: 0,
            spare: Vec::new(),
            reports_sent: 0,
            report_octets: 0,
            until: config.until,
            making: MeasureWindow { until: Some(until), ..window },
            wake: SimTime::NEVER,
            sent: 0,
            received: 0,
            last_delay: f64::NAN,
        }
    }

    /// The time of its next call, if no event is pending for then or before.
    pub(super) fn wake(&mut self) -> Option<SimTime> {
        let time = self.sender.deadline().min(self.receiver.deadline());
        let is_sooner = time < self.wake;
        self.wake = self.wake.min(time);
        is_sooner.then_some(time)
    }

    /// Takes an event: true if it is the awaited one, and not one that an earlier has replaced.
    pub(super) fn is_due(&mut self, now: SimTime) -> bool {
        let is_due = now >= self.wake;
        if is_due {
            self.wake = SimTime::NEVER;
        }
        is_due
    }

    /// The next packet that leaves now, its number and its octets.
    pub(super) fn send(&mut self, now: SimTime) -> Option<(u32, u32)> {
        loop {
            match self.sender.act(now)? {
                Action::Encoded { packets, .. } => self.frames.encode(now, packets, &self.window),
                Action::Sends(departure) => {
                    self.sink.on_sent(now, departure.number, departure.size);
                    self.sent += u64::from(departure.size);
                    if self.window.holds(now) {
                        self.queue.add(departure.waited.0);
                    }
                    return Some((departure.number, departure.size));
                }
            }
        }
    }

    /// The report that leaves now, its number and its octets.
    pub(super) fn report(&mut self, now: SimTime) -> Option<(u32, u32)> {
        let report = self.receiver.report(now, self.spare.pop().unwrap_or_default())?;
        let octets = report.octets(self.format);
        let number = self.first_report + self.reports.len() as u32;
        self.reports.push_back(Some(report));
        if self.reports.len() > REPORTS {
            self.reports.pop_front();
            self.first_report += 1;
        }
        self.reports_sent += 1;
        self.report_octets += if now < self.until { u64::from(octets) } else { 0 };
        Some((number, octets))
    }

    /// Takes a packet that has arrived.
    pub(super) fn on_packet(&mut self, now: SimTime, datagram: &Datagram) {
        let is_marked = datagram.ecn == Ecn::Ce;
        self.sink.on_received(now, datagram.sent, datagram.number, datagram.payload, is_marked);
        self.last_delay = now.saturating_since(datagram.sent).as_secs_f64();
        if let Some(sent) = self.sender.come(datagram.number) {
            self.received += u64::from(datagram.payload);
            self.frames.on_packet(now, sent.frame, &self.window);
            self.receiver.on_packet(now, datagram.number, datagram.payload, is_marked, sent.is_last);
        }
    }

    /// Takes a report that has come back.
    pub(super) fn on_report(&mut self, now: SimTime, number: u32) {
        let index = number.checked_sub(self.first_report).map(|index| index as usize);
        let Some(report) = index.and_then(|index| self.reports.get_mut(index)).and_then(Option::take) else { return };
        self.sender.on_report(now, &report);
        self.spare.push(report.packets);
        while let Some(None) = self.reports.front() {
            self.reports.pop_front();
            self.first_report += 1;
        }
        self.target.set(now, self.sender.controller().target_rate().0 as f64, &self.making);
    }

    pub(super) fn summary(&self, config: &DatagramConfig, end: SimTime) -> DatagramSummary {
        let (from, until) = self.sink.span(config, end);
        let mut target = self.target;
        target.set(until.max(target.since), 0.0, &self.making);
        let seconds = until.saturating_since(from).as_secs_f64();
        let whole = end.min(config.until).saturating_since(config.start).as_secs_f64();
        let media = MediaSummary {
            controller: self.controller,
            target_bps: if seconds > 0.0 { target.area / seconds } else { 0.0 },
            frames: self.frames.made(),
            frames_received: self.frames.delay().weight(),
            frames_discarded: self.sender.discarded_frames(),
            frame_delay_ms: (!self.frames.delay().is_empty()).then(|| distribution(self.frames.delay(), 1e6)),
            queue_ms: (!self.queue.is_empty()).then(|| distribution(&self.queue, 1e6)),
            reports: self.reports_sent,
            reports_bps: if whole > 0.0 { self.report_octets as f64 * 8.0 / whole } else { 0.0 },
        };
        self.sink.summary(config, end, Some(media))
    }
}
