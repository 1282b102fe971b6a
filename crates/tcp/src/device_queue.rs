//! The queue of a host's network device: when it is full a segment is refused, which TCP answers as it does a mark.
//!
//! Source: Linux 2.4 (`net/ipv4/tcp_output.c`, `include/net/tcp.h`): where the queue of a device (`tx_queue_len`) is full, the transmission
//! fails, the segment stays in the send buffer, and cwnd is reduced as by a mark; it is tried again with the next ACK.
//!
//! Departures: retransmissions are not refused. The endpoint does not see the queue. It knows when what it hands over will have
//! left, and takes the least time that one of its full segments took for that of a packet; so packets of other connections count
//! as if they were full. Where nothing is outstanding, whose ACK would try again, nothing is refused. On an uplink that is served packet by
//! packet, whose discipline takes the place of the device's queue, nothing is refused either.

use ackclock_units::SimTime;

/// Model of the device's transmit queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceQueue {
    /// Packets that may wait, beside the one that is leaving.
    limit: u64,
    /// Time at which all segments handed over have left.
    leaves_at: SimTime,
    /// The least time that a full segment took, ns.
    packet_ns: u64,
}

impl DeviceQueue {
    pub(crate) fn new(limit: u32) -> Self {
        Self { limit: u64::from(limit), leaves_at: SimTime::ZERO, packet_ns: u64::MAX }
    }

    /// True if another segment is refused.
    pub(crate) fn is_full(&self, now: SimTime) -> bool {
        let wait = self.leaves_at.0.saturating_sub(now.0);
        // The one that is leaving has some of its time behind it.
        self.packet_ns < u64::MAX && wait > self.limit * self.packet_ns
    }

    /// A segment was handed over at `now`, and leaves then, if that is known ([`SimTime::NEVER`] if not).
    pub(crate) fn on_sent(&mut self, now: SimTime, is_full_segment: bool, leaves_at: SimTime) {
        if leaves_at == SimTime::NEVER {
            return;
        }
        let took = leaves_at.0.saturating_sub(self.leaves_at.0.max(now.0));
        if is_full_segment && took > 0 {
            self.packet_ns = self.packet_ns.min(took);
        }
        self.leaves_at = self.leaves_at.max(leaves_at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: u64 = 123_040; // 1538 bytes at 100 Mbit/s, ns

    #[test]
    fn as_many_wait_as_the_device_takes_and_one_leaves() {
        let mut queue = DeviceQueue::new(3);
        for count in 1..=4 {
            assert!(!queue.is_full(SimTime::ZERO), "{count} packets");
            queue.on_sent(SimTime::ZERO, true, SimTime(count * PACKET));
        }
        assert!(queue.is_full(SimTime::ZERO), "one leaves and three wait");
        assert!(!queue.is_full(SimTime(PACKET)), "one has left");
    }

    #[test]
    fn what_others_have_there_counts() {
        let mut queue = DeviceQueue::new(3);
        queue.on_sent(SimTime::ZERO, true, SimTime(PACKET));
        // Four packets of others came between.
        queue.on_sent(SimTime::ZERO, true, SimTime(6 * PACKET));
        assert!(queue.is_full(SimTime::ZERO));
    }
}
