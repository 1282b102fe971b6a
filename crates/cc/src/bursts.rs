//! Burst sizes that a controller requests of a host with segmentation offload.
//!
//! Source: Linux's `min_tso_segs`, which BBR has, and the `tso_segs` of the L4S kernels, which Prague has; by their
//! behaviour. Departures: none.

use ackclock_units::SimDuration;

/// The burst size that a controller requests of a host that sends in bursts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BurstRule {
    /// The host's own rule: a millisecond of the pacing rate, with the host's least number of segments.
    #[default]
    Host,
    /// The host's rule with another least number of segments.
    AtLeast(u32),
    /// A burst of the pacing rate for this time, at least a segment.
    Lasting(SimDuration),
}
