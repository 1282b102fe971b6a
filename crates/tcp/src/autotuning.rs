//! Buffers that grow with what a connection needs.
//!
//! Sources: Fisk, Feng, Dynamic right-sizing, 2001 (the receive buffer), as Linux has it by its behaviour.
//!
//! With `opens_to` the window follows the buffer as Linux 6.18's did when its packets were captured on an emulated path: by
//! two segments with each full-sized one that arrives, each of which is acknowledged at once.
//!
//! Departures: Linux counts memory, and its steps are smaller where packets carry little.

use ackclock_units::{SimDuration, SimTime};

use crate::config::{Autotuning, WindowTuning};

/// The receive buffer: twice what the application took in a round trip, and room for growth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveAutotuning {
    config: WindowTuning,
    /// The buffer, and what of it is advertised while it is empty.
    size: u64,
    window: u64,
    rtt: SimDuration,
    /// The round trip under way: since when, what had been read then, what was read in the one before.
    since: SimTime,
    read_before: u64,
    /// `None` before the first: ten segments, an initial window.
    space: Option<u64>,
    /// To measure the round trip without timestamps: when the window offered at `window_since` is full.
    window_end: u64,
    window_since: SimTime,
}

impl ReceiveAutotuning {
    pub(crate) fn new(config: WindowTuning) -> Self {
        Self {
            config,
            size: config.initial.0.max(config.opens_to.0),
            window: config.initial.0,
            rtt: SimDuration::ZERO,
            since: SimTime::ZERO,
            read_before: 0,
            space: None,
            window_end: 0,
            window_since: SimTime::ZERO,
        }
    }

    /// What the buffer ends at.
    pub(crate) fn largest(&self) -> u64 {
        self.config.max.0
    }

    /// What may be advertised now while nothing waits to be read.
    pub(crate) fn window(&self) -> u64 {
        if self.opens() { self.window } else { self.size }
    }

    /// The window opens with segments, and not at once with the buffer.
    fn opens(&self) -> bool {
        self.config.opens_to > self.config.initial
    }

    /// A full-sized segment arrived: true if it lets the window open further.
    pub(crate) fn on_full_segment(&mut self, mss: u64) -> bool {
        if !self.opens() || self.window >= self.size {
            return false;
        }
        self.window = (self.window + 2 * mss).min(self.size);
        true
    }

    /// The round trip; zero before it is known.
    pub(crate) fn rtt(&self) -> SimDuration {
        self.rtt
    }

    /// What the application took in the round trip that counts; ten segments before the first.
    pub(crate) fn space(&self, mss: u64) -> u64 {
        self.space.unwrap_or_else(|| self.window.min(10 * mss))
    }

    /// A round trip as the receiver sees it: a timestamp echoed.
    pub(crate) fn on_rtt(&mut self, rtt: SimDuration) {
        self.rtt = if self.rtt.is_zero() { rtt } else { SimDuration(self.rtt.0 - self.rtt.0 / 8 + rtt.0 / 8) };
    }

    /// Data up to `rcv_nxt` has arrived, with a window open to `edge`: without timestamps, a window's worth of data
    /// takes at least a round trip.
    pub(crate) fn on_data(&mut self, now: SimTime, rcv_nxt: u64, edge: u64, has_timestamps: bool) {
        if rcv_nxt < self.window_end {
            return;
        }
        if self.window_end > 0 && !has_timestamps {
            let took = now.saturating_since(self.window_since);
            self.rtt = if self.rtt.is_zero() { took } else { self.rtt.min(took) };
        }
        (self.window_end, self.window_since) = (edge, now);
    }

    /// The application has read `octets` in all.
    pub(crate) fn on_read(&mut self, now: SimTime, octets: u64, mss: u64) {
        if self.rtt.is_zero() || now.saturating_since(self.since) < self.rtt {
            return;
        }
        let copied = octets - self.read_before;
        let space = self.space(mss);
        if copied > space {
            // The sender doubles in slow start: twice what came, and as much more as it has grown.
            let base = 2 * copied + 16 * mss;
            let growth = u128::from(base) * u128::from(copied - space) / u128::from(space);
            // More than any buffer, but no overflow.
            let wanted = base.saturating_add((2 * growth).min(u128::from(u64::MAX / 2)) as u64);
            self.size = self.size.max(wanted.min(self.config.max.0));
            self.space = Some(copied);
        }
        (self.since, self.read_before) = (now, octets);
    }
}

/// The send buffer grown for a congestion window: to twice that, so that a window is there when another is acknowledged.
pub(crate) fn grown_send_buffer(size: u64, config: Autotuning, cwnd: u64) -> u64 {
    size.max((2 * cwnd).min(config.max.0))
}

#[cfg(test)]
mod tests {
    use ackclock_units::Bytes;

    use super::*;

    #[test]
    fn the_buffer_doubles_with_the_data_of_a_round_trip() {
        let config = WindowTuning { initial: Bytes(64_000), max: Bytes(1_000_000), opens_to: Bytes(0) };
        let mut tuning = ReceiveAutotuning::new(config);
        tuning.on_rtt(SimDuration::from_millis(100));
        tuning.on_read(SimTime(100_000_000), 10_000, 1_000);
        assert_eq!(tuning.window(), 64_000); // no more than ten segments in the round trip
        tuning.on_read(SimTime(200_000_000), 30_000, 1_000);
        // 20 000 in a round trip: 2 * 20 000 + 16 000 = 56 000; grown by 10/10: + 2 * 56 000
        assert_eq!(tuning.window(), 168_000);
        tuning.on_read(SimTime(300_000_000), 600_000, 1_000);
        assert_eq!(tuning.window(), 1_000_000);
    }

    /// As captured of Linux 6.18: 64,240 octets, 2,896 more with each of the first segments, until memory for 80,931 is
    /// offered.
    #[test]
    fn the_window_opens_with_segments() {
        let config = WindowTuning { initial: Bytes(64_240), max: Bytes(1_000_000), opens_to: Bytes(80_931) };
        let mut tuning = ReceiveAutotuning::new(config);
        let opened = (0..10).filter(|_| tuning.on_full_segment(1_448)).count();
        assert_eq!((opened, tuning.window()), (6, 80_931));
        tuning.on_rtt(SimDuration::from_millis(40));
        tuning.on_read(SimTime(40_000_000), 43_440, 1_448);
        // 30 segments in a round trip, 10 before: 2 * 43 440 + 16 * 1 448 = 110 048; grown by 20/10: + 2 * 2 * 110 048.
        assert_eq!(tuning.window(), 80_931, "only segments open it");
        assert!(tuning.on_full_segment(1_448));
        assert_eq!((tuning.window(), tuning.size), (83_827, 550_240));
    }
}
