//! Data of a connection that still waits at its own host: while it has not left, the sender limits what it adds.
//!
//! Source: TCP Small Queues of Linux (`tcp_limit_output_bytes`, since 3.6), by its behaviour.
//!
//! Departures: octets are those of payloads, without what a kernel's buffers take beside them. Once fewer wait than the limit, the
//! sender goes on at the moment at which the burst has left, as with a completion that is reported at once. Of what an uplink serves packet by
//! packet it is not known when it leaves: the sender is notified when it has ([`HostQueue::on_left`]), and of any uplink when it was dropped as
//! it arrived there ([`HostQueue::on_refused`]). The burst of an octet is not reported; the first is taken to have left first, or to have
//! been dropped while it waited, the last to have been dropped as it arrived.

use std::collections::VecDeque;

use ackclock_units::{Bandwidth, Bytes, SimTime};

/// A burst that has been handed to the host.
#[derive(Clone, Copy, Debug)]
struct Handed {
    /// Departure time; [`SimTime::NEVER`] if it will be reported.
    leaves_at: SimTime,
    octets: u64,
    /// Number of these octets that were reported to have left.
    left: u64,
}

/// Data of a connection that waits at its own host.
#[derive(Clone, Debug)]
pub(crate) struct HostQueue {
    /// Limit that holds at any rate.
    most: u64,
    bursts: VecDeque<Handed>,
    octets: u64,
    begins: bool,
    wake: SimTime,
    /// Limit in the last query for room.
    limit: u64,
}

impl HostQueue {
    pub(crate) fn new(most: Bytes) -> Self {
        Self { most: most.0, bursts: VecDeque::new(), octets: 0, begins: true, wake: SimTime::NEVER, limit: 0 }
    }

    /// Limit of the queue: two bursts of the coming size, or what the rate sends in 1/1024 s if that is more.
    pub(crate) fn limit(&self, burst: u64, rate: Option<Bandwidth>) -> u64 {
        let lasting = rate.map_or(u64::MAX, |rate| rate.0 / 8 / 1024);
        (2 * burst).max(lasting).min(self.most)
    }

    /// True if more than `limit` octets wait; [`Self::wake`] then says when that ends.
    pub(crate) fn await_room(&mut self, now: SimTime, limit: u64) -> bool {
        while let Some(first) = self.bursts.front().filter(|first| first.leaves_at <= now) {
            self.octets -= first.octets;
            self.bursts.pop_front();
        }
        (self.begins, self.limit) = (true, limit);
        let mut left = self.octets;
        for burst in &self.bursts {
            if left <= limit {
                break;
            }
            left -= burst.octets;
            self.wake = burst.leaves_at;
        }
        self.octets > limit
    }

    /// Same as [`Self::await_room`], with the octets that wait beside it in `fq` and the departure time of its first
    /// segment.
    #[inline]
    pub(crate) fn await_room_beside(&mut self, now: SimTime, fq: Option<(u64, SimTime)>, limit: u64) -> bool {
        let Some((waiting, departs)) = fq else { return self.await_room(now, limit) };
        let waits = self.await_room(now, limit.saturating_sub(waiting));
        if waiting > limit {
            self.wake = departs;
        }
        waits || waiting > limit
    }

    /// Nothing waits here at `now`.
    pub(crate) fn is_empty(&self, now: SimTime) -> bool {
        self.bursts.iter().all(|burst| burst.leaves_at <= now)
    }

    /// Time at which there is room again for a sender that waits for it.
    pub(crate) fn wake(&self) -> SimTime {
        self.wake
    }

    /// Removes octets that were dropped as they arrived at the host.
    pub(crate) fn on_refused(&mut self, now: SimTime, mut octets: u64) {
        while let Some(last) = self.bursts.back_mut().filter(|_| octets > 0) {
            let of_last = octets.min(last.octets - last.left);
            last.octets -= of_last;
            self.octets -= of_last;
            octets -= of_last;
            if last.octets == last.left {
                self.octets -= last.left;
                self.bursts.pop_back();
                self.begins = true; // what is handed over next is no part of the burst before
            }
        }
        self.look_for_room(now);
    }

    fn look_for_room(&mut self, now: SimTime) {
        if self.octets <= self.limit {
            self.wake = now;
        }
    }

    /// Removes octets that have left the host.
    pub(crate) fn on_left(&mut self, now: SimTime, mut octets: u64) {
        while octets > 0 {
            let first = self.bursts.front_mut().expect("what leaves the host was handed to it");
            let of_first = octets.min(first.octets - first.left);
            first.left += of_first;
            octets -= of_first;
            if first.left == first.octets {
                self.octets -= first.octets;
                self.bursts.pop_front();
            }
        }
        self.look_for_room(now);
    }

    /// Adds octets handed to the host, to the current burst or to a new one, which begins where all before it has left;
    /// they leave at `leaves_at`, or will be reported ([`SimTime::NEVER`]). What waits no longer does not count.
    pub(crate) fn on_sent(&mut self, now: SimTime, octets: u64, leaves_at: SimTime) {
        if leaves_at <= now {
            return;
        }
        self.octets += octets;
        match self.bursts.back_mut() {
            Some(last) if !self.begins && last.leaves_at > now => {
                last.octets += octets;
                last.leaves_at = leaves_at;
            }
            _ => self.bursts.push_back(Handed { leaves_at, octets, left: 0 }),
        }
        self.begins = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_limit_is_two_bursts_or_a_millisecond_of_the_rate() {
        let queue = HostQueue::new(Bytes(4 << 20));
        let rate = |rate| Some(Bandwidth(rate));
        assert_eq!(queue.limit(10_000, rate(81_920_000)), 20_000); // 10 240 000 octets a second: 10 000 in 1/1024 s
        assert_eq!(queue.limit(10_000, rate(819_200_000)), 100_000);
        assert_eq!(queue.limit(10_000, rate(819_200_000_000)), 4 << 20); // 100 MB, but for tcp_limit_output_bytes
        assert_eq!(queue.limit(10_000, None), 4 << 20); // no RTT is known, so no rate
    }

    #[test]
    fn a_sender_goes_on_when_the_burst_has_left_that_makes_room() {
        let mut queue = HostQueue::new(Bytes(4 << 20));
        for (burst, leaves_at) in [(1, 10), (2, 20), (3, 30)] {
            assert!(!queue.await_room(SimTime(burst), 3_000));
            queue.on_sent(SimTime(burst), 500, SimTime((leaves_at - 1) * MS));
            queue.on_sent(SimTime(burst), 500, SimTime(leaves_at * MS)); // the rest of the same burst
        }
        assert!(!queue.await_room(SimTime(5 * MS), 3_000)); // not more than the limit
        assert!(queue.await_room(SimTime(5 * MS), 1_999));
        assert_eq!(queue.wake(), SimTime(20 * MS)); // 1000 octets are left then
        assert!(queue.await_room(SimTime(5 * MS), 500));
        assert_eq!(queue.wake(), SimTime(30 * MS));
        assert!(queue.await_room(SimTime(10 * MS), 1_999)); // 2000 octets are left
        assert!(!queue.await_room(SimTime(20 * MS), 1_999));
    }

    #[test]
    fn a_sender_goes_on_when_it_is_told_that_the_burst_has_left_that_makes_room() {
        let mut queue = HostQueue::new(Bytes(4 << 20));
        for burst in 1..=3 {
            assert!(!queue.await_room(SimTime(burst), 3_000));
            queue.on_sent(SimTime(burst), 500, SimTime::NEVER);
            queue.on_sent(SimTime(burst), 500, SimTime::NEVER);
        }
        assert!(queue.await_room(SimTime(MS), 1_999));
        assert_eq!(queue.wake(), SimTime::NEVER);
        queue.on_left(SimTime(10 * MS), 500);
        queue.on_left(SimTime(20 * MS), 500); // the whole of the first burst: 2000 octets are left
        assert!(queue.await_room(SimTime(20 * MS), 1_999));
        queue.on_left(SimTime(30 * MS), 500);
        assert_eq!(queue.wake(), SimTime::NEVER, "half of a burst, which a device completes as one");
        queue.on_left(SimTime(40 * MS), 1_000); // the other half, and a part of the last
        assert_eq!(queue.wake(), SimTime(40 * MS));
        assert!(!queue.await_room(SimTime(40 * MS), 1_999));
        queue.on_left(SimTime(50 * MS), 500);
        assert!(!queue.await_room(SimTime(50 * MS), 0));
    }

    #[test]
    fn what_the_uplink_dropped_does_not_wait() {
        let mut queue = HostQueue::new(Bytes(4 << 20));
        assert!(!queue.await_room(SimTime(1), 3_000));
        for leaves_at in [10, 20, 20, 20] {
            queue.on_sent(SimTime(1), 1_000, SimTime(leaves_at * MS)); // two have room, two do not
        }
        queue.on_refused(SimTime(1), 2_000);
        assert!(!queue.await_room(SimTime(2), 2_000));
        assert!(queue.await_room(SimTime(2), 1_999));
        assert_eq!(queue.wake(), SimTime(20 * MS));
        queue.on_sent(SimTime(30 * MS), 1_000, SimTime(20 * MS)); // dropped before an idle link
        assert!(!queue.await_room(SimTime(30 * MS), 0));
    }

    /// Linux frees the memory of the segment that is dropped, and of no other: those of the burst before it go on waiting.
    #[test]
    fn what_the_uplink_refuses_is_of_the_last_burst() {
        let mut queue = HostQueue::new(Bytes(4 << 20));
        for burst in 1..=2 {
            assert!(!queue.await_room(SimTime(burst), 4_000));
            queue.on_sent(SimTime(burst), 1_000, SimTime::NEVER);
            queue.on_sent(SimTime(burst), 1_000, SimTime::NEVER);
        }
        queue.on_refused(SimTime(2), 1_000);
        assert!(queue.await_room(SimTime(3), 2_999));
        queue.on_left(SimTime(MS), 1_000); // half of the first
        assert!(queue.await_room(SimTime(MS), 2_999));
        queue.on_left(SimTime(2 * MS), 1_000); // its rest
        assert!(!queue.await_room(SimTime(2 * MS), 1_000));
        assert!(queue.await_room(SimTime(2 * MS), 999));
    }

    #[test]
    fn a_segment_that_comes_when_all_before_it_has_left_waits_alone() {
        let mut queue = HostQueue::new(Bytes(4 << 20));
        assert!(!queue.await_room(SimTime(1), 3_000));
        queue.on_sent(SimTime(1), 500, SimTime(10 * MS));
        queue.on_sent(SimTime(20 * MS), 500, SimTime(30 * MS)); // let go by `fq`, without being asked for room
        assert!(!queue.await_room(SimTime(21 * MS), 500));
        assert!(queue.await_room(SimTime(21 * MS), 499));
    }
}
