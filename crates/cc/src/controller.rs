//! The interface of an algorithm, and the list of built-in ones for static dispatch.

use std::fmt::{self, Debug};
use std::sync::LazyLock;

use ackclock_declare::Parts;
use ackclock_units::{Bandwidth, Bytes, SimTime};

use crate::algorithm::{Algorithm, Stack, parts_of};
use crate::bursts::BurstRule;
use crate::delivery::{Demands, SegmentReport};
use crate::event::{AckEvent, CongestionEvent, EchoEvent, HandshakeEvent, RestartEvent, SendEvent};
use crate::external::{ExternalConfig, ExternalController};
use crate::slow_start::EarlyExit;
use crate::telemetry::HopRecord;
use crate::unopened::Unopened;

/// One congestion-control algorithm for one flow.
///
/// It owns cwnd, ssthresh and, where it has one, the pacing rate: the sender only reads them. It is made once, when the
/// handshake has settled the segment size and the initial window.
///
/// One ACK causes these calls, in this order, each only if it applies:
///
/// 1. [`Self::on_telemetry`], and [`Self::on_delivered`] for each segment that the ACK delivers;
/// 2. [`Self::on_echo`], on a connection with ECN; [`Self::on_spurious`], if it proves that the last episode was spurious;
/// 3. [`Self::on_lost`] for each segment that it marks lost;
/// 4. [`Self::on_recovery_end`] and [`Self::on_congestion`], if that, or a mark, begins an episode, and [`Self::on_restart`]
///    after it for a loss window; [`Self::on_loss_in_answer`], if a mark of the window has begun one already;
/// 5. [`Self::on_ack`], if it delivered data or revealed a loss;
/// 6. [`Self::on_send`] for each data segment that leaves then.
///
/// A timer causes [`Self::on_timer`], and if the retransmission timer expired 3, 4 and 6. The window after any of these
/// calls holds from then on, with one exception: from [`Self::on_congestion`] to the end of a fast recovery the sender may
/// send less or more than [`Self::cwnd`] ([`Demands::recovery_window`] declines that). Without SACK it adds the data that
/// has left the network, as duplicate ACKs report it. With SACK, proportional rate reduction clocks the window down to
/// [`Self::ssthresh`] at the return of `on_congestion`. Changes by the controller during the recovery count only after it.
pub trait CongestionController: Debug + Send {
    /// The handshake has settled the feedback of marks. It is `counted` (RFC 9768, RFC 8257, QUIC), or ACKs report only
    /// that there was a mark (RFC 3168), or nothing. Called once, before any other event; until then an algorithm
    /// assumes counted feedback. False declines ECN: data leaves as not ECN-capable, as it does with
    /// [`Demands::no_ecn`].
    fn on_feedback(&mut self, _counted: bool) -> bool {
        true
    }

    /// The controller that replaces this one where it cannot run on such feedback, counted or not; data is not
    /// ECN-capable then. Called once, before [`Self::on_feedback`].
    fn in_its_place(&self, _counted: bool) -> Option<Controller> {
        None
    }

    /// The handshake is over; its round trip is the first RTT sample. Not called if there is no sample, nor over QUIC.
    fn on_handshake(&mut self, _handshake: &HandshakeEvent) {}

    /// An ACK delivered new data or revealed a loss. Called after loss detection, once per ACK, also during recovery.
    fn on_ack(&mut self, ack: &AckEvent);

    /// An ACK arrived on a connection with ECN. Called before losses are detected and marks answered.
    fn on_echo(&mut self, _echo: &EchoEvent) {}

    /// A loss was found while the answer to a mark of the same window lasts, with this window: no episode begins. Called
    /// after [`Self::on_lost`]. A lower ssthresh than before is where the window goes.
    fn on_loss_in_answer(&mut self, _window: Bytes) {}

    /// An episode begins: loss, ECN or timeout. Once per episode, never once per lost segment. A controller answers by
    /// setting ssthresh and cwnd; during fast recovery the sender clocks the window down to ssthresh by itself.
    fn on_congestion(&mut self, event: &CongestionEvent);

    /// The last episode was spurious: undo it if the algorithm can.
    fn on_spurious(&mut self, _now: SimTime) {}

    /// An episode is about to begin with an ACK that may have ended the one before. An ACK that only ends one says so by
    /// [`AckEvent::in_recovery`].
    fn on_recovery_end(&mut self, _now: SimTime) {}

    /// The window restarts from a value of the standards, or of the stack: after a lost SYN, a timeout, idle time, or
    /// because it was not used. A timeout follows [`Self::on_congestion`], or comes alone within an episode.
    /// Controllers that derive cwnd from a model may ignore the last two; a timeout leaves one segment to any.
    fn on_restart(&mut self, _restart: &RestartEvent) {}

    /// A data segment left. `sent.idle_for` says how long nothing was outstanding.
    fn on_send(&mut self, _sent: &SendEvent) {}

    /// True if [`Self::on_send`] changes window or rate only after idle time, so that segments that leave at one moment
    /// may be sent together.
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

    /// The burst size that the controller requests of a host that sends in bursts; read at the beginning of each burst.
    fn burst_rule(&self) -> BurstRule {
        BurstRule::Host
    }

    /// Number of congestion windows for which a send buffer that follows the window keeps memory (Linux: `sndbuf_expand`).
    fn send_buffer_windows(&self) -> u64 {
        2
    }

    /// The demands of the controller beyond these events; constant throughout its life.
    fn demands(&self) -> Demands {
        Demands::default()
    }

    /// The records that links wrote into the data that this ACK acknowledges, in path order; of several segments, those
    /// of the latest. Only from links with [`mod@crate::telemetry`]; no other event follows if the ACK is otherwise of
    /// no use.
    fn on_telemetry(&mut self, _hops: &[HopRecord]) {}

    /// A segment has reached the receiver: called for each that an ACK delivers, before [`Self::on_ack`]. Needs
    /// [`Demands::samples`], as the following do.
    fn on_delivered(&mut self, _segment: &SegmentReport) {}

    /// A segment is marked lost: called for each, before [`Self::on_ack`] or [`Self::on_congestion`] of the same
    /// moment.
    fn on_lost(&mut self, _segment: &SegmentReport) {}

    /// True while the controller sends less than the path takes, on purpose: samples then count as limited by the
    /// application.
    fn limits_itself(&self) -> bool {
        false
    }

    /// True once after an ACK with which the controller reduces the window of its own accord, and not at once but as after a mark:
    /// unless something is repaired or answered, [`Self::on_congestion`] follows with [`crate::CongestionCause::Ecn`]. Needs
    /// [`Demands::samples`].
    fn begins_reduction(&mut self) -> bool {
        false
    }

    /// The time at which [`Self::on_timer`] is due. Needs [`Demands::samples`] or [`Demands::timer`].
    fn deadline(&self) -> SimTime {
        SimTime::NEVER
    }

    /// Time has reached [`Self::deadline`].
    fn on_timer(&mut self, _now: SimTime) {}

    /// True if the simulation is to stop after this event, for a decision from outside.
    fn wants_to_stop(&self) -> bool {
        false
    }

    /// True if the controller is to decide after this event, by itself. Only called for an external one with
    /// [`ExternalConfig::that_decides`].
    fn is_decision_due(&self) -> bool {
        false
    }

    /// Takes a decision, after the segments that this event permits have been sent; the segments that the decision
    /// permits follow.
    fn decide(&mut self, _now: SimTime) {}

    /// The name of the controller's state in its source, for observers.
    fn state(&self) -> &'static str {
        if self.is_in_slow_start() { "slow_start" } else { "congestion_avoidance" }
    }

    /// True while the controller searches for the path's capacity: below ssthresh, unless it has another kind of start.
    fn is_in_slow_start(&self) -> bool {
        self.ssthresh().is_none_or(|ssthresh| self.cwnd() < ssthresh)
    }

    /// The latest early exit from slow start: by a sign of a full path, before ssthresh or a loss.
    fn early_exit(&self) -> Option<EarlyExit> {
        None
    }

    /// Reports named internals (`"w_max_segments"`, `"k_s"`) to `record`.
    fn inspect(&self, _record: &mut dyn FnMut(&'static str, f64)) {}
}

/// The facts that every controller starts from, built-in or external.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The payload of a full segment.
    pub mss: Bytes,
    /// The initial window (RFC 6928).
    pub initial_window: Bytes,
    /// The initial slow-start threshold; `None` is arbitrarily high.
    pub initial_ssthresh: Option<Bytes>,
    /// The seed of an external controller's random stream: the flow's own, from the scenario's.
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

/// The algorithms of this crate, one line each: the configuration, and the controllers that it can start as, unless
/// another line lists them. What is large is held in a box.
macro_rules! controllers {
    ($($config:ident($parameters:ident $(in $held:ident)?) $(=> $($running:ident $(in $boxed:ident)?),+)?;)*) => {
        /// An algorithm with its parameters.
        #[derive(Clone, Debug, PartialEq)]
        pub enum ControllerConfig {
            $(
                #[doc = concat!("With the parameters [`", stringify!($parameters), "`](crate::", stringify!($parameters), ").")]
                $config(held!(crate::$parameters $(, $held)?)),
            )*
            /// An algorithm from outside this crate.
            External(ExternalConfig),
        }

        /// One of the built-in algorithms, or one from outside.
        pub enum Controller {
            $($($(
                #[doc = concat!("Runs as [`", stringify!($running), "`](crate::", stringify!($running), ").")]
                $running(held!(crate::$running $(, $boxed)?)),
            )+)?)*
            /// An algorithm from outside this crate.
            External(Box<dyn ExternalController>),
            /// The controller of a connection before its handshake: see [`Unopened`].
            Unopened(Unopened),
        }

        impl ControllerConfig {
            /// True if a frozen network moves the window.
            pub fn is_frozen(&self) -> bool {
                match self {
                    $(Self::$config(config) => config.is_frozen(),)*
                    Self::External(config) => config.decides(),
                }
            }

            /// Sets the seed of the algorithm's random stream, if it has one.
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
            $(parts.extend(parts_of(|config: crate::$parameters| ControllerConfig::$config(config.into())));)*
            Parts::new(parts)
        });

        dispatch! { $($($($running)+)?)* External Unopened }
    };
}

/// The type that holds a configuration or a controller: itself, or a box.
macro_rules! held {
    ($parameters:ty) => { $parameters };
    ($parameters:ty, $held:ident) => { $held<$parameters> };
}

/// Every controller that a scenario can name, with its declaration.
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
            fn on_echo(&mut self, echo: &EchoEvent) {
                match self { $(Self::$variant(inner) => inner.on_echo(echo),)* }
            }
            fn on_loss_in_answer(&mut self, window: Bytes) {
                match self { $(Self::$variant(inner) => inner.on_loss_in_answer(window),)* }
            }
            fn on_spurious(&mut self, now: SimTime) {
                match self { $(Self::$variant(inner) => inner.on_spurious(now),)* }
            }
            fn on_recovery_end(&mut self, now: SimTime) {
                match self { $(Self::$variant(inner) => inner.on_recovery_end(now),)* }
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
            fn send_buffer_windows(&self) -> u64 {
                match self { $(Self::$variant(inner) => inner.send_buffer_windows(),)* }
            }
            fn demands(&self) -> Demands {
                match self { $(Self::$variant(inner) => inner.demands(),)* }
            }
            fn on_handshake(&mut self, handshake: &HandshakeEvent) {
                match self { $(Self::$variant(inner) => inner.on_handshake(handshake),)* }
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
            fn begins_reduction(&mut self) -> bool {
                match self { $(Self::$variant(inner) => inner.begins_reduction(),)* }
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

with_controllers! { controllers }

impl ControllerConfig {
    /// True if the controller may decide after events: see [`CongestionController::is_decision_due`].
    pub fn decides(&self) -> bool {
        matches!(self, Self::External(config) if config.decides())
    }
}

impl Controller {
    /// The value that [`CongestionController::inspect`] reports under this name; `None` if it reports none.
    pub fn internal(&self, name: &str) -> Option<f64> {
        let mut found = None;
        self.inspect(&mut |known, value| {
            if known == name {
                found = Some(value);
            }
        });
        found
    }

    /// The controller until the handshake is over: see [`Unopened`].
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
