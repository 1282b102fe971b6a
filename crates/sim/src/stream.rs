//! One sending direction of a connection: an application, and its counts.

use ackclock_net::EndpointId;
use ackclock_tcp::Spent;
use ackclock_units::{Bytes, Histogram, SimDuration, SimTime};

use crate::app::App;
use crate::appliance::Blocking;
use crate::config::{FlowConfig, MeasureWindow};
use crate::connections::Connections;
use crate::outcome::{LimitShares, WindowCounts};
use crate::traffic::{CompletionLog, EmptyPath};

/// A stream of data in one direction: `sender` is the endpoint that writes; the other end of the connection reads. The
/// fields that every segment needs lie in front, in one cache line, and the round trips, which every ACK counts, behind
/// it.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Stream {
    pub(crate) sender: EndpointId,
    pub(crate) receiver: EndpointId,
    pub(crate) is_open: bool,
    /// Head-of-line blocking at the receiver of a stream that an appliance splits.
    pub(crate) blocking: Option<Box<Blocking>>,
    /// Total of octets after whose reading the application is notified.
    pub(crate) wanted: Option<Bytes>,
    /// Time of the pending notification.
    pub(crate) read_event: Option<SimTime>,
    /// RTT samples, counted beyond the measurement window; `measured_rtt` has those up to its end.
    rtt: Histogram,
    pub(crate) name: String,
    pub(crate) controller: String,
    pub(crate) profile: &'static str,
    pub(crate) app: App,
    pub(crate) start: SimTime,
    pub(crate) completion: Option<SimTime>,
    measured: Measured,
    measured_rtt: Option<Box<Histogram>>,
    /// Completed exchanges of a stream of requests.
    pub(crate) exchanges: Option<Box<(CompletionLog, EmptyPath)>>,
}

/// Counts at the borders of the measurement window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    from: Border,
    /// True if the stream had failed before the window began.
    had_failed: bool,
    /// End of the window or of the stream, whichever comes first: for its rates.
    until: Option<Border>,
    /// Counts at the end of the window: if ACKs are lost, a sender continues after its stream is complete.
    counts: WindowCounts,
    spent: Spent,
}

/// Counts at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Border {
    pub(crate) time: SimTime,
    pub(crate) read: u64,
    pub(crate) sent: u64,
    pub(crate) counts: WindowCounts,
    spent: Spent,
}

impl Stream {
    pub(crate) fn new(flow: &FlowConfig, name: String, app: App, [sender, receiver]: [EndpointId; 2]) -> Self {
        let from = Border { time: flow.start, ..Border::default() };
        Self {
            name,
            controller: flow.controller_name.clone(),
            profile: flow.profile,
            sender,
            receiver,
            app,
            start: flow.start,
            is_open: false,
            wanted: None,
            read_event: None,
            completion: None,
            rtt: Histogram::default(),
            measured: Measured { from, ..Measured::default() },
            measured_rtt: None,
            blocking: None,
            exchanges: None,
        }
    }

    fn border(&self, now: SimTime, connections: &Connections) -> Border {
        let read = connections.view(self.receiver).read(now).0;
        let sender = connections.view(self.sender);
        let counters = sender.counters();
        let counts = WindowCounts {
            sent_segments: counters.sent_segments,
            retransmitted_segments: counters.retransmitted_segments,
            lost_segments: counters.lost_octets.div_ceil(u64::from(sender.mss())),
            timeouts: counters.timeouts,
            fast_recoveries: counters.fast_recoveries,
            limited_by: None,
        };
        Border { time: now.max(self.start), read, sent: counters.sent_octets, counts, spent: sender.spent(now) }
    }

    /// Begins the measurement window.
    pub(crate) fn begin_measurement(&mut self, now: SimTime, connections: &Connections) {
        self.measured.from = self.border(now, connections);
        self.measured.had_failed = connections.view(self.sender).is_aborted();
        self.rtt = Histogram::default();
    }

    /// Ends the measurement window.
    pub(crate) fn end_measurement(&mut self, now: SimTime, connections: &Connections) {
        self.measured_rtt = Some(Box::new(std::mem::take(&mut self.rtt)));
        let Border { counts, spent, .. } = self.border(now, connections);
        (self.measured.counts, self.measured.spent) = (counts, spent);
        self.end_rates(now, connections);
    }

    /// Ends the rates with the measurement window, or with the stream if that is earlier.
    fn end_rates(&mut self, now: SimTime, connections: &Connections) {
        if self.measured.until.is_none() {
            self.measured.until = Some(self.border(now, connections));
        }
    }

    /// Takes note that the receiver has all data of the application.
    pub(crate) fn complete(&mut self, now: SimTime, window: &MeasureWindow, connections: &Connections) {
        self.completion = Some(now);
        // A stream that ends before the measurement window begins has nothing in it.
        if window.from.is_none_or(|from| now >= from) {
            self.end_rates(now, connections);
        }
    }

    /// RTT samples of the measurement window, microseconds.
    pub(crate) fn round_trips(&self) -> &Histogram {
        self.measured_rtt.as_deref().unwrap_or(&self.rtt)
    }

    /// True if it failed before the measurement window began, and so is absent from it.
    pub(crate) fn had_failed(&self) -> bool {
        self.measured.had_failed
    }

    /// Bits per second, read and sent, between the borders.
    pub(crate) fn rates(&self) -> (f64, f64) {
        let Some(until) = self.measured.until else { return (0.0, 0.0) };
        let from = self.measured.from;
        let seconds = until.time.saturating_since(from.time).as_secs_f64();
        if seconds <= 0.0 {
            return (0.0, 0.0);
        }
        let rate = |octets: u64| octets as f64 * 8.0 / seconds;
        (rate(until.read - from.read), rate(until.sent - from.sent))
    }

    /// The counts of the window.
    pub(crate) fn counts(&self) -> WindowCounts {
        let (from, until) = (self.measured.from.counts, self.measured.counts);
        WindowCounts {
            sent_segments: until.sent_segments - from.sent_segments,
            retransmitted_segments: until.retransmitted_segments - from.retransmitted_segments,
            lost_segments: until.lost_segments.saturating_sub(from.lost_segments),
            timeouts: until.timeouts - from.timeouts,
            fast_recoveries: until.fast_recoveries - from.fast_recoveries,
            limited_by: LimitShares::of(&self.measured.spent.since(&self.measured.from.spent)),
        }
    }

    pub(crate) fn on_rtt_sample(&mut self, sample: SimDuration) {
        // Microseconds: three digits more than any plot shows, and small tables.
        self.rtt.add(sample.0 / 1_000);
    }
}
