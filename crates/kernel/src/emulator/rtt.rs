//! Round trips as the sending host's device sees them: from a segment's leaving to the ACK that first covers it.
//!
//! One sample for each ACK, of the oldest segment that it newly covers, by its cumulative number or else by its first SACK block (in
//! which RFC 2018 section 4 has what arrived last); a segment that was sent twice gives none (Karn and Partridge 1987). That is what
//! Linux takes for its own estimate, but for its reading of the echoed timestamp.

use std::collections::VecDeque;

use ackclock_units::{Histogram, SimDuration, SimTime};
use ackclock_wire::{Segment, Seq};

#[derive(Clone, Copy, Debug)]
struct Sent {
    end: u32,
    time: SimTime,
    /// Sent again, or covered already.
    is_spent: bool,
}

/// The round trips of one end's data.
#[derive(Clone, Debug, Default)]
pub struct RttMeter {
    /// Segments in the order of their sequence numbers.
    sent: VecDeque<Sent>,
    samples: Histogram,
    count: u64,
}

/// Distance of the sequence number `a` after `b`, negative if it is before.
fn after(a: u32, b: u32) -> i32 {
    a.wrapping_sub(b) as i32
}

impl RttMeter {
    /// The end sends a segment.
    pub fn on_segment(&mut self, now: SimTime, segment: &Segment) {
        if segment.payload == 0 {
            return;
        }
        let (Seq(start), end) = (segment.seq, segment.seq.0.wrapping_add(segment.payload));
        if self.sent.back().is_none_or(|last| after(end, last.end) > 0) {
            return self.sent.push_back(Sent { end, time: now, is_spent: false });
        }
        let first = self.sent.partition_point(|sent| after(sent.end, start) <= 0);
        for sent in self.sent.range_mut(first..) {
            sent.is_spent = true;
            if after(sent.end, end) >= 0 {
                break;
            }
        }
    }

    /// An ACK comes to the end; returns its sample, if it gives one.
    pub fn on_ack(&mut self, now: SimTime, segment: &Segment) -> Option<SimDuration> {
        let covered = self.sent.partition_point(|sent| after(sent.end, segment.ack.0) <= 0);
        let mut oldest = None;
        for sent in self.sent.drain(..covered) {
            oldest = oldest.or((!sent.is_spent).then_some(sent.time));
        }
        if oldest.is_none()
            && let Some(block) = segment.sack.as_slice().first()
        {
            oldest = self.spend(block.start.0, block.end.0);
        }
        let sample = now - oldest?;
        self.samples.add(sample.0 / 1_000);
        self.count += 1;
        Some(sample)
    }

    /// Takes out what a block newly covers, from its end backwards; returns when the oldest of it was sent.
    fn spend(&mut self, start: u32, end: u32) -> Option<SimTime> {
        let first = self.sent.partition_point(|sent| after(sent.end, start) <= 0);
        let behind = self.sent.partition_point(|sent| after(sent.end, end) <= 0);
        let mut oldest = None;
        for sent in self.sent.range_mut(first..behind.max(first)).rev() {
            if sent.is_spent {
                break;
            }
            sent.is_spent = true;
            oldest = Some(sent.time);
        }
        oldest
    }

    /// The measurement begins: forgets the samples so far.
    pub fn restart(&mut self) {
        (self.samples, self.count) = (Histogram::default(), 0);
    }

    /// The samples, microseconds; `None` if there are none.
    pub fn samples(&self) -> Option<&Histogram> {
        (self.count > 0).then_some(&self.samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_wire::{SackBlock, SackBlocks};

    const MS: u64 = 1_000_000;

    fn data(seq: u32) -> Segment {
        Segment { seq: Seq(seq), payload: 1_000, ..Segment::default() }
    }

    fn ack(number: u32, sacked: Option<(u32, u32)>) -> Segment {
        let mut sack = SackBlocks::default();
        if let Some((start, end)) = sacked {
            sack.push(SackBlock { start: Seq(start), end: Seq(end) });
        }
        Segment { ack: Seq(number), sack, ..Segment::default() }
    }

    fn longest_and_count(meter: &RttMeter) -> (u64, u64) {
        (meter.samples.max(), meter.count)
    }

    #[test]
    fn an_ack_of_two_segments_gives_the_time_of_the_first() {
        let mut meter = RttMeter::default();
        let start = u32::MAX - 500; // numbers wrap within the first segment
        meter.on_segment(SimTime(0), &data(start));
        meter.on_segment(SimTime(MS), &data(start.wrapping_add(1_000)));
        meter.on_ack(SimTime(30 * MS), &ack(start.wrapping_add(2_000), None));
        assert_eq!(longest_and_count(&meter), (30_000, 1));
        meter.on_ack(SimTime(90 * MS), &ack(start.wrapping_add(2_000), None));
        assert_eq!(longest_and_count(&meter), (30_000, 1), "a duplicate covers nothing");
    }

    #[test]
    fn what_was_sent_twice_or_sacked_before_gives_nothing_when_it_is_covered() {
        let mut meter = RttMeter::default();
        (0..4).for_each(|k| meter.on_segment(SimTime(u64::from(k) * MS), &data(k * 1_000)));
        meter.on_ack(SimTime(41 * MS), &ack(0, Some((1_000, 2_000)))); // 40 ms
        meter.on_ack(SimTime(43 * MS), &ack(0, Some((1_000, 4_000)))); // 41 ms, of the third
        assert_eq!(longest_and_count(&meter), (41_000, 2));
        meter.on_segment(SimTime(50 * MS), &data(0));
        meter.on_ack(SimTime(500 * MS), &ack(4_000, None));
        assert_eq!(longest_and_count(&meter), (41_000, 2));
    }
}
