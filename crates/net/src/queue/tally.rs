//! Tally of a discipline's drops and marks: counted, and with observers, packet by packet.

use ackclock_wire::Ecn;

use crate::packet::Packet;

/// Number of packets that a discipline dropped and marked since the beginning of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounters {
    /// Packets dropped, at arrival or later.
    pub drops: u64,
    /// Packets whose ECN field was set to CE.
    pub marks: u64,
}

/// The treatment of a packet by a discipline, besides keeping it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// The packet was dropped.
    Dropped,
    /// It was marked (CE), and waits or leaves.
    Marked,
}

/// The counts of a discipline's drops and marks, and with observers their packets.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    counters: QueueCounters,
    /// The packets in order; kept only if there is an observer.
    log: Option<Vec<(Packet, Treatment)>>,
}

impl Tally {
    /// Counts a dropped packet.
    pub fn drop(&mut self, packet: &Packet) {
        self.counters.drops += 1;
        self.note(packet, Treatment::Dropped);
    }

    /// Marks an ECN-capable packet; returns whether it did (RFC 3168 section 5).
    pub fn mark(&mut self, packet: &mut Packet) -> bool {
        let marked = packet.ecn() != Ecn::NotEct;
        if marked {
            packet.set_ecn(Ecn::Ce);
            self.counters.marks += 1;
            self.note(packet, Treatment::Marked);
        }
        marked
    }

    /// The counts so far.
    pub fn counters(&self) -> QueueCounters {
        self.counters
    }

    /// Keeps each packet from now on, until it is taken.
    pub fn watch(&mut self) {
        self.log.get_or_insert_default();
    }

    /// True if [`Self::take`] has packets to give.
    pub fn has_noted(&self) -> bool {
        self.log.as_ref().is_some_and(|log| !log.is_empty())
    }

    /// The packets since the last call, in order; none before [`Self::watch`].
    pub fn take(&mut self) -> impl Iterator<Item = (Packet, Treatment)> {
        self.log.iter_mut().flat_map(|log| log.drain(..))
    }

    fn note(&mut self, packet: &Packet, treatment: Treatment) {
        if let Some(log) = &mut self.log {
            log.push((*packet, treatment));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_kept_for_whoever_watches() {
        let (mut tally, mut packet) = (Tally::default(), Packet::default());
        tally.drop(&packet);
        tally.watch();
        assert!(!tally.mark(&mut packet), "it does not allow marks");
        packet.set_ecn(Ecn::Ect0);
        assert!(tally.mark(&mut packet));
        tally.drop(&packet);
        let taken: Vec<_> = tally.take().map(|(packet, treatment)| (packet.ecn(), treatment)).collect();
        assert_eq!(taken, [(Ecn::Ce, Treatment::Marked), (Ecn::Ce, Treatment::Dropped)]);
        assert_eq!((tally.take().count(), tally.counters()), (0, QueueCounters { drops: 2, marks: 1 }));
    }
}
