//! The buffers in which a host keeps what an application has written, until it is acknowledged.
//!
//! Source: Linux's socket buffers, by the behaviour of 6.12 and 7.3 in virtual time.
//!
//! A writer fills one buffer after another, each up to a burst's largest size, and waits once their memory has reached a limit. It
//! goes on when a third of that is free, with the last buffer first. A burst takes its octets from one buffer, which is filled up from
//! the next one; so the end of a buffer is one of a burst.
//!
//! Buffers that SACK reports side by side become one, and the memory of the others is free. A segment that is sent again is a buffer by
//! itself.
//!
//! Departures: a retransmission that was not lost becomes one with its neighbours, too.

use std::collections::VecDeque;

use crate::config::Autotuning;

/// Memory that a buffer takes beside its octets, as `SO_MEMINFO` tells of a host in virtual time.
const BESIDE: u64 = 832;

/// Room for the headers of a segment, and memory beside it, that the limit counts with: it makes the 87 kB of Linux's initial buffer
/// out of ten segments of 1,448 octets.
const HEADERS: u64 = 640;
const BESIDE_SEGMENT: u64 = 256;
const USUAL_SEGMENT: u64 = 1_448;

/// The memory of twenty segments of the usual size, which Linux makes of its initial 16 kB, and which the profile has as its initial buffer.
const USUAL_LIMIT: u64 = 87_040;

/// The limit is that of as many segments at least (Linux's `TCP_INIT_CWND`).
const FEWEST_SEGMENTS: u64 = 10;

/// See the module; offsets in the stream.
#[derive(Clone, Debug)]
pub(crate) struct SendBuffers {
    tuning: Autotuning,
    /// Octets of memory from which on no buffer is added; zero before the first.
    limit: u64,
    /// Ends of the buffers that have octets to send.
    unsent: VecDeque<u64>,
    /// Ends of the bursts that have left, of a buffer each.
    sent: VecDeque<u64>,
}

/// The buffer that the next burst is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) octets: u64,
    /// No other follows, so that it may still grow.
    pub(crate) is_last: bool,
}

impl SendBuffers {
    pub(crate) fn new(tuning: Autotuning) -> Self {
        Self { tuning, limit: 0, unsent: VecDeque::new(), sent: VecDeque::new() }
    }

    /// Memory taken with `octets` written and not acknowledged.
    fn memory(&self, octets: u64) -> u64 {
        octets + BESIDE * (self.unsent.len() + self.sent.len()) as u64
    }

    /// The limit of a connection that opens is that of so many `windows` of the fewest segments, or what was asked for, if that is more.
    pub(crate) fn begin(&mut self, windows: u64, mss: u64) {
        if self.limit == 0 {
            let asked = Some(self.tuning.initial.0).filter(|initial| *initial > USUAL_LIMIT).unwrap_or(0);
            self.limit = self.limit_of(windows * FEWEST_SEGMENTS, mss).max(asked.min(self.tuning.max.0));
        }
    }

    /// Copies of what is written, from `filled` to `end`, what one buffer of `largest` octets takes: the last one, if it
    /// `grows`. Returns the end of the copy; `None` if the writer waits for memory.
    pub(crate) fn fill(
        &mut self,
        (una, high, filled): (u64, u64, u64),
        end: u64,
        grows: bool,
        largest: u64,
    ) -> Option<u64> {
        let start = match self.unsent.len() {
            0 => filled,
            1 => high,
            several => self.unsent[several - 2],
        };
        if grows && filled - start < largest && filled > start {
            let end = end.min(start + largest);
            *self.unsent.back_mut().expect("what is unsent has a buffer") = end;
            return Some(end);
        }
        if self.memory(filled - una.max(1)) >= self.limit {
            return None;
        }
        let end = end.min(filled + largest);
        self.unsent.push_back(end);
        Some(end)
    }

    /// True if a writer that waits goes on, with `octets` written and not acknowledged. `segments` are those of the congestion windows that
    /// the buffers are to have room for, if the window itself has room.
    pub(crate) fn frees(&mut self, octets: u64, segments: Option<u64>, mss: u64) -> bool {
        if let Some(segments) = segments {
            self.limit = self.limit.max(self.limit_of(segments, mss));
        }
        let taken = self.memory(octets);
        taken + taken / 2 <= self.limit
    }

    /// Memory of `segments`.
    fn limit_of(&self, segments: u64, mss: u64) -> u64 {
        let of_mss = (mss + HEADERS).next_power_of_two() + BESIDE_SEGMENT;
        let of_usual = (self.tuning.initial.0 / (2 * FEWEST_SEGMENTS)).next_multiple_of(BESIDE_SEGMENT);
        let of_segment = if mss > USUAL_SEGMENT { of_mss } else { of_mss.min(of_usual.max(mss + BESIDE_SEGMENT)) };
        (segments.max(2 * FEWEST_SEGMENTS) * of_segment).min(self.tuning.max.0)
    }

    /// The end of the last buffer that has octets to send.
    pub(crate) fn last_end(&self) -> Option<u64> {
        self.unsent.back().copied()
    }

    /// Buffers that have octets to send.
    pub(crate) fn count(&self) -> usize {
        self.unsent.len()
    }

    /// The buffer at `high`, filled up to `octets` from the next one, and its former end if it has grown.
    pub(crate) fn head(&mut self, high: u64, octets: u64) -> Option<(Head, Option<u64>)> {
        while self.unsent.front().is_some_and(|end| *end <= high) {
            self.unsent.pop_front();
        }
        let first = *self.unsent.front()?;
        let mut grown_from = None;
        if first - high < octets
            && let Some(next) = self.unsent.get(1).copied()
        {
            grown_from = Some(first);
            if high + octets < next {
                self.unsent[0] = high + octets;
            } else {
                self.unsent.pop_front();
            }
        }
        Some((Head { octets: self.unsent[0] - high, is_last: self.unsent.len() == 1 }, grown_from))
    }

    /// A burst leaves, up to `end`.
    pub(crate) fn on_burst(&mut self, end: u64) {
        while self.unsent.front().is_some_and(|first| *first <= end) {
            self.unsent.pop_front();
        }
        self.sent.push_back(end);
    }

    /// SACK reports what lies between.
    pub(crate) fn on_sacked(&mut self, start: u64, end: u64) {
        self.split(start);
        self.split(end);
        let within = self.sent.partition_point(|one| *one <= start)..self.sent.partition_point(|one| *one < end);
        self.sent.drain(within);
    }

    /// `octets` from `start` on are sent again, as far as their buffer reaches.
    pub(crate) fn on_repair(&mut self, start: u64, octets: u64) {
        let place = self.sent.partition_point(|end| *end <= start);
        if self.sent.get(place).is_some_and(|end| start + octets < *end) {
            self.sent.insert(place, start + octets);
        }
    }

    fn split(&mut self, at: u64) {
        let place = self.sent.partition_point(|end| *end < at);
        if self.sent.get(place).is_some_and(|end| *end > at) {
            self.sent.insert(place, at);
        }
    }

    pub(crate) fn on_acknowledged(&mut self, una: u64) {
        while self.sent.front().is_some_and(|end| *end <= una) {
            self.sent.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use ackclock_units::Bytes;

    use super::*;

    const MSS: u64 = 536;
    /// Half of a window of 65,535 octets in whole segments.
    const LARGEST: u64 = 61 * MSS;

    fn buffers() -> SendBuffers {
        SendBuffers::new(Autotuning { initial: Bytes(87_000), max: Bytes(4 << 20) })
    }

    fn fill(buffers: &mut SendBuffers, una: u64, high: u64, filled: u64) -> Option<u64> {
        buffers.begin(2, MSS);
        buffers.fill((una, high, filled), u64::MAX, true, LARGEST)
    }

    /// `SO_MEMINFO` of Linux 6.12: 100 octets take 932, and twice 100 take 1,864.
    #[test]
    fn a_buffer_takes_memory_beside_its_octets() {
        let mut buffers = buffers();
        buffers.on_burst(101);
        assert_eq!(buffers.memory(100), 932);
        buffers.on_burst(201);
        assert_eq!(buffers.memory(200), 1_864);
        buffers.on_acknowledged(101);
        assert_eq!(buffers.memory(100), 932);
    }

    /// `SO_SNDBUF` of Linux with ten segments, 87,040 of 1,448 octets and 46,080 of 536, as read of 6.18 and 6.12.
    #[test]
    fn the_limit_is_the_memory_of_two_windows() {
        let buffers = buffers();
        assert_eq!((buffers.limit_of(6, 1_448), buffers.limit_of(20, 536)), (87_040, 46_080));
        assert_eq!(buffers.limit_of(40, 536), 92_160);
        // BBR has three.
        let mut buffers = buffers;
        buffers.begin(3, 536);
        assert_eq!(buffers.limit, 69_120);
        // A small initial buffer leaves room for ten segments and what lies beside them.
        let small = SendBuffers::new(Autotuning { initial: Bytes(1), max: Bytes(4 << 20) });
        assert_eq!(small.limit_of(2, 1_448), 20 * (1_448 + 256));
        assert_eq!(buffers.limit_of(20_000, 536), 4 << 20);
    }

    /// `SO_SNDBUF` of Linux 7.3 with `tcp_wmem` of "4096 4194304 16777216": as it was set.
    #[test]
    fn a_larger_initial_buffer_holds_as_it_is() {
        let mut buffers = SendBuffers::new(Autotuning { initial: Bytes(4_194_304), max: Bytes(16 << 20) });
        buffers.begin(2, 1_000);
        assert_eq!(buffers.limit, 4_194_304);
        assert_eq!(buffers.limit_of(20, 1_000), 20 * 2_304);
    }

    /// Ten segments leave while the first buffer is filled, so that it ends behind 71. A capture of Linux 6.12 shows single segments
    /// that end there, and at 376, 498, 620, 986 and 1,108 segments: multiples of 61 behind it.
    #[test]
    fn a_buffer_that_is_sent_while_it_is_filled_ends_later() {
        let mut buffers = buffers();
        let first = fill(&mut buffers, 1, 1, 1).expect("memory");
        assert_eq!(first, 1 + LARGEST);
        buffers.on_burst(1 + 5 * MSS);
        buffers.on_burst(1 + 10 * MSS);
        let second = fill(&mut buffers, 1, 1 + 10 * MSS, first).expect("memory");
        assert_eq!(second, 1 + 71 * MSS);
        let third = fill(&mut buffers, 1, 1 + 10 * MSS, second).expect("memory");
        assert_eq!(third, 1 + (71 + 61) * MSS);
        // 132 segments and four buffers take 74,080 octets of 46,080.
        assert_eq!(fill(&mut buffers, 1, 1 + 10 * MSS, third), None);
    }

    #[test]
    fn what_sack_reports_is_one_buffer_and_what_is_sent_again_another() {
        let mut buffers = buffers();
        for pair in 1..=5 {
            buffers.on_burst(1 + 2 * pair * MSS);
        }
        let counts = |buffers: &SendBuffers| (buffers.memory(0) / BESIDE) as usize;
        buffers.on_sacked(1 + 3 * MSS, 1 + 4 * MSS);
        assert_eq!(counts(&buffers), 6); // half of the second pair
        buffers.on_sacked(1 + 3 * MSS, 1 + 7 * MSS);
        assert_eq!(counts(&buffers), 5); // 2, 1, 4, 1 and 2 segments
        buffers.on_repair(1, MSS);
        buffers.on_repair(1 + 2 * MSS, 2 * MSS);
        assert_eq!(counts(&buffers), 6);
        buffers.on_sacked(1 + 2 * MSS, 1 + 10 * MSS);
        assert_eq!(buffers.sent, [1 + MSS, 1 + 2 * MSS, 1 + 10 * MSS]);
    }

    #[test]
    fn a_writer_goes_on_with_a_third_of_the_limit_free() {
        let mut buffers = buffers();
        fill(&mut buffers, 1, 1, 1);
        // A buffer and 29,888 octets are 30,720, two thirds of 46,080.
        assert!(!buffers.frees(29_889, None, MSS));
        assert!(buffers.frees(29_888, None, MSS));
        // A window of twenty segments that has room doubles the limit.
        assert!(buffers.frees(60_608, Some(40), MSS) && !buffers.frees(60_609, Some(40), MSS));
    }

    #[test]
    fn a_burst_is_filled_up_from_the_next_buffer() {
        let mut buffers = buffers();
        let first = fill(&mut buffers, 1, 1, 1).expect("memory");
        fill(&mut buffers, 1, 1, first);
        let head = |octets, is_last| Head { octets, is_last };
        let high = first - MSS;
        assert_eq!(buffers.head(high, MSS), Some((head(MSS, false), None)));
        assert_eq!(buffers.head(high, 3 * MSS), Some((head(3 * MSS, false), Some(first))));
        // It stays as long as it has become.
        assert_eq!(buffers.head(high, MSS), Some((head(3 * MSS, false), None)));
        buffers.on_burst(high + 3 * MSS);
        assert_eq!(buffers.head(high + 3 * MSS, MSS), Some((head(LARGEST - 2 * MSS, true), None)));
    }
}
