//! A video client that adapts its bitrate: it downloads a video segment by segment, plays it from a buffer, and chooses
//! the bitrate of each segment.
//!
//! Sources: BBA-0, the buffer-based rule of Huang et al., "A Buffer-Based Approach to Rate Adaptation" (SIGCOMM 2014),
//! section 4 and algorithm 1; RB, the rate-based client of Yin et al., "A Control-Theoretic Approach for Dynamic
//! Adaptive Video Streaming over HTTP" (SIGCOMM 2015), section 7.1.2. Departures: a segment has exactly its bitrate
//! times its playing time (constant bitrate); the first segment has the lowest bitrate under both rules.

use std::collections::VecDeque;

use ackclock_declare::{About, Entry, Review, declare, default, kinds, unset};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};
use serde::Serialize;

use super::config::{VideoChoice, VideoConfig};
use super::exchange::Exchange;

kinds! {
    /// The rule by which a video client chooses a bitrate.
    #[derive(Copy)]
    pub enum Choose {
        /// By the level of its buffer: BBA-0 of Huang et al. (SIGCOMM 2014, section 4).
        "buffer" = Buffer(ByBuffer),
        /// By the throughput of the last segments: the highest bitrate below their harmonic mean, as the RB client of Yin et
        /// al. (SIGCOMM 2015, section 7.1.2).
        "rate" = Rate(ByRate),
    }
}

declare! {
    /// The rule by the level of the buffer.
    #[derive(Copy, Eq)]
    pub struct ByBuffer {
        /// Level of the buffer below which the lowest bitrate is chosen.
        reservoir: Option<SimDuration> = unset("3/8 of the buffer").source("Huang et al. 2014 section 4"),
        /// Range of the buffer's level from the lowest to the highest bitrate, above the reservoir.
        cushion: Option<SimDuration> = unset("up to 9/10 of the buffer").source("Huang et al. 2014 section 4"),
    }
}

impl ByBuffer {
    /// Reservoir and cushion of a client with a buffer of this length.
    fn of(self, buffer: SimDuration) -> (SimDuration, SimDuration) {
        let reservoir = self.reservoir.unwrap_or(SimDuration(buffer.0 / 8 * 3));
        let top = buffer.0 / 10 * 9;
        (reservoir, self.cushion.unwrap_or(SimDuration(top.saturating_sub(reservoir.0))))
    }
}

declare! {
    /// The rule by the throughput of the last segments.
    #[derive(Copy)]
    pub struct ByRate {
        /// Segments in the harmonic mean of throughputs.
        window: usize = default(5).at_least(1).at_most(1_000).unit("segments").source("Yin et al. 2015 section 7.1.2"),
        /// Largest bitrate as a fraction of that mean.
        safety: f64 = default(1.0).above(0.0).at_most(10.0),
    }
}

/// The ladder of Pensieve (Mao et al., SIGCOMM 2017, section 5.1), 240p to 1440p, with its segments of 4 s.
const LADDER: [u64; 6] = [300_000, 750_000, 1_200_000, 1_850_000, 2_850_000, 4_300_000];

/// The buffer of Huang et al. 2014, section 4.
const BUFFER: SimDuration = SimDuration::from_secs(240);

declare! {
    /// A video client that chooses the bitrate of each segment, as a scenario writes it.
    pub struct VideoApp {
        /// Available bitrates of the video.
        ladder: Vec<Bandwidth> = default(LADDER.map(Bandwidth).to_vec())
            .must_be("bitrates in rising order, each above zero", |ladder| is_ladder(ladder))
            .source("Mao et al. 2017 section 5.1"),
        /// Playing time of a segment.
        segment: SimDuration = default(SimDuration::from_secs(4))
            .at_least(SimDuration::from_millis(1))
            .source("Mao et al. 2017 section 5.1"),
        /// Playing time of the whole video.
        length: Option<SimDuration> = unset("endless").above(SimDuration::ZERO),
        /// Size of the request for a segment.
        request: Bytes = default(Bytes(200)).at_least(Bytes(1)).at_most(Bytes(1 << 30)),
        /// Largest playing time in the client's buffer; at least a segment.
        buffer: Option<SimDuration> = unset("\"240 s\", or two segments if that is more").source("Huang et al. 2014 section 4"),
        /// Playing time in the buffer with which playback begins, at first and after an empty buffer.
        playback: Option<SimDuration> = unset("a segment"),
        /// Rule by which the client chooses a bitrate.
        choose: Choose = Choose::Buffer(ByBuffer::default()),
    }
    check VideoApp::review;
}

fn is_ladder(ladder: &[Bandwidth]) -> bool {
    ladder.first().is_some_and(|lowest| lowest.0 > 0) && ladder.is_sorted_by(|a, b| a < b)
}

impl Entry for VideoApp {
    const ABOUT: About = About {
        name: "video",
        aliases: &[],
        summary: "app: a video client that chooses the bitrate of each segment (DASH)",
        source: "BBA-0: Huang et al. 2014; rate-based: Yin et al. 2015; ladder: Mao et al. 2017",
        departures: "constant bitrate: a segment has exactly its bitrate times its playing time",
    };
}

impl VideoApp {
    fn buffered(&self) -> SimDuration {
        self.buffer.unwrap_or(BUFFER.max(self.segment + self.segment))
    }

    fn review(&self, review: &mut Review<'_>) {
        let buffer = self.buffered();
        if buffer < self.segment {
            let message = format!("must be at least a segment's playing time, which is {}", self.segment);
            return review.report("buffer", message, "use a larger buffer, or shorter segments");
        }
        // While nothing plays there are whole segments in it.
        let held = SimDuration(buffer.0 / self.segment.0 * self.segment.0);
        if self.playback.is_some_and(|playback| playback > held) {
            let message = format!(
                "must be at most what the buffer holds in whole segments, which is {held}, or nothing would play"
            );
            review.report("playback", message, "use less, or a larger buffer");
        }
        if let Choose::Buffer(by) = self.choose {
            let (reservoir, cushion) = by.of(buffer);
            if cushion.is_zero() || reservoir + cushion > buffer {
                let field = if by.cushion.is_some() { "choose.cushion" } else { "choose.reservoir" };
                let remedy = format!("let reservoir and cushion together be at most {buffer}, the buffer");
                review.report(field, "must leave room between the reservoir and a full buffer", remedy);
            }
        }
    }

    /// The client with these parameters.
    pub fn client(&self) -> VideoConfig {
        let buffer = self.buffered();
        let choice = match self.choose {
            Choose::Buffer(by) => {
                let (reservoir, cushion) = by.of(buffer);
                VideoChoice::Buffer { reservoir, cushion }
            }
            Choose::Rate(ByRate { window, safety }) => VideoChoice::Rate { window, safety },
        };
        VideoConfig {
            ladder: self.ladder.clone(),
            segment: self.segment,
            length: self.length,
            request: self.request,
            buffer,
            playback: self.playback.unwrap_or(self.segment),
            choice,
        }
    }
}

/// A video client in operation.
#[derive(Clone, Debug)]
pub(crate) struct Video {
    config: VideoConfig,
    /// Position in the ladder of the segment requested last.
    rung: usize,
    asked: u64,
    got: u64,
    /// Playing time of the segments received.
    got_time: SimDuration,
    /// Throughputs of the last segments, bit/s.
    throughputs: VecDeque<f64>,
    buffer: Buffer,
    /// Bits of the segments received.
    bits: f64,
    switches: u64,
}

/// Playing time downloaded and not played, updated on demand.
#[derive(Clone, Debug)]
struct Buffer {
    level: SimDuration,
    at: SimTime,
    is_playing: bool,
    /// Time at which the first segment was requested.
    begin: Option<SimTime>,
    startup: Option<SimDuration>,
    stalled: SimDuration,
    stalls: u64,
    /// True once all has been downloaded: the video ends when the buffer is empty.
    is_complete: bool,
    /// Time of the end of playback.
    over: Option<SimTime>,
}

/// Playback of a video client, over the whole run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VideoSummary {
    /// Segments that were downloaded.
    pub segments: u64,
    /// Mean bitrate of these segments; null if there are none.
    pub mean_bitrate_bps: Option<f64>,
    /// Number of segments with another bitrate than the one before.
    pub switches: u64,
    /// Time from the first request to the beginning of playback; null if it never began.
    pub startup_s: Option<f64>,
    /// Number of stops of playback because of an empty buffer.
    pub rebufferings: u64,
    /// Duration of these stops, without the startup, seconds.
    pub rebuffering_s: f64,
    /// Rebuffering time over the time from the beginning of playback to the end of the video, or of the run; null if it
    /// never began.
    pub rebuffering_ratio: Option<f64>,
}

impl Video {
    pub(crate) fn new(config: &VideoConfig) -> Self {
        Self {
            config: config.clone(),
            rung: 0,
            asked: 0,
            got: 0,
            got_time: SimDuration::ZERO,
            throughputs: VecDeque::new(),
            buffer: Buffer::default(),
            bits: 0.0,
            switches: 0,
        }
    }

    /// Requests the next segment.
    pub(crate) fn ask(&mut self, now: SimTime) -> Exchange {
        self.buffer.advance(now);
        self.buffer.begin.get_or_insert(now);
        let rung = if self.asked == 0 { 0 } else { self.choose() };
        self.switches += u64::from(rung != self.rung);
        self.rung = rung;
        self.asked += 1;
        let response = self.config.ladder[rung].bytes_in(self.next_segment());
        Exchange { request: self.config.request, response: Bytes(response.0.max(1)) }
    }

    /// Playing time of the next segment: the rest of the video, if that is less than a segment.
    fn next_segment(&self) -> SimDuration {
        let left = self.config.length.map(|length| SimDuration(length.0.saturating_sub(self.got_time.0)));
        left.map_or(self.config.segment, |left| left.min(self.config.segment))
    }

    /// Takes a segment of `size` that was requested at `asked`. Returns the time of the next request.
    pub(crate) fn on_segment(&mut self, asked: SimTime, now: SimTime, size: Bytes) -> Option<SimTime> {
        self.buffer.advance(now);
        let segment = self.next_segment();
        self.got += 1;
        self.got_time += segment;
        self.bits += size.0 as f64 * 8.0;
        let seconds = now.saturating_since(asked).as_secs_f64();
        if let VideoChoice::Rate { window, .. } = self.config.choice {
            self.throughputs.truncate(window - 1);
            self.throughputs.push_front(size.0 as f64 * 8.0 / seconds.max(1e-9));
        }
        let is_last = self.config.length == Some(self.got_time);
        self.buffer.add(now, segment, self.config.playback, is_last);
        if is_last {
            return None;
        }
        // Room for one more segment. While nothing plays, the buffer does not drain: it has room for what playback waits for.
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
        let played = self.got_time.as_secs_f64();
        let end = buffer.over.unwrap_or(end);
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
            over: None,
        }
    }
}

impl Buffer {
    /// Plays up to `now`.
    fn advance(&mut self, now: SimTime) {
        let passed = now.saturating_since(self.at);
        if self.is_playing && self.is_complete && passed >= self.level {
            self.over.get_or_insert(self.at + self.level);
        }
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

    /// Adds a segment. Playback begins, or begins again, with `playback` in the buffer or with the last segment.
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
