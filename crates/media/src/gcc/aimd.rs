//! The rate by delay: increase, hold, decrease.
//!
//! Sources: draft-ietf-rmcat-gcc-02 section 5.5 (states, 8 % a second, half a packet a response time near the capacity, 0.85 of what
//! arrives on overuse, 1.5 times what arrives as the bound); libwebrtc's `AimdRateControl` where it differs: a response time is
//! twice 100 ms and the round trip, at least 4 kbit/s a second near the capacity, 10 kbit/s beyond the bound; the capacity is the
//! average of what arrived at overuse (gain 0.05), with a variance of 0.4 to 2.5 of it in kbit/s, and holds within three deviations.

use ackclock_units::{SimDuration, SimTime, math};

use super::trendline::Usage;

/// Increase in a second.
const ETA: f64 = 1.08;
const LEAST_INCREASE: f64 = 1_000.0;
const LEAST_NEAR_MAX: f64 = 4_000.0;
/// Frame rate that the draft assumes, in packets of 1200 octets.
const FRAMES: f64 = 30.0;
const PACKET_BITS: f64 = 9_600.0;
const RESPONSE: SimDuration = SimDuration::from_millis(100);
const FIRST_RTT: SimDuration = SimDuration::from_millis(200);
const REDUCTIONS: [SimDuration; 2] = [SimDuration::from_millis(10), SimDuration::from_millis(200)];
const CAPACITY_GAIN: f64 = 0.05;
const VARIANCES: [f64; 2] = [0.4, 2.5];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Hold,
    Increase,
    Decrease,
}

/// Estimate of the throughput at overuse, kbit/s.
#[derive(Clone, Copy, Debug)]
struct Capacity {
    mean: Option<f64>,
    /// The variance over the mean.
    variance: f64,
}

impl Capacity {
    fn deviation(&self) -> f64 {
        (self.variance * self.mean.unwrap_or(0.0)).sqrt()
    }

    fn is_exceeded(&self, kbps: f64) -> bool {
        self.mean.is_some_and(|mean| kbps > mean + 3.0 * self.deviation())
    }

    fn add(&mut self, kbps: f64) {
        if self.mean.is_some_and(|mean| kbps < mean - 3.0 * self.deviation()) {
            self.mean = None;
        }
        let mean = self.mean.map_or(kbps, |mean| (1.0 - CAPACITY_GAIN) * mean + CAPACITY_GAIN * kbps);
        self.mean = Some(mean);
        let square = (mean - kbps) * (mean - kbps) / mean.max(1.0);
        self.variance = (1.0 - CAPACITY_GAIN) * self.variance + CAPACITY_GAIN * square;
        self.variance = self.variance.clamp(VARIANCES[0], VARIANCES[1]);
    }
}

/// Rate control by delay: additive and multiplicative increase, and decrease at overuse.
#[derive(Clone, Debug)]
pub struct Aimd {
    beta: f64,
    /// Rate by delay, in bit/s, which the caller may limit.
    pub rate: f64,
    state: State,
    /// Round trip, without the time for which reports were held.
    pub rtt: SimDuration,
    last_change: Option<SimTime>,
    capacity: Capacity,
    /// The last known arriving rate, bit/s.
    arriving: f64,
}

impl Aimd {
    /// A control that begins at a rate in bit/s.
    pub fn new(beta: f64, rate: f64) -> Self {
        let capacity = Capacity { mean: None, variance: VARIANCES[0] };
        let (state, rtt) = (State::Hold, FIRST_RTT);
        Self { beta, rate, state, rtt, last_change: None, capacity, arriving: rate }
    }

    /// True if overuse may lower the rate: once a round trip, or immediately if less than half of it arrives.
    pub fn may_reduce(&self, now: SimTime, arriving: f64) -> bool {
        let wait = self.rtt.clamp(REDUCTIONS[0], REDUCTIONS[1]);
        self.last_change.is_none_or(|last| now.saturating_since(last) >= wait) || arriving < 0.5 * self.rate
    }

    /// Halves the rate: overuse before the arriving rate is known.
    pub fn halve(&mut self, now: SimTime) {
        self.rate /= 2.0;
        self.last_change = Some(now);
    }

    /// Updates the rate by the usage of the path and the throughput `arriving`, bit/s.
    pub fn update(&mut self, now: SimTime, usage: Usage, arriving: Option<f64>) {
        self.arriving = arriving.unwrap_or(self.arriving);
        match usage {
            Usage::Normal if self.state == State::Hold => {
                self.last_change = Some(now);
                self.state = State::Increase;
            }
            Usage::Normal => (),
            Usage::Over => self.state = State::Decrease,
            Usage::Under => self.state = State::Hold,
        }
        match self.state {
            State::Hold => (),
            State::Increase => self.increase(now),
            State::Decrease => self.decrease(now),
        }
    }

    fn increase(&mut self, now: SimTime) {
        if self.capacity.is_exceeded(self.arriving / 1e3) {
            self.capacity.mean = None;
        }
        let since = self.last_change.replace(now).map_or(1.0, |last| now.saturating_since(last).as_secs_f64());
        let increase = match self.capacity.mean {
            Some(_) => since * self.near_max(),
            None => (self.rate * (math::pow(ETA, since.min(1.0)) - 1.0)).max(LEAST_INCREASE),
        };
        let bound = (1.5 * self.arriving + 10_000.0).max(self.rate);
        self.rate = (self.rate + increase).min(bound);
    }

    /// The increase near the capacity, bit/s per second: a packet for each response time.
    fn near_max(&self) -> f64 {
        let frame = self.rate / FRAMES;
        let packet = frame / (frame / PACKET_BITS).ceil();
        (packet / (2.0 * (self.rtt + RESPONSE).as_secs_f64())).max(LEAST_NEAR_MAX)
    }

    fn decrease(&mut self, now: SimTime) {
        let mut rate = self.beta * self.arriving;
        if rate > self.rate {
            rate = self.capacity.mean.map_or(rate, |mean| self.beta * mean * 1e3).min(self.rate);
        }
        self.capacity.add(self.arriving / 1e3);
        self.rate = rate;
        // Until queues are empty.
        self.state = State::Hold;
        self.last_change = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> SimTime {
        SimTime(ms * 1_000_000)
    }

    #[test]
    fn the_rate_rises_by_8_percent_a_second_while_the_capacity_is_not_known() {
        let mut aimd = Aimd::new(0.85, 1e6);
        for now in 0..=20 {
            aimd.update(at(now * 50), Usage::Normal, Some(1e6));
        }
        assert!((aimd.rate - 1.08e6).abs() < 2e3, "{}", aimd.rate); // the first call only begins
    }

    #[test]
    fn overuse_leaves_85_percent_of_what_arrives_and_then_a_packet_a_response_time() {
        let mut aimd = Aimd::new(0.85, 1.2e6);
        aimd.rtt = SimDuration::from_millis(100);
        aimd.update(at(1_000), Usage::Over, Some(1e6));
        assert!((aimd.rate - 8.5e5).abs() < 1e-6);
        aimd.update(at(1_050), Usage::Under, Some(1e6));
        assert!((aimd.rate - 8.5e5).abs() < 1e-6); // holds
        aimd.update(at(1_100), Usage::Normal, Some(8.5e5)); // increases from here on
        aimd.update(at(2_100), Usage::Normal, Some(8.5e5));
        // 850000 / 30 = 28333 bits a frame, in 3 packets of 9444; a response time is 2 * 200 ms: 23611 bit/s a second.
        assert!((aimd.rate - 873_611.1).abs() < 1.0, "{}", aimd.rate);
        // A rate of 1000 + 3 sqrt(0.4 * 1000) = 1060 kbit/s ends that.
        aimd.update(at(3_100), Usage::Normal, Some(1.061e6));
        assert!((aimd.rate - 873_611.1 * 1.08).abs() < 1.0, "{}", aimd.rate);
    }

    #[test]
    fn the_rate_stays_within_one_and_a_half_of_what_arrives() {
        let mut aimd = Aimd::new(0.85, 3e5);
        for second in 0..20 {
            aimd.update(at(1_000 * second), Usage::Normal, Some(3e5));
        }
        assert!((aimd.rate - 4.6e5).abs() < 1e-6, "{}", aimd.rate);
    }

    #[test]
    fn a_reduction_waits_for_a_round_trip() {
        let mut aimd = Aimd::new(0.85, 1e6);
        aimd.rtt = SimDuration::from_millis(100);
        aimd.update(at(0), Usage::Over, Some(1e6));
        assert!(!aimd.may_reduce(at(99), 8e5) && aimd.may_reduce(at(100), 8e5) && aimd.may_reduce(at(1), 4e5));
    }
}
