//! Kinds of events, and sets of them.

use crate::event::Event;

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $name:literal of $pattern:pat,)*) => {
        /// A kind of event, by which a scenario chooses what to watch.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum EventKind {
            $($(#[doc = $doc])+ $kind,)*
        }

        impl EventKind {
            /// Each, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// Name in scenarios and tables.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// The kind of this name, if there is one.
            pub fn of_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.name() == name)
            }

            /// Meaning in a sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$kind => concat!($($doc),+).trim_ascii(),)* }
            }
        }

        impl Event {
            /// Kind of the event.
            pub const fn kind(&self) -> EventKind {
                match self { $($pattern => EventKind::$kind,)* }
            }
        }
    };
}

kinds! {
    /// The first bit of a packet entered the wire of a link.
    PacketSent = "packet_sent" of Event::PacketSent { .. },
    /// A packet was dropped by a queue or a discarder, or lost by a link.
    PacketDropped = "packet_dropped" of Event::PacketDropped { .. },
    /// A queue marked a packet (CE).
    PacketMarked = "packet_marked" of Event::PacketMarked { .. },
    /// A packet came out at the far end of a link.
    PacketDelivered = "packet_delivered" of Event::PacketDelivered { .. },
    /// A data segment left a sender.
    SegmentSent = "segment_sent" of Event::SegmentSent(_),
    /// An ACK arrived at a sender.
    AckArrived = "ack_arrived" of Event::AckArrived(_),
    /// A sender took data for lost.
    MarkedLost = "marked_lost" of Event::MarkedLost { .. },
    /// A recovery, or the answer to a mark, began.
    RecoveryEntered = "recovery_entered" of Event::RecoveryEntered { .. },
    /// A recovery, or the answer to a mark, was over.
    RecoveryLeft = "recovery_left" of Event::RecoveryLeft { .. },
    /// The retransmission timer expired.
    TimedOut = "timed_out" of Event::TimedOut { .. },
    /// A recovery was found to be a mistake and taken back.
    Undone = "undone" of Event::Undone { .. },
    /// A tail loss probe or a probe of a closed window left.
    ProbeSent = "probe_sent" of Event::ProbeSent { .. },
    /// A controller changed its state.
    ControllerState = "controller_state" of Event::ControllerState(_),
    /// Slow start ended.
    SlowStartExited = "slow_start_exited" of Event::SlowStartExited { .. },
    /// An appliance began to hold data back.
    RelayHeld = "relay_held" of Event::RelayHeld { .. },
    /// An appliance let go again.
    RelayReleased = "relay_released" of Event::RelayReleased { .. },
}

/// A set of kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventKinds(u32);

impl EventKinds {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// The set of every event.
    pub const ALL: Self = Self((1 << EventKind::ALL.len()) - 1);

    /// True if no kind is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True if `kind` is in it.
    pub const fn has(self, kind: EventKind) -> bool {
        self.0 & (1 << kind as u32) != 0
    }

    /// The set with `kind` added.
    #[must_use]
    pub const fn with(self, kind: EventKind) -> Self {
        Self(self.0 | 1 << kind as u32)
    }
}

impl FromIterator<EventKind> for EventKinds {
    fn from_iter<T: IntoIterator<Item = EventKind>>(kinds: T) -> Self {
        kinds.into_iter().fold(Self::NONE, Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_into_it() {
        let set: EventKinds = [EventKind::TimedOut, EventKind::Undone].into_iter().collect();
        assert!(set.has(EventKind::TimedOut) && set.has(EventKind::Undone) && !set.has(EventKind::PacketSent));
        assert!(EventKind::ALL.iter().all(|kind| EventKinds::ALL.has(*kind) && !EventKinds::NONE.has(*kind)));
    }

    #[test]
    fn an_event_is_of_its_kind() {
        let event = Event::TimedOut { in_a_row: 1, rto: ackclock_units::SimDuration::from_millis(200) };
        assert_eq!((event.kind(), event.kind().name()), (EventKind::TimedOut, "timed_out"));
    }
}
