//! SQRT, a binomial algorithm: it gives way less than Reno on a loss, and grows less afterwards.
//!
//! Source: Bansal and Balakrishnan, Binomial Congestion Control Algorithms, INFOCOM 2001: with w in segments,
//! `w += alpha / sqrt(w)` in a round trip, `w -= beta * sqrt(w)` on congestion. Departures: slow start and what follows a
//! timeout are Reno's (RFC 5681).

use ackclock::{AckEvent, Bytes, CongestionController, CongestionEvent, RestartEvent, Start};

/// Parameters of [`SquareRoot`].
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    /// Growth in a round trip, times the square root of the window; in segments.
    pub alpha: f64,
    /// Decrease on congestion, over the square root of the window; in segments.
    pub beta: f64,
}

/// SQRT: the window grows by `alpha / sqrt(w)` in a round trip and falls by `beta * sqrt(w)` on congestion.
#[derive(Clone, Debug)]
pub struct SquareRoot {
    parameters: Parameters,
    mss: f64,
    /// In segments.
    window: f64,
    ssthresh: Option<f64>,
}

impl SquareRoot {
    /// Begins with the initial window.
    pub fn new(parameters: Parameters, start: &Start) -> Self {
        let mss = start.mss.0 as f64;
        let segments = |bytes: Bytes| bytes.0 as f64 / mss;
        let (window, ssthresh) = (segments(start.initial_window), start.initial_ssthresh.map(segments));
        Self { parameters, mss, window, ssthresh }
    }

    fn bytes(&self, segments: f64) -> Bytes {
        Bytes((segments * self.mss) as u64)
    }
}

impl CongestionController for SquareRoot {
    fn on_ack(&mut self, ack: &AckEvent) {
        if !ack.may_grow() {
            return;
        }
        let acked = ack.newly_acked.0 as f64 / self.mss;
        let in_slow_start = self.ssthresh.is_none_or(|ssthresh| self.window < ssthresh);
        // A round trip acknowledges a window: each segment of it brings one w-th of the growth.
        self.window +=
            if in_slow_start { acked } else { self.parameters.alpha / self.window.sqrt() * acked / self.window };
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        if !event.is_repeated() {
            let flight = event.decrease_from.0 as f64 / self.mss;
            self.ssthresh = Some((flight - self.parameters.beta * flight.sqrt()).max(2.0));
        }
        self.window = if event.is_timeout() { 1.0 } else { self.ssthresh.unwrap_or(self.window) };
    }

    fn cwnd(&self) -> Bytes {
        self.bytes(self.window)
    }

    fn on_restart(&mut self, restart: &RestartEvent) {
        if let Some(ssthresh) = restart.ssthresh {
            self.ssthresh = Some(ssthresh.0 as f64 / self.mss);
        }
        self.window = restart.window.0 as f64 / self.mss;
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.ssthresh.map(|segments| self.bytes(segments))
    }
}

#[cfg(test)]
mod tests {
    use ackclock::congestion::CongestionCause;
    use ackclock::{Run, SimTime, dumbbell};

    use super::*;

    #[test]
    fn congestion_takes_beta_square_roots_of_the_window() {
        let start = Start { mss: Bytes(1_000), initial_window: Bytes(100_000), initial_ssthresh: None, seed: 1 };
        let mut controller = SquareRoot::new(Parameters { alpha: 1.0, beta: 0.5 }, &start);
        controller.on_congestion(&CongestionEvent {
            now: SimTime::ZERO,
            cause: CongestionCause::Loss,
            flight_size: Bytes(100_000),
            decrease_from: Bytes(100_000),
            newly_lost: Bytes(1_000),
            inflight: Bytes(99_000),
        });
        assert_eq!(controller.cwnd(), Bytes(95_000)); // 100 - 0.5 * sqrt(100) segments
    }

    #[test]
    fn alone_it_fills_a_link() {
        let sqrt = |start: &Start| SquareRoot::new(Parameters { alpha: 1.0, beta: 0.5 }, start);
        let scenario = dumbbell().bottleneck("10 Mbit/s").rtt("20 ms").own_flow("sqrt", sqrt).duration("10 s").build();
        let results = Run::of(&scenario.expect("a right scenario")).finish().expect("nothing is drawn");
        let goodput_bps = results.flow("sqrt").expect("the flow").goodput_bps;
        // A queue of one bandwidth-delay product holds more than beta * sqrt(w) gives up: the link never runs empty. Of
        // 10 Mbit/s, no more than 1460 octets in 1500 are payload.
        assert!((9.3e6..9.74e6).contains(&goodput_bps), "{goodput_bps}");
    }
}
