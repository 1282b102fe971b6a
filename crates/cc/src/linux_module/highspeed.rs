//! Linux's `HighSpeed` TCP: the table of RFC 3649, appendix B, read upwards, with a count of ACKs.
//!
//! An entry holds for the windows up to its own, where the RFC's holds from there on: a window of 39 to 118 segments has a = 2 and
//! b = 0.44. The entry is looked up where congestion avoidance grows the window, and a decrease takes the latest. b is the value of
//! the RFC's formula at the entry's window, in whole 256ths. The last entry is that of 89,053 segments.

use super::{Episode, Growth, Module};
use crate::classic::HighSpeedConfig;
use crate::classic::highspeed::TABLE;
use crate::segment_window::SegmentWindow;

const LAST: usize = TABLE.len() - 2;
const SCALE: u64 = 256;

#[derive(Clone, Debug)]
pub(crate) struct HighSpeed {
    /// The place of the latest entry.
    entry: usize,
}

impl HighSpeed {
    pub(crate) fn new() -> Self {
        Self { entry: 0 }
    }

    /// b of an entry in 256ths.
    fn taken(entry: usize) -> u64 {
        let (_, b) = HighSpeedConfig::default().response_at(f64::from(TABLE[entry].0));
        (b * SCALE as f64) as u64
    }
}

impl Module for HighSpeed {
    fn grow(&mut self, window: &mut SegmentWindow, growth: &Growth) {
        if growth.slow_start_alone(window) {
            return;
        }
        self.entry = TABLE[..LAST].partition_point(|(up_to, _)| u64::from(*up_to) < window.cwnd);
        window.counted += self.entry as u64 + 1;
        if window.counted >= window.cwnd {
            window.counted -= window.cwnd;
            window.cwnd += 1;
        }
    }

    fn decrease(&mut self, &Episode { cwnd, .. }: &Episode) -> u64 {
        cwnd - cwnd * Self::taken(self.entry) / SCALE
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("a_segments", (self.entry + 1) as f64);
        record("b", Self::taken(self.entry) as f64 / SCALE as f64);
    }

    fn boxed_clone(&self) -> Box<dyn Module> {
        Box::new(self.clone())
    }
}
