//! The relative skew of two clocks and the least delay of each direction, from one-way delays that may queue.
//!
//! Sources: Moon, Skelly and Towsley, Estimation and Removal of Clock Skew from Network Delay Measurements, INFOCOM 1999
//! (no delay lies below the line of the least ones); Theil 1950 and Sen 1968 for the median of slopes. Their combination
//! is ours.
//!
//! The lead of the receiver's clock is O(t) = o + s t; the measured delays are `f = T_f + q_f + O(t)` and `b = T_b +
//! q_b - O(t)`. For an assumed s, `min(f - s t) + min(b + s t)` is a propagation delay that no queue can make too
//! small; it is concave in s and largest at the true s as soon as either direction has been seen empty before and after
//! the other. Queues that never empty leave a plateau. On it, the slope of a direction decides if its least delays lie
//! on a line to within the rounding of ticks (the median of the slopes between all pairs). Without such a direction the
//! clocks count as equal, if that shortens the propagation delay by at most [`NEGLIGIBLE`]; otherwise the skew is the
//! smallest of the plateau.
//!
//! Assumes that s is constant and at most [`MOST_SKEW`]. Of the whole connection the [`LowerHull`]s of both directions are kept:
//! when a direction was empty counts, since a skew of 300 ppm makes a millisecond of three seconds. For the slopes there are
//! [`BINS`] bins with the least delays of each, which become twice as long when they are full.

use super::hull::LowerHull;

/// The largest skew: twice the 500 ppm of one clock, for two of them.
const MOST_SKEW: f64 = 1e-3;
const BINS: usize = 64;
/// The first length of the bins, ns.
const FIRST_WIDTH: f64 = 1e8;
/// The least number of bins that give a slope.
const ENOUGH_BINS: usize = 8;
/// The shortest step to search for, in ticks of both clocks together, and in ns.
const LEAST_TICKS: f64 = 2.0;
const LEAST_STEP: f64 = 1e6;
/// The age of an established connection, ns. A younger one has yet to see its queues empty: less delay means a shorter
/// queue.
const ESTABLISHED: f64 = 5e9;
/// A fraction of the propagation delay that Vegas would not notice: of 64 segments it is one.
const NEGLIGIBLE: f64 = 1.0 / 64.0;
/// The halvings of an interval of skews: 2e-3 / 2^30 is far below a ppm.
const HALVINGS: u32 = 30;

/// A delay and the time of its measurement, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) at: f64,
    pub(super) delay: f64,
}

impl Point {
    pub(super) fn without(self, slope: f64) -> f64 {
        self.delay - slope * self.at
    }
}

/// The least delays of a span of time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Least {
    pub(super) forward: Point,
    pub(super) backward: Point,
}

impl Least {
    fn merge(&mut self, other: &Self, skew: f64) {
        if other.forward.without(skew) < self.forward.without(skew) {
            self.forward = other.forward;
        }
        if other.backward.without(-skew) < self.backward.without(-skew) {
            self.backward = other.backward;
        }
    }
}

/// The lower envelope of both directions' delays.
#[derive(Clone, Debug)]
pub(super) struct Envelope {
    forward: LowerHull,
    backward: LowerHull,
    bins: Vec<Least>,
    width: f64,
    /// The beginning of the history, and the end of the last bin.
    began: f64,
    end: f64,
    skew: f64,
    /// The least delays without skew: `T_f + o` and `T_b - o`.
    least: (f64, f64),
    /// The largest error of a delay by rounding to ticks, ns.
    tolerance: f64,
    slopes: Vec<f64>,
}

impl Envelope {
    pub(super) fn new(tolerance: f64) -> Self {
        let least = (f64::INFINITY, f64::INFINITY);
        let (forward, backward) = (LowerHull::default(), LowerHull::default());
        let (bins, slopes) = (Vec::new(), Vec::new());
        Self { forward, backward, bins, width: FIRST_WIDTH, began: 0.0, end: 0.0, skew: 0.0, least, tolerance, slopes }
    }

    /// The gain of the receiver's clock, as a fraction.
    pub(super) fn skew(&self) -> f64 {
        self.skew
    }

    pub(super) fn tolerance(&self) -> f64 {
        self.tolerance
    }

    /// The shortest step of a clock that differs from rounding and from the remaining skew.
    pub(super) fn least_step(&self) -> f64 {
        (LEAST_TICKS * self.tolerance).max(LEAST_STEP)
    }

    /// True if the history is long enough to recognise exceptions.
    pub(super) fn is_established(&self) -> bool {
        self.end - self.began >= ESTABLISHED
    }

    /// The propagation delay of both directions, ns.
    pub(super) fn base_rtt(&self) -> f64 {
        self.least.0 + self.least.1
    }

    /// The queueing delays of both directions: the delays above the least ones; negative below them.
    pub(super) fn above(&self, at: f64, forward: f64, backward: f64) -> (f64, f64) {
        (forward - self.skew * at - self.least.0, backward + self.skew * at - self.least.1)
    }

    pub(super) fn add(&mut self, point: &Least) {
        self.forward.add(point.forward);
        self.backward.add(point.backward);
        let at = point.forward.at.max(point.backward.at);
        match self.bins.last_mut() {
            Some(bin) if at < self.end => bin.merge(point, self.skew),
            _ => self.open_bin(point, at),
        }
        self.least.0 = self.least.0.min(point.forward.without(self.skew));
        self.least.1 = self.least.1.min(point.backward.without(-self.skew));
    }

    fn open_bin(&mut self, point: &Least, at: f64) {
        if self.bins.len() == BINS {
            let skew = self.skew;
            self.bins = self.bins.chunks(2).map(|pair| merged(pair, skew)).collect();
            self.width *= 2.0;
        }
        self.fit();
        if self.bins.is_empty() {
            self.began = at;
        }
        self.bins.push(*point);
        self.end = at + self.width;
    }

    fn fit(&mut self) {
        if self.bins.len() < ENOUGH_BINS {
            return;
        }
        let best = self.best_skew();
        let most = self.base_at(best);
        let (low, high) = self.plateau(best, most - self.tolerance.max(most * NEGLIGIBLE));
        self.skew = match self.skew_of_clean_direction() {
            Some(skew) => skew.clamp(low, high),
            None if low <= 0.0 && 0.0 <= high => 0.0,
            None => {
                let (low, high) = self.plateau(best, most - self.tolerance);
                0.0_f64.clamp(low, high)
            }
        };
        self.least = self.least_at(self.skew);
    }

    fn least_at(&self, skew: f64) -> (f64, f64) {
        (self.forward.least_without(skew), self.backward.least_without(-skew))
    }

    fn base_at(&self, skew: f64) -> f64 {
        let (forward, backward) = self.least_at(skew);
        forward + backward
    }

    /// A skew with the longest propagation delay.
    fn best_skew(&self) -> f64 {
        let (mut low, mut high) = (-MOST_SKEW, MOST_SKEW);
        for _ in 0..2 * HALVINGS {
            let third = (high - low) / 3.0;
            if self.base_at(low + third) < self.base_at(high - third) {
                low += third;
            } else {
                high -= third;
            }
        }
        f64::midpoint(low, high)
    }

    /// The range of skews with a propagation delay of at least `floor`.
    fn plateau(&self, best: f64, floor: f64) -> (f64, f64) {
        (self.edge(best, -MOST_SKEW, floor), self.edge(best, MOST_SKEW, floor))
    }

    /// The last skew from `inside` towards `outside` that reaches `floor`.
    fn edge(&self, inside: f64, outside: f64, floor: f64) -> f64 {
        let (mut inside, mut outside) = (inside, outside);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(inside, outside);
            if self.base_at(middle) >= floor { inside = middle } else { outside = middle }
        }
        inside
    }

    /// The skew by the slope of a direction with its least delays on a line, if there is one.
    fn skew_of_clean_direction(&mut self) -> Option<f64> {
        let forward = line(&self.bins, |bin| bin.forward, &mut self.slopes);
        let backward = line(&self.bins, |bin| bin.backward, &mut self.slopes);
        let (skew, spread) = if backward.spread < forward.spread {
            (-backward.slope, backward.spread)
        } else {
            (forward.slope, forward.spread)
        };
        (spread <= self.tolerance).then_some(skew)
    }
}

fn merged(pair: &[Least], skew: f64) -> Least {
    let mut least = pair[0];
    for other in &pair[1..] {
        least.merge(other, skew);
    }
    least
}

struct Line {
    slope: f64,
    /// The median distance of a point from the line.
    spread: f64,
}

/// The median of the slopes between all pairs of points. `room` is scratch space for the medians.
fn line(bins: &[Least], point: fn(&Least) -> Point, room: &mut Vec<f64>) -> Line {
    room.clear();
    for (index, later) in bins.iter().enumerate() {
        for earlier in &bins[..index] {
            let (from, to) = (point(earlier), point(later));
            if to.at > from.at {
                room.push((to.delay - from.delay) / (to.at - from.at));
            }
        }
    }
    let slope = median(room);
    room.clear();
    room.extend(bins.iter().map(|bin| point(bin).without(slope)));
    let middle = median(room);
    for height in room.iter_mut() {
        *height = (*height - middle).abs();
    }
    Line { slope, spread: median(room) }
}

fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: f64 = 1e6;
    const S: f64 = 1e9;

    /// The envelope after a minute on clocks that part by `skew`; `queues` gives the queueing delays there and back
    /// (ms) at a time in seconds.
    fn minute(skew: f64, queues: impl Fn(f64) -> (f64, f64)) -> Envelope {
        let mut envelope = Envelope::new(0.01 * MS);
        for step in 0..6_000 {
            let at = f64::from(step) * 10.0 * MS;
            let (there, back) = queues(at / S);
            let forward = Point { at, delay: (30.0 + there) * MS + skew * at };
            let backward = Point { at, delay: (50.0 + back) * MS - skew * at };
            envelope.add(&Least { forward, backward });
        }
        envelope
    }

    #[test]
    fn a_clean_path_shows_the_skew_to_a_hundredth_of_a_ppm() {
        for skew in [-500e-6, -50e-6, -1e-6, 0.0, 1e-6, 50e-6, 500e-6] {
            let envelope = minute(skew, |_| (0.0, 0.0));
            assert!((envelope.skew() - skew).abs() < 1e-8, "{} for {skew}", envelope.skew());
            assert!((envelope.base_rtt() - 80.0 * MS).abs() < 0.01 * MS);
        }
    }

    #[test]
    fn a_standing_queue_there_and_a_sawtooth_back_do_not_look_like_skew() {
        // 6 ms of the flow's own segments from the first second on; back a sawtooth of 5 s that never empties after 3 s.
        let queues = |at: f64| {
            let back = if at < 3.0 { 0.0 } else { 10.0 + 20.0 * (at % 5.0) };
            (if at < 1.0 { 0.0 } else { 6.0 }, back)
        };
        for skew in [-500e-6, -100e-6, 0.0, 100e-6, 500e-6] {
            let envelope = minute(skew, queues);
            let (there, _) = envelope.above(60.0 * S, 36.0 * MS + skew * 60.0 * S, 50.0 * MS);
            assert!((there - 6.0 * MS).abs() < 0.5 * MS, "skew {skew}: a queue of {} ms", there / MS);
            assert!((envelope.base_rtt() - 80.0 * MS).abs() < 0.5 * MS, "skew {skew}: {}", envelope.base_rtt() / MS);
        }
    }
}
