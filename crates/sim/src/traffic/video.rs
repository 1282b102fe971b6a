//! A video client that adapts its bitrate: it downloads a video segment by segment, plays it from a buffer, and chooses
//! the bitrate of each segment.
//!
//! Sources: BBA-0, the buffer-based rule of Huang et al., "A Buffer-Based Approach to Rate Adaptation" (SIGCOMM 2014),
//! section 4 and algorithm 1; RB, the rate-based client of Yin et al., "A Control-Theoretic Approach for Dynamic
//! Adaptive Video Streaming over HTTP" (SIGCOMM 2015), section 7.1.2. Departures: a segment has exactly its bitrate
//! times its playing time (constant bitrate); the first segment has the lowest bitrate under both rules.

use std::collections::VecDeque;

use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};
use serde::Serialize;

use super::config::{VideoChoice, VideoConfig};
use super::exchange::Exchange;

/// The client at work.
#[derive(Clone, Debug)]
pub(crate) struct Video {
    config: VideoConfig,
    /// Position in the ladder of the segment asked for last.
    rung: usize,
    asked: u64,
    got: u64,
    /// Throughputs of the last segments, bit/s.
    throughputs: VecDeque<f64>,
    buffer: Buffer,
    /// Bits of the segments received.
    bits: f64,
    switches: u64,
}

/// Playing time downloaded and not played, brought up to date on demand.
#[derive(Clone, Debug)]
struct Buffer {
    level: SimDuration,
    at: SimTime,
    is_playing: bool,
    /// When the first segment was asked for.
    begin: Option<SimTime>,
    startup: Option<SimDuration>,
    stalled: SimDuration,
    stalls: u64,
    /// All has been downloaded: when the buffer runs dry the video is over.
    is_complete: bool,
}

/// What a video client experienced, over the whole run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VideoSummary {
    /// Segments downloaded.
    pub segments: u64,
    /// Mean bitrate of these; null if there are none.
    pub mean_bitrate_bps: Option<f64>,
    /// Times that a segment had another bitrate than the one before.
    pub switches: u64,
    /// From the first request to the beginning of playback; null if it never began.
    pub startup_s: Option<f64>,
    /// Times that playback stopped because the buffer was empty.
    pub rebufferings: u64,
    /// How long it stood still in all, the startup left out.
    pub rebuffering_s: f64,
    /// That time over the time since playback began; null if it never did.
    pub rebuffering_ratio: Option<f64>,
}

impl Video {
    pub(crate) fn new(config: &VideoConfig) -> Self {
        Self {
            config: config.clone(),
            rung: 0,
            asked: 0,
            got: 0,
            throughputs: VecDeque::new(),
            buffer: Buffer::default(),
            bits: 0.0,
            switches: 0,
        }
    }

    /// Asks for the next segment.
    pub(crate) fn ask(&mut self, now: SimTime) -> Exchange {
        self.buffer.advance(now);
        self.buffer.begin.get_or_insert(now);
        let rung = if self.asked == 0 { 0 } else { self.choose() };
        self.switches += u64::from(rung != self.rung);
        self.rung = rung;
        self.asked += 1;
        let response = self.config.ladder[rung].bytes_in(self.config.segment);
        Exchange { request: self.config.request, response: Bytes(response.0.max(1)) }
    }

    /// A segment of `size` that was asked for at `asked` has arrived. Returns when to ask for the next.
    pub(crate) fn on_segment(&mut self, asked: SimTime, now: SimTime, size: Bytes) -> Option<SimTime> {
        self.buffer.advance(now);
        self.got += 1;
        self.bits += size.0 as f64 * 8.0;
        let seconds = now.saturating_since(asked).as_secs_f64();
        if let VideoChoice::Rate { window, .. } = self.config.choice {
            self.throughputs.truncate(window - 1);
            self.throughputs.push_front(size.0 as f64 * 8.0 / seconds.max(1e-9));
        }
        let is_last = self.got == self.config.segments;
        self.buffer.add(now, self.config.segment, self.config.playback, is_last);
        if is_last {
            return None;
        }
        // Room for one more segment; while nothing plays, the buffer does not drain, and holds less than that.
        let room = SimDuration(self.config.buffer.0 - self.config.segment.0);
        Some(now + SimDuration(self.buffer.level.0.saturating_sub(room.0)))
    }

    fn choose(&self) -> usize {
        match self.config.choice {
            VideoChoice::Buffer { reservoir, cushion } => self.by_buffer(reservoir, cushion),
            VideoChoice::Rate { safety, .. } => self.by_rate(safety),
        }
    }

    /// Algorithm 1 of Huang et al.: f rises from the lowest bitrate at the reservoir to the highest above the cushion;
    /// the bitrate stays until f passes the next higher or the next lower one.
    fn by_buffer(&self, reservoir: SimDuration, cushion: SimDuration) -> usize {
        let ladder = &self.config.ladder;
        let (top, level) = (ladder.len() - 1, self.buffer.level);
        if level <= reservoir {
            return 0;
        }
        if level >= reservoir + cushion {
            return top;
        }
        let part = (level - reservoir).0 as f64 / cushion.0 as f64;
        let (lowest, highest) = (ladder[0].0 as f64, ladder[top].0 as f64);
        let f = lowest + part * (highest - lowest);
        let rate = |rung: usize| ladder[rung].0 as f64;
        if f >= rate((self.rung + 1).min(top)) {
            (0..=top).rev().find(|&rung| rate(rung) < f).unwrap_or(0)
        } else if f <= rate(self.rung.saturating_sub(1)) {
            (0..=top).find(|&rung| rate(rung) > f).unwrap_or(top)
        } else {
            self.rung
        }
    }

    fn by_rate(&self, safety: f64) -> usize {
        let inverse: f64 = self.throughputs.iter().map(|throughput| 1.0 / throughput).sum();
        let expected = safety * self.throughputs.len() as f64 / inverse;
        let fits = |rate: &Bandwidth| rate.0 as f64 <= expected;
        self.config.ladder.iter().rposition(fits).unwrap_or(0)
    }

    pub(crate) fn summary(&self, end: SimTime) -> VideoSummary {
        let mut buffer = self.buffer.clone();
        buffer.advance(end);
        let played = self.got as f64 * self.config.segment.as_secs_f64();
        let since = buffer.begin.zip(buffer.startup).map(|(begin, startup)| end.saturating_since(begin + startup));
        let stalled = buffer.stalled.as_secs_f64();
        VideoSummary {
            segments: self.got,
            mean_bitrate_bps: (self.got > 0).then(|| self.bits / played),
            switches: self.switches,
            startup_s: buffer.startup.map(SimDuration::as_secs_f64),
            rebufferings: buffer.stalls,
            rebuffering_s: stalled,
            rebuffering_ratio: since.filter(|since| !since.is_zero()).map(|since| stalled / since.as_secs_f64()),
        }
    }
}

impl Default for Buffer {
    fn default() -> Self {
        Self {
            level: SimDuration::ZERO,
            at: SimTime::ZERO,
            is_playing: false,
            begin: None,
            startup: None,
            stalled: SimDuration::ZERO,
            stalls: 0,
            is_complete: false,
        }
    }
}

impl Buffer {
    /// Plays up to `now`.
    fn advance(&mut self, now: SimTime) {
        let passed = now.saturating_since(self.at);
        self.at = now;
        if self.is_playing && passed >= self.level && !self.is_complete {
            if passed > self.level {
                self.is_playing = false;
                self.stalls += 1;
                self.stalled += SimDuration(passed.0 - self.level.0);
            }
            self.level = SimDuration::ZERO;
        } else if self.is_playing {
            self.level = SimDuration(self.level.0.saturating_sub(passed.0));
        } else if self.startup.is_some() {
            self.stalled += passed;
        }
    }

    /// A segment has arrived; playback begins, or begins again, with `playback` in the buffer or with the last segment.
    fn add(&mut self, now: SimTime, segment: SimDuration, playback: SimDuration, is_last: bool) {
        self.level += segment;
        self.is_complete = is_last;
        if !self.is_playing && (self.level >= playback || is_last) {
            self.is_playing = true;
            let begin = self.begin.unwrap_or(now);
            self.startup.get_or_insert(now.saturating_since(begin));
        }
    }
}

#[cfg(test)]
mod tests;
