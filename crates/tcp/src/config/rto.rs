//! The switches of the retransmission timer.

use ackclock_declare::{declare, default, words};
use ackclock_units::SimDuration;

words! {
    /// Formulas of the retransmission timeout.
    pub enum RtoEstimator {
        /// The formulas of RFC 6298.
        "rfc6298" = Rfc6298,
        /// OPNET Modeler 17: RFC 793's bounds with Jacobson's estimator, measured in ticks.
        "opnet" = Opnet,
        /// Linux: RFC 6298 with a deviation that is kept at its maximum over a round trip, and a floor on the deviation
        /// term instead of on the sum.
        "linux" = Linux,
    }
}

words! {
    /// The segment that gives the RTT sample, of those that an ACK covers.
    pub enum RttSample {
        /// The one sent last (RFC 6298 section 3 asks for one sample a round trip at least and leaves open which).
        "newest" = Newest,
        /// The one sent first, a delayed ACK included (Linux). The newest gives `min_rtt` and the controller's sample.
        "oldest" = Oldest,
    }
}

words! {
    /// Start of the timeout where the one timer had run for a probe or for reordered segments in between (RFC 8985
    /// section 8).
    pub enum RtoResume {
        /// The last restart of the timeout itself (RFC 6298 section 5).
        "restart" = Restart,
        /// The time at which the first outstanding segment was last sent (Linux).
        "head" = Head,
    }
}

words! {
    /// Rounding of a measured RTT to ticks (`opnet`).
    pub enum TickRounding {
        /// Whole ticks that fit in the RTT.
        "floor" = Floor,
        /// The nearest number of ticks.
        "nearest" = Nearest,
        /// Number of ticks begun.
        "ceiling" = Ceiling,
        /// Ticks of a free-running clock passed between sending and acknowledgement: depends on where the ticks lie.
        "clock" = Clock,
    }
}

words! {
    /// Effect of the first RTT sample R (`opnet`).
    pub enum FirstSample {
        /// `SRTT = R`, `RTTVAR = R/2` (RFC 6298 section 2.2).
        "half" = Half,
        /// `SRTT = R`, `RTTVAR = 0`.
        "no_variance" = NoVariance,
        /// The ordinary update from `SRTT = RTTVAR = 0`.
        "from_zero" = FromZero,
    }
}

declare! {
    /// Parameters of the retransmission timer; defaults belong to the estimator.
    #[derive(Copy)]
    pub struct RtoConfig {
        /// Formulas of the retransmission timeout.
        estimator: RtoEstimator = RtoEstimator::Rfc6298,
        /// Before the first sample (OPNET's Initial RTO).
        initial: SimDuration = default(SimDuration::from_secs(1)).above(SimDuration::ZERO).source("RFC 6298 section 2.1"),
        /// Lower bound (OPNET's Minimum RTO).
        min: SimDuration = default(SimDuration::from_secs(1)).source("RFC 6298 section 2.4"),
        /// Upper bound, of backed-off values too (OPNET's Maximum RTO); above 60 s also of the interval between probes of a closed window.
        max: SimDuration = default(SimDuration::from_secs(60)).above(SimDuration::ZERO).source("RFC 6298 section 2.5"),
        /// Gain of SRTT (alpha, OPNET's RTT Gain).
        rtt_gain: f64 = default(0.125).above(0.0).at_most(1.0).source("RFC 6298 section 2.3"),
        /// Gain of RTTVAR (beta, OPNET's Deviation Gain).
        deviation_gain: f64 = default(0.25).above(0.0).at_most(1.0).source("RFC 6298 section 2.3"),
        /// Weight of RTTVAR (K, OPNET's RTT Deviation Coefficient).
        deviation_weight: f64 = default(4.0).at_least(0.0).at_most(1e6).source("RFC 6298 section 2.3"),
        /// Clock granularity G (OPNET's Timer Granularity).
        granularity: SimDuration = default(SimDuration::from_millis(1)).at_least(SimDuration::from_micros(1)).at_most(SimDuration::from_secs(60)),
        /// Karn's rule (OPNET's Karn's Algorithm): no samples from retransmitted segments, and the backed-off value stays until a valid sample.
        karn: bool = true,
        /// The segment that gives the RTT sample, of those that an ACK covers.
        sample: RttSample = RttSample::Newest,
        /// Newly SACKed segments give samples where no acknowledged one does (Linux).
        sack_samples: bool = false,
        /// A SACK of data that left before the first outstanding segment last did restarts the timer (Linux).
        restart_on_sack: bool = false,
        /// Retransmitting the first outstanding segment restarts the timer (Linux; a variant of RFC 6675 section 6).
        restart_on_retransmission: bool = false,
        /// Start of the timeout where the timer had run for a probe or for reordered segments in between.
        resume_from: RtoResume = RtoResume::Restart,
        /// Least timeout for data after a SYN that had to be sent again, until there is a sample.
        after_lost_syn: SimDuration = default(SimDuration::from_secs(3)).source("RFC 6298 section 5.7"),
        /// `opnet`: how the RTT is measured in ticks.
        rounding: TickRounding = TickRounding::Nearest,
        /// `opnet`: what the first sample does.
        first_sample: FirstSample = FirstSample::Half,
        /// `opnet` and `linux`: where the ticks lie, as the time of the first one.
        tick_offset: SimDuration = SimDuration::ZERO,
    }
    bases by estimator: RtoEstimator = RtoConfig::of;
    check |rto, review| review.at_most(("min", &rto.min), ("max", &rto.max));
}

impl RtoConfig {
    /// The defaults that belong to an estimator.
    pub fn of(estimator: RtoEstimator) -> Self {
        let ms = SimDuration::from_millis;
        let declared = Self { estimator, ..Self::as_declared() };
        let (initial, min, max, granularity) = match estimator {
            //= rfc6298-2.1-initial
            RtoEstimator::Rfc6298 => return declared,
            // OPNET Modeler 17's attribute sheet.
            RtoEstimator::Opnet => (ms(3_000), ms(1_000), ms(64_000), ms(500)),
            // TCP_TIMEOUT_INIT, TCP_RTO_MIN, TCP_RTO_MAX at HZ = 250.
            RtoEstimator::Linux => (ms(1_000), ms(200), ms(120_000), ms(4)),
        };
        Self { initial, min, max, granularity, after_lost_syn: SimDuration::ZERO, ..declared }
    }
}
