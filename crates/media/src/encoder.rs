//! A video encoder whose rate can be set: the statistical model of the RMCAT working group.
//!
//! Source: RFC 8593 section 5 as its authors' code has it (github.com/cisco/syncodecs, `StatisticsCodec`), from which
//! the constants are: a frame every 1 / frame rate, of rate / frame rate octets, both with Laplacian noise; the encoder
//! takes a new rate at most every `lag`, and moves by at most a tenth of its rate, unless the change is more than one
//! half. Then it changes immediately, with a key frame and smaller frames after it, so that ten frames together have
//! the new rate.
//!
//! Departures: key frames may also come at intervals; the noise of a size is not below a tenth of it, and that of an interval at most
//! the interval, so that frames neither vanish nor go back in time; the rate is that of whole packets, with their RTP headers.

use ackclock_units::{Bandwidth, Bytes, RandomStream, SimDuration, SimTime, math};

/// Frames of a transient, with the key frame.
const TRANSIENT: u32 = 10;
/// Largest change of the rate, as a fraction of it.
const STEP: f64 = 0.1;
/// Fraction of the rate beyond which a change is immediate.
const BIG_CHANGE: f64 = 0.5;
/// Largest size of a frame, in octets.
const LARGEST: u64 = 1 << 30;
/// Smallest frame of a transient, as a fraction of the nominal size.
const SMALLEST: f64 = 0.2;

/// Parameters of an encoder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EncoderConfig {
    /// Interval between frames.
    pub interval: SimDuration,
    /// Least time between changes of its rate.
    pub lag: SimDuration,
    /// Octets of a key frame.
    pub key_frame: Bytes,
    /// Interval between key frames; `None`: only with big changes of the rate.
    pub key_interval: Option<SimDuration>,
    /// Scale of the Laplacian noise of sizes, as a fraction of the size.
    pub size_noise: f64,
    /// Scale of the Laplacian noise of intervals, as a fraction of the interval.
    pub interval_noise: f64,
}

/// A model of a video encoder.
#[derive(Clone, Debug)]
pub struct Encoder {
    config: EncoderConfig,
    /// Current rate in bit/s.
    rate: f64,
    /// Time before which no change is taken.
    settled: SimTime,
    /// Remaining frames of a transient.
    transient: u32,
    next_key: SimTime,
    /// Time of the next frame.
    next: SimTime,
    random: RandomStream,
}

impl Encoder {
    /// An encoder that makes its first frame, a key frame, at `start`.
    pub fn new(config: EncoderConfig, start: SimTime, rate: Bandwidth, random: RandomStream) -> Self {
        let rate = rate.0 as f64;
        Self { config, rate, settled: start, transient: TRANSIENT, next_key: start, next: start, random }
    }

    /// Time of the next frame.
    pub fn next(&self) -> SimTime {
        self.next
    }

    /// The present rate of the encoder.
    pub fn rate(&self) -> Bandwidth {
        Bandwidth(self.rate as u64)
    }

    /// Sets the rate of the encoder.
    pub fn set_rate(&mut self, now: SimTime, rate: Bandwidth) {
        let wanted = rate.0 as f64;
        if now < self.settled || wanted.to_bits() == self.rate.to_bits() {
            return;
        }
        self.settled = now + self.config.lag;
        if (wanted - self.rate).abs() > BIG_CHANGE * self.rate {
            self.transient = TRANSIENT;
            self.rate = wanted;
        } else {
            self.rate = wanted.clamp(self.rate * (1.0 - STEP), self.rate * (1.0 + STEP));
        }
    }

    /// The size of the frame that is due.
    pub fn frame(&mut self) -> Bytes {
        let now = self.next;
        if self.config.key_interval.is_some_and(|_| now >= self.next_key) {
            self.transient = TRANSIENT;
        }
        let interval = self.config.interval.as_secs_f64();
        let nominal = self.rate * interval / 8.0;
        let size = nominal * self.part_of_transient(now, nominal);
        let size = size * (1.0 + self.noise(self.config.size_noise)).max(SMALLEST / 2.0);
        let gap = interval * (1.0 + self.noise(self.config.interval_noise).max(-1.0));
        self.next = now + SimDuration::from_secs_f64(gap).max(SimDuration(1));
        Bytes((size as u64).clamp(1, LARGEST))
    }

    fn part_of_transient(&mut self, now: SimTime, nominal: f64) -> f64 {
        if self.transient == 0 {
            return 1.0;
        }
        let key = self.config.key_frame.0 as f64 / nominal;
        self.transient -= 1;
        if self.transient + 1 == TRANSIENT {
            self.next_key = now + self.config.key_interval.unwrap_or(SimDuration::ZERO);
            return key;
        }
        ((f64::from(TRANSIENT) - key) / f64::from(TRANSIENT - 1)).max(SMALLEST)
    }

    /// A Laplacian variable around zero.
    fn noise(&mut self, scale: f64) -> f64 {
        if scale == 0.0 {
            return 0.0;
        }
        let side = self.random.uniform() - 0.5;
        -scale * side.signum() * math::ln(1.0 - 2.0 * side.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn quiet() -> EncoderConfig {
        EncoderConfig {
            interval: SimDuration::from_millis(40),
            lag: SimDuration::from_millis(100),
            key_frame: Bytes(10_000),
            key_interval: None,
            size_noise: 0.0,
            interval_noise: 0.0,
        }
    }

    fn encoder(config: EncoderConfig) -> Encoder {
        Encoder::new(config, SimTime::ZERO, Bandwidth(1_000_000), RandomStream::new(1, "encoder"))
    }

    #[test]
    fn a_key_frame_and_nine_smaller_ones_are_ten_of_the_rate() {
        // 1 Mbit/s at 25 frames a second: 5000 octets; 10000, and nine of (50000 - 10000) / 9 = 4444.
        let mut encoder = encoder(quiet());
        let sizes: Vec<u64> = (0..12).map(|_| encoder.frame().0).collect();
        assert_eq!((sizes[0], sizes[1], sizes[9], sizes[10]), (10_000, 4_444, 4_444, 5_000));
        assert_eq!(encoder.next(), SimTime(12 * 40 * MS));
    }

    #[test]
    fn small_changes_are_taken_in_steps_and_big_ones_at_once() {
        let mut encoder = encoder(quiet());
        encoder.set_rate(SimTime(0), Bandwidth(1_400_000));
        assert_eq!(encoder.rate(), Bandwidth(1_100_000)); // a tenth
        encoder.set_rate(SimTime(99 * MS), Bandwidth(1_400_000));
        assert_eq!(encoder.rate(), Bandwidth(1_100_000)); // not before 100 ms
        encoder.set_rate(SimTime(100 * MS), Bandwidth(500_000)); // -54 %
        assert_eq!((encoder.rate(), encoder.frame()), (Bandwidth(500_000), Bytes(10_000)));
    }

    #[test]
    fn key_frames_come_at_their_interval() {
        let mut encoder = encoder(EncoderConfig { key_interval: Some(SimDuration::from_secs(2)), ..quiet() });
        let keys: Vec<usize> = (0..120)
            .filter(|_| true)
            .map(|_| encoder.frame().0)
            .enumerate()
            .filter_map(|(index, size)| (size == 10_000).then_some(index))
            .collect();
        assert_eq!(keys, [0, 50, 100]); // 25 frames a second
    }

    #[test]
    fn noise_has_its_scale_and_keeps_the_rate() {
        // A Laplacian variable with scale b has the variance 2 b^2; its mean over n is known to b sqrt(2 / n).
        let mut encoder = encoder(EncoderConfig { size_noise: 0.15, interval_noise: 0.15, ..quiet() });
        (0..10).for_each(|_| _ = encoder.frame());
        let from = encoder.next();
        let parts: Vec<f64> = (0..20_000).map(|_| encoder.frame().0 as f64 / 5_000.0 - 1.0).collect();
        let mean = parts.iter().sum::<f64>() / 2e4;
        let variance = parts.iter().map(|part| part * part).sum::<f64>() / 2e4;
        assert!(mean.abs() < 4.0 * 0.15 * (2.0_f64 / 2e4).sqrt(), "{mean}");
        assert!((variance - 0.045).abs() < 0.003, "{variance}");
        let gap = encoder.next().saturating_since(from).as_secs_f64() / 2e4;
        assert!((gap / 0.04 - 1.0).abs() < 0.006, "{gap}");
    }
}
