//! Delayed acknowledgement of in-order data.
//!
//! Sources: RFC 5681 section 4.2, RFC 9293 section 3.8.6.3; RFC 5690 sections 4.3 and 4.6, where the sender says for how
//! many segments; Linux's quickack mode and adaptive delay by their behaviour. On 6.18 an ACK is one quick ACK less if it
//! acknowledges data that none did before, and a full segment that is pushed does not wait: captured on that kernel, and
//! asked of it by a packet script with reads. That both are so since 6.6 is from memory.
//!
//! Departures: an application that reads at a rate does not ask for ACKs. From the RFCs only where `sack_compression` puts ACKs above a hole off. With `count_octets`, more than one
//! full segment is acknowledged at once, as Linux counts octets and not segments. Under RFC 5690 its count of segments alone
//! decides, receive offload does not wait (the first way of section 5.8), and quickack mode is over once the sender asks for fewer
//! ACKs than one for two segments.

use ackclock_units::{SimDuration, SimTime};

use crate::config::DelayedAck;
use crate::ticks::Ticks;

/// The longest adaptive delay.
const LONGEST: SimDuration = SimDuration::from_millis(200);

/// Octets that receive offload gathers at most.
const LARGEST_GATHERED: u64 = 65_536;

/// RFC 5681 acknowledges at least every second full-sized segment.
const ORDINARY_RATIO: u32 = 2;

/// Enough for a fast retransmit.
//= rfc5690-4.6-above-a-hole
const AT_ONCE_ABOVE_A_HOLE: u32 = 3;

/// Data that has arrived in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data {
    pub(crate) octets: u64,
    /// Largest payload of a segment.
    pub(crate) mss: u64,
    /// Bounds the adaptive delay.
    pub(crate) rto: SimDuration,
    /// The round trip as this end measures it; zero before it does.
    pub(crate) srtt: SimDuration,
    /// The window advertised last.
    pub(crate) window: u64,
    /// The window opens further by it.
    pub(crate) opens: bool,
}

/// Decides when to send an ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DelayedAcks {
    config: DelayedAck,
    ticks: Ticks,
    /// Delay of an ACK that is due, to cover further segments (stretch ACKs); zero disables it.
    gro: SimDuration,
    /// Number of segments to an ACK.
    ratio: u32,
    /// More than a full segment is acknowledged at once.
    counts_octets: bool,
    /// Segments that have arrived above a hole since there is one.
    disordered: u32,
    /// Number of in-order segments, and octets, since the last ACK.
    segments: u32,
    octets: u64,
    deadline: SimTime,
    /// Time for which the timer was last set. It fires whether an ACK has left meanwhile or not.
    timer: SimTime,
    due: bool,
    /// ACKs of data left that are not delayed.
    quick: u32,
    /// Data has arrived since the last ACK.
    is_owed: bool,
    /// Since then, segments that were not full, of two at most; pushed ones count as one together.
    pushes: u8,
    /// The adaptive delay; zero before the first data.
    delay: SimDuration,
    last_arrival: SimTime,
    /// Data goes the other way within the delay: ACKs ride on it.
    is_interactive: bool,
    /// The pending ACK is for segments above a hole, and waits for the deadline.
    gathers: bool,
    /// An ACK is due, once receive offload hands over what it gathers.
    is_with_offload: bool,
}

impl DelayedAcks {
    /// `gro` is the delay of a pending ACK for further segments.
    pub(crate) fn new(config: DelayedAck, ticks: Ticks, gro: SimDuration) -> Self {
        Self {
            config,
            ticks,
            gro,
            ratio: config.segments,
            counts_octets: config.count_octets,
            disordered: 0,
            segments: 0,
            octets: 0,
            deadline: SimTime::NEVER,
            timer: SimTime::ZERO,
            due: false,
            quick: if config.adaptive { 0 } else { config.quickacks },
            is_owed: false,
            pushes: 0,
            delay: SimDuration::ZERO,
            last_arrival: SimTime::ZERO,
            is_interactive: false,
            gathers: false,
            is_with_offload: false,
        }
    }

    /// The peer's FIN arrived in order. Where its ACK may wait, none is quick any more: only data of this end still carries ACKs (Linux).
    /// A FIN alone waits for the delay, of which there is none before the first data; [`Self::on_data`] sees to one that `follows_data`.
    pub(crate) fn on_fin(&mut self, now: SimTime, srtt: SimDuration, follows_data: bool) {
        let wait = self.wait(srtt);
        if !self.config.delay_fin {
            self.due = true;
            return;
        }
        self.is_interactive = true;
        if !follows_data {
            self.due |= wait.is_zero();
            self.deadline = self.deadline.min(now + wait);
        }
    }

    /// The sender says for how many segments it wants an ACK (RFC 5690 section 4.3).
    pub(crate) fn set_ratio(&mut self, ratio: u32) {
        //= rfc5690-4.3-receiver
        self.ratio = ratio.max(1);
        self.counts_octets = false;
        self.gro = SimDuration::ZERO;
        if self.spares_acks() {
            (self.config.quickacks, self.quick) = (0, 0);
        }
    }

    /// Fewer ACKs are wanted than RFC 5681 has.
    fn spares_acks(&self) -> bool {
        self.ratio > ORDINARY_RATIO
    }

    /// A segment arrived above a hole. RFC 5681 section 4.2 acknowledges it at once; at a large ratio RFC 5690 section 4.6
    /// does so for the first three only.
    pub(crate) fn on_out_of_order(&mut self, now: SimTime) {
        self.disordered += 1;
        self.is_owed = true;
        //= rfc5681-4.2-out-of-order
        if !self.spares_acks() || self.disordered <= AT_ONCE_ABOVE_A_HOLE {
            self.due = true;
            return;
        }
        self.segments += 1;
        if self.segments >= self.ratio {
            self.due = true;
        } else {
            self.deadline = self.deadline.min(now + self.config.timeout);
        }
    }

    /// A segment arrived above a hole, and its ACK waits for others until then, or until the timer of an earlier delayed ACK fires.
    pub(crate) fn gather_until(&mut self, now: SimTime, deadline: SimTime) {
        self.disordered += 1;
        (self.is_owed, self.gathers) = (true, true);
        let fires = self.ticks.expiry(self.timer, SimDuration::ZERO);
        let first = if fires > now { fires.min(deadline) } else { deadline };
        self.deadline = self.deadline.min(first);
    }

    /// An ACK for segments above a hole waits for others.
    pub(crate) fn gathers(&self) -> bool {
        self.gathers
    }

    /// ACKs of segments above a hole may wait for others: none is due, or is not to be delayed.
    pub(crate) fn may_gather(&self) -> bool {
        !self.due && !self.spares_acks() && (self.quick == 0 || self.is_interactive)
    }

    /// Takes in a segment that had arrived before, or lies beyond the window: it is acknowledged at once. In quickack
    /// mode's terms the sender has begun anew; `window` is what it may send.
    pub(crate) fn on_useless(&mut self, window: u64, mss: u64) {
        self.due = true;
        if self.config.quickacks > 0 && self.config.adaptive && !self.spares_acks() {
            self.begin_quick(window, mss);
            self.is_interactive = false;
            self.delay = self.config.timeout;
        }
    }

    /// The next ACKs are not delayed: one for every second segment of a `window` that was advertised (Linux).
    fn begin_quick(&mut self, window: u64, mss: u64) {
        let quick = match u32::try_from(window / (2 * mss)).unwrap_or(u32::MAX) {
            0 => 2,
            quick => quick,
        };
        self.quick = self.quick.max(quick.min(self.config.quickacks));
    }

    /// The sender may have a very small window: two ACKs are not delayed (Linux).
    pub(crate) fn on_congestion(&mut self) {
        if self.config.quickacks > 0 && self.config.adaptive && !self.spares_acks() {
            self.quick = self.quick.max(self.config.quickacks.min(2));
            self.is_interactive = false;
            if !self.delay.is_zero() {
                self.delay = self.config.timeout; // before the first data nothing has been measured
            }
        }
    }

    /// The buffer fills: ACKs are delayed from now on.
    pub(crate) fn end_quick(&mut self) {
        self.quick = 0;
    }

    /// Nothing lies above a hole any more.
    pub(crate) fn on_order_restored(&mut self) {
        self.disordered = 0;
    }

    /// An ACK is due at once.
    pub(crate) fn request(&mut self) {
        self.due = true;
    }

    pub(crate) fn is_due(&self) -> bool {
        self.due
    }

    pub(crate) fn deadline(&self) -> SimTime {
        self.deadline
    }

    /// An ACK of data in order waits for its time.
    pub(crate) fn is_delayed(&self) -> bool {
        self.deadline != SimTime::NEVER && !self.gathers
    }

    /// The next ACKs are not delayed, as many as at the start, or from now on they are again (`TCP_QUICKACK`).
    pub(crate) fn set_quick(&mut self, quick: bool) {
        self.quick = if quick { self.config.quickacks.max(1) } else { 0 };
        self.is_interactive = !quick;
        if quick && self.deadline != SimTime::NEVER {
            self.due = true;
        }
    }

    pub(crate) fn on_timer(&mut self, now: SimTime) {
        if now >= self.deadline {
            self.due = true;
            if self.gathers || self.is_with_offload {
                return;
            }
            self.is_interactive = false;
            if self.config.adaptive {
                self.delay = (self.delay * 2).min(LONGEST);
            }
        }
    }

    /// Data arrived in order.
    pub(crate) fn on_data(&mut self, now: SimTime, data: &Data) {
        let Data { octets, mss, .. } = *data;
        self.segments += if octets <= mss { 1 } else { octets.div_ceil(mss) as u32 }; // a division is dear
        self.octets += octets;
        self.is_owed = true;
        self.adapt(now, data);
        if data.opens {
            self.on_window_opened();
        }
        let enough = if self.counts_octets { self.octets > mss } else { false };
        //= rfc5681-4.2-every-second
        if enough || self.segments >= self.ratio || (self.quick > 0 && !self.is_interactive) {
            self.due_after_offload(now);
        //= rfc9293-3.8.6.3-delayed-ack
        } else if self.deadline == SimTime::NEVER {
            self.deadline = now + self.wait(data.srtt);
            self.timer = self.deadline;
        }
    }

    /// The segment that has just arrived may be the last for a while: its sender pushed it, or it is not full.
    #[inline]
    pub(crate) fn on_push(&mut self, is_full: bool) {
        self.pushes = if is_full { self.pushes.max(1) } else { (self.pushes + 1).min(2) };
    }

    /// The application has read all that has arrived: what was pushed is acknowledged. Where ACKs are to ride on data, it
    /// takes two segments that are not full.
    #[inline]
    pub(crate) fn on_all_read(&mut self, now: SimTime) {
        let wanted = if self.is_interactive { 2 } else { 1 };
        if self.config.once_read && self.pushes >= wanted && self.is_owed && !self.spares_acks() {
            self.due_after_offload(now);
        }
    }

    /// The segment that arrives lets the window open further. Linux makes the number of quick ACKs odd: this segment has one.
    #[inline]
    pub(crate) fn on_window_opened(&mut self) {
        if !self.spares_acks() {
            self.quick |= 1;
        }
    }

    /// An ACK is due; receive offload may still be gathering segments, up to its largest packet.
    fn due_after_offload(&mut self, now: SimTime) {
        if self.gro.is_zero() || self.octets >= LARGEST_GATHERED {
            self.due = true;
        } else {
            (self.deadline, self.is_with_offload) = (now + self.gro, true);
        }
    }

    fn adapt(&mut self, now: SimTime, data: &Data) {
        let Data { rto, window, mss, .. } = *data;
        if !self.config.adaptive && !self.config.interactive {
            return;
        }
        let before = std::mem::replace(&mut self.last_arrival, now);
        let gap = now.saturating_since(before);
        if !self.config.adaptive {
            return;
        }
        let least = self.config.timeout;
        if self.delay.is_zero() {
            self.delay = least;
            self.begin_quick(window, mss);
        } else if gap.0 <= least.0 / 2 {
            self.delay = SimDuration(self.delay.0 / 2 + least.0 / 2);
        } else if gap < self.delay {
            self.delay = SimDuration((self.delay.0 / 2 + gap.0).min(rto.0));
        } else if gap > rto && self.ticks.exceed(before, now, rto) {
            self.begin_quick(window, mss); // the sender has begun anew: let its window grow
        }
        self.delay = self.delay.clamp(least, LONGEST.max(least));
    }

    /// The time for which an ACK waits: where the delay adapts, a round trip at most, or the timeout if that is more (Linux).
    fn wait(&self, srtt: SimDuration) -> SimDuration {
        let delay = self.delay();
        if self.config.adaptive && !srtt.is_zero() { delay.min(srtt.max(self.config.timeout)) } else { delay }
    }

    /// The delay in force; zero before the first data where it adapts.
    pub(crate) fn delay(&self) -> SimDuration {
        if self.config.adaptive { self.delay } else { self.config.timeout }
    }

    /// Data left for the peer.
    pub(crate) fn on_reply(&mut self, now: SimTime) {
        let delay = self.delay();
        let has_data = self.last_arrival > SimTime::ZERO;
        if self.config.interactive && has_data && now.saturating_since(self.last_arrival) < delay {
            self.is_interactive = true;
        }
    }

    /// An ACK left, alone or with data.
    pub(crate) fn on_ack_sent(&mut self) {
        (self.due, self.gathers, self.is_with_offload) = (false, false, false);
        self.deadline = SimTime::NEVER;
        (self.segments, self.octets, self.pushes) = (0, 0, 0);
        if std::mem::take(&mut self.is_owed) && self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 && self.config.adaptive {
                self.delay = self.config.timeout; // Linux
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{RtoConfig, RtoEstimator};

    const MS: u64 = 1_000_000;

    fn acks(quickacks: u32, adaptive: bool) -> DelayedAcks {
        let timeout = SimDuration::from_millis(40);
        let config = DelayedAck {
            segments: 2,
            timeout,
            quickacks,
            adaptive,
            count_octets: adaptive,
            interactive: adaptive,
            delay_fin: adaptive,
            once_read: adaptive,
        };
        DelayedAcks::new(config, Ticks::default(), SimDuration::ZERO)
    }

    fn arrive(acks: &mut DelayedAcks, ms: u64, octets: u64) -> bool {
        arrive_over(acks, ms, octets, SimDuration::ZERO)
    }

    fn arrive_over(acks: &mut DelayedAcks, ms: u64, octets: u64, srtt: SimDuration) -> bool {
        let data = Data { octets, mss: 1_000, rto: SimDuration::from_secs(1), srtt, window: 64_000, opens: false };
        acks.on_data(SimTime(ms * MS), &data);
        acks.is_due()
    }

    //= rfc9293-3.8.6.3-delayed-ack
    #[test]
    fn the_second_segment_is_acknowledged_at_once_the_first_after_the_timeout() {
        let mut acks = acks(0, false);
        assert!(!arrive(&mut acks, 10, 1_000));
        assert_eq!(acks.deadline(), SimTime(50 * MS));
        assert!(arrive(&mut acks, 11, 1_000));
        acks.on_ack_sent();
        assert_eq!(acks.deadline(), SimTime::NEVER);
    }

    /// Linux 6.12: above a hole an ACK left 0.56 ms after a segment, and not after 1.1 ms, with the timer of an ACK of 40 ms before.
    #[test]
    fn the_timer_of_an_ack_that_has_left_sends_what_is_gathered() {
        let mut acks = acks(0, true);
        acks.ticks = Ticks::of(&RtoConfig { granularity: SimDuration(MS), ..RtoConfig::of(RtoEstimator::Linux) });
        assert!(!arrive(&mut acks, 10, 1_000) && arrive(&mut acks, 11, 1_000));
        acks.on_ack_sent();
        let mut waits_until = |now: u64| {
            acks.gather_until(SimTime(now), SimTime(now + 1_100_000));
            let deadline = acks.deadline();
            acks.on_ack_sent();
            deadline.0
        };
        assert_eq!(waits_until(49_200_000), 50_300_000);
        assert_eq!(waits_until(50_400_000), 51 * MS); // the tick after 40 that have begun at 10 ms
        assert_eq!(waits_until(51 * MS), 52_100_000);
    }

    #[test]
    fn behind_receive_offload_one_ack_stands_for_a_train() {
        let mut acks = acks(0, false);
        acks.gro = SimDuration::from_millis(2);
        for ms in [10, 11, 12] {
            assert!(!arrive(&mut acks, ms, 1_000));
        }
        assert_eq!(acks.deadline(), SimTime(14 * MS)); // 2 ms after the last
    }

    #[test]
    fn what_offload_hands_over_is_no_delayed_ack_that_expired() {
        let mut acks = acks(0, true);
        acks.gro = SimDuration::from_millis(3);
        for train in 0..4 {
            for ms in [10, 10, 10] {
                arrive(&mut acks, 100 * train + ms, 1_000);
            }
            acks.on_timer(SimTime((100 * train + 13) * MS));
            assert!(acks.is_due());
            acks.on_ack_sent();
        }
        let delay = acks.delay;
        assert!(delay <= SimDuration::from_millis(40), "{delay:?}"); // twice as much for each, if it had expired
    }

    #[test]
    fn octets_count_apart_from_the_adaptive_delay() {
        for (count_octets, due) in [(false, false), (true, true)] {
            let mut acks = acks(0, false);
            acks.ratio = 4;
            acks.counts_octets = count_octets;
            assert!(!arrive(&mut acks, 10, 1_000));
            assert_eq!(arrive(&mut acks, 11, 1_000), due); // 2000 octets are more than a segment
        }
    }

    #[test]
    fn a_reply_within_the_delay_ends_the_quick_acks() {
        for (interactive, due) in [(false, true), (true, false)] {
            let mut acks = acks(16, false);
            acks.config.interactive = interactive;
            assert!(arrive(&mut acks, 10, 1_000));
            acks.on_reply(SimTime(20 * MS)); // 10 ms after, of 40
            acks.on_ack_sent();
            assert_eq!(arrive(&mut acks, 30, 1_000), due);
        }
    }

    #[test]
    fn the_ack_of_a_fin_leaves_at_once_or_waits() {
        for (delay_fin, due) in [(false, true), (true, false)] {
            let mut acks = acks(0, false);
            acks.config.delay_fin = delay_fin;
            acks.on_fin(SimTime(10 * MS), SimDuration::ZERO, false);
            assert_eq!(acks.is_due(), due);
        }
    }

    //= rfc5690-4.3-receiver
    #[test]
    fn the_senders_ratio_takes_the_place_of_the_count_the_octets_and_the_quickacks() {
        let mut acks = acks(2, true);
        acks.set_ratio(4);
        for ms in [1, 2, 3] {
            assert!(!arrive(&mut acks, ms, 1_000));
        }
        assert!(arrive(&mut acks, 4, 1_000));
        acks.on_ack_sent();
        assert!(!arrive(&mut acks, 5, 1_000));
        assert_eq!(acks.deadline(), SimTime(45 * MS)); // the delayed ACK stays
    }

    //= rfc5690-4.6-above-a-hole
    #[test]
    fn above_a_hole_three_are_acknowledged_at_once_then_one_in_r_until_order_is_restored() {
        let mut acks = acks(0, false);
        acks.set_ratio(4);
        let mut above = |ms: u64| {
            acks.on_out_of_order(SimTime(ms * MS));
            let due = acks.is_due();
            if due {
                acks.on_ack_sent();
            }
            due
        };
        let due: Vec<bool> = (1..=8).map(&mut above).collect();
        assert_eq!(due, [true, true, true, false, false, false, true, false]);
        assert_eq!(acks.deadline(), SimTime(48 * MS));
        acks.on_order_restored();
        acks.on_out_of_order(SimTime(9 * MS));
        assert!(acks.is_due());
    }

    #[test]
    fn an_ack_of_the_handshake_or_of_nothing_new_is_no_quick_ack_less() {
        let mut acks = acks(2, false);
        acks.on_ack_sent(); // of the SYN
        for ms in [10, 20] {
            assert!(arrive(&mut acks, ms, 1_000));
            acks.on_ack_sent();
            acks.on_ack_sent();
        }
        assert!(!arrive(&mut acks, 30, 1_000));
    }

    /// Measured of Linux 6.18, a packet script with reads: a lone full segment is acknowledged after 40 ms, a pushed one at the
    /// read, and so is one of 300 octets.
    #[test]
    fn a_pushed_segment_is_acknowledged_once_read_and_a_full_one_waits() {
        for (octets, is_pushed, is_interactive, due) in [
            (1_000, false, false, false),
            (1_000, true, false, true),
            (300, true, false, true),
            (300, true, true, false),
        ] {
            let mut acks = acks(0, true);
            acks.is_interactive = is_interactive;
            assert!(!arrive(&mut acks, 10, octets));
            if is_pushed {
                acks.on_push(octets == 1_000);
            }
            acks.on_all_read(SimTime(10 * MS));
            assert_eq!(acks.is_due(), due, "{octets} {is_pushed} {is_interactive}");
        }
    }

    #[test]
    fn quickacks_come_first() {
        let mut acks = acks(2, true);
        for ms in [10, 20] {
            assert!(arrive(&mut acks, ms, 500));
            acks.on_ack_sent();
        }
        assert!(!arrive(&mut acks, 30, 500));
    }

    /// Linux 7.3, a link of 100 kbit/s: segments came 122 ms apart over a path of 40.3 ms, and each was acknowledged after 40 to 44 ms,
    /// though the adaptive delay doubles with each timer.
    #[test]
    fn an_ack_waits_no_longer_than_a_round_trip() {
        let rtt = SimDuration::from_micros(40_300);
        let waits_over = |srtt: SimDuration| {
            let mut acks = acks(0, true);
            let mut longest = SimDuration::ZERO;
            for ms in (0..8).map(|segment| 122 * segment) {
                assert!(!arrive_over(&mut acks, ms, 1_000, srtt));
                let deadline = acks.deadline();
                longest = longest.max(deadline - SimTime(ms * MS));
                acks.on_timer(deadline);
                assert!(acks.is_due());
                acks.on_ack_sent();
            }
            longest
        };
        assert_eq!(waits_over(rtt), rtt);
        assert_eq!(waits_over(SimDuration::from_millis(10)), SimDuration::from_millis(40)); // never less than the least delay
        assert!(waits_over(SimDuration::from_millis(500)) > SimDuration::from_millis(80));
    }

    #[test]
    fn the_delay_follows_the_spacing_of_segments() {
        let mut acks = acks(0, true);
        arrive(&mut acks, 0, 100); // the first: 40 ms
        acks.on_ack_sent();
        arrive(&mut acks, 30, 100); // 30 ms is between 20 and 40: 40/2 + 30 = 50
        assert_eq!(acks.deadline(), SimTime(80 * MS));
        acks.on_ack_sent();
        arrive(&mut acks, 35, 100); // 5 ms: 50/2 + 40/2 = 45
        assert_eq!(acks.deadline(), SimTime(80 * MS));
    }
}
