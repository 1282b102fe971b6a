//! The elasticity of other flows: their spectrum at the frequency of our pulses, beside the frequencies between that
//! and twice it.
//!
//! The sums of a Fourier transform are kept at the frequencies that are looked at, some forty of 256, and brought up to date with each
//! sample: one comes, the oldest goes, and all turn on by one place (the sliding transform of Jacobsen and Lyons, 2003).

use std::collections::VecDeque;
use std::f64::consts::TAU;
use std::sync::LazyLock;

use ackclock_units::math;

/// The samples in the transform, and the samples in a second: 5.12 s.
const SAMPLES: usize = 512;
const SAMPLES_PER_SECOND: f64 = 100.0;

/// The weight of a new sample of elasticity: the authors' 0.01, with two reports for each of ours.
const WEIGHT: f64 = 0.02;

/// The others' shares of the link for two bounds: below the first they cannot be elastic, above the second they count
/// as elastic. The third is the value learnt then.
const FEW: f64 = 0.1;
const MANY: f64 = 0.9;
const ELASTIC: f64 = 6.0;

/// The value learnt while our pulses cannot be seen in the arrivals, and the prominence with which they count as seen.
const UNSEEN: f64 = 3.0;
const STANDS_OUT: f64 = 2.0;

/// The share of our pulses below which an answer to them counts for less, whatever the other frequencies are.
const FULL_ANSWER: f64 = 0.25;
const MOST_OF_WEAK: f64 = 3.0;

/// The last quarter of the samples, for the mean rate of other flows.
const RECENT: usize = SAMPLES / 4;

/// The cosine and sine of all multiples of a turn over [`SAMPLES`].
static TURN: LazyLock<Vec<(f64, f64)>> = LazyLock::new(|| {
    let angle = |place: usize| TAU * place as f64 / SAMPLES as f64;
    (0..SAMPLES).map(|place| (math::cos(angle(place)), math::sin(angle(place)))).collect()
});

/// The multiples of 100/512 Hz with stored sums: from 3.9 to 12.5 Hz.
const FIRST: usize = 20;
const LAST: usize = 64;

/// The samples of a signal, the newest last, and its spectrum.
#[derive(Clone, Debug)]
pub(super) struct Signal {
    samples: VecDeque<f64>,
    /// The real and imaginary parts from [`FIRST`] on.
    sums: [(f64, f64); LAST - FIRST + 1],
}

impl Signal {
    pub(super) fn new() -> Self {
        Self { samples: VecDeque::with_capacity(SAMPLES), sums: [(0.0, 0.0); LAST - FIRST + 1] }
    }

    pub(super) fn push(&mut self, sample: f64) {
        let oldest = if self.is_full() { self.samples.pop_front() } else { None };
        let change = sample - oldest.unwrap_or_default();
        for ((real, imaginary), (cosine, sine)) in self.sums.iter_mut().zip(&TURN[FIRST..]) {
            let sum = *real + change;
            (*real, *imaginary) = (sum * cosine - *imaginary * sine, sum * sine + *imaginary * cosine);
        }
        self.samples.push_back(sample);
    }

    pub(super) fn is_full(&self) -> bool {
        self.samples.len() == SAMPLES
    }

    /// The oldest sample that is kept.
    pub(super) fn oldest(&self) -> Option<f64> {
        self.samples.front().copied()
    }

    /// The mean of the last quarter.
    fn recent(&self) -> f64 {
        self.samples.iter().rev().take(RECENT).sum::<f64>() / RECENT as f64
    }

    /// The largest amplitude at frequencies above `from` and up to `to`, Hz; the mean, which is at 0 Hz, is not in it.
    fn peak(&self, from: f64, to: f64) -> f64 {
        let place = |hertz: f64| hertz * SAMPLES as f64 / SAMPLES_PER_SECOND;
        let first = place(from).floor() as usize + 1;
        (first..=place(to).floor() as usize).map(|bin| self.amplitude(bin)).fold(0.0, f64::max)
    }

    fn amplitude(&self, bin: usize) -> f64 {
        let (real, imaginary) = self.sums[bin - FIRST];
        (real * real + imaginary * imaginary).sqrt()
    }
}

/// The detector of elasticity, smoothed.
#[derive(Clone, Debug)]
pub(super) struct Detector {
    /// The rate z of other flows, octets/s.
    pub(super) others: Signal,
    /// The link's rate less our own arrivals, octets/s, which shows our own pulses.
    pub(super) room: Signal,
    pub(super) elasticity: f64,
}

impl Detector {
    pub(super) fn new() -> Self {
        Self { others: Signal::new(), room: Signal::new(), elasticity: 1.0 }
    }

    /// Updates the elasticity from the samples so far, with pulses at `hertz` and a link of `rate` octets/s.
    pub(super) fn update(&mut self, hertz: f64, rate: f64) {
        let others = self.others.recent();
        if others < FEW * rate {
            self.elasticity = 0.0;
        } else if others > MANY * rate {
            self.learn(ELASTIC);
        }
        let at_pulses = |signal: &Signal| signal.peak(hertz - 0.5, hertz + 0.5);
        let beside = |signal: &Signal| signal.peak(hertz + 1.5, 2.0 * hertz - 0.5);
        let (answer, pulses) = (at_pulses(&self.others), at_pulses(&self.room));
        let mut sample = answer / beside(&self.others).max(f64::MIN_POSITIVE);
        let share = answer / pulses.max(f64::MIN_POSITIVE);
        if share < FULL_ANSWER {
            sample = sample.min(MOST_OF_WEAK) * (share / FULL_ANSWER);
        }
        self.learn(sample);
        if pulses < STANDS_OUT * beside(&self.room) {
            self.learn(UNSEEN);
        }
    }

    fn learn(&mut self, sample: f64) {
        self.elasticity += WEIGHT * (sample - self.elasticity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The elasticity learnt on a link of a million octets/s. Other flows send 400 000, with waves of these amplitudes
    /// at 5 Hz and at 7 Hz.
    fn learnt(wave: f64, noise: f64) -> f64 {
        let mut detector = Detector::new();
        for place in 0..SAMPLES {
            let turn = |hertz: f64| math::sin(TAU * hertz * place as f64 / SAMPLES_PER_SECOND);
            detector.others.push(4e5 + wave * turn(5.0) + noise * turn(7.0));
            detector.room.push(5e5 + 1e5 * turn(5.0) + 1e4 * turn(8.0));
        }
        (0..500).for_each(|_| detector.update(5.0, 1e6));
        detector.elasticity
    }

    #[test]
    fn the_amplitude_of_a_wave_is_half_of_the_samples_times_it() {
        let mut signal = Signal::new();
        let bin = 25.0; // of 512: 4.883 Hz
        // More than are kept, of which the first are something else.
        let wave = |place: usize| 7.0 + 3.0 * math::sin(TAU * bin * place as f64 / SAMPLES as f64);
        (0..300).for_each(|place| signal.push(f64::from(place)));
        (0..SAMPLES).for_each(|place| signal.push(wave(place)));
        assert!((signal.amplitude(25) - 3.0 * 256.0).abs() < 1e-6);
        assert!(signal.amplitude(30) < 1e-6);
        assert!((signal.peak(4.5, 5.5) - 768.0).abs() < 1e-6 && signal.peak(5.0, 9.5) < 1e-6);
        assert!((signal.recent() - 7.0).abs() < 0.5);
    }

    #[test]
    fn others_that_move_with_the_pulses_are_elastic_and_others_that_move_otherwise_are_not() {
        // A wave of 5 Hz beside one of 7 Hz of a quarter of it, in samples that hold 25.6 and 35.8 turns: near four.
        let elastic = learnt(8e4, 2e4);
        assert!((2.5..5.0).contains(&elastic), "{elastic}");
        let inelastic = learnt(2e4, 8e4);
        assert!(inelastic < 0.5, "{inelastic}");
        // An answer of a tenth of the pulses, with nothing else: three at most, and 0.4 of that.
        let weak = learnt(1e4, 0.0);
        assert!(weak < 1.3, "{weak}");
    }

    #[test]
    fn next_to_no_others_are_never_elastic() {
        let mut detector = Detector::new();
        (0..SAMPLES).for_each(|place| {
            detector.others.push(5e4 + 5e4 * math::sin(TAU * 0.05 * place as f64));
            detector.room.push(5e4 * math::sin(TAU * 0.05 * place as f64));
        });
        (0..100).for_each(|_| detector.update(5.0, 1e6));
        assert!(detector.elasticity < 0.5, "{}", detector.elasticity);
    }
}
