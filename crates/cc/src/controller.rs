//! The interface of an algorithm, and the closed set of ours for static dispatch.

use std::fmt::Debug;

use ackclock_units::{Bandwidth, Bytes, SimTime};

use crate::delivery::{Demands, SegmentReport};
use crate::dqn::{DqnCubic, DqnCubicConfig, DqnNewReno, DqnNewRenoConfig};
use crate::event::{AckEvent, CongestionEvent, SendEvent};
use crate::external::{ExternalConfig, ExternalController};
use crate::pcc::{Allegro, AllegroConfig, Vivace, VivaceConfig};
use crate::siad::{Siad, SiadConfig};
use crate::{
    Bbr, Bbr3, Bbr3Config, BbrConfig, Cubic, CubicConfig, CubicVariant, Dctcp, DctcpConfig, Fixed, FixedConfig,
    Increase, LinuxCubic, LinuxReno, Prague, PragueConfig, Reno, RenoConfig,
};
use crate::{Classic, ClassicConfig};
use crate::{Copa, CopaConfig, Fast, FastConfig, Ledbat, LedbatConfig, LedbatPlusPlus, LedbatPlusPlusConfig};
use crate::{Swift, SwiftConfig, Vegas, VegasConfig};

/// One congestion-control algorithm for one flow.
pub trait CongestionController: Debug + Send {
    /// An ACK delivered new data or told of loss. Called after loss detection, once per ACK, also during recovery.
    fn on_ack(&mut self, ack: &AckEvent);

    /// An episode begins: loss, ECN or timeout. Once per episode, never once per lost segment. A controller answers by
    /// setting ssthresh and cwnd; during fast recovery the sender clocks the window down to ssthresh by itself.
    fn on_congestion(&mut self, event: &CongestionEvent);

    /// The last episode was spurious: undo it if the algorithm can.
    fn on_spurious(&mut self, _now: SimTime) {}

    /// A data segment left. `sent.idle_for` says how long nothing was outstanding.
    fn on_send(&mut self, _sent: &SendEvent) {}

    /// The congestion window.
    fn cwnd(&self) -> Bytes;

    /// The sender sets the window: at a timeout (RFC 5681 section 3.1), after idle time (section 4.1), or because it was
    /// not used (RFC 7661). A controller with a window of its own making ignores it.
    fn set_cwnd(&mut self, _cwnd: Bytes) {}

    /// As [`Self::set_cwnd`], for ssthresh.
    fn set_ssthresh(&mut self, _ssthresh: Option<Bytes>) {}

    /// The slow-start threshold; `None` while it is arbitrarily high.
    fn ssthresh(&self) -> Option<Bytes> {
        None
    }

    /// The rate to pace at, for algorithms that set one.
    fn pacing_rate(&self) -> Option<Bandwidth> {
        None
    }

    /// What it wants beyond these events; the same throughout its life.
    fn demands(&self) -> Demands {
        Demands::default()
    }

    /// A segment has reached the receiver: told of each that an ACK delivers, before [`Self::on_ack`]. Needs
    /// [`Demands::samples`], as the following do.
    fn on_delivered(&mut self, _segment: &SegmentReport) {}

    /// A segment is taken for lost: told of each, before [`Self::on_ack`] or [`Self::on_congestion`] of the same moment.
    fn on_lost(&mut self, _segment: &SegmentReport) {}

    /// True while the controller sends less than the path takes, on purpose: samples then count as limited by the
    /// application.
    fn limits_itself(&self) -> bool {
        false
    }

    /// When [`Self::on_timer`] has something to do.
    fn deadline(&self) -> SimTime {
        SimTime::NEVER
    }

    /// Time has reached [`Self::deadline`].
    fn on_timer(&mut self, _now: SimTime) {}

    /// True if the simulation is to stop after the event at hand, for a decision from outside.
    fn wants_to_stop(&self) -> bool {
        false
    }

    /// True if it is to decide after the event at hand, by itself; only asked of one from outside that says so of itself
    /// ([`ExternalConfig::that_decides`]).
    fn is_decision_due(&self) -> bool {
        false
    }

    /// What the event at hand let go is sent; it decides, and what that lets go is sent too.
    fn decide(&mut self, _now: SimTime) {}

    /// Reports named internals (`"w_max_segments"`, `"k_s"`) to whoever asks.
    fn inspect(&self, _record: &mut dyn FnMut(&'static str, f64)) {}
}

/// Which algorithm, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum ControllerConfig {
    /// AIMD of RFC 5681.
    Reno(RenoConfig),
    /// RFC 9438, or Linux's.
    Cubic(CubicConfig),
    /// A window that never changes.
    Fixed(FixedConfig),
    /// BBR, first version.
    Bbr(BbrConfig),
    /// BBR, third version.
    Bbr3(Bbr3Config),
    /// DCTCP.
    Dctcp(DctcpConfig),
    /// Prague.
    Prague(PragueConfig),
    /// PCC Allegro.
    Allegro(AllegroConfig),
    /// PCC Vivace.
    Vivace(VivaceConfig),
    /// SIAD.
    Siad(SiadConfig),
    /// Reno's relatives: `HighSpeed`, Scalable, H-TCP and others.
    Classic(ClassicConfig),
    /// Vegas, on the delay of the round trip or of the forward path.
    Vegas(VegasConfig),
    /// FAST TCP.
    Fast(FastConfig),
    /// LEDBAT.
    Ledbat(LedbatConfig),
    /// `LEDBAT++`.
    LedbatPlusPlus(LedbatPlusPlusConfig),
    /// Copa.
    Copa(CopaConfig),
    /// Swift.
    Swift(SwiftConfig),
    /// `NewReno` with an agent's increase.
    DqnNewReno(Box<DqnNewRenoConfig>),
    /// CUBIC with an agent's pace.
    DqnCubic(Box<DqnCubicConfig>),
    /// An algorithm from outside this crate.
    External(ExternalConfig),
}

impl ControllerConfig {
    /// True if it may decide after events: see [`CongestionController::is_decision_due`].
    pub fn decides(&self) -> bool {
        matches!(self, Self::External(config) if config.decides())
    }

    /// True if a network that no longer learns moves the window.
    pub fn is_frozen(&self) -> bool {
        match self {
            Self::DqnNewReno(config) => config.dqn.frozen.is_some(),
            Self::DqnCubic(config) => config.dqn.frozen.is_some(),
            _ => self.decides(),
        }
    }

    /// With the seed of the algorithm's random stream, if it has one.
    #[must_use]
    pub fn seeded(mut self, seed: u64) -> Self {
        match &mut self {
            Self::Bbr(config) => config.seed = seed,
            Self::Bbr3(config) => config.seed = seed,
            Self::Allegro(config) => config.seed = seed,
            Self::Vivace(config) => config.seed = seed,
            Self::DqnNewReno(config) => config.dqn.seed = seed,
            Self::DqnCubic(config) => config.dqn.seed = seed,
            Self::External(config) => config.set_seed(seed),
            _ => {}
        }
        self
    }
}

/// One of the built-in algorithms, or one from outside.
#[derive(Clone, Debug)]
pub enum Controller {
    /// See [`Reno`].
    Reno(Reno),
    /// See [`LinuxReno`].
    LinuxReno(LinuxReno),
    /// See [`Cubic`].
    Cubic(Cubic),
    /// See [`LinuxCubic`].
    LinuxCubic(LinuxCubic),
    /// See [`Fixed`].
    Fixed(Fixed),
    /// See [`Bbr`].
    Bbr(Box<Bbr>),
    /// See [`Bbr3`].
    Bbr3(Box<Bbr3>),
    /// See [`Dctcp`].
    Dctcp(Box<Dctcp>),
    /// See [`Prague`].
    Prague(Box<Prague>),
    /// See [`Allegro`].
    Allegro(Box<Allegro>),
    /// See [`Vivace`].
    Vivace(Box<Vivace>),
    /// See [`Siad`].
    Siad(Box<Siad>),
    /// See [`Classic`].
    Classic(Box<Classic>),
    /// See [`Vegas`].
    Vegas(Box<Vegas>),
    /// See [`Fast`].
    Fast(Box<Fast>),
    /// See [`Ledbat`].
    Ledbat(Box<Ledbat>),
    /// See [`LedbatPlusPlus`].
    LedbatPlusPlus(Box<LedbatPlusPlus>),
    /// See [`Copa`].
    Copa(Box<Copa>),
    /// See [`Swift`].
    Swift(Box<Swift>),
    /// See [`DqnNewReno`].
    DqnNewReno(Box<DqnNewReno>),
    /// See [`DqnCubic`].
    DqnCubic(Box<DqnCubic>),
    /// See [`ExternalController`].
    External(Box<dyn ExternalController>),
}

/// What every controller starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) mss: u64,
    pub(crate) initial_window: u64,
    pub(crate) initial_ssthresh: Option<u64>,
}

impl Controller {
    /// A controller for a connection with this segment size, initial window (RFC 6928) and initial ssthresh.
    pub fn new(config: &ControllerConfig, mss: Bytes, initial_window: Bytes, initial_ssthresh: Option<Bytes>) -> Self {
        let start = Start {
            mss: mss.0,
            initial_window: initial_window.0,
            initial_ssthresh: initial_ssthresh.map(|bytes| bytes.0),
        };
        match config {
            ControllerConfig::Reno(config) => match config.increase {
                Increase::Segments => Self::LinuxReno(LinuxReno::new(config, start)),
                Increase::Bytes | Increase::Acks => Self::Reno(Reno::new(config, start)),
            },
            ControllerConfig::Cubic(config) => match config.variant {
                CubicVariant::Rfc9438 => Self::Cubic(Cubic::new(config, start)),
                CubicVariant::Linux => Self::LinuxCubic(LinuxCubic::new(config, start)),
            },
            ControllerConfig::Fixed(config) => Self::Fixed(Fixed::new(*config)),
            ControllerConfig::Bbr(config) => Self::Bbr(Box::new(Bbr::new(config, start))),
            ControllerConfig::Bbr3(config) => Self::Bbr3(Box::new(Bbr3::new(config, start))),
            ControllerConfig::Dctcp(config) => Self::Dctcp(Box::new(Dctcp::new(config, start))),
            ControllerConfig::Prague(config) => Self::Prague(Box::new(Prague::new(config, start))),
            ControllerConfig::Allegro(config) => Self::Allegro(Box::new(Allegro::new(config, start))),
            ControllerConfig::Vivace(config) => Self::Vivace(Box::new(Vivace::new(config, start))),
            ControllerConfig::Siad(config) => Self::Siad(Box::new(Siad::new(config, start))),
            ControllerConfig::Classic(config) => Self::Classic(Box::new(Classic::new(config, start))),
            ControllerConfig::Vegas(config) => Self::Vegas(Box::new(Vegas::new(config, start))),
            ControllerConfig::Fast(config) => Self::Fast(Box::new(Fast::new(config, start))),
            ControllerConfig::Ledbat(config) => Self::Ledbat(Box::new(Ledbat::new(config, start))),
            ControllerConfig::LedbatPlusPlus(config) => {
                Self::LedbatPlusPlus(Box::new(LedbatPlusPlus::new(config, start)))
            }
            ControllerConfig::Copa(config) => Self::Copa(Box::new(Copa::new(config, start))),
            ControllerConfig::Swift(config) => Self::Swift(Box::new(Swift::new(config, start))),
            ControllerConfig::DqnNewReno(config) => Self::DqnNewReno(Box::new(DqnNewReno::new(config, start))),
            ControllerConfig::DqnCubic(config) => Self::DqnCubic(Box::new(DqnCubic::new(config, start))),
            ControllerConfig::External(config) => Self::External(config.make(mss, initial_window, initial_ssthresh)),
        }
    }
}

macro_rules! dispatch {
    ($self:ident, $inner:ident => $call:expr) => {
        match $self {
            Controller::Reno($inner) => $call,
            Controller::LinuxReno($inner) => $call,
            Controller::Cubic($inner) => $call,
            Controller::LinuxCubic($inner) => $call,
            Controller::Fixed($inner) => $call,
            Controller::Bbr($inner) => $call,
            Controller::Bbr3($inner) => $call,
            Controller::Dctcp($inner) => $call,
            Controller::Prague($inner) => $call,
            Controller::Allegro($inner) => $call,
            Controller::Vivace($inner) => $call,
            Controller::Siad($inner) => $call,
            Controller::Classic($inner) => $call,
            Controller::Vegas($inner) => $call,
            Controller::Fast($inner) => $call,
            Controller::Ledbat($inner) => $call,
            Controller::LedbatPlusPlus($inner) => $call,
            Controller::Copa($inner) => $call,
            Controller::Swift($inner) => $call,
            Controller::DqnNewReno($inner) => $call,
            Controller::DqnCubic($inner) => $call,
            Controller::External($inner) => $call,
        }
    };
}

impl CongestionController for Controller {
    fn on_ack(&mut self, ack: &AckEvent) {
        dispatch!(self, inner => inner.on_ack(ack));
    }
    fn on_congestion(&mut self, event: &CongestionEvent) {
        dispatch!(self, inner => inner.on_congestion(event));
    }
    fn on_spurious(&mut self, now: SimTime) {
        dispatch!(self, inner => inner.on_spurious(now));
    }
    fn on_send(&mut self, sent: &SendEvent) {
        dispatch!(self, inner => inner.on_send(sent));
    }
    fn cwnd(&self) -> Bytes {
        dispatch!(self, inner => inner.cwnd())
    }
    fn set_cwnd(&mut self, cwnd: Bytes) {
        dispatch!(self, inner => inner.set_cwnd(cwnd));
    }
    fn set_ssthresh(&mut self, ssthresh: Option<Bytes>) {
        dispatch!(self, inner => inner.set_ssthresh(ssthresh));
    }
    fn ssthresh(&self) -> Option<Bytes> {
        dispatch!(self, inner => inner.ssthresh())
    }
    fn pacing_rate(&self) -> Option<Bandwidth> {
        dispatch!(self, inner => inner.pacing_rate())
    }
    fn demands(&self) -> Demands {
        dispatch!(self, inner => inner.demands())
    }
    fn on_delivered(&mut self, segment: &SegmentReport) {
        dispatch!(self, inner => inner.on_delivered(segment));
    }
    fn on_lost(&mut self, segment: &SegmentReport) {
        dispatch!(self, inner => inner.on_lost(segment));
    }
    fn limits_itself(&self) -> bool {
        dispatch!(self, inner => inner.limits_itself())
    }
    fn deadline(&self) -> SimTime {
        dispatch!(self, inner => inner.deadline())
    }
    fn on_timer(&mut self, now: SimTime) {
        dispatch!(self, inner => inner.on_timer(now));
    }
    fn wants_to_stop(&self) -> bool {
        match self {
            Self::External(inner) => inner.wants_to_stop(),
            _ => false,
        }
    }
    fn is_decision_due(&self) -> bool {
        match self {
            Self::External(inner) => inner.is_decision_due(),
            _ => false,
        }
    }
    fn decide(&mut self, now: SimTime) {
        if let Self::External(inner) = self {
            inner.decide(now);
        }
    }
    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        dispatch!(self, inner => inner.inspect(record));
    }
}
