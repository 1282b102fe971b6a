//! What happens to packets on the wire, between the end of their service and the far end of the link.

use ackclock_units::{SimDuration, SimTime};

use crate::packet::Packet;

/// What becomes of a packet on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is lost.
    Lost,
    /// It arrives, this much later than the link's delay says.
    Arrives(SimDuration),
    /// It arrives twice.
    Twice(SimDuration, SimDuration),
}

/// What happens to packets on the wire.
#[derive(Clone, Debug, Default)]
pub enum Impairments {
    /// Nothing.
    #[default]
    None,
}

impl Impairments {
    /// A packet's last bit enters the wire. Times may not go back from call to call.
    pub fn depart(&mut self, _now: SimTime, _packet: &mut Packet) -> Fate {
        match self {
            Self::None => Fate::Arrives(SimDuration::ZERO),
        }
    }

    /// True if a packet may arrive before one that was sent earlier; otherwise what is late holds up what follows.
    pub fn lets_overtake(&self) -> bool {
        match self {
            Self::None => false,
        }
    }
}
