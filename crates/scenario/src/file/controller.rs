//! Congestion controllers as a file says them.

use ackclock_cc::{CubicVariant, Hystart, Increase};
use ackclock_tcp::LossRecovery;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::delay_controllers::{ModifiedVegasParameters, VegasParameters};
use super::macros::{kinds, layer, table, words};
use super::{Amount, Overlay};

impl Controller {
    /// The loss recovery that its name stands for, if it does.
    pub(crate) fn recovery(&self) -> Option<LossRecovery> {
        match self {
            Self::Tahoe(_) => Some(LossRecovery::Tahoe),
            Self::NewReno(_) => Some(LossRecovery::NewReno),
            _ => None,
        }
    }

    /// What it leaves unsaid is as in these tables.
    pub(crate) fn over(&self, reno: &RenoParameters, cubic: &CubicParameters) -> Self {
        match self {
            Self::Tahoe(table) => Self::Tahoe(reno.overlaid_by(table)),
            Self::Reno(table) => Self::Reno(reno.overlaid_by(table)),
            Self::NewReno(table) => Self::NewReno(reno.overlaid_by(table)),
            Self::Cubic(table) => Self::Cubic(cubic.overlaid_by(table)),
            Self::Fixed(_) | Self::Vegas(_) | Self::VegasModified(_) | Self::VegasSkewTolerant(_) => self.clone(),
        }
    }
}

kinds! {
    /// Congestion control; `ackclock controllers` explains each.
    pub(crate) enum Controller {
        /// Reno's window with Tahoe's recovery.
        "tahoe" = Tahoe(RenoParameters),
        /// Reno's window; the recovery is the stack's.
        "reno" = Reno(RenoParameters),
        /// Reno's window with NewReno's recovery.
        "newreno" = NewReno(RenoParameters),
        /// RFC 9438, or as Linux runs it.
        "cubic" = Cubic(CubicParameters),
        /// A window that never changes.
        "fixed" = Fixed(FixedParameters),
        /// Keeps a few segments queued, by the delay of the round trip.
        "vegas" = Vegas(VegasParameters),
        /// Vegas on the delay of the forward path, from timestamps.
        "vegas_modified" = VegasModified(ModifiedVegasParameters),
        /// The same on clocks that drift apart or are set.
        "vegas_skew_tolerant" = VegasSkewTolerant(ModifiedVegasParameters),
    }
}

layer! {
    /// Parameters of Reno's window rules.
    pub(crate) struct RenoParameters {
        /// What congestion avoidance counts.
        increase: IncreaseWord,
        /// Fraction of the flight size kept on congestion.
        beta: f64,
        /// The same where the network marked a packet.
        beta_ecn: f64,
        /// What ends slow start early.
        hystart: HystartWord,
    }
}

words! {
    /// What congestion avoidance counts.
    pub(crate) enum IncreaseWord for Increase {
        "bytes" = Bytes,
        "acks" = Acks,
        "segments" = Segments,
    }
}

words! {
    /// What ends slow start before the first loss.
    pub(crate) enum HystartWord for Hystart {
        "off" = Off,
        "linux" = Linux,
        "rfc9406" = Rfc9406,
    }
}

words! {
    /// Whose CUBIC.
    pub(crate) enum CubicVariantWord for CubicVariant {
        "rfc9438" = Rfc9438,
        "linux" = Linux,
    }
}

layer! {
    /// Parameters of CUBIC.
    pub(crate) struct CubicParameters {
        /// Whose rules and constants.
        variant: CubicVariantWord,
        /// Steepness of the curve, in segments/s^3.
        c: f64,
        /// Fraction of the flight size kept on congestion.
        beta: f64,
        /// The same where the network marked a packet.
        beta_ecn: f64,
        /// Lower `W_max` when the window falls twice in a row.
        fast_convergence: bool,
        /// Never be slower than Reno would be.
        reno_friendly: bool,
        /// What ends slow start early.
        hystart: HystartWord,
    }
}

table! {
    /// A window that never changes.
    pub(crate) struct FixedParameters {
        /// The window.
        #[schemars(required)]
        window: Amount,
    }
}
