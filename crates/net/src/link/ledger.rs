//! Account of the packets of a link, in builds with assertions only.

/// Packets that came to a link, and their fates.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    #[cfg(debug_assertions)]
    counts: Counts,
}

#[cfg(debug_assertions)]
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    came: Count,
    delivered: Count,
    dropped: Count,
    lost: Count,
    copied: Count,
}

#[cfg(debug_assertions)]
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    packets: u64,
    octets: u64,
}

#[cfg(debug_assertions)]
impl Count {
    fn add(&mut self, octets: u64) {
        self.packets += 1;
        self.octets += octets;
    }
}

/// A method for each fate of a packet.
macro_rules! counting {
    ($($(#[$meta:meta])* $method:ident => $count:ident;)*) => {
        impl Ledger {$(
            $(#[$meta])*
            #[inline]
            #[cfg_attr(not(debug_assertions), allow(clippy::unused_self, reason = "nothing is counted"))]
            pub(super) fn $method(&mut self, octets: u64) {
                #[cfg(debug_assertions)]
                self.counts.$count.add(octets);
                #[cfg(not(debug_assertions))]
                let _ = octets;
            }
        )*}
    };
}

counting! {
    /// A packet has come to the near end, behind discarders and policers.
    on_came => came;
    /// A packet has come out at the far end.
    on_delivered => delivered;
    /// The queue has dropped a packet; its octets are known if the queue drops only arrivals.
    on_dropped => dropped;
    /// A packet was lost on the way.
    on_lost => lost;
    /// A copy of a packet was put on the way.
    on_copied => copied;
}

#[cfg(debug_assertions)]
impl Ledger {
    /// Checks that all packets that came or were copied were delivered, dropped or lost, or are still `held`.
    pub(super) fn check_packets(&self, held: usize) {
        let Counts { came, delivered, dropped, lost, copied } = &self.counts;
        let gone = delivered.packets + dropped.packets + lost.packets;
        assert_eq!(
            came.packets + copied.packets,
            gone + held as u64,
            "packets of a link: {:?}, {held} held",
            self.counts
        );
    }

    /// Checks the same of octets; where the queue has dropped packets, checks only an upper bound.
    pub(super) fn check_octets(&self, held: u64, has_dropped: bool) {
        let Counts { came, delivered, dropped, lost, copied } = &self.counts;
        let (all, gone) = (came.octets + copied.octets, delivered.octets + dropped.octets + lost.octets);
        let is_sound = if has_dropped { gone + held <= all } else { gone + held == all };
        assert!(is_sound, "octets of a link: {:?}, {held} held", self.counts);
    }

    pub(super) fn net_losses(&self) -> i64 {
        self.counts.lost.packets as i64 - self.counts.copied.packets as i64
    }
}

#[cfg(not(debug_assertions))]
#[allow(clippy::unused_self, reason = "nothing is counted")]
impl Ledger {
    pub(super) fn check_packets(&self, _held: usize) {}

    pub(super) fn check_octets(&self, _held: u64, _has_dropped: bool) {}

    pub(super) fn net_losses(&self) -> i64 {
        0
    }
}
