//! The rate by loss.
//!
//! Sources: draft-ietf-rmcat-gcc-02 section 6: with loss p of more than 10 % the rate is multiplied by 1 - p / 2, with
//! less than 2 % it rises, between them it stays; libwebrtc's `SendSideBandwidthEstimation` for the times: it considers
//! twenty packets or more. It rises to 1.08 times the least rate of the last second and 1 kbit/s (with each report,
//! where libwebrtc checks each 25 ms). It falls once for them, and at most once in 300 ms and a round trip, never below
//! the least rate of the encoder (`UpdateTargetBitrate`). For two seconds without a loss it follows the rate by delay.

use std::collections::VecDeque;

use ackclock_units::{SimDuration, SimTime};

const LEAST_PACKETS: usize = 20;
const INCREASE: f64 = 1.08;
const INCREASE_EXTRA: f64 = 1_000.0;
const INCREASE_SPAN: SimDuration = SimDuration::from_secs(1);
const DECREASE_SPAN: SimDuration = SimDuration::from_millis(300);
const START: SimDuration = SimDuration::from_secs(2);

/// Rate control by loss.
#[derive(Clone, Debug)]
pub struct LossBased {
    low: f64,
    high: f64,
    /// Rate by loss, in bit/s, which the caller may limit.
    pub rate: f64,
    /// Round trip, without the time for which reports were held.
    pub rtt: SimDuration,
    lost: usize,
    packets: usize,
    /// Lost fraction of the last twenty packets or more, and whether the rate has fallen for it.
    part: Option<f64>,
    has_answered: bool,
    first_report: Option<SimTime>,
    last_decrease: Option<SimTime>,
    has_lost: bool,
    /// Rates of the last second, each lower than those after it.
    lowest: VecDeque<(SimTime, f64)>,
}

impl LossBased {
    /// A control that begins at a rate in bit/s; loss of less than `low` raises it, of more than `high` lowers it.
    pub fn new(low: f64, high: f64, rate: f64) -> Self {
        Self {
            low,
            high,
            rate,
            rtt: SimDuration::ZERO,
            lost: 0,
            packets: 0,
            part: None,
            has_answered: false,
            first_report: None,
            last_decrease: None,
            has_lost: false,
            lowest: VecDeque::new(),
        }
    }

    /// Takes a report on `packets` packets with `lost` lost ones; the rate by delay bounds this one.
    pub fn on_packets(&mut self, now: SimTime, lost: usize, packets: usize, by_delay: f64) {
        let first = *self.first_report.get_or_insert(now);
        (self.lost, self.packets) = (self.lost + lost, self.packets + packets);
        self.has_lost |= lost > 0;
        if !self.has_lost && now.saturating_since(first) < START {
            self.rate = self.rate.max(by_delay);
            self.lowest.clear();
        }
        if self.packets >= LEAST_PACKETS {
            self.part = Some(self.lost as f64 / self.packets as f64);
            (self.lost, self.packets, self.has_answered) = (0, 0, false);
        }
        if let Some(part) = self.part {
            self.remember(now);
            self.update(now, part);
        }
        self.rate = self.rate.min(by_delay);
    }

    fn update(&mut self, now: SimTime, loss: f64) {
        if loss <= self.low {
            self.rate = self.lowest.front().map_or(self.rate, |lowest| lowest.1) * INCREASE + INCREASE_EXTRA;
        } else if loss > self.high
            && !self.has_answered
            && self.last_decrease.is_none_or(|last| now.saturating_since(last) >= DECREASE_SPAN + self.rtt)
        {
            (self.last_decrease, self.has_answered) = (Some(now), true);
            self.rate *= 1.0 - loss / 2.0;
        }
    }

    fn remember(&mut self, now: SimTime) {
        while self.lowest.front().is_some_and(|(at, _)| now.saturating_since(*at) >= INCREASE_SPAN) {
            self.lowest.pop_front();
        }
        while self.lowest.back().is_some_and(|(_, rate)| *rate >= self.rate) {
            self.lowest.pop_back();
        }
        self.lowest.push_back((now, self.rate));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNBOUNDED: f64 = 1e12;

    fn at(ms: u64) -> SimTime {
        SimTime(ms * 1_000_000)
    }

    fn loss_based() -> LossBased {
        let mut loss = LossBased::new(0.02, 0.1, 1e6);
        loss.rtt = SimDuration::from_millis(100);
        loss.has_lost = true; // no start
        loss
    }

    #[test]
    fn loss_lowers_the_rate_by_half_of_its_part() {
        let mut loss = loss_based();
        loss.on_packets(at(0), 5, 25, UNBOUNDED);
        assert!((loss.rate - 9e5).abs() < 1e-6); // 1 - 0.2 / 2
        loss.on_packets(at(399), 5, 25, UNBOUNDED);
        assert!((loss.rate - 9e5).abs() < 1e-6); // not within 300 + 100 ms
        loss.on_packets(at(400), 5, 25, UNBOUNDED);
        assert!((loss.rate - 8.1e5).abs() < 1e-6);
    }

    #[test]
    fn a_twentieth_changes_nothing_and_few_packets_say_nothing() {
        let mut loss = loss_based();
        loss.on_packets(at(0), 1, 20, UNBOUNDED);
        loss.on_packets(at(100), 10, 19, UNBOUNDED);
        assert!((loss.rate - 1e6).abs() < 1e-6);
    }

    #[test]
    fn without_loss_it_is_8_percent_above_the_least_of_the_last_second() {
        let mut loss = loss_based();
        for now in 0..10 {
            loss.on_packets(at(100 * now), 0, 20, UNBOUNDED);
            assert!((loss.rate - 1.081e6).abs() < 1e-6, "{}", loss.rate);
        }
        loss.on_packets(at(1_000), 0, 20, UNBOUNDED);
        assert!((loss.rate - (1.081e6 * 1.08 + 1e3)).abs() < 1e-6, "{}", loss.rate);
    }

    #[test]
    fn the_rate_by_delay_bounds_it() {
        let mut loss = loss_based();
        loss.on_packets(at(0), 0, 20, 5e5);
        assert!((loss.rate - 5e5).abs() < 1e-6);
    }
}
