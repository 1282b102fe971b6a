//! BBR: a model of the path, its bottleneck's rate and its round trip, in place of a window that follows losses.
//!
//! [`Bbr`] is the first version, [`LinuxBbr`] that of Linux's module, [`Bbr3`] the third. This file holds their round
//! counter and arithmetic.

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
    /// The number of rounds so far (`round_count`).
    count: u64,
    /// `round_start`: the ACK at hand begins a round.
    starts: bool,
    /// The delivered octets that end the round (`next_round_delivered`).
    ends_at: u64,
}

impl Rounds {
    /// Takes an ACK of `delivered` octets in all; its newest segment left when `prior_delivered` had been delivered.
    fn on_ack(&mut self, prior_delivered: u64, delivered: u64) {
        self.starts = prior_delivered >= self.ends_at;
        if self.starts {
            self.ends_at = delivered;
            self.count += 1;
        }
    }

    /// Begins a round at `delivered` octets.
    fn restart(&mut self, delivered: u64) {
        self.ends_at = delivered;
    }
}

/// The octets that a rate carries in a round trip, times `gain`.
fn bdp(rate: u64, rtt: SimDuration, gain: f64) -> u64 {
    (gain * Bandwidth(rate).bytes_in(rtt).0 as f64) as u64
}

/// The pacing rate before there is an estimate: the initial window in a round trip, or in a millisecond before the
/// first RTT sample.
fn initial_rate(window: u64, srtt: SimDuration, gain: f64) -> u64 {
    let span = if srtt.is_zero() { SimDuration::from_millis(1) } else { srtt };
    (gain * window as f64 * 8.0 / span.as_secs_f64()) as u64
}

/// The least burst: one segment below 1.2 Mbit/s (Linux's `bbr_min_tso_rate`), two above.
fn least_burst(pacing_rate: u64) -> BurstRule {
    BurstRule::AtLeast(if pacing_rate < 1_200_000 { 1 } else { 2 })
}

/// The octets that `rate` sends in `span`, at least `least` and at most `most`.
fn quantum(rate: u64, span: SimDuration, least: u64, most: u64) -> u64 {
    let Bytes(octets) = Bandwidth(rate).bytes_in(span);
    octets.min(most).max(least)
}
