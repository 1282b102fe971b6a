//! A histogram whose buckets are exact below 128 and within 1/128 of the value above.

const PRECISION_BITS: u32 = 7;
const EXACT: u64 = 1 << PRECISION_BITS;

/// Weights of integer values, for percentiles. Memory grows with the range of values seen, not with their number.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// Weight of bucket `base + i`.
    weights: Vec<u64>,
    base: usize,
    sum: u128,
    /// The largest number while nothing was counted.
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { weights: Vec::new(), base: 0, sum: 0, min: u64::MAX, max: 0 }
    }
}

fn bucket_of(value: u64) -> usize {
    if value < EXACT {
        return value as usize;
    }
    let shift = value.ilog2() - PRECISION_BITS;
    ((u64::from(shift) << PRECISION_BITS) + (value >> shift)) as usize
}

/// The middle of a bucket.
fn value_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 * EXACT {
        return bucket;
    }
    let shift = (bucket >> PRECISION_BITS) - 1;
    let start = (bucket - (shift << PRECISION_BITS)) << shift;
    start + (1 << shift) / 2
}

impl Histogram {
    /// Counts a value once.
    pub fn add(&mut self, value: u64) {
        self.add_weighted(value, 1);
    }

    /// Counts `value` with a weight, such as the time it lasted.
    #[inline]
    pub fn add_weighted(&mut self, value: u64, weight: u64) {
        if weight == 0 {
            return;
        }
        self.sum += u128::from(value) * u128::from(weight);
        let bucket = bucket_of(value);
        // The first bucket and the last hold the least value and the largest: between them neither changes.
        let between = self.weights.len().saturating_sub(2);
        let index = bucket.wrapping_sub(self.base);
        match self.weights.get_mut(index) {
            Some(known) if index.wrapping_sub(1) < between => *known += weight,
            _ => self.add_at_edge(bucket, value, weight),
        }
    }

    /// Counts a value that may be the least or the largest.
    fn add_at_edge(&mut self, bucket: usize, value: u64, weight: u64) {
        if self.weights.is_empty() {
            self.base = bucket;
        } else if bucket < self.base {
            let missing = self.base - bucket;
            self.weights.splice(0..0, std::iter::repeat_n(0, missing));
            self.base = bucket;
        }
        let index = bucket - self.base;
        if index >= self.weights.len() {
            self.weights.resize(index + 1, 0);
        }
        self.weights[index] += weight;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// The sum of all weights.
    pub fn weight(&self) -> u64 {
        self.weights.iter().sum()
    }

    /// True if nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// Least value; zero if there is none.
    pub fn min(&self) -> u64 {
        if self.is_empty() { 0 } else { self.min }
    }

    /// Largest value; zero if there is none.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Exact weighted mean; zero if there is nothing.
    pub fn mean(&self) -> f64 {
        if self.is_empty() { 0.0 } else { self.sum as f64 / self.weight() as f64 }
    }

    /// The least value that at least the fraction `q` of the weight does not exceed, to the bucket's precision.
    pub fn quantile(&self, q: f64) -> f64 {
        let wanted = q * self.weight() as f64;
        let mut seen = 0;
        for (index, weight) in self.weights.iter().enumerate() {
            seen += weight;
            if seen > 0 && seen as f64 >= wanted {
                return value_of(self.base + index).clamp(self.min(), self.max) as f64;
            }
        }
        self.max as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_are_exact_and_large_ones_within_one_part_in_128() {
        for value in [0, 1, 127, 128, 255, 256, 1_000, 60_000_000, u64::from(u32::MAX)] {
            let near = value_of(bucket_of(value));
            assert!(near.abs_diff(value) <= value / 128, "{value} became {near}");
        }
    }

    #[test]
    fn quantiles_of_one_to_a_hundred() {
        let mut histogram = Histogram::default();
        for value in (1..=100).rev() {
            histogram.add(value);
        }
        assert_eq!((histogram.quantile(0.5), histogram.quantile(0.95)), (50.0, 95.0));
        assert_eq!((histogram.min(), histogram.max(), histogram.mean()), (1, 100, 50.5));
    }

    #[test]
    fn weights_count() {
        let mut histogram = Histogram::default();
        histogram.add_weighted(0, 90);
        histogram.add_weighted(10, 10);
        assert_eq!((histogram.mean(), histogram.quantile(0.5), histogram.quantile(0.95)), (1.0, 0.0, 10.0));
    }
}
