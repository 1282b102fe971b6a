//! Linux's DCTCP: Reno whose answer to marks spreads over a round trip, with alpha in 1024ths.
//!
//! Alpha moves with the first ACK of all that had left when it last did, before that ACK's own marks are answered, by the
//! segments that were delivered and marked in between. An ACK of nothing takes a sixteenth of it away. Losses halve
//! the window, whether marks of the same window have been answered or not.
//!
//! Departures: pure ACKs are not ECN-capable (`ecn.rs` of the endpoint). Checked: a path of Linux 7.3.4
//! in virtual time, to the segment (studies/linux/recordings/modules/dctcp.json).

use super::{Episode, Growth, Module};
use crate::dctcp::DctcpConfig;
use crate::event::{CongestionCause, EchoEvent};
use crate::segment_window::SegmentWindow;

/// `DCTCP_MAX_ALPHA`: every segment is marked. Its binary logarithm.
const MOST: u64 = 1 << MOST_BITS;
const MOST_BITS: u32 = 10;

#[derive(Clone, Debug)]
pub(crate) struct Dctcp {
    mss: u64,
    /// The weight of the latest round trip in alpha, as a negative power of two (`dctcp_shift_g`).
    gain_bits: u32,
    alpha: u64,
    /// The segments delivered and marked since alpha last moved.
    delivered: u64,
    marked: u64,
    /// SND.NXT when alpha last moved; the SYN's octet at first.
    next: u64,
}

impl Dctcp {
    pub(crate) fn new(config: &DctcpConfig, mss: u64) -> Self {
        let gain_bits = (0..MOST_BITS).find(|bits| config.gain * (1_u64 << bits) as f64 >= 1.0).unwrap_or(MOST_BITS);
        let alpha = (config.initial_alpha * MOST as f64) as u64;
        Self { mss, gain_bits, alpha, delivered: 0, marked: 0, next: 1 }
    }

    fn move_alpha(&mut self) {
        let shifted = self.alpha >> self.gain_bits;
        self.alpha -= if shifted == 0 { self.alpha } else { shifted };
        if self.marked > 0 {
            let fraction = (self.marked << (MOST_BITS - self.gain_bits)) / self.delivered.max(1);
            self.alpha = (self.alpha + fraction).min(MOST);
        }
    }
}

impl Module for Dctcp {
    fn on_echo(&mut self, echo: &EchoEvent) {
        self.delivered += echo.newly_acked.0.div_ceil(self.mss);
        self.marked += echo.newly_ce_marked.0.div_ceil(self.mss);
        if echo.snd_una >= self.next {
            self.move_alpha();
            (self.delivered, self.marked, self.next) = (0, 0, echo.snd_nxt);
        }
    }

    fn grow(&mut self, window: &mut SegmentWindow, growth: &Growth) {
        growth.reno(window);
    }

    fn decrease(&mut self, episode: &Episode) -> u64 {
        match episode.cause {
            CongestionCause::Ecn => episode.cwnd - ((episode.cwnd * self.alpha) >> (MOST_BITS + 1)),
            CongestionCause::Loss | CongestionCause::Timeout { .. } => episode.cwnd / 2,
        }
    }

    fn on_loss_in_answer(&mut self, cwnd: u64) -> Option<u64> {
        Some(cwnd / 2)
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("alpha", self.alpha as f64 / MOST as f64);
    }

    fn boxed_clone(&self) -> Box<dyn Module> {
        Box::new(self.clone())
    }
}
