//! The interface of an algorithm, and the list of ours for static dispatch.

use std::fmt::{self, Debug};
use std::sync::LazyLock;

use ackclock_declare::Parts;
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use crate::algorithm::{Algorithm, Stack, parts_of};
use crate::bursts::BurstRule;
use crate::classic::{
    AimdConfig, BicConfig, Classic, HighSpeedConfig, HtcpConfig, HyblaConfig, IllinoisConfig, ScalableConfig,
    VenoConfig, WestwoodConfig, YeahConfig,
};
use crate::delivery::{Demands, SegmentReport};
use crate::dqn::{DqnCubic, DqnCubicConfig, DqnNewReno, DqnNewRenoConfig};
use crate::event::{AckEvent, CongestionEvent, RestartEvent, SendEvent};
use crate::external::{ExternalConfig, ExternalController};
use crate::pcc::{Allegro, AllegroConfig, Vivace, VivaceConfig};
use crate::slow_start::EarlyExit;
use crate::telemetry::HopRecord;
use crate::{
    Abc, AbcConfig, Bbr, Bbr3, Bbr3Config, BbrConfig, C2tcp, C2tcpConfig, Copa, CopaConfig, Cubic, CubicConfig, Dctcp,
    DctcpConfig, Fast, FastConfig, Fixed, FixedConfig, Hpcc, HpccConfig, Ledbat, LedbatConfig, LedbatPlusPlus,
    LedbatPlusPlusConfig, LinuxBbr, LinuxCubic, LinuxReno, Nimbus, NimbusConfig, PowerTcp, PowerTcpConfig, Prague,
    PragueConfig, Reno, RenoConfig, Siad, SiadConfig, Sprout, SproutConfig, Swift, SwiftConfig, ThetaPowerTcpConfig,
    Timely, TimelyConfig, Unopened, Vegas, VegasConfig, Verus, VerusConfig,
};

/// One congestion-control algorithm for one flow.
///
/// It owns cwnd, ssthresh and, where it has one, the pacing rate: the sender only reads them. It is made once, when the
/// handshake has settled the segment size and the initial window.
///
/// What one ACK may bring, in this order, each only where it applies:
///
/// 1. [`Self::on_telemetry`], and [`Self::on_delivered`] for each segment that the ACK delivers;
/// 2. [`Self::on_spurious`], if it proves that the last episode was a mistake;
/// 3. [`Self::on_lost`] for each segment that it lets the sender take for lost;
/// 4. [`Self::on_congestion`], if that, or a mark, begins an episode, and [`Self::on_restart`] after it for a loss window;
/// 5. [`Self::on_ack`], if it delivered anything or told of loss;
/// 6. [`Self::on_send`] for each data segment that leaves then.
///
/// A timer brings [`Self::on_timer`], and if the retransmission timer expired 3, 4 and 6. Whatever the controller says of
/// its window after any of these holds from then on, with one exception: from [`Self::on_congestion`] to the end of a fast
/// recovery the sender may send less or more than [`Self::cwnd`] ([`Demands::recovery_window`] declines that). Without
/// SACK it adds what duplicate ACKs say has left the network. With SACK, proportional rate reduction clocks the window
/// down to [`Self::ssthresh`] as it is when `on_congestion` returns, and what the controller changes during the recovery
/// counts after it only.
pub trait CongestionController: Debug + Send {
    /// The handshake has settled what ACKs can tell of marks: how many there were (RFC 9768, RFC 8257, QUIC), or, if they are
    /// not `counted`, no more than that there was one (RFC 3168), or nothing. Told once, before anything else; until then an
    /// algorithm takes them for counted. False declines ECN: data leaves as not ECN-capable, as it does where
    /// [`Demands::no_ecn`] says that there is no answer to marks.
    fn on_feedback(&mut self, _counted: bool) -> bool {
        true
    }

    /// The controller that replaces this one where it cannot run on such feedback, counted or not; data is not ECN-capable then.
    /// Asked once, before [`Self::on_feedback`].
    fn in_its_place(&self, _counted: bool) -> Option<Controller> {
        None
    }

    /// The handshake is over, and took a round trip, which is smoothed as the first sample of any; not if none could be taken.
    fn on_handshake(&mut self, _srtt: SimDuration) {}

    /// An ACK delivered new data or told of loss. Called after loss detection, once per ACK, also during recovery.
    fn on_ack(&mut self, ack: &AckEvent);

    /// An episode begins: loss, ECN or timeout. Once per episode, never once per lost segment. A controller answers by
    /// setting ssthresh and cwnd; during fast recovery the sender clocks the window down to ssthresh by itself.
    fn on_congestion(&mut self, event: &CongestionEvent);

    /// The last episode was spurious: undo it if the algorithm can.
    fn on_spurious(&mut self, _now: SimTime) {}

    /// The window starts over from what the standards, or the stack, provide for: after a lost SYN, a timeout (following
    /// [`Self::on_congestion`], or alone where the timeout belongs to an episode under way), idle time, or because it was
    /// not used. A controller whose window is of another making may ignore the last two; a timeout leaves one segment to any.
    fn on_restart(&mut self, _restart: &RestartEvent) {}

    /// A data segment left. `sent.idle_for` says how long nothing was outstanding.
    fn on_send(&mut self, _sent: &SendEvent) {}

    /// True if [`Self::on_send`] never changes window or rate but after idle time, so that segments that leave at one moment may be let go
    /// together.
    fn keeps_window_on_send(&self) -> bool {
        false
    }

    /// The congestion window, which the sender reads after every event.
    fn cwnd(&self) -> Bytes;

    /// The slow-start threshold; `None` while it is arbitrarily high.
    fn ssthresh(&self) -> Option<Bytes> {
        None
    }

    /// The rate to pace at, for algorithms that set one.
    fn pacing_rate(&self) -> Option<Bandwidth> {
        None
    }

    /// What it asks of a host that sends in bursts; asked when one begins.
    fn burst_rule(&self) -> BurstRule {
        BurstRule::Host
    }

    /// What it wants beyond these events; the same throughout its life.
    fn demands(&self) -> Demands {
        Demands::default()
    }

    /// What links wrote into the data that the ACK at hand answers, in the order in which the data crossed them: into the
    /// latest, where it answers several. Only of links that write ([`mod@crate::telemetry`]); an ACK that is of no use otherwise
    /// may bring it, and then nothing follows.
    fn on_telemetry(&mut self, _hops: &[HopRecord]) {}

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

    /// When [`Self::on_timer`] has something to do. Needs [`Demands::samples`] or [`Demands::timer`].
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

    /// What it is doing, by the name that its source has for that; told to whoever watches the run.
    fn state(&self) -> &'static str {
        if self.is_in_slow_start() { "slow_start" } else { "congestion_avoidance" }
    }

    /// True while it looks for what the path takes: below ssthresh, unless it has another way to begin.
    fn is_in_slow_start(&self) -> bool {
        self.ssthresh().is_none_or(|ssthresh| self.cwnd() < ssthresh)
    }

    /// The last time that a sign of a full path ended slow start before ssthresh or a loss did.
    fn early_exit(&self) -> Option<EarlyExit> {
        None
    }

    /// Reports named internals (`"w_max_segments"`, `"k_s"`) to whoever asks.
    fn inspect(&self, _record: &mut dyn FnMut(&'static str, f64)) {}
}

/// Facts that every controller starts from, one of this crate or from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Payload of a full segment.
    pub mss: Bytes,
    /// The initial window (RFC 6928).
    pub initial_window: Bytes,
    /// The slow-start threshold to begin with; `None` is arbitrarily high.
    pub initial_ssthresh: Option<Bytes>,
    /// Seed of the random stream of a controller from outside, if it wants one: the flow's own, from the scenario's.
    pub seed: u64,
}

impl Start {
    /// A start from numbers of octets.
    pub(crate) fn of(mss: u64, initial_window: u64, ssthresh: Option<u64>) -> Self {
        Self { mss: Bytes(mss), initial_window: Bytes(initial_window), initial_ssthresh: ssthresh.map(Bytes), seed: 0 }
    }

    pub(crate) fn ssthresh(&self) -> Option<u64> {
        self.initial_ssthresh.map(|bytes| bytes.0)
    }
}

/// The algorithms of this crate, one line each: what a configuration holds, and the controllers that it can start as,
/// unless it starts as another line's.
macro_rules! controllers {
    ($($config:ident($parameters:ty) $(in $held:ident)? $(=> $($running:ident($controller:ty)),+)?;)*) => {
        /// Which algorithm, with its parameters.
        #[derive(Clone, Debug, PartialEq)]
        pub enum ControllerConfig {
            $(
                #[doc = concat!("With the parameters [`", stringify!($parameters), "`].")]
                $config(held!($parameters $(, $held)?)),
            )*
            /// An algorithm from outside this crate.
            External(ExternalConfig),
        }

        /// One of the built-in algorithms, or one from outside.
        pub enum Controller {
            $($($(
                #[doc = concat!("Runs as [`", stringify!($running), "`](crate::", stringify!($running), ").")]
                $running($controller),
            )+)?)*
            /// An algorithm from outside this crate.
            External(Box<dyn ExternalController>),
            /// None yet: see [`Unopened`].
            Unopened(Unopened),
        }

        impl ControllerConfig {
            /// True if a network that no longer learns moves the window.
            pub fn is_frozen(&self) -> bool {
                match self {
                    $(Self::$config(config) => config.is_frozen(),)*
                    Self::External(config) => config.decides(),
                }
            }

            /// With the seed of the algorithm's random stream, if it has one.
            #[must_use]
            pub fn seeded(mut self, seed: u64) -> Self {
                match &mut self {
                    $(Self::$config(config) => config.seed(seed),)*
                    Self::External(config) => config.set_seed(seed),
                }
                self
            }

            fn start(&self, start: Start) -> Controller {
                match self {
                    $(Self::$config(config) => config.start(start),)*
                    Self::External(config) => {
                        Controller::External(config.start(&Start { seed: config.seed(), ..start }))
                    }
                }
            }
        }

        static CONTROLLERS: LazyLock<Parts<ControllerConfig, Stack>> = LazyLock::new(|| {
            let mut parts = Vec::new();
            $(parts.extend(parts_of(|config: $parameters| ControllerConfig::$config(config.into())));)*
            Parts::new(parts)
        });

        dispatch! { $($($($running)+)?)* External Unopened }
    };
}

/// What a configuration is held as: itself, or in a box where it is large.
macro_rules! held {
    ($parameters:ty) => { $parameters };
    ($parameters:ty, $held:ident) => { $held<$parameters> };
}

/// Every controller that a scenario can name, as it declares itself.
pub fn controllers() -> &'static Parts<ControllerConfig, Stack> {
    &CONTROLLERS
}

macro_rules! dispatch {
    ($($variant:ident)*) => {
        impl Clone for Controller {
            // As derived, but compiled once: it would be inlined wherever a connection is cloned.
            #[inline(never)]
            fn clone(&self) -> Self {
                match self { $(Self::$variant(inner) => Self::$variant(inner.clone()),)* }
            }
        }

        impl Debug for Controller {
            // What an algorithm tells of itself: all fields of all of them would be a hundredth of the extension.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut shown = f.debug_struct(match self { $(Self::$variant(_) => stringify!($variant),)* });
                shown.field("cwnd", &self.cwnd()).field("ssthresh", &self.ssthresh());
                self.inspect(&mut |name, value| {
                    shown.field(name, &value);
                });
                shown.finish()
            }
        }

        // A method that a controller has and this one forgets would have the trait's default for each.
        #[deny(clippy::missing_trait_methods)]
        impl CongestionController for Controller {
            fn on_ack(&mut self, ack: &AckEvent) {
                match self { $(Self::$variant(inner) => inner.on_ack(ack),)* }
                self.check_window();
            }
            fn on_congestion(&mut self, event: &CongestionEvent) {
                let before = self.before();
                match self { $(Self::$variant(inner) => inner.on_congestion(event),)* }
                self.check_decrease(before, event);
            }
            fn on_spurious(&mut self, now: SimTime) {
                match self { $(Self::$variant(inner) => inner.on_spurious(now),)* }
            }
            fn on_send(&mut self, sent: &SendEvent) {
                let before = self.before();
                match self { $(Self::$variant(inner) => inner.on_send(sent),)* }
                self.check_sent(before, sent);
            }
            fn cwnd(&self) -> Bytes {
                match self { $(Self::$variant(inner) => inner.cwnd(),)* }
            }
            fn on_restart(&mut self, restart: &RestartEvent) {
                let before = self.before();
                match self { $(Self::$variant(inner) => inner.on_restart(restart),)* }
                self.check_restart(before, restart);
            }
            fn ssthresh(&self) -> Option<Bytes> {
                match self { $(Self::$variant(inner) => inner.ssthresh(),)* }
            }
            fn pacing_rate(&self) -> Option<Bandwidth> {
                match self { $(Self::$variant(inner) => inner.pacing_rate(),)* }
            }
            fn burst_rule(&self) -> BurstRule {
                match self { $(Self::$variant(inner) => inner.burst_rule(),)* }
            }
            fn demands(&self) -> Demands {
                match self { $(Self::$variant(inner) => inner.demands(),)* }
            }
            fn on_handshake(&mut self, srtt: SimDuration) {
                match self { $(Self::$variant(inner) => inner.on_handshake(srtt),)* }
            }
            fn on_feedback(&mut self, counted: bool) -> bool {
                if let Some(other) = self.in_its_place(counted) {
                    *self = other;
                    return false;
                }
                let takes_marks = match self { $(Self::$variant(inner) => inner.on_feedback(counted),)* };
                //= rfc3168-5-as-a-loss
                takes_marks && !self.demands().no_ecn
            }
            fn in_its_place(&self, counted: bool) -> Option<Controller> {
                match self { $(Self::$variant(inner) => inner.in_its_place(counted),)* }
            }
            fn on_telemetry(&mut self, hops: &[HopRecord]) {
                match self { $(Self::$variant(inner) => inner.on_telemetry(hops),)* }
            }
            fn on_delivered(&mut self, segment: &SegmentReport) {
                match self { $(Self::$variant(inner) => inner.on_delivered(segment),)* }
            }
            fn on_lost(&mut self, segment: &SegmentReport) {
                match self { $(Self::$variant(inner) => inner.on_lost(segment),)* }
            }
            fn limits_itself(&self) -> bool {
                match self { $(Self::$variant(inner) => inner.limits_itself(),)* }
            }
            fn deadline(&self) -> SimTime {
                match self { $(Self::$variant(inner) => inner.deadline(),)* }
            }
            fn on_timer(&mut self, now: SimTime) {
                match self { $(Self::$variant(inner) => inner.on_timer(now),)* }
                self.check_window();
            }
            fn keeps_window_on_send(&self) -> bool {
                match self { $(Self::$variant(inner) => inner.keeps_window_on_send(),)* }
            }
            fn wants_to_stop(&self) -> bool {
                match self { $(Self::$variant(inner) => inner.wants_to_stop(),)* }
            }
            fn is_decision_due(&self) -> bool {
                match self { $(Self::$variant(inner) => inner.is_decision_due(),)* }
            }
            fn decide(&mut self, now: SimTime) {
                match self { $(Self::$variant(inner) => inner.decide(now),)* }
            }
            fn state(&self) -> &'static str {
                match self { $(Self::$variant(inner) => inner.state(),)* }
            }
            fn is_in_slow_start(&self) -> bool {
                match self { $(Self::$variant(inner) => inner.is_in_slow_start(),)* }
            }
            fn early_exit(&self) -> Option<EarlyExit> {
                match self { $(Self::$variant(inner) => inner.early_exit(),)* }
            }
            fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
                match self { $(Self::$variant(inner) => inner.inspect(record),)* }
            }
        }
    };
}

controllers! {
    Reno(RenoConfig) => Reno(Reno), LinuxReno(LinuxReno);
    Cubic(CubicConfig) => Cubic(Cubic), LinuxCubic(LinuxCubic);
    Aimd(AimdConfig) => Classic(Box<Classic>);
    Bic(BicConfig);
    HighSpeed(HighSpeedConfig);
    Htcp(HtcpConfig);
    Hybla(HyblaConfig);
    Illinois(IllinoisConfig);
    Scalable(ScalableConfig);
    Veno(VenoConfig);
    Westwood(WestwoodConfig);
    Yeah(YeahConfig);
    Vegas(VegasConfig) => Vegas(Box<Vegas>);
    Fast(FastConfig) => Fast(Box<Fast>);
    Ledbat(LedbatConfig) => Ledbat(Box<Ledbat>);
    LedbatPlusPlus(LedbatPlusPlusConfig) => LedbatPlusPlus(Box<LedbatPlusPlus>);
    Copa(CopaConfig) => Copa(Box<Copa>);
    Abc(AbcConfig) => Abc(Box<Abc>);
    C2tcp(C2tcpConfig) => C2tcp(Box<C2tcp>);
    Nimbus(NimbusConfig) => Nimbus(Box<Nimbus>);
    Verus(VerusConfig) => Verus(Box<Verus>);
    Sprout(SproutConfig) => Sprout(Box<Sprout>);
    Swift(SwiftConfig) => Swift(Box<Swift>);
    Timely(TimelyConfig) => Timely(Box<Timely>);
    Hpcc(HpccConfig) => Hpcc(Box<Hpcc>);
    PowerTcp(PowerTcpConfig) => PowerTcp(Box<PowerTcp>);
    ThetaPowerTcp(ThetaPowerTcpConfig);
    Fixed(FixedConfig) => Fixed(Fixed);
    Bbr(BbrConfig) => Bbr(Box<Bbr>), LinuxBbr(Box<LinuxBbr>);
    Bbr3(Bbr3Config) => Bbr3(Box<Bbr3>);
    Dctcp(DctcpConfig) => Dctcp(Box<Dctcp>);
    Prague(PragueConfig) => Prague(Box<Prague>);
    Allegro(AllegroConfig) => Allegro(Box<Allegro>);
    Vivace(VivaceConfig) => Vivace(Box<Vivace>);
    Siad(SiadConfig) => Siad(Box<Siad>);
    DqnNewReno(DqnNewRenoConfig) in Box => DqnNewReno(Box<DqnNewReno>);
    DqnCubic(DqnCubicConfig) in Box => DqnCubic(Box<DqnCubic>);
}

impl ControllerConfig {
    /// True if it may decide after events: see [`CongestionController::is_decision_due`].
    pub fn decides(&self) -> bool {
        matches!(self, Self::External(config) if config.decides())
    }
}

impl Controller {
    /// In place of one until the handshake is over: see [`Unopened`].
    pub fn unopened(initial_window: Bytes, initial_ssthresh: Option<Bytes>) -> Self {
        Self::Unopened(Unopened::new(initial_window, initial_ssthresh))
    }

    /// A controller for a connection with this segment size, initial window (RFC 6928) and initial ssthresh.
    pub fn new(config: &ControllerConfig, mss: Bytes, initial_window: Bytes, initial_ssthresh: Option<Bytes>) -> Self {
        config.start(Start { mss, initial_window, initial_ssthresh, seed: 0 })
    }
}

#[cfg(test)]
mod tests;
