//! A flow of media as a scenario writes it.

use ackclock_declare::{About, Entry, Review, declare, default, kinds, unset};
use ackclock_units::{Bandwidth, Bytes, SimDuration};

use crate::control::{Controller, Limits};
use crate::encoder::EncoderConfig;
use crate::gcc::{Gcc, GccConfig};
use crate::report::Reporting;
use crate::scream::{Scream, ScreamConfig};
use crate::scream_v1::{ScreamV1, ScreamV1Config};

kinds! {
    /// Controller of a media flow's rate.
    pub enum RateControl {
        /// Google congestion control, as in libwebrtc.
        "gcc" = Gcc(GccConfig),
        /// SCReAM version 2, of the draft.
        "scream" = Scream(ScreamConfig),
        /// SCReAM of RFC 8298.
        "scream_v1" = ScreamV1(ScreamV1Config),
    }
}

impl RateControl {
    /// The name in scenarios.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Gcc(_) => "gcc",
            Self::Scream(_) => "scream",
            Self::ScreamV1(_) => "scream_v1",
        }
    }

    /// The controller at its beginning.
    pub fn start(&self, limits: Limits) -> Controller {
        match self {
            Self::Gcc(config) => Controller::Gcc(Box::new(Gcc::new(*config, limits))),
            Self::Scream(config) => Controller::Scream(Box::new(Scream::new(*config, limits))),
            Self::ScreamV1(config) => Controller::ScreamV1(Box::new(ScreamV1::new(*config, limits))),
        }
    }
}

/// The largest rate of an encoder.
const FASTEST: Bandwidth = Bandwidth(1_000_000_000);

declare! {
    /// An encoder of video whose rate a controller sets from the receiver's reports.
    pub struct MediaApp {
        /// Controller of the rate.
        controller: RateControl = RateControl::Gcc(GccConfig::default()),
        /// Least rate of the encoder, of payload.
        min_rate: Bandwidth = default(Bandwidth(150_000)).at_least(Bandwidth(1_000)).at_most(FASTEST).source("RFC 8698 section 5"),
        /// Largest rate of the encoder.
        max_rate: Bandwidth = default(Bandwidth(1_500_000)).at_least(Bandwidth(1_000)).at_most(FASTEST).source("RFC 8698 section 5"),
        /// Rate before the first report.
        start_rate: Bandwidth = default(Bandwidth(300_000)).at_least(Bandwidth(1_000)).at_most(FASTEST).source("libwebrtc"),
        /// Number of frames a second.
        frame_rate: f64 = default(30.0).at_least(1.0).at_most(1_000.0).unit("frames a second").source("RFC 8698 section 5"),
        /// Least time between changes of the encoder's rate.
        lag: SimDuration = default(SimDuration::from_millis(100)).at_most(SimDuration::from_secs(60)).source("syncodecs"),
        /// Size of a key frame: the first frame, and one when the rate changes by more than half.
        key_frame: Bytes = default(Bytes(4_270)).at_least(Bytes(1)).at_most(Bytes(100_000_000)).source("syncodecs"),
        /// Interval between further key frames.
        key_interval: Option<SimDuration> = unset("none").at_least(SimDuration::from_millis(1)),
        /// Scale of the Laplacian noise of frame sizes, as a fraction of the size.
        size_noise: f64 = default(0.15).at_least(0.0).at_most(1.0).source("syncodecs"),
        /// Scale of the Laplacian noise of the time between frames, as a fraction of it.
        interval_noise: f64 = default(0.15).at_least(0.0).at_most(1.0).source("syncodecs"),
        /// Wait at the sender after which packets are discarded, with the rest of their frame.
        discard_after: SimDuration = default(SimDuration::from_secs(2)).at_least(SimDuration::from_millis(1)).source("libwebrtc"),
        /// Interval between the receiver's reports, which then have no other triggers.
        feedback: Option<SimDuration> = unset("the controller's interval").at_least(SimDuration::from_micros(100)).at_most(SimDuration::from_secs(10)),
    }
    check MediaApp::review;
}

impl Entry for MediaApp {
    const ABOUT: About = About {
        name: "media",
        aliases: &[],
        summary: "app of UDP: interactive video whose rate a controller (gcc, scream, scream_v1) sets from the receiver's reports",
        source: "encoder: RFC 8593 as in syncodecs; reports: RFC 8888, transport-wide feedback",
        departures: "no audio, retransmission or forward error correction; rates count RTP's headers",
    };
}

impl MediaApp {
    fn review(&self, review: &mut Review<'_>) {
        // The default gives way to what is written.
        if self.min_rate > self.max_rate && review.is_given("min_rate") {
            let message = format!("must be at most max_rate, which is {}", self.max_rate);
            review.report("min_rate", message, "use a lower min_rate, or a higher max_rate");
        }
    }

    /// The least rate of its encoder.
    pub fn least_rate(&self) -> Bandwidth {
        self.min_rate.min(self.max_rate)
    }

    /// Time from a frame to the next.
    pub fn frame_interval(&self) -> SimDuration {
        SimDuration::from_secs_f64(1.0 / self.frame_rate)
    }

    pub(crate) fn encoder(&self) -> EncoderConfig {
        EncoderConfig {
            interval: self.frame_interval(),
            lag: self.lag,
            key_frame: self.key_frame,
            key_interval: self.key_interval,
            size_noise: self.size_noise,
            interval_noise: self.interval_noise,
        }
    }

    /// Reporting of its receiver.
    pub fn reporting(&self, controller: &Controller) -> Reporting {
        let own = controller.reporting();
        match self.feedback {
            None => own,
            interval => Reporting { interval, packets: None, at_frame_ends: false, ..own },
        }
    }

    /// The limits of its controller; `is_l4s`: its packets are ECT(1).
    pub fn limits(&self, is_l4s: bool) -> Limits {
        let least = self.least_rate();
        let start = self.start_rate.clamp(least, self.max_rate);
        let frame_interval = self.frame_interval();
        Limits { least, most: self.max_rate, start, frame_interval, is_l4s }
    }
}
