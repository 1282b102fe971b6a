//! Holding small segments back.
//!
//! Sources: RFC 896, RFC 9293 section 3.7.4; Minshall's modification (draft-minshall-nagle) as Linux has it; `TCP_CORK`
//! and `MSG_MORE` by Linux's behaviour.
//!
//! Departures: a segment held back while nothing is outstanding leaves after an RTO, as Linux's does with its probe timer.

use crate::config::Nagle;

/// Decides which small segments must wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SmallSegments {
    rule: Nagle,
    /// The application says that more is to come (`TCP_CORK`).
    corked: bool,
    /// It said so of the data up to this offset (`MSG_MORE`).
    more_until: u64,
    /// End of the last small segment sent (Minshall's `snd_sml`).
    small_end: u64,
    /// Data below this offset leaves whatever would hold it.
    pushed_until: u64,
}

impl SmallSegments {
    pub(crate) fn new(rule: Nagle) -> Self {
        Self { rule, corked: false, more_until: 0, small_end: 0, pushed_until: 0 }
    }

    pub(crate) fn set_rule(&mut self, rule: Nagle) {
        self.rule = rule;
    }

    pub(crate) fn set_corked(&mut self, corked: bool) {
        self.corked = corked;
        if !corked {
            self.more_until = 0;
        }
    }

    /// A write ended at `end`, with or without a promise of more.
    pub(crate) fn on_write(&mut self, end: u64, more: bool) {
        self.more_until = if more { end } else { 0 };
    }

    /// Releases data up to `end`: `TCP_NODELAY` was set, even over a cork.
    pub(crate) fn push(&mut self, end: u64) {
        self.pushed_until = end;
    }

    /// A segment shorter than a full one left, up to `end`.
    pub(crate) fn on_small_sent(&mut self, end: u64) {
        self.small_end = end;
    }

    /// True if a small segment that ends at `end` has to wait, with `una` acknowledged and `high_data` sent.
    pub(crate) fn holds(&self, end: u64, una: u64, high_data: u64) -> bool {
        if end <= self.pushed_until {
            return false;
        }
        if self.corked || self.more_until >= end {
            return true;
        }
        match self.rule {
            //= rfc9293-3.7.4-nagle-off
            Nagle::Off => false,
            //= rfc9293-3.7.4-nagle
            Nagle::Classic => una < high_data,
            Nagle::Minshall => self.small_end > una,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= rfc9293-3.7.4-nagle
    #[test]
    fn minshall_lets_a_small_segment_follow_full_ones() {
        let mut small = SmallSegments::new(Nagle::Minshall);
        assert!(!small.holds(1_100, 0, 1_000)); // only a full segment is outstanding
        small.on_small_sent(1_100);
        assert!(small.holds(1_200, 1_000, 1_100));
        assert!(!small.holds(1_200, 1_100, 1_100));
        let classic = SmallSegments::new(Nagle::Classic);
        assert!(classic.holds(1_100, 0, 1_000));
    }

    #[test]
    fn a_promise_of_more_holds_until_the_next_write() {
        let mut small = SmallSegments::new(Nagle::Off);
        small.on_write(100, true);
        assert!(small.holds(100, 0, 0));
        small.on_write(200, false);
        assert!(!small.holds(200, 0, 0));
        small.set_corked(true);
        assert!(small.holds(300, 0, 0));
    }
}
