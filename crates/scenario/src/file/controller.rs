//! Congestion controllers as a file says them.

use ackclock_cc::{CubicVariant, Hystart, Increase};
use ackclock_tcp::LossRecovery;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::classic_controllers::{
    AimdParameters, BicParameters, HighSpeedParameters, HtcpParameters, HyblaParameters, IllinoisParameters,
    ScalableParameters, VenoParameters, WestwoodParameters, YeahParameters,
};
use super::delay_controllers::{
    CopaParameters, FastParameters, LedbatParameters, LedbatPlusPlusParameters, ModifiedVegasParameters,
    SwiftParameters, VegasParameters,
};
use super::dqn::{DqnCubicParameters, DqnNewRenoParameters};
use super::macros::{kinds, layer, table, words};
use super::model::{
    AllegroParameters, Bbr3Parameters, BbrParameters, DctcpParameters, PragueParameters, SiadParameters,
    VivaceParameters,
};
use super::{Amount, ExternalParameters, Overlay, PolicyParameters, PythonParameters};

impl Controller {
    /// The loss recovery that its name stands for, if it does.
    pub(crate) fn recovery(&self) -> Option<LossRecovery> {
        match self {
            Self::Tahoe(_) => Some(LossRecovery::Tahoe),
            Self::NewReno(_) => Some(LossRecovery::NewReno),
            Self::Policy(table) => table.own().recovery(),
            _ => None,
        }
    }

    /// What results call it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Python(PythonParameters { class: Some(class), .. }) => format!("python:{class}"),
            Self::External(ExternalParameters { name: Some(name), .. }) => name.clone(),
            _ => self.kind().to_owned(),
        }
    }

    /// What it leaves unsaid is as in these tables.
    pub(crate) fn over(&self, reno: &RenoParameters, cubic: &CubicParameters) -> Self {
        match self {
            Self::Tahoe(table) => Self::Tahoe(reno.overlaid_by(table)),
            Self::Reno(table) => Self::Reno(reno.overlaid_by(table)),
            Self::NewReno(table) => Self::NewReno(reno.overlaid_by(table)),
            Self::Cubic(table) => Self::Cubic(cubic.overlaid_by(table)),
            Self::Policy(table) => Self::Policy(table.over(reno, cubic)),
            _ => self.clone(),
        }
    }

    /// The one that answers losses: itself, or that within a policy.
    pub(crate) fn own(&self) -> Self {
        if let Self::Policy(table) = self { table.own() } else { self.clone() }
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
        /// BBR, the first version.
        "bbr" = Bbr(BbrParameters),
        /// BBR, the third version.
        "bbr3" = Bbr3(Bbr3Parameters),
        /// Reno's window with an answer to marks in proportion to them.
        "dctcp" = Dctcp(DctcpParameters),
        /// DCTCP for the Internet's low-latency service.
        "prague" = Prague(PragueParameters),
        /// Tries rates and keeps what is worth more.
        "pcc_allegro" = Allegro(AllegroParameters),
        /// Follows the gradient of a utility that counts delay as it grows.
        "pcc_vivace" = Vivace(VivaceParameters),
        /// A congestion event every so many round trips, and decreases that empty the queue.
        "siad" = Siad(SiadParameters),
        /// Additive increase, multiplicative decrease by given numbers.
        "aimd" = Aimd(AimdParameters),
        /// Binary search for the window.
        "bic" = Bic(BicParameters),
        /// `HighSpeed` TCP (RFC 3649).
        "highspeed" = HighSpeed(HighSpeedParameters),
        /// H-TCP: grows by the time since the last congestion.
        "htcp" = Htcp(HtcpParameters),
        /// Grows as a short round trip would.
        "hybla" = Hybla(HyblaParameters),
        /// Growth and decrease by the queueing delay.
        "illinois" = Illinois(IllinoisParameters),
        /// Scalable TCP: grows by a fraction of itself.
        "scalable" = Scalable(ScalableParameters),
        /// Reno that tells random loss from congestion.
        "veno" = Veno(VenoParameters),
        /// Westwood+: falls to the bandwidth that it measured.
        "westwood" = Westwood(WestwoodParameters),
        /// Scalable TCP until there is a queue, then Reno.
        "yeah" = Yeah(YeahParameters),
        /// Keeps a few segments queued, by the delay of the round trip.
        "vegas" = Vegas(VegasParameters),
        /// Vegas on the delay of the forward path, from timestamps.
        "vegas_modified" = VegasModified(ModifiedVegasParameters),
        /// The same on clocks that drift apart or are set.
        "vegas_skew_tolerant" = VegasSkewTolerant(ModifiedVegasParameters),
        /// Keeps alpha packets queued, by an equation.
        "fast" = Fast(FastParameters),
        /// Holds the queueing delay at a target and gives way to others (RFC 6817).
        "ledbat" = Ledbat(LedbatParameters),
        /// LEDBAT that is fair to itself, on round trips.
        "ledbat_plus_plus" = LedbatPlusPlus(LedbatPlusPlusParameters),
        /// A target rate of 1 / (delta dq).
        "copa" = Copa(CopaParameters),
        /// Holds the RTT at a target, down to windows below a segment.
        "swift" = Swift(SwiftParameters),
        /// `NewReno` whose increase a learning agent chooses.
        #[serde(alias = "dqn-newreno")]
        "dqn_newreno" = DqnNewReno(DqnNewRenoParameters),
        /// CUBIC whose pace a learning agent chooses.
        #[serde(alias = "dqn-cubic")]
        "dqn_cubic" = DqnCubic(DqnCubicParameters),
        /// A trained policy, frozen.
        "policy" = Policy(PolicyParameters),
        /// A class of Python.
        "python" = Python(PythonParameters),
        /// A controller of the program that reads the scenario.
        "external" = External(ExternalParameters),
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
