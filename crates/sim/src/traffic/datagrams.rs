//! Datagrams (UDP): their departures, without congestion control or in a flow of media ([`super::media`]).
//!
//! Source: RFC 768.

use ackclock_net::{Datagram, EndpointId, Packet, RandomStream, Router};
use ackclock_units::interrupt::check;
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime, math};
use ackclock_wire::Ecn;

use super::config::{DatagramConfig, Sending};
use super::media::{MediaFlow, MediaSeries};
use super::sink::{DatagramSummary, Sink};
use crate::config::{MeasureWindow, SimulationConfig, Span};
use crate::event_queue::Event;
use crate::hosts::Hosts;
use crate::ids::{DatagramFlowId, RouteId};
use crate::network::{Network, Place};
use crate::outcome::Table;

/// Periods of an on-off source that are skipped between checks for cancellation.
const PERIODS_BETWEEN_QUESTIONS: u64 = 1 << 16;

/// All flows of datagrams in operation.
#[derive(Clone, Debug)]
pub(crate) struct DatagramFlows {
    list: Vec<RoutedFlow>,
    /// Series of media flows over time.
    series: Option<MediaSeries>,
}

#[derive(Clone, Debug)]
struct RoutedFlow {
    work: Work,
    route: RouteId,
    /// Route of the receiver's reports.
    back: Option<RouteId>,
    receiver: EndpointId,
    payload: u32,
    ecn: Ecn,
}

/// Source of a flow's datagrams.
#[derive(Clone, Debug)]
enum Work {
    Plain(Box<DatagramFlow>),
    Media(Box<MediaFlow>),
}

impl DatagramFlows {
    /// Adds routes, places among the connections, and the first datagram of every flow.
    pub(crate) fn new(config: &SimulationConfig, hosts: &mut Hosts, router: &mut Router<'_>) -> Self {
        let mut list = Vec::with_capacity(config.traffic.datagrams.len());
        for (index, datagrams) in config.traffic.datagrams.iter().enumerate() {
            let id = DatagramFlowId::new(index);
            let (work, first) = Work::new(datagrams, config);
            if let Some(time) = first {
                hosts.schedule(time, Event::Datagram(id));
            }
            let ends = [datagrams.from, datagrams.to].map(Place::plain);
            let route = hosts.network.add_route(router, ends[0], ends[1]);
            let is_media = matches!(work, Work::Media(_));
            let back = is_media.then(|| hosts.network.add_route(router, ends[1], ends[0]));
            let receiver = hosts.connections.add_datagrams(id);
            if datagrams.capture {
                let host = &config.network.node(datagrams.from).name;
                let view = hosts.network.captures.add_view(&datagrams.name, host);
                hosts.network.capture_end(receiver.peer(), Some(view), route);
            }
            list.push(RoutedFlow { work, route, back, receiver, payload: datagrams.payload, ecn: datagrams.ecn });
        }
        let is_recorded = !config.trace.flows.is_empty() && list.iter().any(|flow| flow.back.is_some());
        let series = is_recorded.then(|| MediaSeries::new(list.len()));
        Self { list, series }
    }

    /// Handles a flow's time: for its next datagram, or for another event.
    pub(crate) fn send(&mut self, id: DatagramFlowId, network: &mut Network) {
        let now = network.now();
        let flow = &mut self.list[id.index()];
        match &mut flow.work {
            Work::Plain(plain) => {
                let (number, next) = plain.send(now);
                let datagram = Datagram { number, sent: now, payload: flow.payload, ecn: flow.ecn };
                network.send(flow.route, &Packet::udp(datagram, flow.receiver));
                if let Some(time) = next {
                    network.queue.push(time, Event::Datagram(id));
                }
            }
            Work::Media(media) => {
                if media.is_due(now) {
                    flow.act(id, network);
                }
            }
        }
    }

    /// Takes a datagram of a flow at this end.
    pub(crate) fn receive(&mut self, id: DatagramFlowId, to: EndpointId, datagram: &Datagram, network: &mut Network) {
        let (now, flow) = (network.now(), &mut self.list[id.index()]);
        match &mut flow.work {
            Work::Plain(plain) => {
                plain.receive(now, datagram.sent, datagram.number, datagram.ecn == Ecn::Ce);
            }
            Work::Media(media) => {
                if to == flow.receiver {
                    media.on_packet(now, datagram);
                } else {
                    media.on_report(now, datagram.number);
                }
                flow.act(id, network);
            }
        }
    }

    /// The results of each flow up to `end`, the time that has been simulated.
    pub(crate) fn summaries(&self, config: &SimulationConfig, end: SimTime) -> Vec<DatagramSummary> {
        let flows = self.list.iter().zip(&config.traffic.datagrams);
        flows
            .map(|(flow, config)| match &flow.work {
                Work::Plain(plain) => plain.summary(config, end),
                Work::Media(media) => media.summary(config, end),
            })
            .collect()
    }

    /// True if series are recorded.
    pub(crate) fn are_recorded(&self) -> bool {
        self.series.is_some()
    }

    /// Records a row for each flow of media, if requested.
    pub(crate) fn sample(&mut self, now: SimTime) {
        let Some(series) = &mut self.series else { return };
        for (index, flow) in self.list.iter().enumerate() {
            if let Work::Media(media) = &flow.work {
                series.sample(now, index, media);
            }
        }
    }

    /// The table of all rows; without columns if none are recorded.
    pub(crate) fn take_table(&mut self, config: &SimulationConfig) -> Table {
        let names = || config.traffic.datagrams.iter().map(|flow| flow.name.clone()).collect();
        self.series.take().map_or_else(Table::default, |series| series.into_table(names()))
    }
}

impl RoutedFlow {
    /// Sends the packets of a flow of media, either way, and schedules its next call.
    fn act(&mut self, id: DatagramFlowId, network: &mut Network) {
        let now = network.now();
        let Self { work: Work::Media(media), route, back, receiver, ecn, .. } = self else { return };
        while let Some((number, payload)) = media.send(now) {
            let datagram = Datagram { number, sent: now, payload, ecn: *ecn };
            network.send(*route, &Packet::udp(datagram, *receiver));
        }
        if let (Some(back), Some((number, payload))) = (*back, media.report(now)) {
            let datagram = Datagram { number, sent: now, payload, ecn: Ecn::NotEct };
            network.send(back, &Packet::udp(datagram, receiver.peer()));
        }
        if let Some(time) = media.wake() {
            network.queue.push(time, Event::Datagram(id));
        }
    }
}

impl Work {
    /// Creates a source, and returns the time of its first call.
    fn new(datagrams: &DatagramConfig, config: &SimulationConfig) -> (Self, Option<SimTime>) {
        if let Sending::Media(app) = &datagrams.sending {
            let mut media = MediaFlow::new(app, datagrams, config.seed, config.measure);
            let first = media.wake();
            return (Self::Media(Box::new(media)), first);
        }
        let mut flow = DatagramFlow::new(datagrams, config.seed, config.measure);
        let first = flow.first();
        (Self::Plain(Box::new(flow)), first)
    }
}

/// Panic message for a media flow without the sender that [`Work::new`] gives it.
const MEDIA: &str = "media has a sender of its own";

/// One flow of datagrams: its sender, which schedules the next, and its receiver, which counts.
#[derive(Clone, Debug)]
pub struct DatagramFlow {
    payload: u32,
    until: SimTime,
    sending: Sending,
    random: RandomStream,
    /// Beginning of the evenly spaced datagrams, and the number of those that have left.
    spaced_from: SimTime,
    spaced: u64,
    /// End of the present on period, and the delay that all periods before it have caused.
    on_until: SimTime,
    off: SimDuration,
    /// Remainder of the last random gap below whole nanoseconds.
    fraction: f64,
    /// Number of the next datagram.
    number: u32,
    sink: Sink,
}

impl DatagramFlow {
    /// A flow before its first datagram; random gaps and periods come from the seed's stream of its name.
    pub fn new(config: &DatagramConfig, seed: u64, window: MeasureWindow) -> Self {
        let mut flow = Self {
            payload: config.payload,
            until: config.until,
            sending: config.sending.clone(),
            random: RandomStream::new(seed, &format!("datagrams {}", config.name)),
            spaced_from: config.start,
            spaced: 0,
            on_until: SimTime::NEVER,
            off: SimDuration::ZERO,
            fraction: 0.0,
            number: 0,
            sink: Sink::new(window),
        };
        if let Sending::OnOff { on, .. } = config.sending {
            flow.on_until = config.start + draw(on, &mut flow.random);
        }
        flow
    }

    /// Time at which the first datagram leaves, if any does.
    pub fn first(&mut self) -> Option<SimTime> {
        let first = match self.sending {
            Sending::Poisson(rate) => self.spaced_from + self.gap(rate),
            Sending::Constant(_) | Sending::OnOff { .. } => self.spaced_from,
            Sending::Media(_) => unreachable!("{MEDIA}"),
        };
        (first < self.until).then_some(first)
    }

    /// Sends a datagram now: returns its number, and the time of the next.
    pub fn send(&mut self, now: SimTime) -> (u32, Option<SimTime>) {
        let number = self.number;
        self.number = number.wrapping_add(1);
        self.sink.on_sent(now, number, self.payload);
        let next = match self.sending {
            Sending::Constant(rate) => self.evenly(rate),
            Sending::Poisson(rate) => now + self.gap(rate),
            Sending::OnOff { on, off, rate } => self.in_periods(on, off, rate),
            Sending::Media(_) => unreachable!("{MEDIA}"),
        };
        (number, (next < self.until).then_some(next))
    }

    /// The departure of datagram k: k payloads after the beginning, rounded up once, so that the rate is exact.
    fn evenly(&mut self, rate: Bandwidth) -> SimTime {
        self.spaced += 1;
        self.spaced_from + rate.serialization_delay(Bytes(u64::from(self.payload) * self.spaced))
    }

    /// The next departure in on periods: that of endless on periods, later by the off periods so far. The remainder of
    /// a gap at the end of an on period counts in the next.
    fn in_periods(&mut self, on: Span, off: Span, rate: Bandwidth) -> SimTime {
        let next = self.evenly(rate);
        for periods in 1_u64.. {
            let next = next + self.off;
            if next < self.on_until || self.on_until >= self.until {
                return next;
            }
            let off = draw(off, &mut self.random);
            self.off += off;
            self.on_until += off + draw(on, &mut self.random);
            if periods.is_multiple_of(PERIODS_BETWEEN_QUESTIONS) {
                check();
            }
        }
        unreachable!("there are no more periods than a run has nanoseconds")
    }

    fn gap(&mut self, rate: Bandwidth) -> SimDuration {
        let mean = f64::from(self.payload) * 8e9 / rate.0 as f64;
        let exact = -math::ln(1.0 - self.random.uniform()) * mean + self.fraction;
        let whole = exact as u64;
        self.fraction = exact - whole as f64;
        SimDuration(whole)
    }

    /// Takes a datagram that has arrived.
    pub fn receive(&mut self, now: SimTime, sent: SimTime, number: u32, marked: bool) {
        self.sink.on_received(now, sent, number, self.payload, marked);
    }

    /// Summary of the datagrams sent and received, in a run that ends at `end`.
    pub fn summary(&self, config: &DatagramConfig, end: SimTime) -> DatagramSummary {
        self.sink.summary(config, end, None)
    }
}

fn draw(span: Span, random: &mut RandomStream) -> SimDuration {
    match span {
        Span::Constant(span) => span,
        Span::Exponential(mean) => random.exponential(mean),
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

    /// The departure times after the beginning.
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
    fn what_an_on_period_leaves_of_a_gap_is_waited_for_in_the_next() {
        // One each 3 ms of on time; 1 ms on, 1 ms off, three periods a datagram: 0, 6, 12 ms, which is half the rate.
        let span = Span::Constant(SimDuration(MS));
        let sending = |rate| Sending::OnOff { on: span, off: span, rate: Bandwidth(rate) };
        let times = departures(&config(sending(8_000_000 / 3), 600 * MS));
        assert_eq!((times.len(), times[1] / MS, times[99] / MS), (100, 6, 594));
        // 1 kbit/s: one each 8 s of on time, 16 s in all, though there is an on period each 2 ms.
        let times = departures(&config(sending(1_000), 40_000 * MS));
        assert_eq!(times, [0, 16_000 * MS, 32_000 * MS]);
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
    fn a_copy_hides_no_loss_and_is_not_out_of_order() {
        // RFC 4737 section 3.3: of copies only the first to arrive is considered.
        let config = config(Sending::Constant(Bandwidth(8_000_000)), 200 * MS);
        let mut flow = DatagramFlow::new(&config, 1, MeasureWindow::default());
        for number in 0..200 {
            flow.send(SimTime(number * MS));
            for _ in 0..if number % 10 == 3 { 0 } else { 1 + number % 2 } {
                flow.receive(SimTime(number * MS + 1), SimTime(number * MS), number as u32, true);
            }
        }
        flow.receive(SimTime(300 * MS), SimTime(5 * MS), 5, true); // a copy that comes long after
        let summary = flow.summary(&config, SimTime(200 * MS));
        // 20 of 200 are lost, and of the 80 odd ones that are not each comes twice
        assert_eq!((summary.received, summary.lost, summary.duplicates), (180, 20, 81));
        assert_eq!((summary.out_of_order, summary.marked), (0, 180));
        assert!((summary.goodput_bps - 7.2e6).abs() < 1e-6);
    }

    /// A datagram is lost if it did not arrive although a later one did (the reference), whether that left within the
    /// window or behind it.
    #[test]
    fn what_is_lost_at_the_end_of_the_window_is_lost() {
        let config = config(Sending::Constant(Bandwidth(8_000_000)), 8 * MS);
        let window = MeasureWindow { from: Some(SimTime(2 * MS)), until: Some(SimTime(6 * MS)) };
        let lost = |arrived: &[u64]| {
            let mut flow = DatagramFlow::new(&config, 1, window);
            (0..8).for_each(|number| _ = flow.send(SimTime(number * MS)));
            for &number in arrived {
                flow.receive(SimTime((10 + number) * MS), SimTime(number * MS), number as u32, false);
            }
            let summary = flow.summary(&config, SimTime(8 * MS));
            (summary.received, summary.lost)
        };
        assert_eq!(lost(&[2, 3, 4, 6]), (3, 1)); // 5
        assert_eq!(lost(&[2, 3, 7]), (2, 2)); // 4 and 5
        assert_eq!(lost(&[0, 1, 2, 3]), (2, 0)); // 4 to 7 are under way
        assert_eq!(lost(&[0, 1]), (0, 0));
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
