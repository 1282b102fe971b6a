//! BBR: a model of the path, its bottleneck's rate and its round trip, in place of a window that follows losses.
//!
//! [`Bbr`] is the first version, [`LinuxBbr`] the same as Linux's module has it, [`Bbr3`] the third; what they count is here.

mod filter;
pub mod linux;
pub mod v1;
pub mod v3;

use ackclock_units::{Bandwidth, Bytes, SimDuration};

use crate::bursts::BurstRule;

#[doc(inline)]
pub use linux::LinuxBbr;
#[doc(inline)]
pub use v1::{Bbr, BbrConfig, BbrVariant};
#[doc(inline)]
pub use v3::{Bbr3, Bbr3Config};

/// Packet-timed round trips: one ends when something is delivered that was sent after it began.
#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    /// `round_count`.
    count: u64,
    /// `round_start`: the ACK at hand begins a round.
    starts: bool,
    /// `next_round_delivered`.
    ends_at: u64,
}

impl Rounds {
    /// An ACK, whose newest segment left when `prior_delivered` had been delivered of the `delivered` now.
    fn on_ack(&mut self, prior_delivered: u64, delivered: u64) {
        self.starts = prior_delivered >= self.ends_at;
        if self.starts {
            self.ends_at = delivered;
            self.count += 1;
        }
    }

    /// A round begins now.
    fn restart(&mut self, delivered: u64) {
        self.ends_at = delivered;
    }
}

/// Octets that a rate carries in a round trip, times `gain`.
fn bdp(rate: u64, rtt: SimDuration, gain: f64) -> u64 {
    (gain * Bandwidth(rate).bytes_in(rtt).0 as f64) as u64
}

/// A rate before there is an estimate: the initial window in a round trip, or in a millisecond while that is not known.
fn initial_rate(window: u64, srtt: SimDuration, gain: f64) -> u64 {
    let span = if srtt.is_zero() { SimDuration::from_millis(1) } else { srtt };
    (gain * window as f64 * 8.0 / span.as_secs_f64()) as u64
}

/// Below 1.2 Mbit/s (Linux's `bbr_min_tso_rate`) a burst may be one segment, above it is two at least.
fn least_burst(pacing_rate: u64) -> BurstRule {
    BurstRule::AtLeast(if pacing_rate < 1_200_000 { 1 } else { 2 })
}

/// `rate` for the time of `span`, at most `most` and at least `least` octets.
fn quantum(rate: u64, span: SimDuration, least: u64, most: u64) -> u64 {
    let Bytes(octets) = Bandwidth(rate).bytes_in(span);
    octets.min(most).max(least)
}
