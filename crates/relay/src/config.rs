//! The disciplines and their parameters, as a scenario names them.

use ackclock_units::{Bytes, SimDuration};

/// A discipline and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum DisciplineConfig {
    /// See [`Socket`](crate::Socket).
    Socket,
    /// See [`EceInterval`](crate::EceInterval).
    EceInterval(EceIntervalConfig),
    /// See [`EceDropTail`](crate::EceDropTail).
    EceDropTail(EceDropTailConfig),
    /// See [`EceRed`](crate::EceRed).
    EceRed(EceRedConfig),
    /// See [`DrainRate`](crate::DrainRate).
    DrainRate(DrainRateConfig),
    /// See [`CodelWindow`](crate::CodelWindow).
    CodelWindow(CodelWindowConfig),
    /// See [`NotSent`](crate::NotSent).
    NotSent(NotSentConfig),
    /// See [`Credit`](crate::Credit).
    Credit(CreditConfig),
}

/// When `ece_interval` signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EceIntervalConfig {
    /// Time between signals; above zero. Reno that halves its window every `T` of a round trip `R` has a window of `T / R`
    /// to `2 T / R` segments and sends `1.5 T / R^2` segments a second: 20 ms over 2 ms are 7500, which with 1448 octets
    /// each is 87 Mbit/s, about what the thesis' flow got (93 Mbit/s). Thesis: "at certain intervals", not given.
    pub interval: SimDuration,
}

impl Default for EceIntervalConfig {
    fn default() -> Self {
        Self { interval: SimDuration::from_millis(20) }
    }
}

/// When `ece_droptail` signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EceDropTailConfig {
    /// In-socket octets (arrived, not acknowledged by the far end) over which it signals. What is under way on the far side
    /// counts, so this is a bandwidth-delay product and what may wait: 500 kB are 318 kB of the thesis' path (1 Gbit/s
    /// among eleven flows, 28 ms) and 16 ms of that rate. Not given in the thesis.
    pub limit: Bytes,
    /// No more than one signal in a near-side round trip. Else one at every arrival over the limit; ECE stays up until CWR
    /// answers it, so that the sender's window is cut once in a round trip either way.
    pub every_rtt: bool,
}

impl Default for EceDropTailConfig {
    fn default() -> Self {
        Self { limit: Bytes(500_000), every_rtt: false }
    }
}

/// When `ece_red` signals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EceRedConfig {
    /// In-socket octets up to which it is silent. 320 kB: the bandwidth-delay product of the thesis' path, see
    /// [`EceDropTailConfig::limit`].
    pub threshold: Bytes,
    /// In-socket octets at which the probability is `max_probability`, and beyond which it is 1; above `threshold`.
    pub limit: Bytes,
    /// Probability of a signal for an arriving segment where the buffer ends, above 0 to 1. 0.1: Floyd's advice for RED.
    pub max_probability: f64,
}

impl Default for EceRedConfig {
    fn default() -> Self {
        Self { threshold: Bytes(320_000), limit: Bytes(680_000), max_probability: 0.1 }
    }
}

/// What `drain_rate` keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrainRateConfig {
    /// How long an octet may wait. 5 ms: half of what is to be held, as the rate is measured late.
    pub target: SimDuration,
    /// Over how long the far side's rate is measured, at least; above zero. A far-side round trip where that is longer,
    /// since a window may leave in one burst.
    pub measure: SimDuration,
    /// The least window, in segments; above zero, so that a flow that rests can begin.
    pub min_segments: u64,
}

impl Default for DrainRateConfig {
    fn default() -> Self {
        Self { target: SimDuration::from_millis(5), measure: SimDuration::from_millis(10), min_segments: 10 }
    }
}

/// How `codel_window` moves its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodelWindowConfig {
    /// Sojourn time that is acceptable for good. 5 ms: RFC 8289 section 4.4.
    pub target: SimDuration,
    /// How long all sojourn times must exceed it before the window shrinks; above zero. RFC 8289 wants the longest round
    /// trip of those who respond, which is that of the near side and not 100 ms.
    pub interval: SimDuration,
    /// The least window, in segments; above zero.
    pub min_segments: u64,
}

impl Default for CodelWindowConfig {
    fn default() -> Self {
        Self { target: SimDuration::from_millis(5), interval: SimDuration::from_millis(10), min_segments: 2 }
    }
}

/// What `not_sent` lets into the sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotSentConfig {
    /// Octets not yet sent with which the far socket is content (`TCP_NOTSENT_LOWAT`); above zero. 16 kB is what web
    /// servers set.
    pub low_water: Bytes,
    /// Octets that the near side may have arrived and not yet handed on, above zero: the window is what is left of it. 64
    /// kB: a window without scaling, and 2 ms at 256 Mbit/s.
    pub window: Bytes,
}

impl Default for NotSentConfig {
    fn default() -> Self {
        Self { low_water: Bytes(16_000), window: Bytes(64_000) }
    }
}

/// How far ahead `credit` fetches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreditConfig {
    /// How long an octet may wait, but for one in a hundred. Where as many wait longer, nothing is fetched in advance.
    pub target: SimDuration,
    /// How long before they can leave octets should arrive, besides the near side's round trip: covers what the prediction
    /// misses, and is about what an octet waits.
    pub margin: SimDuration,
    /// What an ACK frees in slow start, as a multiple of what it acknowledges; 1 or more. 2: RFC 5681.
    pub slow_start_growth: f64,
}

impl Default for CreditConfig {
    fn default() -> Self {
        let ms = SimDuration::from_millis;
        Self { target: ms(10), margin: ms(3), slow_start_growth: 2.0 }
    }
}
