//! The sending end of a flow of media: encoder, queue of packets, pacer, and the controller that sets their rates.
//!
//! Sources: RFC 8298 and draft-ietf-ccwg-rfc8298bis-screamv2 for the queue, its pacing and the octets in flight;
//! libwebrtc (from memory) for the longest wait of packets, two seconds. Departures: without a report for a while a
//! sender with a full window sends packets at the least pacing rate of the draft, 50 kbit/s. This is the "minimum send
//! rate maintained when no feedback is received", which the draft does not specify further.

use std::collections::VecDeque;

use ackclock_units::{Bandwidth, Bytes, RandomStream, SimDuration, SimTime};

use crate::config::MediaApp;
use crate::control::{Controller, Feedback, FrameEvent, Limits, PacketResult, RateController, SentEvent};
use crate::encoder::Encoder;
use crate::history::{History, Sent};
use crate::report::Report;

/// Least pacing rate (the draft's `RATE_PACE_MIN`).
const LEAST_PACING: Bandwidth = Bandwidth(50_000);

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    since: SimTime,
    size: u32,
    frame: u32,
    is_last: bool,
}

/// A packet that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Number of the packet in its flow.
    pub number: u32,
    /// Size of the packet.
    pub size: u32,
    /// Time for which it has waited.
    pub waited: SimDuration,
}

/// Action of a sender at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The encoder made a frame of this many packets.
    Encoded {
        /// Number of the frame in its flow.
        frame: u32,
        /// Number of its packets.
        packets: u32,
    },
    /// A packet that leaves.
    Sends(Departure),
}

/// Sender of media: an encoder, a controller and a queue.
#[derive(Clone, Debug)]
pub struct Sender {
    encoder: Encoder,
    controller: Controller,
    history: History,
    queue: VecDeque<Waiting>,
    queued: u64,
    /// Number of frames so far.
    frames: u32,
    /// Number of frames that were discarded in part or whole.
    discarded: u64,
    payload: u32,
    discard_after: SimDuration,
    until: SimTime,
    /// Time at which the pacer permits the next packet.
    paced: SimTime,
    last_sent: SimTime,
    results: Vec<PacketResult>,
}

impl Sender {
    /// A sender that makes frames from `start` until `until`, each in packets of at most `payload` octets. From `until`
    /// on none leaves.
    pub fn new(
        app: &MediaApp,
        limits: Limits,
        payload: u32,
        (start, until): (SimTime, SimTime),
        random: RandomStream,
    ) -> Self {
        Self {
            encoder: Encoder::new(app.encoder(), start, limits.start, random),
            controller: app.controller.start(limits),
            history: History::default(),
            queue: VecDeque::new(),
            queued: 0,
            frames: 0,
            discarded: 0,
            payload,
            discard_after: app.discard_after,
            until,
            paced: start,
            last_sent: start,
            results: Vec::new(),
        }
    }

    /// Time at which it must act next.
    pub fn deadline(&self) -> SimTime {
        let frame = self.encoder.next();
        let frame = if frame < self.until { frame } else { SimTime::NEVER };
        frame.min(self.next_departure())
    }

    fn next_departure(&self) -> SimTime {
        if self.queue.is_empty() {
            return SimTime::NEVER;
        }
        let is_open = self.controller.window().is_none_or(|window| self.history.in_flight() < window);
        let departure = if is_open {
            self.paced
        } else {
            self.paced.max(self.last_sent + LEAST_PACING.serialization_delay(Bytes(self.payload.into())))
        };
        if departure < self.until { departure } else { SimTime::NEVER }
    }

    /// The next action now; must be called until it returns `None`.
    pub fn act(&mut self, now: SimTime) -> Option<Action> {
        if self.encoder.next() <= now && self.encoder.next() < self.until {
            return Some(self.encode(now));
        }
        self.discard(now);
        if self.next_departure() > now {
            return None;
        }
        let packet = self.queue.pop_front()?;
        Some(Action::Sends(self.send(now, packet)))
    }

    fn encode(&mut self, now: SimTime) -> Action {
        self.encoder.set_rate(now, self.controller.target_rate());
        let size = self.encoder.frame();
        let waited = self.queue.front().map_or(SimDuration::ZERO, |oldest| now.saturating_since(oldest.since));
        self.controller.on_frame(&FrameEvent { now, size, waited, queued: Bytes(self.queued) });
        let (frame, packets) = (self.frames, (size.0 as u32).div_ceil(self.payload));
        // Packets of a frame are as good as equal.
        let (each, larger) = (size.0 as u32 / packets, size.0 as u32 % packets);
        for packet in 0..packets {
            let size = each + u32::from(packet < larger);
            self.queue.push_back(Waiting { since: now, size, frame, is_last: packet + 1 == packets });
        }
        self.queued += size.0;
        self.frames += 1;
        Action::Encoded { frame, packets }
    }

    fn send(&mut self, now: SimTime, packet: Waiting) -> Departure {
        let Waiting { since, size, frame, is_last } = packet;
        self.queued -= u64::from(size);
        let number = self.history.number();
        self.history.send(now, size, frame, is_last);
        self.last_sent = now;
        self.paced = now.max(self.paced)
            + self.controller.pacing_rate().max(LEAST_PACING).serialization_delay(Bytes(size.into()));
        let sent = SentEvent { now, size: Bytes(size.into()), in_flight: self.history.in_flight() };
        self.controller.on_sent(&sent);
        Departure { number, size, waited: now.saturating_since(since) }
    }

    /// Discards packets that have waited for too long, and the rest of their frames; from `until` on all waiting
    /// packets.
    fn discard(&mut self, now: SimTime) {
        let mut last = None;
        while let Some(front) = self.queue.front()
            && (now >= self.until
                || now.saturating_since(front.since) > self.discard_after
                || last == Some(front.frame))
        {
            self.discarded += u64::from(last.replace(front.frame) != Some(front.frame));
            self.queued -= u64::from(front.size);
            self.queue.pop_front();
        }
    }

    /// Takes a report.
    pub fn on_report(&mut self, now: SimTime, report: &Report) {
        let mut results = std::mem::take(&mut self.results);
        let news = self.history.on_report(now, report, &mut results);
        if !results.is_empty() {
            let in_flight = self.history.in_flight();
            let feedback =
                Feedback { now, packets: &results, advanced: news.advanced, in_flight, rtt: news.rtt, held: news.held };
            self.controller.on_feedback(&feedback);
        }
        self.results = results;
    }

    /// Takes a packet that reaches the receiver for the first time.
    pub fn come(&mut self, number: u32) -> Option<Sent> {
        self.history.come(number)
    }

    /// The controller, for inspection.
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// Current rate of the encoder.
    pub fn encoder_rate(&self) -> Bandwidth {
        self.encoder.rate()
    }

    /// Octets that wait in the queue.
    pub fn queued(&self) -> Bytes {
        Bytes(self.queued)
    }

    /// Octets sent beyond the highest number that has arrived.
    pub fn in_flight(&self) -> Bytes {
        self.history.in_flight()
    }

    /// Frames with packets that were discarded after too long a wait.
    pub fn discarded_frames(&self) -> u64 {
        self.discarded
    }
}
