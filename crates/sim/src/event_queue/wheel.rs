//! A wheel of spans of time, each with its keys unordered.
//!
//! The length of a span adapts: it is halved when many keys lie in one and few are beyond the wheel, and doubled when
//! too many are beyond it. Only speed depends on it.

use super::time_of;

const SPANS: u64 = 4096;
const NONE: u32 = u32::MAX;

/// The initial span, as a power of two in nanoseconds.
const FIRST_SHIFT: u32 = 12;
const SHIFTS: std::ops::RangeInclusive<u32> = 4..=40;

/// Number of spans with keys after which their length is checked.
const ASK_AFTER: u64 = 512;

/// Number of events in a span above which it is too long.
const MANY_IN_A_SPAN: u64 = 6;

/// A key, and the next one in its span.
#[derive(Clone, Copy, Debug)]
struct Node {
    key: u128,
    next: u32,
}

/// Timing wheel: keys by spans of time.
#[derive(Clone, Debug)]
pub(super) struct Wheel {
    /// The first key of each span that ever had one.
    firsts: Vec<u32>,
    /// The spans with keys, and the words of these bits that are not zero.
    taken: [u64; (SPANS / 64) as usize],
    words: u64,
    nodes: Vec<Node>,
    /// The first free node.
    free: u32,
    count: usize,
    /// The number of the span that was taken last. Every key here is in one of the `SPANS - 1` behind it.
    current: u64,
    shift: u32,
    /// Counts since the last check of the length of spans: spans taken, keys beyond the wheel, and scheduled events by
    /// then.
    spans: u64,
    refused: u64,
    scheduled: u64,
}

impl Default for Wheel {
    fn default() -> Self {
        Self {
            firsts: Vec::new(),
            taken: [0; (SPANS / 64) as usize],
            words: 0,
            nodes: Vec::new(),
            free: NONE,
            count: 0,
            current: 0,
            shift: FIRST_SHIFT,
            spans: 0,
            refused: 0,
            scheduled: 0,
        }
    }
}

impl Wheel {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Begins with an empty wheel at `time`. Returns the end of the span there.
    pub(super) fn begin(&mut self, time: u64) -> u64 {
        self.firsts.resize(SPANS as usize, NONE);
        self.current = time >> self.shift;
        self.end_of_current()
    }

    fn end_of_current(&self) -> u64 {
        (self.current + 1) << self.shift
    }

    /// Puts a key into its span, behind the current one. False if that is too far ahead.
    #[inline]
    pub(super) fn put(&mut self, key: u128) -> bool {
        let span = time_of(key) >> self.shift;
        debug_assert!(span > self.current, "a key is later than the current span");
        if span - self.current >= SPANS {
            self.refused += 1;
            return false;
        }
        let place = (span % SPANS) as usize;
        let node = Node { key, next: self.firsts[place] };
        self.firsts[place] = if self.free == NONE {
            self.nodes.push(node);
            (self.nodes.len() - 1) as u32
        } else {
            let free = self.free;
            self.free = std::mem::replace(&mut self.nodes[free as usize], node).next;
            free
        };
        self.taken[place / 64] |= 1 << (place % 64);
        self.words |= 1 << (place / 64);
        self.count += 1;
        true
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Makes the next span with keys, which exists, the current one, and moves its keys into `keys`. Returns its end.
    pub(super) fn take_next(&mut self, keys: &mut Vec<u128>) -> u64 {
        self.current += self.distance_to_next();
        self.take_span((self.current % SPANS) as usize, keys);
        self.spans += 1;
        self.end_of_current()
    }

    /// Checks from time to time whether spans are too long or too short, after a number of scheduled events. If so,
    /// they have another length once the wheel has been emptied and restarted.
    #[inline]
    pub(super) fn adapts_length(&mut self, scheduled: u64) -> bool {
        self.spans >= ASK_AFTER && self.choose_length(scheduled)
    }

    #[cold]
    fn choose_length(&mut self, scheduled: u64) -> bool {
        let handled = scheduled.saturating_sub(self.scheduled);
        let shift = if handled > MANY_IN_A_SPAN * self.spans && self.refused < handled / 8 {
            self.shift - 1
        } else if self.refused > handled / 6 && handled < MANY_IN_A_SPAN * self.spans {
            self.shift + 1
        } else {
            self.shift
        };
        (self.spans, self.refused, self.scheduled) = (0, 0, scheduled);
        let is_other = shift != self.shift && SHIFTS.contains(&shift);
        if is_other {
            self.shift = shift;
        }
        is_other
    }

    /// Number of spans from the current one to the next with keys.
    #[inline]
    fn distance_to_next(&self) -> u64 {
        let from = (self.current + 1) % SPANS;
        let word = (from / 64) as usize;
        let here = self.taken[word] >> (from % 64);
        let ahead = if here > 0 {
            u64::from(here.trailing_zeros())
        } else {
            // The next word with keys, round the wheel; at last the part of this one before where it began.
            let turned = self.words.rotate_right(from as u32 / 64 + 1);
            let words = u64::from(turned.trailing_zeros()) + 1;
            let next = (word as u64 + words) % (SPANS / 64);
            64 * words - from % 64 + u64::from(self.taken[next as usize].trailing_zeros())
        };
        ahead + 1
    }

    fn take_span(&mut self, place: usize, keys: &mut Vec<u128>) {
        let mut at = std::mem::replace(&mut self.firsts[place], NONE);
        while at != NONE {
            let node = &mut self.nodes[at as usize];
            keys.push(node.key);
            self.count -= 1;
            let next = std::mem::replace(&mut node.next, self.free);
            self.free = at;
            at = next;
        }
        self.taken[place / 64] &= !(1 << (place % 64));
        if self.taken[place / 64] == 0 {
            self.words &= !(1 << (place / 64));
        }
    }

    /// Removes all keys.
    pub(super) fn empty_into(&mut self, keys: &mut Vec<u128>) {
        while self.count > 0 {
            self.current += self.distance_to_next();
            self.take_span((self.current % SPANS) as usize, keys);
        }
    }
}
