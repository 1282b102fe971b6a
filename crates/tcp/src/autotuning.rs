//! Buffers that grow with what a connection needs.
//!
//! Sources: Fisk, Feng, Dynamic right-sizing, 2001 (the receive buffer), as Linux has it by its behaviour.
//!
//! Departures: the window grows by steps of a round trip only, and not also with each segment that arrives (Linux's
//! `rcv_ssthresh`).

use ackclock_units::{SimDuration, SimTime};

use crate::config::Autotuning;

/// The receive buffer: twice what the application took in a round trip, and room for growth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveAutotuning {
    config: Autotuning,
    size: u64,
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
    pub(crate) fn new(config: Autotuning) -> Self {
        let size = config.initial.0;
        Self {
            config,
            size,
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

    /// The buffer now.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The round trip; zero before it is known.
    pub(crate) fn rtt(&self) -> SimDuration {
        self.rtt
    }

    /// What the application took in the round trip that counts; ten segments before the first.
    pub(crate) fn space(&self, mss: u64) -> u64 {
        self.space.unwrap_or_else(|| self.size.min(10 * mss))
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
        let config = Autotuning { initial: Bytes(64_000), max: Bytes(1_000_000) };
        let mut tuning = ReceiveAutotuning::new(config);
        tuning.on_rtt(SimDuration::from_millis(100));
        tuning.on_read(SimTime(100_000_000), 10_000, 1_000);
        assert_eq!(tuning.size(), 64_000); // no more than ten segments in the round trip
        tuning.on_read(SimTime(200_000_000), 30_000, 1_000);
        // 20 000 in a round trip: 2 * 20 000 + 16 000 = 56 000; grown by 10/10: + 2 * 56 000
        assert_eq!(tuning.size(), 168_000);
        tuning.on_read(SimTime(300_000_000), 600_000, 1_000);
        assert_eq!(tuning.size(), 1_000_000);
    }
}
