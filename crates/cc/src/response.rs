//! A controller alone, driven by generated ACKs: its mean window under regular loss, for windows that no packet-level run
//! could reach.
//!
//! The round trip is fixed and nothing queues. Windows above a thousand segments get an ACK for each thousandth of the
//! window instead of for each segment. A loss costs no recovery: the window falls and growth goes on.

use ackclock_units::interrupt::{InterruptPoll, check};
use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::controller::{CongestionController, Controller, ControllerConfig};
use crate::event::{AckEvent, CongestionCause, CongestionEvent};

/// The conditions under which to drive a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drive {
    /// The payload of a segment.
    pub mss: Bytes,
    /// The round-trip time.
    pub rtt: SimDuration,
    /// The segments for one loss: 1/p.
    pub segments_per_loss: u64,
    /// The losses over which the mean is taken. Three times as many come before as warm-up: a rule that keeps seven
    /// eighths of its window forgets its start only by an eighth a loss.
    pub cycles: u64,
}

/// The largest number of ACKs in a round trip, so that an ACK covers a thousandth of a large window.
const ACKS_PER_ROUND: f64 = 1_000.0;

/// The mean window in segments: the acknowledged segments for each round trip.
pub fn mean_window(config: &ControllerConfig, drive: Drive) -> f64 {
    let mss = drive.mss.0;
    let start = Bytes(2 * mss); // in congestion avoidance from the beginning
    let mut controller = Controller::new(config, drive.mss, start, Some(start));
    let mut clock = Clock { now_s: 0.0, round_ends_s: drive.rtt.as_secs_f64(), round: 1, snd_una: 0 };
    let warm_up = 3 * drive.cycles;
    let (mut segments, mut began_s) = (0.0, 0.0);
    for cycle in 0..warm_up + drive.cycles {
        check();
        if cycle == warm_up {
            (segments, began_s) = (0.0, clock.now_s);
        }
        segments += run_to_loss(&mut controller, drive, &mut clock);
        controller.on_congestion(&CongestionEvent {
            now: clock.now(),
            cause: CongestionCause::Loss,
            flight_size: controller.cwnd(),
            decrease_from: controller.cwnd(),
            newly_lost: drive.mss,
            inflight: controller.cwnd(),
        });
    }
    segments * drive.rtt.as_secs_f64() / (clock.now_s - began_s)
}

#[derive(Clone, Copy, Debug)]
struct Clock {
    now_s: f64,
    round_ends_s: f64,
    round: u64,
    /// The octets acknowledged so far.
    snd_una: u64,
}

impl Clock {
    fn now(&self) -> SimTime {
        SimTime((self.now_s * 1e9) as u64)
    }

    fn advance(&mut self, by_s: f64, rtt_s: f64) {
        self.now_s += by_s;
        if self.now_s >= self.round_ends_s {
            self.round += 1;
            self.round_ends_s = self.now_s + rtt_s;
        }
    }
}

/// Acknowledges the segments up to the next loss, and returns their number.
fn run_to_loss(controller: &mut Controller, drive: Drive, clock: &mut Clock) -> f64 {
    let (mss, rtt_s) = (drive.mss.0, drive.rtt.as_secs_f64());
    let mut left = drive.segments_per_loss;
    let mut rounds = InterruptPoll::default();
    while left > 0 {
        rounds.poll();
        let cwnd = controller.cwnd();
        let window = cwnd.0 as f64 / mss as f64;
        let acked = ((window / ACKS_PER_ROUND) as u64).clamp(1, left);
        clock.snd_una += acked * mss;
        clock.advance(acked as f64 / window * rtt_s, rtt_s);
        controller.on_ack(&ack(clock, Bytes(acked * mss), cwnd, drive.rtt));
        left -= acked;
    }
    drive.segments_per_loss as f64
}

fn ack(clock: &Clock, newly_acked: Bytes, flight: Bytes, rtt: SimDuration) -> AckEvent {
    AckEvent {
        now: clock.now(),
        prior_flight_size: flight,
        snd_una: clock.snd_una,
        snd_nxt: clock.snd_una + flight.0 - newly_acked.0,
        round: clock.round,
        ..AckEvent::in_order(newly_acked, rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Increase, RenoConfig};

    #[test]
    fn renos_mean_window_is_the_square_root_law() {
        // W(0) between losses grows from W/2 to W by 1 a round trip: 1/p = 3/8 W^2, mean 3/4 W = sqrt(1.5 / p): 122.5
        let config = ControllerConfig::Reno(RenoConfig { increase: Increase::Bytes, ..RenoConfig::default() });
        let rtt = SimDuration::from_millis(100);
        let drive = Drive { mss: Bytes(1_000), rtt, segments_per_loss: 10_000, cycles: 20 };
        let mean = mean_window(&config, drive);
        assert!((mean / 122.47 - 1.0).abs() < 0.02, "{mean}");
    }
}
