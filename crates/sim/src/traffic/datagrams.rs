//! Datagrams (UDP) without congestion control: when they leave, and what becomes of them.
//!
//! Sources: RFC 768; loss and jitter as RFC 3550 counts them (appendix A.3, section 6.4.1).

use ackclock_net::{Datagram, EndpointId, Packet, RandomStream, Router};
use ackclock_units::{Bandwidth, Bytes, Histogram, SimDuration, SimTime, math};
use ackclock_wire::Ecn;
use serde::Serialize;

use super::config::{DatagramConfig, Sending};
use crate::config::{MeasureWindow, SimulationConfig, Span};
use crate::event_queue::Event;
use crate::hosts::Hosts;
use crate::ids::{DatagramFlowId, RouteId};
use crate::network::Network;
use crate::outcome::Distribution;
use crate::summary::distribution;

/// RFC 3550 section 6.4.1: the gain of the jitter estimator.
const JITTER_GAIN: f64 = 1.0 / 16.0;

/// All flows of datagrams at work.
#[derive(Clone, Debug)]
pub(crate) struct DatagramFlows {
    list: Vec<RoutedFlow>,
}

#[derive(Clone, Debug)]
struct RoutedFlow {
    flow: DatagramFlow,
    route: RouteId,
    receiver: EndpointId,
    payload: u32,
    ecn: Ecn,
}

impl DatagramFlows {
    /// Adds routes, places among the connections, and the first datagram of every flow.
    pub(crate) fn new(config: &SimulationConfig, hosts: &mut Hosts, router: &mut Router<'_>) -> Self {
        let mut list = Vec::with_capacity(config.traffic.datagrams.len());
        for (index, datagrams) in config.traffic.datagrams.iter().enumerate() {
            let id = DatagramFlowId::new(index);
            let mut flow = DatagramFlow::new(datagrams, config.seed, config.measure);
            if let Some(time) = flow.first() {
                hosts.schedule(time, Event::Datagram(id));
            }
            let route =
                hosts.network.add_route(router, (datagrams.from, SimDuration::ZERO), (datagrams.to, SimDuration::ZERO));
            let receiver = hosts.connections.add_datagrams(id);
            if datagrams.capture {
                let host = &config.network.node(datagrams.from).name;
                let view = hosts.network.captures.add_view(&datagrams.name, host);
                hosts.network.capture_end(receiver.peer(), Some(view), route);
            }
            list.push(RoutedFlow { flow, route, receiver, payload: datagrams.payload, ecn: datagrams.ecn });
        }
        Self { list }
    }

    /// The time of a flow's next datagram has come.
    pub(crate) fn send(&mut self, id: DatagramFlowId, network: &mut Network) {
        let now = network.now();
        let RoutedFlow { flow, route, receiver, payload, ecn } = &mut self.list[id.index()];
        let (number, next) = flow.send(now);
        let datagram = Datagram { number, sent: now, payload: *payload, ecn: *ecn };
        network.send(*route, &Packet::udp(datagram, *receiver));
        if let Some(time) = next {
            network.queue.push(time, Event::Datagram(id));
        }
    }

    /// A datagram of a flow has arrived.
    pub(crate) fn receive(&mut self, id: DatagramFlowId, now: SimTime, datagram: &Datagram) {
        let is_marked = datagram.ecn == Ecn::Ce;
        self.list[id.index()].flow.receive(now, datagram.sent, datagram.number, is_marked);
    }

    pub(crate) fn summaries(&self, config: &SimulationConfig) -> Vec<DatagramSummary> {
        let end = SimTime(config.duration.0);
        let flows = self.list.iter().zip(&config.traffic.datagrams);
        flows.map(|(routed, config)| routed.flow.summary(config, end)).collect()
    }
}

/// One flow of datagrams: its sender, which says when the next leaves, and its receiver, which counts.
#[derive(Clone, Debug)]
pub struct DatagramFlow {
    payload: u32,
    until: SimTime,
    sending: Sending,
    random: RandomStream,
    /// Beginning of the evenly spaced datagrams under way, and how many of them have left.
    spaced_from: SimTime,
    spaced: u64,
    /// End of the on period under way.
    on_until: SimTime,
    /// What is left of the last random gap beyond whole nanoseconds.
    fraction: f64,
    /// Number of the next datagram.
    number: u32,
    sink: Sink,
}

/// What the receiver saw of the datagrams that left within the measurement window.
#[derive(Clone, Debug)]
struct Sink {
    window: MeasureWindow,
    sent: u64,
    /// Number of the first that left in the window.
    first: Option<u32>,
    received: u64,
    /// One more than the highest number received.
    next: u32,
    out_of_order: u64,
    marked: u64,
    /// One-way delays, nanoseconds.
    delay: Histogram,
    last_delay: Option<SimDuration>,
    /// Nanoseconds.
    jitter: f64,
}

/// One flow of datagrams; those that left within the measurement window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DatagramSummary {
    /// As in the scenario.
    pub name: String,
    /// Datagrams that left the sender.
    pub sent: u64,
    /// Datagrams that arrived before the run ended.
    pub received: u64,
    /// Datagrams that did not arrive though a later one did.
    pub lost: u64,
    /// Datagrams that arrived after a later one.
    pub out_of_order: u64,
    /// Datagrams that arrived with a CE mark.
    pub marked: u64,
    /// Payload sent, in bit/s.
    pub sent_bps: f64,
    /// Payload that arrived, in bit/s.
    pub goodput_bps: f64,
    /// From the sender to the receiver; null if none arrived.
    pub one_way_delay_ms: Option<Distribution>,
    /// Interarrival jitter at the end, as RFC 3550 estimates it; null with fewer than two arrivals.
    pub jitter_ms: Option<f64>,
}

impl DatagramFlow {
    /// Before its first datagram; random gaps and periods are of the seed's stream of its name.
    pub fn new(config: &DatagramConfig, seed: u64, window: MeasureWindow) -> Self {
        let mut flow = Self {
            payload: config.payload,
            until: config.until,
            sending: config.sending,
            random: RandomStream::new(seed, &format!("datagrams {}", config.name)),
            spaced_from: config.start,
            spaced: 0,
            on_until: SimTime::NEVER,
            fraction: 0.0,
            number: 0,
            sink: Sink::new(window),
        };
        if let Sending::OnOff { on, .. } = config.sending {
            flow.on_until = config.start + draw(on, &mut flow.random);
        }
        flow
    }

    /// When the first leaves, if any does.
    pub fn first(&mut self) -> Option<SimTime> {
        let first = match self.sending {
            Sending::Poisson(rate) => self.spaced_from + self.gap(rate),
            Sending::Constant(_) | Sending::OnOff { .. } => self.spaced_from,
        };
        (first < self.until).then_some(first)
    }

    /// A datagram leaves now: its number, and when the next leaves.
    pub fn send(&mut self, now: SimTime) -> (u32, Option<SimTime>) {
        let number = self.number;
        self.number = number.wrapping_add(1);
        self.sink.on_sent(now, number);
        let next = match self.sending {
            Sending::Constant(rate) => self.evenly(rate),
            Sending::Poisson(rate) => now + self.gap(rate),
            Sending::OnOff { on, off, rate } => self.in_periods(on, off, rate),
        };
        (number, (next < self.until).then_some(next))
    }

    /// Datagram k of a period leaves k payloads after its beginning, rounded up once: the rate is exact.
    fn evenly(&mut self, rate: Bandwidth) -> SimTime {
        self.spaced += 1;
        self.spaced_from + rate.serialization_delay(Bytes(u64::from(self.payload) * self.spaced))
    }

    fn in_periods(&mut self, on: Span, off: Span, rate: Bandwidth) -> SimTime {
        let next = self.evenly(rate);
        if next < self.on_until {
            return next;
        }
        let begin = self.on_until + draw(off, &mut self.random);
        (self.spaced_from, self.spaced) = (begin, 0);
        self.on_until = begin + draw(on, &mut self.random);
        begin
    }

    fn gap(&mut self, rate: Bandwidth) -> SimDuration {
        let mean = f64::from(self.payload) * 8e9 / rate.0 as f64;
        let exact = -math::ln(1.0 - self.random.uniform()) * mean + self.fraction;
        let whole = exact as u64;
        self.fraction = exact - whole as f64;
        SimDuration(whole)
    }

    /// A datagram arrived.
    pub fn receive(&mut self, now: SimTime, sent: SimTime, number: u32, marked: bool) {
        self.sink.on_received(now, sent, number, marked);
    }

    /// What was sent and received, of a run that ends at `end`.
    pub fn summary(&self, config: &DatagramConfig, end: SimTime) -> DatagramSummary {
        let sink = &self.sink;
        let from = sink.window.from.map_or(config.start, |from| from.max(config.start));
        let until = sink.window.until.map_or(end, |until| until.min(end)).min(config.until);
        let seconds = until.saturating_since(from).as_secs_f64();
        let rate =
            |count: u64| if seconds > 0.0 { (count * u64::from(self.payload) * 8) as f64 / seconds } else { 0.0 };
        let expected = sink.first.map_or(0, |first| sink.next.saturating_sub(first));
        DatagramSummary {
            name: config.name.clone(),
            sent: sink.sent,
            received: sink.received,
            lost: u64::from(expected).saturating_sub(sink.received),
            out_of_order: sink.out_of_order,
            marked: sink.marked,
            sent_bps: rate(sink.sent),
            goodput_bps: rate(sink.received),
            one_way_delay_ms: (sink.received > 0).then(|| distribution(&sink.delay, 1e6)),
            jitter_ms: (sink.received > 1).then_some(sink.jitter / 1e6),
        }
    }
}

fn draw(span: Span, random: &mut RandomStream) -> SimDuration {
    match span {
        Span::Constant(span) => span,
        Span::Exponential(mean) => random.exponential(mean),
    }
}

impl Sink {
    fn new(window: MeasureWindow) -> Self {
        Self {
            window,
            sent: 0,
            first: None,
            received: 0,
            next: 0,
            out_of_order: 0,
            marked: 0,
            delay: Histogram::default(),
            last_delay: None,
            jitter: 0.0,
        }
    }

    fn on_sent(&mut self, now: SimTime, number: u32) {
        if self.window.holds(now) {
            self.sent += 1;
            self.first.get_or_insert(number);
        }
    }

    fn on_received(&mut self, now: SimTime, sent: SimTime, number: u32, marked: bool) {
        if !self.window.holds(sent) {
            return;
        }
        self.received += 1;
        self.marked += u64::from(marked);
        self.out_of_order += u64::from(number < self.next);
        self.next = self.next.max(number + 1);
        let delay = now - sent;
        self.delay.add(delay.0);
        if let Some(last) = self.last_delay.replace(delay) {
            // J = J + (|D| - J) / 16, where D is the difference of the two delays.
            self.jitter += (delay.0.abs_diff(last.0) as f64 - self.jitter) * JITTER_GAIN;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_net::NodeId;

    const MS: u64 = 1_000_000;

    fn config(sending: Sending, until: u64) -> DatagramConfig {
        DatagramConfig {
            name: "u".to_owned(),
            capture: false,
            from: NodeId::new(0),
            to: NodeId::new(1),
            start: SimTime::ZERO,
            until: SimTime(until),
            payload: 1_000,
            sending,
            ecn: Ecn::NotEct,
        }
    }

    fn departures(config: &DatagramConfig) -> Vec<u64> {
        let mut flow = DatagramFlow::new(config, 5, MeasureWindow::default());
        let mut next = flow.first();
        let mut times = Vec::new();
        while let Some(time) = next {
            times.push(time.0);
            next = flow.send(time).1;
        }
        times
    }

    #[test]
    fn a_constant_rate_is_exact_over_any_time() {
        // 3 Mbit/s: a datagram of 8000 bits every 2.6667 ms; in 8 s, 3000 of them.
        let times = departures(&config(Sending::Constant(Bandwidth(3_000_000)), 8_000 * MS));
        assert_eq!(times.len(), 3_000);
        assert_eq!(times[..4], [0, 2_666_667, 5_333_334, 8 * MS]);
        assert_eq!(times[2_997], 7_992 * MS);
    }

    #[test]
    fn on_periods_hold_what_their_rate_makes() {
        // 8 Mbit/s: one a millisecond; 10 ms on, 30 ms off: 10 datagrams every 40 ms.
        let span = |ms| Span::Constant(SimDuration(ms * MS));
        let times =
            departures(&config(Sending::OnOff { on: span(10), off: span(30), rate: Bandwidth(8_000_000) }, 400 * MS));
        assert_eq!(times.len(), 100);
        assert_eq!((times[9], times[10], times[11]), (9 * MS, 40 * MS, 41 * MS));
    }

    #[test]
    fn poisson_gaps_have_their_mean_and_spread() {
        // 8 Mbit/s: 1 ms on average; in 100 s 100,000 with a standard deviation of 316.
        let times = departures(&config(Sending::Poisson(Bandwidth(8_000_000)), 100_000 * MS));
        assert!((times.len() as f64 - 1e5).abs() < 3.0 * 316.3, "{}", times.len());
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
        let square = gaps.iter().map(|gap| gap * gap).sum::<f64>() / gaps.len() as f64;
        assert!((square - 2.0).abs() < 0.06, "{square}"); // E[X^2] = 2 mean^2; standard error sqrt(20/1e5) = 0.014
    }

    #[test]
    fn loss_disorder_and_jitter_by_hand() {
        let config = config(Sending::Constant(Bandwidth(8_000_000)), 8 * MS);
        let mut flow = DatagramFlow::new(&config, 1, MeasureWindow::default());
        for number in 0..8 {
            flow.send(SimTime(number * MS));
        }
        // 0, 1, 3, 2, 5 arrive; 4 does not though 5 does; 6 and 7 are still on their way.
        for (number, delay) in [(0, 10), (1, 26), (3, 10), (2, 12), (5, 10)] {
            flow.receive(SimTime((number + delay) * MS), SimTime(number * MS), number as u32, number == 3);
        }
        let summary = flow.summary(&config, SimTime(8 * MS));
        assert_eq!(
            (summary.sent, summary.received, summary.lost, summary.out_of_order, summary.marked),
            (8, 5, 1, 1, 1)
        );
        assert!((summary.sent_bps - 8e6).abs() < 1e-6);
        assert!((summary.goodput_bps - 5e6).abs() < 1e-6);
        // |D| = 16, 16, 2, 2 ms: J = 1, 1 + 15/16, 1.9375 + 0.0625/16 = 1.94140625, + 0.05859375/16 = 1.945068359375.
        let jitter = summary.jitter_ms.expect("five arrivals");
        assert!((jitter - 1.945_068_359_375).abs() < 1e-9, "{jitter}");
        let delay = summary.one_way_delay_ms.expect("five arrivals");
        assert!((delay.mean - 13.6).abs() < 1e-9); // (10 + 26 + 10 + 12 + 10) / 5
    }

    #[test]
    fn only_what_left_in_the_measurement_window_counts() {
        let config = config(Sending::Constant(Bandwidth(8_000_000)), 8 * MS);
        let window = MeasureWindow { from: Some(SimTime(2 * MS)), until: Some(SimTime(6 * MS)) };
        let mut flow = DatagramFlow::new(&config, 1, window);
        for number in 0..8 {
            flow.send(SimTime(number * MS));
            if number != 3 {
                flow.receive(SimTime(number * MS + 1), SimTime(number * MS), number as u32, false);
            }
        }
        let summary = flow.summary(&config, SimTime(8 * MS));
        assert_eq!((summary.sent, summary.received, summary.lost), (4, 3, 1)); // 2 to 5, without 3
        assert!((summary.sent_bps - 8e6).abs() < 1e-6);
    }
}
