//! The disciplines by name, and what they order.

use ackclock_units::{Bytes, SimTime};

use crate::codel_window::CodelWindow;
use crate::config::DisciplineConfig;
use crate::credit::Credit;
use crate::drain_rate::DrainRate;
use crate::ece_drop_tail::EceDropTail;
use crate::ece_interval::EceInterval;
use crate::ece_red::EceRed;
use crate::not_sent::NotSent;
use crate::readings::Readings;
use crate::socket::Socket;

/// What a discipline wants done. [`Orders::default`] leaves everything to the sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// Let the near side send no more than this beyond what has arrived by now; the receive buffer bounds it too. A window once
    /// advertised is not taken back (RFC 9293 section 3.8.6). `None`: what the receive buffer has room for.
    pub window: Option<Bytes>,
    /// Hand octets to the far socket only while it holds fewer than these unsent (`TCP_NOTSENT_LOWAT`); the send buffer
    /// bounds it too.
    pub not_sent: Option<Bytes>,
    /// Tell the near side of congestion, once: ECE on its ACKs until its CWR (RFC 3168 section 6.1.3).
    pub raise_ece: bool,
    /// Ask again then, though nothing may have happened.
    pub wake_at: Option<SimTime>,
}

/// A discipline at work on one direction of a connection.
#[derive(Clone, Debug)]
pub struct Discipline {
    kind: Kind,
    #[cfg(debug_assertions)]
    invariants: crate::invariants::Invariants,
}

#[derive(Clone, Debug)]
enum Kind {
    Socket(Socket),
    EceInterval(EceInterval),
    EceDropTail(EceDropTail),
    EceRed(EceRed),
    DrainRate(DrainRate),
    CodelWindow(CodelWindow),
    NotSent(NotSent),
    Credit(Credit),
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

    /// What is wanted now. To be asked whenever octets arrive, are sent or are acknowledged, and at [`Orders::wake_at`].
    pub fn update(&mut self, readings: &Readings) -> Orders {
        let orders = self.kind.update(readings);
        #[cfg(debug_assertions)]
        self.invariants.check(readings, &orders);
        orders
    }
}

impl Kind {
    fn new(config: &DisciplineConfig, seed: u64) -> Self {
        match config {
            DisciplineConfig::Socket => Self::Socket(Socket),
            DisciplineConfig::EceInterval(config) => Self::EceInterval(EceInterval::new(*config)),
            DisciplineConfig::EceDropTail(config) => Self::EceDropTail(EceDropTail::new(*config)),
            DisciplineConfig::EceRed(config) => Self::EceRed(EceRed::new(*config, seed)),
            DisciplineConfig::DrainRate(config) => Self::DrainRate(DrainRate::new(*config)),
            DisciplineConfig::CodelWindow(config) => Self::CodelWindow(CodelWindow::new(*config)),
            DisciplineConfig::NotSent(config) => Self::NotSent(NotSent::new(*config)),
            DisciplineConfig::Credit(config) => Self::Credit(Credit::new(*config)),
        }
    }

    fn update(&mut self, readings: &Readings) -> Orders {
        match self {
            Self::Socket(Socket) => Orders::default(),
            Self::EceInterval(discipline) => discipline.update(readings),
            Self::EceDropTail(discipline) => discipline.update(readings),
            Self::EceRed(discipline) => discipline.update(readings),
            Self::DrainRate(discipline) => discipline.update(readings),
            Self::CodelWindow(discipline) => discipline.update(readings),
            Self::NotSent(discipline) => discipline.update(readings),
            Self::Credit(discipline) => discipline.update(readings),
        }
    }
}
