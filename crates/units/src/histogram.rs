//! A histogram whose buckets are exact below 128 and within 1/128 of the value above.

const PRECISION_BITS: u32 = 7;
const EXACT: u64 = 1 << PRECISION_BITS;

/// Number of buckets that are kept one by one, and number of searches among them.
const FEW_BUCKETS: usize = 32;
const FEW_VALUES: u32 = 1_000;

/// Weights of integer values, for percentiles. Memory grows with the range of values seen, not with their number.
///
/// Most of many thousand links and flows see few values far apart, and few packets: their buckets are kept one by one, in a
/// sixteenth of the memory.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// Weight of bucket `base + i`; empty while there are few.
    weights: Vec<u64>,
    base: usize,
    /// The buckets that have any weight, in order, while there are few.
    few: Vec<(u32, u64)>,
    /// Number of searches for a value there.
    looked_for: u32,
    sum: u128,
    /// The largest number while nothing was counted.
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { weights: Vec::new(), base: 0, few: Vec::new(), looked_for: 0, sum: 0, min: u64::MAX, max: 0 }
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

    /// Counts a value that may be the least or the largest, or one of few.
    fn add_at_edge(&mut self, bucket: usize, value: u64, weight: u64) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        if self.weights.is_empty() {
            if self.add_to_few(bucket as u32, weight) {
                return;
            }
            self.spread();
        }
        if bucket < self.base {
            let missing = self.base - bucket;
            self.weights.splice(0..0, std::iter::repeat_n(0, missing));
            self.base = bucket;
        }
        let index = bucket - self.base;
        if index >= self.weights.len() {
            self.weights.resize(index + 1, 0);
        }
        self.weights[index] += weight;
    }

    /// False if there are no longer few.
    fn add_to_few(&mut self, bucket: u32, weight: u64) -> bool {
        self.looked_for += 1;
        match self.few.binary_search_by_key(&bucket, |known| known.0) {
            _ if self.looked_for > FEW_VALUES => return false,
            Ok(place) => self.few[place].1 += weight,
            Err(_) if self.few.len() == FEW_BUCKETS => return false,
            Err(place) => self.few.insert(place, (bucket, weight)),
        }
        true
    }

    /// Moves the buckets that were kept one by one to their places among all buckets.
    fn spread(&mut self) {
        let (Some(first), Some(last)) = (self.few.first(), self.few.last()) else { return };
        self.base = first.0 as usize;
        self.weights = vec![0; last.0 as usize - self.base + 1];
        for (bucket, weight) in std::mem::take(&mut self.few) {
            self.weights[bucket as usize - self.base] = weight;
        }
    }

    /// Counts all that another one counted, to the buckets' precision.
    pub fn add_all(&mut self, other: &Self) {
        for (bucket, weight) in other.buckets().filter(|(_, weight)| *weight > 0) {
            self.add_weighted(value_of(bucket).clamp(other.min(), other.max()), weight);
        }
    }

    /// Every bucket that has any weight, in order.
    fn buckets(&self) -> impl Iterator<Item = (usize, u64)> {
        let few = self.few.iter().map(|&(bucket, weight)| (bucket as usize, weight));
        few.chain((self.base..).zip(self.weights.iter().copied()))
    }

    /// The sum of all weights.
    pub fn weight(&self) -> u64 {
        self.buckets().map(|(_, weight)| weight).sum()
    }

    /// True if nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty() && self.few.is_empty()
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
        for (bucket, weight) in self.buckets() {
            seen += weight;
            if seen > 0 && seen as f64 >= wanted {
                return value_of(bucket).clamp(self.min(), self.max) as f64;
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

    /// Sums and quantiles of one to `most`, each `times`, by hand: they do not depend on how buckets are kept.
    #[test]
    fn many_values_are_as_few() {
        for (most, times) in [(32, 1), (33, 1), (100, 1), (4, 250), (4, 251), (100, 1_000)] {
            let mut histogram = Histogram::default();
            for value in (0..times).flat_map(|_| 1..=most) {
                histogram.add(value);
            }
            assert_eq!((histogram.weight(), histogram.min(), histogram.max()), (most * times, 1, most));
            let expected = ((most + 1) as f64 / 2.0, most.div_ceil(2) as f64);
            assert_eq!((histogram.mean(), histogram.quantile(0.5)), expected, "{most} {times}");
        }
    }

    #[test]
    fn few_values_far_apart_take_little() {
        let mut histogram = Histogram::default();
        (0..40).for_each(|power| histogram.add(1 << power));
        assert!(histogram.few.is_empty() && histogram.weights.len() > 4_000, "40 are many");
        let mut histogram = Histogram::default();
        (0..32).for_each(|power| histogram.add(1 << power));
        assert_eq!((histogram.few.len(), histogram.weights.capacity()), (32, 0));
        histogram.add(0);
        assert_eq!((histogram.weight(), histogram.min(), histogram.quantile(0.5)), (33, 0, 32_896.0)); // the 17th is 2^15, in a bucket of 2^8
    }
    #[test]
    fn several_together_count_as_one() {
        let (mut all, mut other) = (Histogram::default(), Histogram::default());
        (1..=30).for_each(|value| all.add_weighted(value, 2));
        (31..=100).for_each(|value| other.add(value));
        all.add_all(&other);
        all.add_all(&Histogram::default());
        // 60 below 31 and 70 above: the 65th is 35
        assert_eq!((all.weight(), all.min(), all.max()), (130, 1, 100));
        assert_eq!((all.quantile(0.5), all.mean()), (35.0, (2.0 * 465.0 + 4585.0) / 130.0));
    }
}
