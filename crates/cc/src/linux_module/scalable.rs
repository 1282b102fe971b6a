//! Linux's Scalable TCP: a segment for every hundred that are acknowledged, or for a window of them if that is smaller,
//! so that it grows as Reno up to there; an eighth is taken away whatever the window.

use super::{Episode, Growth, Module};
use crate::classic::ScalableConfig;
use crate::segment_window::SegmentWindow;

#[derive(Clone, Debug)]
pub(crate) struct Scalable {
    /// The most acknowledged segments for one of growth.
    per: u64,
    decrease: f64,
}

impl Scalable {
    pub(crate) fn new(config: &ScalableConfig) -> Self {
        Self { per: (1.0 / config.increase).round() as u64, decrease: config.decrease }
    }
}

impl Module for Scalable {
    fn grow(&mut self, window: &mut SegmentWindow, growth: &Growth) {
        let left = growth.slow_start(window);
        if left > 0 {
            window.avoid_congestion(window.cwnd.min(self.per), left);
        }
    }

    fn decrease(&mut self, &Episode { cwnd, .. }: &Episode) -> u64 {
        cwnd - (cwnd as f64 * self.decrease) as u64
    }

    fn boxed_clone(&self) -> Box<dyn Module> {
        Box::new(self.clone())
    }
}
