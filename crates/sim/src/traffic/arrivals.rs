//! Arrivals of the short flows of a group: their times and sizes.

use ackclock_net::RandomStream;
use ackclock_units::{Bytes, SimDuration, SimTime, math};

use super::config::{Arrivals, ArrivalsConfig, Gaps};

/// The arrivals of one group, in order of time.
#[derive(Clone, Debug)]
pub(crate) struct ArrivalStream {
    times: RandomStream,
    sizes: RandomStream,
    /// Remainder of the last gap below whole nanoseconds, so that the mean is exact at any rate.
    fraction: f64,
    next: SimTime,
    arrived: u64,
}

/// A short flow that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Octets that the opener sends.
    pub size: Bytes,
    /// Octets that the acceptor sends back.
    pub reply: Bytes,
}

impl ArrivalStream {
    pub(crate) fn new(config: &ArrivalsConfig, seed: u64) -> Self {
        let stream = |what: &str| RandomStream::new(seed, &format!("{what} {}", config.flow.name));
        let mut arrivals = Self {
            times: stream("arrivals"),
            sizes: stream("sizes"),
            fraction: 0.0,
            next: config.flow.start,
            arrived: 0,
        };
        arrivals.advance(config);
        arrivals
    }

    /// The time of the next arrival, if there is one.
    pub(crate) fn next(&self, config: &ArrivalsConfig) -> Option<SimTime> {
        let is_listed = match &config.arrivals {
            Arrivals::Drawn { .. } => true,
            Arrivals::Listed(list) => self.arrived < list.len() as u64,
        };
        (is_listed && self.arrived < config.count && self.next < config.until).then_some(self.next)
    }

    /// Takes the flow that arrives now.
    pub(crate) fn take(&mut self, config: &ArrivalsConfig) -> Arrival {
        let arrival = match &config.arrivals {
            Arrivals::Drawn { size, reply, .. } => Arrival {
                size: size.draw(&mut self.sizes),
                reply: reply.as_ref().map_or(Bytes::ZERO, |reply| reply.draw(&mut self.sizes)),
            },
            Arrivals::Listed(list) => {
                let listed = list[self.arrived as usize];
                Arrival { size: listed.size, reply: listed.reply }
            }
        };
        self.arrived += 1;
        self.advance(config);
        arrival
    }

    fn advance(&mut self, config: &ArrivalsConfig) {
        match &config.arrivals {
            Arrivals::Drawn { gaps, mean_gap, .. } => {
                let gap = self.gap(*gaps, *mean_gap);
                self.next += gap;
            }
            Arrivals::Listed(list) => {
                let listed = list.get(self.arrived as usize);
                self.next = listed.map_or(SimTime::NEVER, |listed| config.flow.start + listed.after);
            }
        }
    }

    fn gap(&mut self, gaps: Gaps, mean: f64) -> SimDuration {
        let drawn = match gaps {
            Gaps::Constant => mean,
            Gaps::Exponential => -math::ln(1.0 - self.times.uniform()) * mean,
            // The mean of a log-normal variable is e^(mu + sigma^2 / 2).
            Gaps::LogNormal { sigma } => mean * math::exp(sigma * self.times.standard_normal() - sigma * sigma / 2.0),
        };
        let exact = drawn + self.fraction;
        let whole = exact as u64;
        self.fraction = exact - whole as f64;
        SimDuration(whole)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::traffic::config::ListedFlow;
    use crate::traffic::sizes::SizeDistribution;
    use crate::traffic::test_flow;

    const SECOND: u64 = 1_000_000_000;

    fn config(arrivals: Arrivals) -> ArrivalsConfig {
        ArrivalsConfig {
            flow: test_flow(),
            arrivals,
            until: SimTime(100 * SECOND),
            count: u64::MAX,
            buckets: Vec::new(),
            splits: Vec::new(),
        }
    }

    fn drawn(gaps: Gaps, mean_gap: f64) -> ArrivalsConfig {
        config(Arrivals::Drawn { gaps, mean_gap, size: SizeDistribution::Constant(Bytes(1)), reply: None })
    }

    fn times(config: &ArrivalsConfig) -> Vec<u64> {
        let mut stream = ArrivalStream::new(config, 3);
        let mut times = Vec::new();
        while let Some(time) = stream.next(config) {
            times.push(time.0);
            stream.take(config);
        }
        times
    }

    /// Variance of the counts in windows of 100 ms over their mean.
    fn dispersion(times: &[u64]) -> f64 {
        let mut counts = vec![0_f64; 1_000];
        for time in times {
            counts[(time / (SECOND / 10)) as usize] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / 1e3;
        counts.iter().map(|count| (count - mean) * (count - mean)).sum::<f64>() / 999.0 / mean
    }

    #[test]
    fn a_poisson_process_has_its_rate_and_an_index_of_dispersion_of_one() {
        // 1000 a second for 100 s: 100,000 with a standard deviation of sqrt(100,000) = 316.
        let times = times(&drawn(Gaps::Exponential, 1e6));
        assert!((times.len() as f64 - 100_000.0).abs() < 3.0 * 316.3, "{}", times.len());
        // Over n windows the index has a standard deviation of sqrt(2 / (n - 1)) = 0.045 for n = 1000.
        let index = dispersion(&times);
        assert!((index - 1.0).abs() < 0.135, "{index}");
    }

    #[test]
    fn constant_gaps_are_exact_and_carry_their_fractions() {
        // Gaps of 1/3 ms: 333333 1/3 ns; the third is at 1 ms.
        let mut config = drawn(Gaps::Constant, 1e6 / 3.0);
        config.count = 30_000;
        let times = times(&config);
        assert_eq!(times.len(), 30_000);
        assert!(times[2].abs_diff(1_000_000) <= 1, "{}", times[2]);
        assert!(times[29_999].abs_diff(10_000_000_000) <= 1, "{}", times[29_999]);
    }

    #[test]
    fn log_normal_gaps_keep_the_rate_and_come_in_bursts() {
        let times = times(&drawn(Gaps::LogNormal { sigma: 1.0 }, 1e6));
        // A renewal process: the count's variance is n times the gaps' squared coefficient of variation, here e - 1.
        let deviation = (100_000.0 * (std::f64::consts::E - 1.0)).sqrt();
        assert!((times.len() as f64 - 100_000.0).abs() < 3.0 * deviation, "{}", times.len());
        // Over windows of many gaps the index of dispersion nears that same 1.718.
        assert!((dispersion(&times) - 1.718).abs() < 0.3, "{}", dispersion(&times));
    }

    #[test]
    fn a_list_is_followed() {
        let listed =
            |after, size, reply| ListedFlow { after: SimDuration(after), size: Bytes(size), reply: Bytes(reply) };
        let list: Arc<[ListedFlow]> = [listed(5, 10, 0), listed(5, 20, 7), listed(9, 30, 0)].into();
        let mut config = config(Arrivals::Listed(list));
        config.flow.start = SimTime(100);
        assert_eq!(times(&config), [105, 105, 109]);
        let mut stream = ArrivalStream::new(&config, 1);
        stream.take(&config);
        assert_eq!(stream.take(&config), Arrival { size: Bytes(20), reply: Bytes(7) });
    }
}
