//! Measurements on a link.

use ackclock_units::{Histogram, SimDuration, SimTime};

/// Counts of a link's packets at an instant, since the beginning of the run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Window {
    pub(crate) at: SimTime,
    /// Time for which the link has been sending.
    pub(crate) busy: SimDuration,
    /// Packets that came out at the far end.
    pub(crate) delivered: u64,
    /// Packets whose service has begun; `None` where each is reported to [`LinkStats::on_accepted`].
    pub(crate) begun: Option<u64>,
}

/// Counts and distributions over the measurement window.
#[derive(Clone, Debug, Default)]
pub struct LinkStats {
    /// Counts at the beginning of the window.
    start: Window,
    delivered_packets: u64,
    drops: u64,
    marks: u64,
    lost: u64,
    duplicated: u64,
    reordered: u64,
    /// Packets that did not wait; they are added to the histogram at the end.
    without_wait: u64,
    occupancy: Occupancy,
    /// Packets waiting, weighted by nanoseconds.
    queue_packets: Histogram,
    /// Wait of each packet whose service began, nanoseconds.
    queueing_delay: Histogram,
    window: SimDuration,
    busy: SimDuration,
    /// Used share of the capacity of a link of changing rate.
    used: Option<f64>,
}

/// Time for each number of waiting packets. With every packet the number changes by one, twice, so that times are kept
/// by number, and become a histogram on request.
#[derive(Clone, Debug, Default)]
struct Occupancy {
    /// Nanoseconds of each number.
    times: Vec<u64>,
    last_change: SimTime,
}

impl Occupancy {
    /// Takes a change at `at`: the number was `was` until then.
    #[inline]
    fn on_change(&mut self, at: SimTime, was: usize) {
        let time = at.saturating_since(self.last_change).0;
        self.last_change = self.last_change.max(at);
        match self.times.get_mut(was) {
            Some(known) => *known += time,
            None => self.extend(was, time),
        }
    }

    #[cold]
    fn extend(&mut self, was: usize, time: u64) {
        self.times.resize(was + 1, 0);
        self.times[was] = time;
    }

    fn take(&mut self) -> Histogram {
        let mut histogram = Histogram::default();
        for (number, time) in (0..).zip(std::mem::take(&mut self.times)) {
            histogram.add_weighted(number, time);
        }
        histogram
    }
}

impl LinkStats {
    pub(crate) fn on_drop(&mut self) {
        self.drops += 1;
    }

    pub(crate) fn on_marks(&mut self, count: u64) {
        self.marks += count;
    }

    pub(crate) fn on_lost(&mut self) {
        self.lost += 1;
    }

    pub(crate) fn on_duplicated(&mut self) {
        self.duplicated += 1;
    }

    pub(crate) fn on_reordered(&mut self) {
        self.reordered += 1;
    }

    pub(crate) fn on_accepted(&mut self, wait: SimDuration) {
        if wait.is_zero() {
            self.without_wait += 1;
        } else {
            self.on_waited(wait);
        }
    }

    pub(crate) fn on_waited(&mut self, wait: SimDuration) {
        self.queueing_delay.add(wait.0);
    }

    /// Takes a change of the number of waiting packets at `at`: it was `was` until then.
    #[inline]
    pub(crate) fn on_queue_change(&mut self, at: SimTime, was: usize) {
        self.occupancy.on_change(at, was);
    }

    pub(crate) fn restart(&mut self, start: Window) {
        let occupancy = Occupancy { last_change: start.at, ..Occupancy::default() };
        *self = Self { start, occupancy, ..Self::default() };
    }

    pub(crate) fn finish(&mut self, end: Window, waiting: usize, used: Option<f64>) {
        self.on_queue_change(end.at, waiting);
        self.queue_packets = self.occupancy.take();
        if let Some(begun) = end.begun {
            self.without_wait = begun - self.start.begun.unwrap_or(0) - self.queueing_delay.weight();
        }
        self.queueing_delay.add_weighted(0, std::mem::take(&mut self.without_wait));
        self.delivered_packets = end.delivered - self.start.delivered;
        self.window = end.at.saturating_since(self.start.at);
        self.busy = end.busy - self.start.busy;
        self.used = used;
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

    /// Packets lost on the way.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Packets of which a copy was made on the way.
    pub fn duplicated(&self) -> u64 {
        self.duplicated
    }

    /// Packets that arrived after one that had left later (RFC 4737).
    pub fn reordered(&self) -> u64 {
        self.reordered
    }

    pub(crate) fn window_start(&self) -> SimTime {
        self.start.at
    }

    /// Packets waiting, weighted by nanoseconds.
    pub fn queue_packets(&self) -> &Histogram {
        &self.queue_packets
    }

    /// Wait of each packet whose service began, nanoseconds.
    pub fn queueing_delay(&self) -> &Histogram {
        &self.queueing_delay
    }

    /// Fraction of the window in which the link was sending; where its rate changes, fraction of its capacity in the
    /// window.
    pub fn utilization(&self) -> f64 {
        let busy = || if self.window.is_zero() { 0.0 } else { self.busy.0 as f64 / self.window.0 as f64 };
        self.used.unwrap_or_else(busy)
    }
}
