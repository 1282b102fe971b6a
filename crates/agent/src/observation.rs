//! The catalogue of observations: names, units, ranges, and their values in a [`View`].
//!
//! Sources: the states of DQN-based `NewReno` and CUBIC (Seo and Cho, J. KICS 2023), of Aurora (Jay et al., ICML 2019,
//! section 4.1) and of Orca (Abbasloo et al., SIGCOMM 2020, table 2). Departures: each value is over the interval since
//! the last decision, where Aurora and Orca take a monitor interval of their own.

use ackclock_units::SimDuration;

use crate::recent::Sample;
use crate::view::View;

/// Map of a value into [-1, 1], if the configuration asks for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// Division by the end of its range.
    Linear,
    /// The logarithm `ln(1 + x / unit) / ln(1 + high / unit)`, for values over several decades.
    Log {
        /// Value at which it turns from linear to logarithmic.
        unit: f64,
    },
}

/// An observation for agents: its name, its range and its value in a [`View`].
#[derive(Clone, Copy, Debug)]
pub struct Observation {
    /// Name in configurations; the suffix is its unit.
    pub name: &'static str,
    /// The least and greatest value; others are clamped.
    pub range: (f64, f64),
    /// The map of the value to an input of a network.
    pub scale: Scale,
    /// Meaning in a sentence.
    pub what: &'static str,
    read: fn(&View<'_>) -> f64,
}

const MOST_SEGMENTS: f64 = 1e6;
const MOST_MS: f64 = 600_000.0;
const MOST_BPS: f64 = 1e12;

const fn segments(name: &'static str, what: &'static str, read: fn(&View<'_>) -> f64) -> Observation {
    Observation { name, range: (0.0, MOST_SEGMENTS), scale: Scale::Log { unit: 1.0 }, what, read }
}

const fn milliseconds(name: &'static str, what: &'static str, read: fn(&View<'_>) -> f64) -> Observation {
    Observation { name, range: (0.0, MOST_MS), scale: Scale::Log { unit: 1.0 }, what, read }
}

const fn rate(name: &'static str, what: &'static str, read: fn(&View<'_>) -> f64) -> Observation {
    Observation { name, range: (0.0, MOST_BPS), scale: Scale::Log { unit: 1e5 }, what, read }
}

const fn share(name: &'static str, what: &'static str, read: fn(&View<'_>) -> f64) -> Observation {
    Observation { name, range: (0.0, 1.0), scale: Scale::Linear, what, read }
}

const fn trend(name: &'static str, what: &'static str, read: fn(&View<'_>) -> f64) -> Observation {
    Observation { name, range: (-4.0, 4.0), scale: Scale::Linear, what, read }
}

/// The catalogue of all observations for agents.
pub const OBSERVATIONS: &[Observation] = &[
    segments("cwnd_segments", "congestion window", |view| view.segments(view.cwnd)),
    segments("ssthresh_segments", "slow-start threshold; 0 while arbitrarily high", |view| {
        view.ssthresh.map_or(0.0, |ssthresh| view.segments(ssthresh))
    }),
    segments("threshold_segments", "window after the last congestion; 0 before the first", |view| {
        view.segments(view.memory.threshold)
    }),
    segments("w_max_segments", "midway between the windows before and after the last congestion; 0 before", |view| {
        view.segments(view.memory.w_max)
    }),
    segments("flight_size_segments", "sent and not cumulatively acknowledged", |view| view.segments(view.flight_size)),
    segments("acked_segments", "delivered in the interval", |view| view.segments(view.interval.acked)),
    segments("sent_segments", "sent in the interval", |view| view.segments(view.interval.sent)),
    segments("lost_segments", "marked lost in the interval", |view| view.segments(view.interval.lost)),
    milliseconds("rtt_ms", "latest RTT sample", |view| view.rtt.latest.as_secs_f64() * 1e3),
    milliseconds("srtt_ms", "smoothed RTT (RFC 6298)", |view| view.rtt.srtt.as_secs_f64() * 1e3),
    milliseconds("rttvar_ms", "RTT variation (RFC 6298)", |view| view.rtt.rttvar.as_secs_f64() * 1e3),
    milliseconds("min_rtt_ms", "least RTT of the connection", |view| view.rtt.min_rtt.as_secs_f64() * 1e3),
    milliseconds("mean_rtt_ms", "mean RTT sample of the interval; the latest without one", mean_rtt_ms),
    milliseconds("queueing_delay_ms", "mean RTT of the interval less the least", |view| {
        (mean_rtt_ms(view) - view.rtt.min_rtt.as_secs_f64() * 1e3).max(0.0)
    }),
    milliseconds("since_congestion_ms", "time since the last congestion; since the first ACK before", |view| {
        view.now.saturating_since(view.memory.last_congestion.unwrap_or(view.since)).as_secs_f64() * 1e3
    }),
    milliseconds("interval_ms", "length of the interval", |view| view.interval.length(view.now).as_secs_f64() * 1e3),
    rate("delivery_rate_bps", "delivered in the interval over its length", delivery_rate),
    rate("max_delivery_rate_bps", "largest delivery rate so far", |view| view.memory.max_delivery_rate),
    rate("send_rate_bps", "sent in the interval over its length", |view| {
        view.interval.rate_of(view.interval.sent, view.now)
    }),
    rate("window_rate_bps", "congestion window over the latest RTT", window_rate),
    rate("pacing_rate_bps", "the rate that the agent has set; 0 without one", |view| {
        view.pacing_rate.map_or(0.0, |rate| rate.0 as f64)
    }),
    share("loss_fraction", "lost over lost plus delivered, in the interval", |view| view.interval.loss_fraction()),
    share("marked_fraction", "marked by the network over delivered, in the interval", |view| {
        view.interval.marked_fraction()
    }),
    share("in_slow_start", "1 in slow start", |view| f64::from(u8::from(view.in_slow_start))),
    share("in_recovery", "1 in fast recovery", |view| f64::from(u8::from(view.in_recovery))),
    Observation {
        name: "latency_gradient",
        range: (-1.0, 1.0),
        scale: Scale::Linear,
        what: "change of the RTT over the interval, seconds per second (Aurora)",
        read: |view| view.interval.rtt_gradient(),
    },
    Observation {
        name: "latency_ratio",
        range: (0.0, 100.0),
        scale: Scale::Log { unit: 1.0 },
        what: "mean RTT of the interval over the least RTT (Aurora)",
        read: |view| ratio(mean_rtt_ms(view), view.rtt.min_rtt.as_secs_f64() * 1e3, 1.0),
    },
    Observation {
        name: "send_ratio",
        range: (0.0, 100.0),
        scale: Scale::Log { unit: 1.0 },
        what: "sent over delivered in the interval (Aurora)",
        read: |view| ratio(view.interval.sent.0 as f64, view.interval.acked.0 as f64, 1.0),
    },
    Observation {
        name: "delivery_ratio",
        range: (0.0, 1.0),
        scale: Scale::Linear,
        what: "delivery rate of the interval over the largest so far (Orca)",
        read: |view| ratio(view.delivery_rate(), view.memory.max_delivery_rate, 0.0),
    },
    share("queue_share", "queueing delay over the mean RTT of the interval", |view| {
        ratio(queueing_s(view, mean_rtt_ms(view) / 1e3), mean_rtt_ms(view) / 1e3, 0.0)
    }),
    segments("queued_segments", "cwnd times queue_share: segments in queues (Vegas)", |view| {
        let mean = mean_rtt_ms(view) / 1e3;
        view.segments(view.cwnd) * ratio(queueing_s(view, mean), mean, 0.0)
    }),
    Observation {
        name: "window_ratio",
        range: (0.0, 100.0),
        scale: Scale::Log { unit: 1.0 },
        what: "cwnd over the largest delivery rate of the last 20 decisions times the least RTT",
        read: |view| {
            let pipe = view.memory.recent.max_rate() * view.rtt.min_rtt.as_secs_f64() / 8.0;
            ratio(view.cwnd.0 as f64, pipe, 1.0)
        },
    },
    share("recent_delivery_ratio", "delivery rate of the interval over the largest of the last 20 decisions", |view| {
        ratio(view.delivery_rate(), view.memory.recent.max_rate(), 0.0)
    }),
    share("standing_queue_share", "least queueing delay of the last 20 decisions over their greatest", |view| {
        let recent = &view.memory.recent;
        let queueing = |rtt: Option<SimDuration>| rtt.map_or(0.0, |rtt| queueing_s(view, rtt.as_secs_f64()));
        ratio(queueing(recent.least_rtt()), queueing(recent.greatest_rtt()), 0.0)
    }),
    share(
        "peak_queue_share",
        "greatest queueing delay of the last 20 decisions over the RTT that it was part of",
        |view| {
            let rtt = view.memory.recent.greatest_rtt().unwrap_or_default().as_secs_f64();
            ratio(queueing_s(view, rtt), rtt, 0.0)
        },
    ),
    Observation {
        name: "recent_loss_fraction",
        range: (0.0, 1.0),
        scale: Scale::Log { unit: 1e-3 },
        what: "lost over lost plus delivered, in the last 20 decisions",
        read: |view| view.memory.recent.loss_fraction(),
    },
    trend("delivery_trend", "log2 of the interval's delivery rate over that four decisions ago", |view| {
        view.memory.recent.ends_of_trend().map_or(0.0, |(now, then)| octaves(now.rate, then.rate))
    }),
    trend("window_trend", "log2 of cwnd over that four decisions ago", |view| {
        view.memory.recent.ends_of_trend().map_or(0.0, |(now, then)| octaves(now.cwnd.0 as f64, then.cwnd.0 as f64))
    }),
    trend("rtt_trend", "log2 of the interval's mean RTT over that four decisions ago", |view| {
        let octaves =
            |(now, then): (&Sample, &Sample)| octaves(now.mean_rtt.as_secs_f64(), then.mean_rtt.as_secs_f64());
        view.memory.recent.ends_of_trend().map_or(0.0, octaves)
    }),
    Observation {
        name: "acks",
        range: (0.0, 1e6),
        scale: Scale::Log { unit: 1.0 },
        what: "ACKs in the interval",
        read: |view| f64::from(view.interval.acks),
    },
];

fn delivery_rate(view: &View<'_>) -> f64 {
    view.delivery_rate()
}

fn window_rate(view: &View<'_>) -> f64 {
    view.window_rate()
}

fn mean_rtt_ms(view: &View<'_>) -> f64 {
    view.interval.mean_rtt().unwrap_or(view.rtt.latest).as_secs_f64() * 1e3
}

/// The number of doublings from `from` to `to`; zero if either is.
fn octaves(to: f64, from: f64) -> f64 {
    if to > 0.0 && from > 0.0 { ackclock_units::math::ln(to / from) / std::f64::consts::LN_2 } else { 0.0 }
}

/// The queueing part of an RTT, in seconds: the excess over the least.
fn queueing_s(view: &View<'_>, rtt_s: f64) -> f64 {
    (rtt_s - view.rtt.min_rtt.as_secs_f64()).max(0.0)
}

/// `a / b`, or `otherwise` if b is zero.
fn ratio(a: f64, b: f64, otherwise: f64) -> f64 {
    if b > 0.0 { a / b } else { otherwise }
}

/// A value in a range that ends with `high`, as a fraction of that.
pub(crate) fn scaled(value: f64, high: f64, scale: Scale) -> f64 {
    match scale {
        Scale::Linear => value / high,
        Scale::Log { unit } => ackclock_units::math::ln_1p(value / unit) / ackclock_units::math::ln_1p(high / unit),
    }
}

impl Observation {
    /// The observation with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        OBSERVATIONS.iter().find(|observation| observation.name == name)
    }

    /// The value in its unit, clamped to its range.
    pub fn value(&self, view: &View<'_>) -> f64 {
        let value = (self.read)(view);
        if value.is_nan() { self.range.0 } else { value.clamp(self.range.0, self.range.1) }
    }

    /// The value mapped into [-1, 1] by its [`Scale`].
    pub fn scaled(&self, view: &View<'_>) -> f64 {
        scaled(self.value(view), self.range.1, self.scale)
    }

    /// Range of [`Self::value`], or of [`Self::scaled`].
    pub fn bounds(&self, is_scaled: bool) -> (f64, f64) {
        match (is_scaled, self.range.0 < 0.0) {
            (false, _) => self.range,
            (true, true) => (-1.0, 1.0),
            (true, false) => (0.0, 1.0),
        }
    }
}
