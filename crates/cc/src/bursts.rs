//! How much a host with segmentation offload sends at once, where a controller has a say in it.
//!
//! Source: Linux's `min_tso_segs`, which BBR has, and the `tso_segs` of the L4S kernels, which Prague has; by their
//! behaviour. Departures: none.

use ackclock_units::SimDuration;

/// What a controller asks of a host that sends in bursts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BurstRule {
    /// What the host does by itself: a millisecond of the pacing rate, with the host's least number of segments.
    #[default]
    Host,
    /// The same with another least number of segments.
    AtLeast(u32),
    /// What the pacing rate sends in so long, and a segment at least.
    Lasting(SimDuration),
}
