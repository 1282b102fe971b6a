//! Times at which an agent decides.
//!
//! Sources: after a window of ACKs `NewReno` adds a segment (RFC 5681 section 3.1), and DQN-based `NewReno` acts; fixed
//! times are Orca's and, roughly, Aurora's monitor intervals. Departures: none.

use ackclock_cc::AckEvent;
use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::view::Described;

/// The forms of a decision clock.
pub const DECISIONS: &[Described] = &[
    Described { name: "ack", what: "on every ACK; { acks = n }: on every n-th", source: "DQN-based NewReno and CUBIC" },
    Described {
        name: "window",
        what: "once the cwnd of the last decision has been acknowledged",
        source: "RFC 5681 section 3.1; Seo and Cho 2023",
    },
    Described {
        name: "round",
        what: "on the first ACK that comes a smoothed RTT or more after the last decision; { rounds = x }: x of them",
        source: "Aurora's monitor intervals",
    },
    Described {
        name: "cubic_pace",
        what: "when CUBIC would add a segment, on the curve that the last action chose",
        source: "Seo and Cho, J. KICS 2024",
    },
    Described { name: "20 ms", what: "at this interval, whether or not ACKs arrive", source: "Orca" },
];

/// Times at which the agent decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// A decision on every n-th ACK.
    Acks(u32),
    /// A decision once as much has been acknowledged as cwnd held at the last one.
    Window,
    /// A decision on the first ACK a smoothed RTT or more after the last one. (Packet-timed rounds end with cumulative
    /// ACKs, which are missing while a hole is filled.)
    Round,
    /// A decision on the first ACK this many thousandths of a smoothed RTT or more after the last one.
    Rounds {
        /// Thousandths of a smoothed RTT, above 0.
        thousandths: u32,
    },
    /// A decision when CUBIC would add a segment, on the curve of the last action.
    CubicPace,
    /// A decision at a constant interval.
    Every(SimDuration),
}

/// Clock of a [`Decision`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecisionClock {
    decision: Decision,
    acks: u32,
    acked: Bytes,
    window: Bytes,
    from: SimTime,
    next: SimTime,
}

impl DecisionClock {
    pub(crate) fn new(decision: Decision) -> Self {
        Self { decision, acks: 0, acked: Bytes::ZERO, window: Bytes::ZERO, from: SimTime::ZERO, next: SimTime::NEVER }
    }

    /// Restarts the clock when the agent takes charge, or has just acted, with this window.
    pub(crate) fn restart(&mut self, now: SimTime, cwnd: Bytes) {
        (self.acks, self.acked, self.window, self.from) = (0, Bytes::ZERO, cwnd, now);
        if let Decision::Every(interval) = self.decision {
            self.next = now + interval;
        }
    }

    /// True if a decision is due at this ACK.
    pub(crate) fn on_ack(&mut self, ack: &AckEvent) -> bool {
        self.acks += 1;
        self.acked += ack.newly_acked;
        match self.decision {
            Decision::Acks(every) => self.acks >= every,
            Decision::Window => self.acked >= self.window,
            Decision::Round => ack.now.saturating_since(self.from) >= ack.rtt.srtt,
            Decision::Rounds { thousandths } => {
                let wanted = u128::from(ack.rtt.srtt.0) * u128::from(thousandths) / 1000;
                u128::from(ack.now.saturating_since(self.from).0) >= wanted
            }
            Decision::CubicPace | Decision::Every(_) => false,
        }
    }

    /// The octets acknowledged since the last decision.
    pub(crate) fn acked(&self) -> Bytes {
        self.acked
    }

    /// The time of the next decision that does not need an ACK.
    pub(crate) fn deadline(&self) -> SimTime {
        self.next
    }

    /// Stops decisions by time until the next [`Self::restart`].
    pub(crate) fn stop(&mut self) {
        self.next = SimTime::NEVER;
    }
}
