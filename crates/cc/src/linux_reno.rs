//! Reno's window rules as in Linux: [`Reno`](crate::Reno) in whole segments.
//!
//! Source: RFC 5681, the behaviour of Linux 6.18. Slow start adds all segments that an ACK delivers (no limit L);
//! congestion avoidance adds a segment when as many as cwnd have been ACKed; ssthresh is a whole number of segments.
//! Departures: those of a window of whole segments, which an ACK moves by whole segments (`segment_window.rs`).

use ackclock_units::{Bytes, SimTime};

use crate::controller::{CongestionController, Start};
use crate::event::{AckEvent, CongestionEvent, RestartEvent};
use crate::reno::RenoConfig;
use crate::segment_window::SegmentWindow;
use crate::slow_start::{SlowStart, slow_start_reports};

/// Reno as in Linux, in whole segments. Source and departures: [`mod@crate::linux_reno`].
#[derive(Clone, Debug)]
pub struct LinuxReno {
    config: RenoConfig,
    window: SegmentWindow,
    slow_start: SlowStart,
}

impl LinuxReno {
    pub(crate) fn new(config: &RenoConfig, start: Start) -> Self {
        Self { config: *config, window: SegmentWindow::new(start), slow_start: SlowStart::new(config.hystart) }
    }
}

impl CongestionController for LinuxReno {
    fn on_ack(&mut self, ack: &AckEvent) {
        let left = self.window.on_ack(&mut self.slow_start, ack, None);
        if left > 0 {
            self.window.avoid_congestion(self.window.cwnd, left);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.slow_start.on_congestion(event);
        let fraction = event.fraction_kept(self.config.beta, self.config.beta_ecn);
        let kept = (self.window.decrease_from(event) as f64 * fraction) as u64;
        self.window.reduce(event, kept);
    }

    fn on_spurious(&mut self, _now: SimTime) {
        self.window.undo();
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        self.window.cwnd_bytes()
    }

    fn on_restart(&mut self, restart: &RestartEvent) {
        self.slow_start.on_restart(restart);
        self.window.on_restart(restart);
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.window.ssthresh_bytes()
    }

    slow_start_reports!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::CongestionCause;
    use crate::reno::Increase;
    use crate::slow_start::Hystart;
    use crate::testing::{AckClock, ack, loss};
    use ackclock_units::SimDuration;

    const MSS: u64 = 1_000;

    fn reno(initial_window: u64, config: RenoConfig) -> LinuxReno {
        let config = RenoConfig { increase: Increase::Segments, ..config };
        LinuxReno::new(&config, Start::of(MSS, initial_window, None))
    }

    #[test]
    fn avoidance_adds_a_segment_when_a_window_has_been_acknowledged() {
        let mut reno = reno(20 * MSS, RenoConfig::default());
        reno.on_congestion(&loss(20 * MSS)); // cwnd = ssthresh = 10
        for _ in 0..9 {
            reno.on_ack(&ack(MSS));
        }
        assert_eq!(reno.cwnd(), Bytes(10 * MSS));
        reno.on_ack(&ack(MSS));
        assert_eq!(reno.cwnd(), Bytes(11 * MSS));
    }

    #[test]
    fn half_of_an_odd_window_is_rounded_down_and_two_segments_are_the_least() {
        let mut reno = reno(10 * MSS, RenoConfig::default());
        reno.on_congestion(&loss(7 * MSS));
        assert_eq!(reno.ssthresh(), Some(Bytes(3 * MSS)));
        reno.on_congestion(&loss(3 * MSS));
        assert_eq!(reno.ssthresh(), Some(Bytes(2 * MSS)));
    }

    #[test]
    fn a_mark_may_keep_more_than_a_loss() {
        let mut reno = reno(10 * MSS, RenoConfig { beta_ecn: Some(0.8), ..RenoConfig::default() });
        reno.on_congestion(&CongestionEvent { cause: CongestionCause::Ecn, ..loss(21 * MSS) });
        assert_eq!(reno.cwnd(), Bytes(16 * MSS)); // 0.8 * 21 = 16.8
    }

    #[test]
    fn hystart_stops_at_the_window_where_the_train_is_half_the_path() {
        // As in `hystart`: 320 + 255 segments on a path of 500; then a segment a round trip.
        let mut reno = reno(10 * MSS, RenoConfig { hystart: Hystart::Linux, ..RenoConfig::default() });
        let mut clock = AckClock::new(SimDuration::from_micros(120), SimDuration::from_millis(60), MSS);
        while reno.ssthresh().is_none() {
            reno.on_ack(&clock.next_ack(reno.cwnd().0 / MSS));
        }
        assert_eq!(reno.ssthresh(), Some(reno.cwnd()));
        assert!((574..=577).contains(&(reno.cwnd().0 / MSS)), "{}", reno.cwnd());
    }
}
