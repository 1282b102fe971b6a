//! The module's integers: segments, rates in segments a microsecond times 2^24, gains in 256ths.

use ackclock_units::{Bytes, SimDuration};

/// `BBR_UNIT`: a gain of one.
pub(super) const GAIN_UNIT: u64 = 256;
/// `BW_UNIT`: a segment a microsecond.
const RATE_UNIT: u64 = 1 << 24;
/// `bbr_pacing_margin_percent`: what is left of the rate.
const PACED_PERCENT: u64 = 99;

/// The size of a segment, octets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segments(pub(super) u64);

impl Segments {
    /// Segments that so many octets take.
    pub(super) fn of(self, octets: u64) -> u64 {
        octets.div_ceil(self.0)
    }

    pub(super) fn octets(self, segments: u64) -> Bytes {
        Bytes(segments * self.0)
    }

    /// `bbr_rate_bytes_per_sec`: with a gain, and a hundredth less.
    pub(super) fn octets_per_second(self, rate: u64, gain: u64) -> u64 {
        let scaled = u128::from(rate) * u128::from(self.0) * u128::from(gain) / u128::from(GAIN_UNIT);
        (scaled * u128::from(10_000 * PACED_PERCENT) / u128::from(RATE_UNIT)) as u64
    }

    /// What it is, for whoever looks on.
    pub(super) fn bits_per_second(self, rate: u64) -> f64 {
        rate as f64 * self.0 as f64 * 8e6 / RATE_UNIT as f64
    }
}

pub(super) fn microseconds(time: SimDuration) -> u64 {
    time.0 / 1_000
}

pub(super) fn gain_of(gain: f64) -> u64 {
    (gain * GAIN_UNIT as f64) as u64
}

/// So many segments in so many microseconds; nothing in no time.
pub(super) fn rate_of(segments: u64, microseconds: u64) -> u64 {
    (segments * RATE_UNIT).checked_div(microseconds).unwrap_or(0)
}

/// Segments that a rate delivers in a time, rounded down.
pub(super) fn delivered_in(rate: u64, microseconds: u64) -> u64 {
    (u128::from(rate) * u128::from(microseconds) / u128::from(RATE_UNIT)) as u64
}

/// `bbr_bdp`: segments, rounded up.
pub(super) fn path_full(rate: u64, microseconds: u64, gain: u64) -> u64 {
    let scaled = u128::from(rate) * u128::from(microseconds) * u128::from(gain) / u128::from(GAIN_UNIT);
    scaled.div_ceil(u128::from(RATE_UNIT)) as u64
}
