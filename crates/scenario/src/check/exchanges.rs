//! Applications that make requests: request/response, and video.

use ackclock_sim::{AppConfig, SizeDistribution, Span, VideoChoice, VideoConfig};
use ackclock_units::{Bandwidth, Bytes, SimDuration};

use super::Checker;
use crate::file::{ByBuffer, ByRate, Choose, Duration, RequestResponseApp, Size, VideoApp};
use crate::tree::FieldPath;

const DEFAULT_REQUEST: Bytes = Bytes(200);

/// The ladder of Pensieve (Mao et al., SIGCOMM 2017, section 5.1), 240p to 1440p, with its segments of 4 s.
const DEFAULT_LADDER: [u64; 6] = [300_000, 750_000, 1_200_000, 1_850_000, 2_850_000, 4_300_000];
const DEFAULT_SEGMENT: SimDuration = SimDuration::from_secs(4);

/// Huang et al. 2014, section 4: a buffer of 240 s, a reservoir of 90 s, the highest bitrate at 90 % of the buffer.
const DEFAULT_BUFFER: SimDuration = SimDuration::from_secs(240);

/// Yin et al. 2015, section 7.1.2: the harmonic mean of the last five segments.
const DEFAULT_WINDOW: u64 = 5;

impl Checker<'_, '_> {
    pub(crate) fn request_response(&mut self, table: &RequestResponseApp, path: &FieldPath) -> AppConfig {
        let request = match &table.request {
            None => Some(SizeDistribution::Constant(DEFAULT_REQUEST)),
            Some(_) => self.sizes(table.request.as_ref(), &path.key("request"), ""),
        };
        let response = self.sizes(table.response.as_ref(), &path.key("response"), "response = \"100 kB\"");
        let think = match &table.think {
            None => Span::Constant(SimDuration::ZERO),
            Some(think) => self.span(think, &path.key("think")),
        };
        if table.count == Some(0) {
            self.report(&path.key("count"), "must be at least 1", "write how many requests, or remove it");
        }
        match (request, response) {
            (Some(request), Some(response)) => {
                AppConfig::RequestResponse { request, response, think, count: table.count.unwrap_or(u64::MAX) }
            }
            _ => AppConfig::Bulk, // a mistake has been reported
        }
    }

    pub(crate) fn video(&mut self, table: &VideoApp, path: &FieldPath) -> AppConfig {
        let ladder = self.ladder(table, path);
        let segment = table.segment.map_or(DEFAULT_SEGMENT, |segment| segment.0);
        if segment < SimDuration::from_millis(1) {
            self.report(
                &path.key("segment"),
                "must be at least 1 ms",
                "write how long a segment plays, such as \"4 s\"",
            );
            return AppConfig::Bulk;
        }
        let buffer = table.buffer.map_or(DEFAULT_BUFFER.max(segment + segment), |buffer| buffer.0);
        if buffer < segment {
            let remedy = format!("use at least {segment}, the playing time of a segment");
            self.report(&path.key("buffer"), "must be at least a segment's playing time", remedy);
            return AppConfig::Bulk;
        }
        let playback = table.playback.map_or(segment, |playback| playback.0);
        if playback > buffer {
            let remedy = format!("use at most {buffer}, what the buffer holds");
            self.report(&path.key("playback"), "must be at most what the buffer holds, or nothing would play", remedy);
        }
        let segments = table.length.map_or(u64::MAX, |length| length.0.0.div_ceil(segment.0));
        if segments == 0 {
            self.report(
                &path.key("length"),
                "must be at least a segment's playing time",
                "write how long the video is, or remove it",
            );
        }
        let request = table.request.unwrap_or(Size(DEFAULT_REQUEST)).0;
        if !(1..=1 << 30).contains(&request.0) {
            self.report(
                &path.key("request"),
                "must be 1 byte to 1 GiB",
                "write the size of a request, such as \"500 B\"",
            );
        }
        let choice = self.choice(table.choose.as_ref(), buffer, &path.key("choose"));
        AppConfig::Video(VideoConfig { ladder, segment, segments, request, buffer, playback, choice })
    }

    fn ladder(&mut self, table: &VideoApp, path: &FieldPath) -> Vec<Bandwidth> {
        let Some(list) = &table.ladder else { return DEFAULT_LADDER.map(Bandwidth).to_vec() };
        let ladder: Vec<Bandwidth> = list.iter().map(|(_, rate)| rate.0).collect();
        if ladder.is_empty() || ladder[0].0 == 0 || !ladder.is_sorted_by(|a, b| a < b) {
            let remedy = "write bitrates in rising order, such as [\"1 Mbit/s\", \"2.5 Mbit/s\", \"5 Mbit/s\"]";
            self.report(&path.key("ladder"), "must be bitrates in rising order, each above zero", remedy);
            return DEFAULT_LADDER.map(Bandwidth).to_vec();
        }
        ladder
    }

    fn choice(&mut self, choose: Option<&Choose>, buffer: SimDuration, path: &FieldPath) -> VideoChoice {
        match choose {
            None => self.by_buffer(&ByBuffer::default(), buffer, path),
            Some(Choose::Buffer(table)) => self.by_buffer(table, buffer, path),
            Some(Choose::Rate(table)) => self.by_rate(table, path),
        }
    }

    fn by_buffer(&mut self, table: &ByBuffer, buffer: SimDuration, path: &FieldPath) -> VideoChoice {
        let reservoir = table.reservoir.map_or(SimDuration(buffer.0 / 8 * 3), |Duration(reservoir)| reservoir);
        let top = SimDuration(buffer.0 / 10 * 9);
        let cushion = table.cushion.map_or(SimDuration(top.0.saturating_sub(reservoir.0)), |Duration(cushion)| cushion);
        if cushion.is_zero() || reservoir + cushion > buffer {
            let field = if table.cushion.is_some() { "cushion" } else { "reservoir" };
            let remedy = format!("let reservoir and cushion together be at most {buffer}, the buffer");
            self.report(&path.key(field), "must leave room between the reservoir and a full buffer", remedy);
        }
        VideoChoice::Buffer { reservoir, cushion }
    }

    fn by_rate(&mut self, table: &ByRate, path: &FieldPath) -> VideoChoice {
        let window = table.window.unwrap_or(DEFAULT_WINDOW);
        if !(1..=1_000).contains(&window) {
            self.report(
                &path.key("window"),
                "must be 1 to 1000",
                "write over how many segments throughput is averaged",
            );
        }
        let safety = table.safety.unwrap_or(1.0);
        if !(safety > 0.0 && safety <= 10.0) {
            self.report(&path.key("safety"), "must be more than 0 and at most 1", "use a fraction such as 0.9");
        }
        VideoChoice::Rate { window: window.clamp(1, 1_000) as usize, safety }
    }
}
