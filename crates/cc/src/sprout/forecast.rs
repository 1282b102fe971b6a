//! The forecast of a link's deliveries: a distribution over its rate, which drifts and learns from arrivals.
//!
//! The rate is one of 256, up to 1000 packets/s, and moves as a Brownian motion of 200 packets/s in a root second; from
//! the lowest, an outage, it moves away at a rate of 1/s. Arrivals in a tick of 20 ms are Poisson (section 3 of the
//! paper). The outcome of each rate in the coming ticks, drift included, is computed once for all senders, as the
//! authors' program does at its start.

use std::sync::LazyLock;

use ackclock_units::math;

/// The length of a tick in s, and the constants of the model (the authors' `receiver.hh`): packets/s, packets/s per
/// root second, 1/s.
const TICK_S: f64 = 0.02;
const LARGEST_RATE: f64 = 1_000.0;
const BROWNIAN_RATE: f64 = 200.0;
const OUTAGE_ESCAPE_RATE: f64 = 1.0;
const BINS: usize = 256;
/// The number of arrivals that no tick of the forecast reaches.
const MOST_IN_A_TICK: usize = 30;
/// The cut-off of the motion, in standard deviations.
const REACH: f64 = 5.0;

type Distribution = [f64; BINS];

/// The middle of a bin, packets/s.
fn rate(bin: usize) -> f64 {
    (bin as f64 + 0.5) * LARGEST_RATE / BINS as f64
}

/// The logarithm of the Poisson probability of `count` arrivals in a tick, without the term that is the same at all
/// rates.
fn likelihood(bin: usize, count: u64) -> f64 {
    let mean = rate(bin) * TICK_S;
    count as f64 * math::ln(mean) - mean
}

/// The probabilities that the rate moves by a number of bins in a tick.
static MOTION: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let deviation = BROWNIAN_RATE * TICK_S.sqrt() * BINS as f64 / LARGEST_RATE;
    let below = |bins: f64| 0.5 * (1.0 + math::erf(bins / deviation / 2.0_f64.sqrt()));
    let reach = (REACH * deviation) as usize;
    (0..=reach).map(|bins| below(bins as f64 + 0.5) - below(bins as f64 - 0.5)).collect()
});

/// Applies a tick of drift; the result is normalised.
fn drift(before: &Distribution) -> Distribution {
    let escape = 1.0 - math::exp(-TICK_S * OUTAGE_ESCAPE_RATE);
    let mut after = [0.0; BINS];
    for (old, probability) in before.iter().enumerate().filter(|(_, probability)| **probability > 0.0) {
        let (low, high) = (old.saturating_sub(MOTION.len() - 1), (old + MOTION.len() - 1).min(BINS - 1));
        for (new, sum) in (low..).zip(&mut after[low..=high]) {
            let stays = match (old, new) {
                (0, 0) => 1.0 - escape,
                (0, _) => escape,
                _ => 1.0,
            };
            *sum += stays * probability * MOTION[old.abs_diff(new)];
        }
    }
    normalised(&after)
}

/// Scales a distribution to a sum of one; if it is empty, all rates are equal.
fn normalised(distribution: &Distribution) -> Distribution {
    let sum: f64 = distribution.iter().sum();
    if sum > 0.0 { distribution.map(|probability| probability / sum) } else { [1.0 / BINS as f64; BINS] }
}

/// The probability, for each count and each present rate, that no more than `count` arrive in the ticks of the
/// forecast.
type Table = Vec<Distribution>;

/// The tables of one tick and of [`FORECAST_TICKS`].
static TABLES: LazyLock<[Table; 2]> = LazyLock::new(|| {
    let most = FORECAST_TICKS * (MOST_IN_A_TICK - 1) + 1;
    let mut tables = [vec![[0.0; BINS]; MOST_IN_A_TICK], vec![[0.0; BINS]; most]];
    let arrivals = arrivals_in_a_tick();
    for bin in 0..BINS {
        let mut rates = [0.0; BINS];
        rates[bin] = 1.0;
        let mut counts = vec![1.0];
        for tick in 1..=FORECAST_TICKS {
            counts = convolved(&counts, &mixture(&arrivals, &rates));
            rates = drift(&rates);
            if tick == 1 || tick == FORECAST_TICKS {
                accumulate(&mut tables[usize::from(tick > 1)], bin, &counts);
            }
        }
    }
    tables
});

/// The ticks of the longer forecast: the present one, which does not count, and five.
const FORECAST_TICKS: usize = 6;

/// The probability of each count at each rate.
fn arrivals_in_a_tick() -> Vec<[f64; MOST_IN_A_TICK]> {
    let of_bin = |bin| {
        let mut logarithm_of_factorial = 0.0;
        std::array::from_fn(|count| {
            if count > 0 {
                logarithm_of_factorial += math::ln(count as f64);
            }
            math::exp(likelihood(bin, count as u64) - logarithm_of_factorial)
        })
    };
    (0..BINS).map(of_bin).collect()
}

fn mixture(arrivals: &[[f64; MOST_IN_A_TICK]], rates: &Distribution) -> [f64; MOST_IN_A_TICK] {
    let mut counts = [0.0; MOST_IN_A_TICK];
    for (of_bin, probability) in arrivals.iter().zip(rates).filter(|(_, probability)| **probability > 0.0) {
        counts.iter_mut().zip(of_bin).for_each(|(count, of_bin)| *count += probability * of_bin);
    }
    counts
}

fn convolved(before: &[f64], tick: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; before.len() + tick.len() - 1];
    for (place, left) in before.iter().enumerate() {
        sums[place..].iter_mut().zip(tick).for_each(|(sum, right)| *sum += left * right);
    }
    sums
}

fn accumulate(table: &mut Table, bin: usize, counts: &[f64]) {
    let mut sum = 0.0;
    for (row, probability) in table.iter_mut().zip(counts) {
        sum += probability;
        row[bin] = sum;
    }
}

/// The least count that is not exceeded with at least this probability.
fn quantile(table: &Table, rates: &Distribution, probability: f64) -> u64 {
    let up_to = |row: &Distribution| row.iter().zip(rates).map(|(below, rate)| below * rate).sum::<f64>();
    table.partition_point(|row| up_to(row) < probability) as u64
}

/// A distribution over the rate of a link, and its forecasts.
#[derive(Clone, Debug)]
pub(super) struct Forecaster {
    rates: Box<Distribution>,
}

impl Forecaster {
    /// A forecaster with equal probabilities for all rates.
    pub(super) fn new() -> Self {
        Self { rates: Box::new([1.0 / BINS as f64; BINS]) }
    }

    /// Ends a tick, with its arrivals if they are informative.
    pub(super) fn tick(&mut self, arrived: Option<u64>) {
        *self.rates = drift(&self.rates);
        let Some(count) = arrived else { return };
        let logarithms: Distribution = std::array::from_fn(|bin| likelihood(bin, count));
        let largest = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for (probability, logarithm) in self.rates.iter_mut().zip(logarithms) {
            *probability *= math::exp(logarithm - largest);
        }
        *self.rates = normalised(&self.rates);
    }

    /// The packets that will arrive in the five ticks after the present one, except with probability `caution`.
    pub(super) fn cautious(&self, caution: f64) -> u64 {
        let [one, all] = &*TABLES;
        quantile(all, &self.rates, caution).saturating_sub(quantile(one, &self.rates, caution))
    }

    /// The mean rate, packets/s.
    pub(super) fn mean_rate(&self) -> f64 {
        self.rates.iter().enumerate().map(|(bin, probability)| probability * rate(bin)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(ticks: usize, arrived: u64) -> Forecaster {
        let mut forecaster = Forecaster::new();
        (0..ticks).for_each(|_| forecaster.tick(Some(arrived)));
        forecaster
    }

    #[test]
    fn the_motion_is_normal_and_drifts_by_200_in_a_root_second() {
        let sum: f64 = MOTION[0] + 2.0 * MOTION[1..].iter().sum::<f64>();
        assert!((sum - 1.0).abs() < 1e-5, "{sum}");
        // From 500 packets/s: after 25 ticks, half a second, a deviation of 200 * sqrt(0.5) = 141.
        let mut rates = [0.0; BINS];
        rates[128] = 1.0;
        (0..25).for_each(|_| rates = drift(&rates));
        let moment = |power: i32| (0..BINS).map(|bin| rates[bin] * (rate(bin) - rate(128)).powi(power)).sum::<f64>();
        assert!((moment(2).sqrt() / 141.4 - 1.0).abs() < 0.02 && moment(1).abs() < 5.0, "{}", moment(2).sqrt());
    }

    #[test]
    fn what_arrives_is_learnt_and_an_outage_soon_too() {
        // Ten packets a tick are 500 a second.
        let steady = after(50, 10);
        assert!((steady.mean_rate() - 500.0).abs() < 30.0, "{}", steady.mean_rate());
        let mut out = steady.clone();
        (0..5).for_each(|_| out.tick(Some(0)));
        assert!(out.mean_rate() < 100.0, "{}", out.mean_rate());
        // Without observations it drifts apart, and the cautious forecast falls.
        let mut blind = steady.clone();
        (0..10).for_each(|_| blind.tick(None));
        assert!(blind.cautious(0.05) < steady.cautious(0.05));
    }

    #[test]
    fn the_forecast_is_the_fifth_percentile_of_what_comes_in_a_tenth_of_a_second() {
        // 50 packets come in the mean; a Poisson count alone has its 5th percentile at 38, and the rate is not known to better than
        // some 60 packets/s after ten ticks of memory and drifts by 60 more: below that.
        let cautious = after(50, 10).cautious(0.05);
        assert!((20..=38).contains(&cautious), "{cautious}");
        let even = after(50, 10).cautious(0.5);
        assert!((45..=52).contains(&even), "{even}");
    }

    #[test]
    fn more_than_any_rate_explains_is_the_largest() {
        let flood = after(20, 500);
        assert!(flood.mean_rate() > 950.0, "{}", flood.mean_rate());
    }
}
