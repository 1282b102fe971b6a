//! The response of `HighSpeed` TCP as a table, worked out here since a program in the kernel has no logarithm.
//!
//! Source: RFC 3649 section 5, by [`HighSpeedConfig::response_at`]. Departures: `programs/rules/highspeed.h` says them.

use ackclock_cc::HighSpeedConfig;

use crate::exchange::ONE;

const OCTAVES: usize = 20;
const STEPS: usize = 32;
const POINTS: usize = OCTAVES * STEPS + 1;

/// a(w) and what is kept, 1 - b(w), of windows of `2^octave (1 + step/32)` segments, with 32 bits after the point.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Curve([[u64; 2]; POINTS]);

impl Curve {
    /// Curve of a configuration's formulas.
    pub fn of(config: &HighSpeedConfig) -> Self {
        let point = |index: usize| {
            let window = (1_u64 << (index / STEPS)) as f64 * (1.0 + (index % STEPS) as f64 / STEPS as f64);
            let (a, b) = config.response_at(window);
            // Below the low window the formulas are no part of the response: those points only end the first line.
            [(a.max(0.0) * ONE as f64) as u64, ((1.0 - b).clamp(0.0, 1.0) * ONE as f64) as u64]
        };
        Self(std::array::from_fn(point))
    }

    /// The curve as the kernel's program stores it.
    pub fn octets(&self) -> Vec<u8> {
        self.0.iter().flatten().flat_map(|word| word.to_ne_bytes()).collect()
    }
}
