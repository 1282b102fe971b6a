//! What is measured on a link.

use ackclock_units::{Histogram, SimDuration, SimTime};

/// Counts and distributions over the measurement window.
#[derive(Clone, Debug, Default)]
pub struct LinkStats {
    delivered_packets: u64,
    drops: u64,
    marks: u64,
    /// Packets that did not wait; they join the histogram at the end.
    without_wait: u64,
    /// Packets waiting, weighted by nanoseconds.
    queue_packets: Histogram,
    /// Wait of each accepted packet, nanoseconds.
    queueing_delay: Histogram,
    window_start: SimTime,
    window: SimDuration,
    last_change: SimTime,
    busy_at_start: SimDuration,
    busy: SimDuration,
}

impl LinkStats {
    pub(crate) fn on_drop(&mut self) {
        self.drops += 1;
    }

    pub(crate) fn on_marks(&mut self, count: u64) {
        self.marks += count;
    }

    pub(crate) fn on_delivered(&mut self) {
        self.delivered_packets += 1;
    }

    pub(crate) fn on_accepted(&mut self, wait: SimDuration) {
        if wait.is_zero() {
            self.without_wait += 1;
        } else {
            self.queueing_delay.add(wait.0);
        }
    }

    /// At `at` the number of waiting packets ceased to be `was`.
    pub(crate) fn on_queue_change(&mut self, at: SimTime, was: usize) {
        self.queue_packets.add_weighted(was as u64, at.saturating_since(self.last_change).0);
        self.last_change = self.last_change.max(at);
    }

    pub(crate) fn restart(&mut self, now: SimTime, busy: SimDuration) {
        *self = Self { window_start: now, last_change: now, busy_at_start: busy, ..Self::default() };
    }

    pub(crate) fn finish(&mut self, now: SimTime, waiting: usize, busy: SimDuration) {
        self.on_queue_change(now, waiting);
        self.queueing_delay.add_weighted(0, std::mem::take(&mut self.without_wait));
        self.window = now.saturating_since(self.window_start);
        self.busy = busy - self.busy_at_start;
    }

    /// Packets that came out at the far end.
    pub fn delivered_packets(&self) -> u64 {
        self.delivered_packets
    }

    /// Packets dropped by the queue or a discarder in front of it.
    pub fn drops(&self) -> u64 {
        self.drops
    }

    /// Packets marked by the queue.
    pub fn marks(&self) -> u64 {
        self.marks
    }

    /// Packets waiting, weighted by nanoseconds.
    pub fn queue_packets(&self) -> &Histogram {
        &self.queue_packets
    }

    /// Wait of each accepted packet before its service, nanoseconds.
    pub fn queueing_delay(&self) -> &Histogram {
        &self.queueing_delay
    }

    /// Fraction of the window in which the link was sending.
    pub fn utilization(&self) -> f64 {
        if self.window.is_zero() { 0.0 } else { self.busy.0 as f64 / self.window.0 as f64 }
    }
}
