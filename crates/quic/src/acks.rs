//! The packets that have arrived, and the times of their ACKs.
//!
//! Sources: RFC 9000 sections 13.2 (when ACKs are due; ranges; delay) and 13.4.1 (counts of ECN);
//! draft-ietf-quic-ack-frequency sections 4 and 6. The newest 32 ranges are kept, and after 19 packets in a row with
//! only ACKs the next has a PING, so that old ranges can be forgotten (RFC 9000 section 13.2.4): both as in quic-go and
//! Chromium. Departures: none.

use ackclock_tcp::ranges::RangeSet;
use ackclock_units::{SimDuration, SimTime};
use ackclock_wire::quic::AckRange;

/// Ranges in an ACK frame.
const MAX_RANGES: usize = 32;

/// Largest number of consecutive packets that do not elicit an acknowledgement.
const MAX_UNANSWERED: u32 = 19;

/// Conditions for an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckPolicy {
    /// Number of ack-eliciting packets after which an ACK leaves.
    pub every: u32,
    /// Longest delay of an ACK.
    pub max_delay: SimDuration,
    /// Distance at which a packet after a missing one triggers an immediate ACK; 0 disables it, 1 is RFC 9000's rule.
    pub reordering: u64,
}

/// Content of an ACK frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AckFrame {
    /// Ranges in falling order; empty if there is no frame.
    pub ranges: Vec<AckRange>,
    /// ACK delay in microseconds.
    pub delay_us: u32,
}

/// Records arriving packets, and decides when to send an ACK.
#[derive(Clone, Debug)]
pub struct Acks {
    policy: AckPolicy,
    /// Packet numbers, `[start, end)`.
    received: RangeSet,
    /// Number below which packets are forgotten, and accepted no more.
    least: u64,
    /// The largest ack-eliciting number, and when the largest of all arrived.
    largest_eliciting: Option<u64>,
    largest_at: SimTime,
    /// Ack-eliciting packets since the last ACK.
    unacknowledged: u32,
    is_due: bool,
    deadline: SimTime,
    /// The largest number in the last ACK.
    reported: Option<u64>,
    /// Packets that arrived with ECT(0), ECT(1), CE.
    ecn: [u64; 3],
    unanswered: u32,
}

impl Acks {
    /// State before the first packet.
    pub fn new(policy: AckPolicy) -> Self {
        Self {
            policy,
            received: RangeSet::default(),
            least: 0,
            largest_eliciting: None,
            largest_at: SimTime::ZERO,
            unacknowledged: 0,
            is_due: false,
            deadline: SimTime::NEVER,
            reported: None,
            ecn: [0; 3],
            unanswered: 0,
        }
    }

    /// Sets the policy that the peer requests.
    pub fn set_policy(&mut self, policy: AckPolicy) {
        self.policy = policy;
    }

    /// The next expected number.
    pub fn expected(&self) -> u64 {
        self.received.last().map_or(0, |last| last.end)
    }

    /// True if the packet has arrived before (RFC 9000 section 12.3), or may have.
    pub fn has(&self, number: u64) -> bool {
        number < self.least || self.received.contains(number, number + 1)
    }

    /// Forgets numbers below this one, which are not accepted again (RFC 9000 section 13.2.3).
    fn forget_below(&mut self, number: u64) {
        self.received.remove_below(number);
        self.least = self.least.max(number);
    }

    /// Takes a packet that has arrived for the first time; `ecn` is the place of its mark among the counts.
    pub fn on_packet(&mut self, now: SimTime, number: u64, is_eliciting: bool, ecn: Option<usize>) {
        if number >= self.expected() {
            self.largest_at = now;
        }
        let is_out_of_order = self.is_out_of_order(number);
        self.received.insert(number, number + 1, |_| ());
        while self.received.count() > MAX_RANGES {
            let oldest = self.received.iter().next().expect("there are ranges");
            self.forget_below(oldest.end);
        }
        if let Some(place) = ecn {
            self.ecn[place] += 1;
        }
        if !is_eliciting {
            return;
        }
        self.unacknowledged += 1;
        self.largest_eliciting = self.largest_eliciting.max(Some(number));
        let is_marked = ecn == Some(2); // RFC 9000 section 13.2.1: at once, so that the sender learns of it
        let is_late = is_out_of_order || self.misses_reordered();
        self.is_due |=
            self.unacknowledged >= self.policy.every || is_late || is_marked || self.policy.max_delay.is_zero();
        self.deadline = self.deadline.min(now + self.policy.max_delay);
    }

    /// True for a packet before one that has arrived, or behind one that is missing (RFC 9000 section 13.2.1).
    fn is_out_of_order(&self, number: u64) -> bool {
        let is_apart = match self.largest_eliciting {
            Some(largest) if number < largest => true,
            Some(largest) => {
                let remembered = self.received.iter().next().map_or(number, |lowest| lowest.start);
                let from = remembered.max(largest + 1);
                from < number && !self.received.contains(from, number)
            }
            None => number > self.expected(),
        };
        self.policy.reordering == 1 && is_apart
    }

    /// True if a packet is missing that no ACK has reported to be so far behind (draft-ietf-quic-ack-frequency section
    /// 6.2).
    fn misses_reordered(&self) -> bool {
        let threshold = self.policy.reordering;
        let (Some(largest), 2..) = (self.largest_eliciting, threshold) else { return false };
        let reported = self.reported.map_or(0, |reported| (reported + 1).saturating_sub(threshold));
        let mut missing = reported;
        for range in self.received.iter().filter(|range| range.end > reported) {
            if range.start > missing {
                break;
            }
            missing = range.end;
        }
        missing < largest && largest - missing >= threshold
    }

    /// True if there are packets to acknowledge.
    pub fn is_pending(&self) -> bool {
        self.unacknowledged > 0
    }

    /// True if an ACK must leave now.
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// Latest time for the next ACK.
    pub fn deadline(&self) -> SimTime {
        if self.unacknowledged > 0 { self.deadline } else { SimTime::NEVER }
    }

    /// Makes an ACK due if its time has come.
    pub fn on_timer(&mut self, now: SimTime) {
        self.is_due |= now >= self.deadline();
    }

    /// Fills in the frame that would leave now.
    pub fn write_frame(&self, now: SimTime, frame: &mut AckFrame) {
        let ranges = self.received.iter().rev();
        frame.ranges.clear();
        frame.ranges.extend(ranges.map(|range| AckRange { smallest: range.start, largest: range.end - 1 }));
        frame.delay_us = (now.saturating_since(self.largest_at).0 / 1_000).min(u64::from(u32::MAX)) as u32;
    }

    /// The counts of ECN, if there are any.
    pub fn ecn_counts(&self) -> Option<[u64; 3]> {
        (self.ecn != [0; 3]).then_some(self.ecn)
    }

    /// True if the next packet must have a PING, if it only acknowledges.
    pub fn wants_answer(&self) -> bool {
        self.unanswered >= MAX_UNANSWERED
    }

    /// Takes note that an ACK frame has left, in a packet that elicits an acknowledgement or not.
    pub fn on_sent(&mut self, is_eliciting: bool) {
        (self.unacknowledged, self.is_due, self.deadline) = (0, false, SimTime::NEVER);
        self.reported = self.received.last().map(|last| last.end - 1);
        self.unanswered = if is_eliciting { 0 } else { self.unanswered + 1 };
    }

    /// Takes the acknowledgement of an ACK frame up to this number: its ranges need no further report.
    pub fn on_answered(&mut self, largest: u64) {
        // The newest range stays, so that what is expected is known.
        let newest = self.received.last().map_or(0, |last| last.start);
        self.forget_below((largest + 1).min(newest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: AckPolicy = AckPolicy { every: 2, max_delay: SimDuration::from_millis(25), reordering: 1 };

    fn frame(acks: &Acks, now: SimTime) -> AckFrame {
        let mut frame = AckFrame::default();
        acks.write_frame(now, &mut frame);
        frame
    }

    fn arrived(policy: AckPolicy, numbers: &[u64]) -> Vec<bool> {
        let mut acks = Acks::new(policy);
        let due = |number: &u64| {
            acks.on_packet(SimTime(*number), *number, true, None);
            let is_due = acks.is_due();
            if is_due {
                acks.on_sent(false);
            }
            is_due
        };
        numbers.iter().map(due).collect()
    }

    #[test]
    fn every_second_packet_is_acknowledged_and_each_out_of_order() {
        assert_eq!(arrived(POLICY, &[0, 1, 2, 3]), [false, true, false, true]);
        // 2 is missing: 3 is behind a gap, 4 follows it in order, 2 fills the gap.
        assert_eq!(arrived(POLICY, &[0, 1, 3, 4, 2]), [false, true, true, false, true]);
        assert_eq!(
            arrived(AckPolicy { every: 4, reordering: 0, ..POLICY }, &[0, 2, 1, 5]),
            [false, false, false, true]
        );
    }

    #[test]
    fn a_packet_that_asks_for_no_ack_hides_no_gap() {
        let mut acks = Acks::new(POLICY);
        let mut due = |number, is_eliciting| {
            acks.on_packet(SimTime(number), number, is_eliciting, None);
            let is_due = acks.is_due();
            if is_due {
                acks.on_sent(false);
            }
            is_due
        };
        // 1 is missing between 0 and 3, as RFC 9000 section 13.2.1 asks of packets that elicit; nothing is between 3 and 5.
        let found = [(0, true), (2, false), (3, true), (4, false), (5, true)].map(|(number, asks)| due(number, asks));
        assert_eq!(found, [false, false, true, false, false]);
        acks.on_answered(5);
        acks.on_packet(SimTime(6), 6, false, None);
        acks.on_answered(6);
        acks.on_sent(false);
        acks.on_packet(SimTime(7), 7, true, None);
        assert!(!acks.is_due(), "what the peer knows to have arrived is not a gap");
    }

    #[test]
    fn what_is_forgotten_is_accepted_no_more() {
        // RFC 9000 section 13.2.3: "unless it can ensure that it will not subsequently accept packets with numbers in that range".
        let mut acks = Acks::new(POLICY);
        for number in [0, 1, 3, 4] {
            acks.on_packet(SimTime(0), number, true, None);
        }
        assert_eq!([0, 2, 4].map(|number| acks.has(number)), [true, false, true]);
        acks.on_answered(4); // 3 and 4 are the newest range, which stays
        assert_eq!([0, 2, 4, 5].map(|number| acks.has(number)), [true, true, true, false]);
        (0..40).for_each(|number| acks.on_packet(SimTime(0), 6 + 2 * number, true, None));
        assert!(acks.has(5), "below the 32 newest ranges");
    }

    #[test]
    fn with_a_reordering_threshold_an_ack_waits_for_packets_that_much_later() {
        // draft-ietf-quic-ack-frequency section 6.2: 2 is missing when 5 arrives, 5 - 2 = 3; that ACK reported it, and of 6 and 7,
        // which are missing then, 9 is the first three behind.
        let policy = AckPolicy { every: 100, reordering: 3, ..POLICY };
        assert_eq!(arrived(policy, &[0, 1, 3, 4, 5, 8, 9]), [false, false, false, false, true, false, true]);
    }

    #[test]
    fn an_ack_waits_for_the_maximal_delay() {
        let mut acks = Acks::new(POLICY);
        acks.on_packet(SimTime(1_000_000), 0, true, None);
        assert_eq!((acks.is_due(), acks.deadline()), (false, SimTime(26_000_000)));
        acks.on_timer(SimTime(26_000_000));
        assert!(acks.is_due());
        assert_eq!(frame(&acks, SimTime(26_000_000)).delay_us, 25_000);
        acks.on_sent(false);
        assert_eq!(acks.deadline(), SimTime::NEVER);
    }

    #[test]
    fn the_newest_32_ranges_are_told_and_what_the_peer_knows_is_forgotten() {
        let mut acks = Acks::new(POLICY);
        for number in 0..50 {
            acks.on_packet(SimTime(0), 2 * number, true, None);
        }
        let told = frame(&acks, SimTime(0));
        assert_eq!((told.ranges.len(), told.ranges[0].largest, told.ranges[31].smallest), (32, 98, 36));
        acks.on_answered(90);
        assert_eq!(frame(&acks, SimTime(0)).ranges.len(), 4); // 98, 96, 94, 92
        acks.on_answered(98);
        assert_eq!((frame(&acks, SimTime(0)).ranges.len(), acks.expected()), (1, 99));
    }
}
