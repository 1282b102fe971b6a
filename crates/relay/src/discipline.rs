//! The disciplines by name, and what they order.
//!
//! A discipline's file says everything of it, its parameters as a scenario writes them too; a new one is such a file, its
//! `mod`, and its line in the list below.

use std::sync::LazyLock;

use ackclock_declare::{About, Declared, Part, Parts};
use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::readings::Readings;
use crate::socket::{self, SocketConfig};
use crate::{codel_window, credit, drain_rate, ece_drop_tail, ece_interval, ece_red, not_sent};

/// Orders of a discipline. [`Orders::default`] leaves everything to the sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// Let the near side send no more than this beyond what has arrived by now; the receive buffer bounds it too. A window once
    /// advertised is not taken back (RFC 9293 section 3.8.6). `None`: what the receive buffer has room for.
    pub window: Option<Bytes>,
    /// Hand octets to the far socket only while it holds fewer than these unsent (`TCP_NOTSENT_LOWAT`); the send buffer
    /// bounds it too.
    pub not_sent: Option<Bytes>,
    /// Signal congestion to the near side, once: ECE on its ACKs until its CWR (RFC 3168 section 6.1.3).
    pub raise_ece: bool,
    /// Ask again then, though nothing may have happened.
    pub wake_at: Option<SimTime>,
}

/// A stay is no longer than any path: a day, as sums stay within 64 bits of nanoseconds.
pub(crate) const MAX_STAY: SimDuration = SimDuration::from_secs(24 * 3600);

/// More segments than any window holds.
pub(crate) const MAX_SEGMENTS: u64 = 1_000_000_000;

/// More octets than any window.
pub(crate) const MAX_WINDOW: Bytes = Bytes(1 << 40);

/// Parameters of a discipline, and what is said of it in every catalogue.
pub(crate) trait Policy: Declared {
    /// Name and descriptions of the policy.
    const ABOUT: About;

    /// See [`DisciplineConfig::raises_ece`].
    const RAISES_ECE: bool = false;

    /// See [`DisciplineConfig::fills_the_far_window`].
    const FILLS_THE_FAR_WINDOW: bool = false;

    /// A policy at work on a connection that opens now. `seed` is of its own random stream.
    fn start(&self, seed: u64) -> Kind;
}

fn part_of<K: Policy>(into: fn(K) -> DisciplineConfig) -> Part<DisciplineConfig> {
    Part::new(K::ABOUT, (), &[], |_| (), into)
}

fn raises_ece<K: Policy>(_: &K) -> bool {
    K::RAISES_ECE
}

fn fills_the_far_window<K: Policy>(_: &K) -> bool {
    K::FILLS_THE_FAR_WINDOW
}

/// Every discipline with its parameters: enums of both, and calls without a table of functions.
macro_rules! disciplines {
    ($($(#[$meta:meta])* $name:ident($module:ident::$config:ident),)*) => {
        /// A discipline and its parameters.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub enum DisciplineConfig {
            /// None but the sizes of the socket buffers.
            #[default]
            Socket,
            $($(#[$meta])* $name($module::$config),)*
        }

        impl DisciplineConfig {
            /// True if it raises ECE, for which the near side needs ECN.
            pub fn raises_ece(&self) -> bool {
                match self {
                    Self::Socket => false,
                    $(Self::$name(config) => raises_ece(config),)*
                }
            }

            /// True if nothing waits behind the far side's window when it is full, so that a window counts as used when it has
            /// been filled.
            pub fn fills_the_far_window(&self) -> bool {
                match self {
                    Self::Socket => false,
                    $(Self::$name(config) => fills_the_far_window(config),)*
                }
            }
        }

        #[derive(Clone, Debug)]
        pub(crate) enum Kind {
            Socket,
            $($name($module::$name),)*
        }

        impl Kind {
            fn new(config: &DisciplineConfig, seed: u64) -> Self {
                match config {
                    DisciplineConfig::Socket => Self::Socket,
                    $(DisciplineConfig::$name(config) => config.start(seed),)*
                }
            }

            fn update(&mut self, readings: &Readings) -> Orders {
                match self {
                    Self::Socket => Orders::default(),
                    $(Self::$name(discipline) => discipline.update(readings),)*
                }
            }
        }

        static POLICIES: LazyLock<Parts<DisciplineConfig>> = LazyLock::new(|| {
            let socket = Part::new(socket::ABOUT, (), &[], |_| (), |_: SocketConfig| DisciplineConfig::Socket);
            Parts::new(vec![socket, $(part_of(DisciplineConfig::$name)),*])
        });
    };
}

disciplines! {
    /// See [`EceInterval`](crate::EceInterval).
    EceInterval(ece_interval::EceIntervalConfig),
    /// See [`EceDropTail`](crate::EceDropTail).
    EceDropTail(ece_drop_tail::EceDropTailConfig),
    /// See [`EceRed`](crate::EceRed).
    EceRed(ece_red::EceRedConfig),
    /// See [`DrainRate`](crate::DrainRate).
    DrainRate(drain_rate::DrainRateConfig),
    /// See [`CodelWindow`](crate::CodelWindow).
    CodelWindow(codel_window::CodelWindowConfig),
    /// See [`NotSent`](crate::NotSent).
    NotSent(not_sent::NotSentConfig),
    /// See [`Credit`](crate::Credit).
    Credit(credit::CreditConfig),
}

/// Every discipline that a scenario can name as a buffer policy, as it declares itself.
pub fn buffer_policies() -> &'static Parts<DisciplineConfig> {
    &POLICIES
}

/// A discipline at work on one direction of a connection.
#[derive(Clone, Debug)]
pub struct Discipline {
    kind: Kind,
    #[cfg(debug_assertions)]
    invariants: crate::invariants::Invariants,
}

impl Discipline {
    /// A discipline for a connection that opens now. `seed` is of its own random stream.
    pub fn new(config: &DisciplineConfig, seed: u64) -> Self {
        let kind = Kind::new(config, seed);
        Self {
            kind,
            #[cfg(debug_assertions)]
            invariants: crate::invariants::Invariants::default(),
        }
    }

    /// Orders at this moment. Must be called whenever octets arrive, are sent or are acknowledged, and at
    /// [`Orders::wake_at`].
    pub fn update(&mut self, readings: &Readings) -> Orders {
        let orders = self.kind.update(readings);
        #[cfg(debug_assertions)]
        self.invariants.check(readings, &orders);
        orders
    }
}
