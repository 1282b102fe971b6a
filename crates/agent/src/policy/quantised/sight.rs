//! Inputs of a decision as integers, and the observations of the catalogue from these.
//!
//! Source: the catalogue, `observation.rs`. Departures from it: times are whole microseconds, rates whole bit/s, shares are rounded down to
//! multiples of 2^-16.

use ackclock_units::SimDuration;

use super::super::error::PolicyError;
use crate::config::AgentConfig;
use crate::named::AnyObservation;
use crate::observation::Scale;
use crate::view::View;

/// A flow at a decision, and the interval since the last one. Amounts are segments in q16. `struct sight` of
/// crates/bpf/src/programs/policy.h.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Sight {
    /// The congestion window, segments.
    pub cwnd: u64,
    /// The slow-start threshold; 0 while arbitrarily high.
    pub ssthresh: u64,
    /// The window after the last congestion; 0 before the first.
    pub threshold: u64,
    /// The segments delivered in the interval.
    pub acked: u64,
    /// The segments marked lost in the interval.
    pub lost: u64,
    /// The delivery rate of the interval, bit/s.
    pub delivery_rate: u64,
    /// The largest delivery rate so far, bit/s.
    pub max_delivery_rate: u64,
    /// The latest RTT, us.
    pub rtt_us: u32,
    /// The smoothed RTT, us.
    pub srtt_us: u32,
    /// The minimum RTT, us.
    pub min_rtt_us: u32,
    /// The mean RTT of the interval, us; the latest without a sample.
    pub mean_rtt_us: u32,
    /// The length of the interval, us.
    pub interval_us: u32,
    /// The number of ACKs in the interval.
    pub acks: u32,
    /// One in slow start, else zero.
    pub in_slow_start: u32,
    /// One in fast recovery, else zero.
    pub in_recovery: u32,
}

/// The number one in q16.
pub(super) const ONE: i64 = 1 << 16;
const MOST_SEGMENTS: i64 = 1_000_000 * ONE;
const MOST_MS: i64 = 600_000 * ONE;
const MOST_BPS: u64 = 1_000_000_000_000;

/// The observations with an integer form, at the positions of their codes.
pub const NAMES: [&str; 19] = [
    "cwnd_segments",
    "ssthresh_segments",
    "threshold_segments",
    "acked_segments",
    "lost_segments",
    "rtt_ms",
    "srtt_ms",
    "min_rtt_ms",
    "mean_rtt_ms",
    "queueing_delay_ms",
    "interval_ms",
    "delivery_rate_bps",
    "max_delivery_rate_bps",
    "loss_fraction",
    "delivery_ratio",
    "queue_share",
    "queued_segments",
    "in_slow_start",
    "in_recovery",
];

fn segments_of(bytes: u64, mss: u64) -> u64 {
    (u128::from(bytes) * ONE as u128 / u128::from(mss.max(1))) as u64
}

fn us_of(time: SimDuration) -> u32 {
    u32::try_from(time.0 / 1_000).unwrap_or(u32::MAX)
}

impl Sight {
    /// The agent's view as integers. `max_delivery_rate` is the largest integer rate so far.
    pub fn of(view: &View<'_>, max_delivery_rate: u64) -> Self {
        let mss = view.mss.0;
        let segments = |bytes: u64| segments_of(bytes, mss);
        let interval = view.interval.length(view.now);
        let delivery_rate = rate_of(view.interval.acked.0, us_of(interval));
        Self {
            cwnd: segments(view.cwnd.0),
            ssthresh: view.ssthresh.map_or(0, |ssthresh| segments(ssthresh.0)),
            threshold: segments(view.memory.threshold.0),
            acked: segments(view.interval.acked.0),
            lost: segments(view.interval.lost.0),
            delivery_rate,
            max_delivery_rate: max_delivery_rate.max(delivery_rate),
            rtt_us: us_of(view.rtt.latest),
            srtt_us: us_of(view.rtt.srtt),
            min_rtt_us: us_of(view.rtt.min_rtt),
            mean_rtt_us: us_of(view.interval.mean_rtt().unwrap_or(view.rtt.latest)),
            interval_us: us_of(interval),
            acks: view.interval.acks,
            in_slow_start: u32::from(view.in_slow_start),
            in_recovery: u32::from(view.in_recovery),
        }
    }
}

/// The rate of octets over a time, bit/s; 0 for no time.
fn rate_of(octets: u64, us: u32) -> u64 {
    let rate = (u128::from(octets) * 8_000_000).checked_div(u128::from(us)).unwrap_or(0);
    rate.min(u128::from(MOST_BPS)) as u64
}

/// The codes of an agent's observations.
pub(super) fn codes(config: &AgentConfig) -> Result<Vec<u32>, PolicyError> {
    let code = |observation: &AnyObservation| {
        let name = match observation {
            AnyObservation::BuiltIn(observation) => observation.name,
            AnyObservation::Own(_) => "one of its own",
        };
        let found = NAMES.iter().position(|known| *known == name);
        let found = found.filter(|_| config.is_scaled || !name.ends_with("_bps"));
        found.map(|place| place as u32).ok_or_else(|| {
            let what = format!("observes {name}, which quantised policies do not support");
            PolicyError::of_agent(what, format!("train with some of {}; rates with scaled", NAMES.join(", ")))
        })
    };
    config.observations.iter().map(code).collect()
}

/// The greatest value of an input.
pub(super) fn bound(code: u32, is_scaled: bool) -> f64 {
    let name = NAMES[code as usize];
    if is_scaled || name.ends_with("fraction") || name.ends_with("share") || name.ends_with("ratio") {
        1.0
    } else if name.ends_with("_ms") {
        600_000.0
    } else {
        1_000_000.0
    }
}

/// The logarithmic scale of a code: the unit of `log2(1 + value/unit)`, and 1 over the logarithm of the range's end in
/// q32. `None` where values are fractions.
pub(super) fn scale(code: u32) -> Option<(u64, u64)> {
    let observation = crate::observation::Observation::named(NAMES[code as usize]).expect("each is of the catalogue");
    let Scale::Log { unit } = observation.scale else { return None };
    let log = ackclock_units::math::ln_1p(observation.range.1 / unit) / std::f64::consts::LN_2;
    Some((unit as u64, (4_294_967_296.0 / log).round() as u64))
}

/// The value of a code, q16; rates are integers.
pub(super) fn value(code: u32, s: &Sight) -> i64 {
    let ms = |us: u32| ((i64::from(us) << 16) / 1_000).min(MOST_MS);
    let segments = |amount: u64| (amount.min(MOST_SEGMENTS as u64)) as i64;
    let flag = |is: u32| if is == 0 { 0 } else { ONE };
    let queueing = u64::from(s.mean_rtt_us.saturating_sub(s.min_rtt_us));
    let share = || if s.mean_rtt_us == 0 { 0 } else { ((queueing << 16) / u64::from(s.mean_rtt_us)) as i64 };
    match code {
        0 => segments(s.cwnd),
        1 => segments(s.ssthresh),
        2 => segments(s.threshold),
        3 => segments(s.acked),
        4 => segments(s.lost),
        5 => ms(s.rtt_us),
        6 => ms(s.srtt_us),
        7 => ms(s.min_rtt_us),
        8 => ms(s.mean_rtt_us),
        9 => ms(queueing as u32),
        10 => ms(s.interval_us),
        11 => s.delivery_rate.min(MOST_BPS) as i64,
        12 => s.max_delivery_rate.min(MOST_BPS) as i64,
        13 => {
            let all = (s.acked + s.lost) >> 8;
            ((s.lost >> 8) << 16).checked_div(all).unwrap_or(0) as i64
        }
        14 => {
            let most = s.max_delivery_rate.min(MOST_BPS);
            (s.delivery_rate.min(most) << 16).checked_div(most).unwrap_or(0) as i64
        }
        15 => share(),
        16 => ((s.cwnd.min(MOST_SEGMENTS as u64) * share() as u64) >> 16) as i64,
        17 => flag(s.in_slow_start),
        _ => flag(s.in_recovery),
    }
}
