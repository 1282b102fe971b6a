//! The module's integers: segments, rates in segments a microsecond times 2^24, gains in 256ths.

use ackclock_units::{Bytes, SimDuration, SimTime};

/// `BBR_UNIT`: a gain of one.
pub(super) const GAIN_UNIT: u64 = 256;
/// `BW_UNIT`: a segment a microsecond.
const RATE_UNIT: u64 = 1 << 24;
/// The share of the rate that is paced, in percent (`bbr_pacing_margin_percent`).
const PACED_PERCENT: u64 = 99;

/// The size of a segment, octets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segments(pub(super) u64);

impl Segments {
    /// The number of segments for `octets`, rounded up.
    pub(super) fn of(self, octets: u64) -> u64 {
        octets.div_ceil(self.0)
    }

    pub(super) fn octets(self, segments: u64) -> Bytes {
        Bytes(segments * self.0)
    }

    /// A rate with a gain and without the pacing margin, octets/s (`bbr_rate_bytes_per_sec`).
    pub(super) fn octets_per_second(self, rate: u64, gain: u64) -> u64 {
        let scaled = u128::from(rate) * u128::from(self.0) * u128::from(gain) / u128::from(GAIN_UNIT);
        (scaled * u128::from(10_000 * PACED_PERCENT) / u128::from(RATE_UNIT)) as u64
    }

    /// A rate in bit/s, for inspection.
    pub(super) fn bits_per_second(self, rate: u64) -> f64 {
        rate as f64 * self.0 as f64 * 8e6 / RATE_UNIT as f64
    }
}

/// A time as the kernel keeps it (`tcp_mstamp`).
pub(super) fn whole_microseconds(time: SimTime) -> SimTime {
    SimTime(time.0 / 1_000 * 1_000)
}

pub(super) fn microseconds(time: SimDuration) -> u64 {
    time.0 / 1_000
}

pub(super) fn gain_of(gain: f64) -> u64 {
    (gain * GAIN_UNIT as f64) as u64
}

/// The rate of `segments` in `microseconds`; zero for no time.
pub(super) fn rate_of(segments: u64, microseconds: u64) -> u64 {
    (segments * RATE_UNIT).checked_div(microseconds).unwrap_or(0)
}

/// The segments that a rate delivers in a time, rounded down.
pub(super) fn delivered_in(rate: u64, microseconds: u64) -> u64 {
    (u128::from(rate) * u128::from(microseconds) / u128::from(RATE_UNIT)) as u64
}

/// The bandwidth-delay product times a gain, in segments, rounded up (`bbr_bdp`).
pub(super) fn path_full(rate: u64, microseconds: u64, gain: u64) -> u64 {
    let scaled = u128::from(rate) * u128::from(microseconds) * u128::from(gain) / u128::from(GAIN_UNIT);
    scaled.div_ceil(u128::from(RATE_UNIT)) as u64
}
