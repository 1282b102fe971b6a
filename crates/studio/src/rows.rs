//! Rows of series: at each multiple of the interval one, of all flows and links.
//!
//! A row is numbers alone: the time in seconds, then [`NUMBERS_OF_FLOW`] of each flow, then [`NUMBERS_OF_LINK`] of each link. Rates
//! are those since the row before.

use ackclock_cc::CongestionController;
use ackclock_net::LinkId;
use ackclock_sim::{FlowId, Simulation};
use ackclock_units::{SimDuration, SimTime};

/// Number of values of a flow: cwnd, ssthresh and `FlightSize` in octets, the smoothed and the latest round trip in
/// seconds, goodput in bit/s, and the number of retransmissions. Missing values are NaN.
pub const NUMBERS_OF_FLOW: usize = 7;
/// Number of values of a link: packets and octets that wait, the rate in bit/s at which it sent, packets dropped and
/// packets marked so far.
pub const NUMBERS_OF_LINK: usize = 5;

/// Largest number of flows and of links with series: a page draws no more.
const MOST: usize = 64;

/// Series of flows and links, sampled at an interval.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    interval: SimDuration,
    /// Time of the next row.
    next: SimTime,
    flows: Vec<FlowId>,
    links: Vec<LinkId>,
    /// Octets that applications had read, and links sent, at the row before.
    read: Vec<u64>,
    sent: Vec<u64>,
    since: SimTime,
    numbers: Vec<f64>,
}

impl Rows {
    pub(crate) fn new(simulation: &Simulation, interval: SimDuration) -> Self {
        let flows: Vec<FlowId> = simulation.flows().take(MOST).collect();
        let links: Vec<LinkId> = simulation.links().take(MOST).collect();
        Self {
            interval,
            next: SimTime::ZERO,
            read: vec![0; flows.len()],
            sent: vec![0; links.len()],
            flows,
            links,
            since: SimTime::ZERO,
            numbers: Vec::new(),
        }
    }

    /// Length of a row.
    pub(crate) fn width(&self) -> usize {
        1 + NUMBERS_OF_FLOW * self.flows.len() + NUMBERS_OF_LINK * self.links.len()
    }

    pub(crate) fn flows(&self) -> usize {
        self.flows.len()
    }

    pub(crate) fn links(&self) -> usize {
        self.links.len()
    }

    /// Time of the next row.
    pub(crate) fn next(&self) -> SimTime {
        self.next
    }

    /// Adds the row that is due.
    pub(crate) fn sample(&mut self, simulation: &mut Simulation) {
        let now = simulation.now();
        self.numbers.push(now.as_secs_f64());
        let span = now.saturating_since(self.since);
        for (flow, read_before) in self.flows.iter().zip(&mut self.read) {
            let read = simulation.read(*flow).0;
            let rtt = simulation.rtt(*flow);
            let known =
                |time: SimDuration| if simulation.has_rtt_sample(*flow) { time.as_secs_f64() } else { f64::NAN };
            self.numbers.extend([
                simulation.cwnd(*flow).0 as f64,
                simulation.controller(*flow).ssthresh().map_or(f64::NAN, |octets| octets.0 as f64),
                simulation.flight_size(*flow).0 as f64,
                known(rtt.srtt),
                known(rtt.latest),
                rate(read - std::mem::replace(read_before, read), span),
                simulation.retransmissions(*flow) as f64,
            ]);
        }
        for (link, sent_before) in self.links.iter().zip(&mut self.sent) {
            let link = simulation.link(*link);
            // A served link counts octets, a virtual clock the time for which it sent.
            let served = link.sent_octets(now);
            let sent = served.unwrap_or_else(|| link.busy_time(now).0);
            let more = sent - std::mem::replace(sent_before, sent);
            let throughput = match served {
                Some(_) => rate(more, span),
                None if span.is_zero() => f64::NAN,
                None => link.rate().0 as f64 * more as f64 / span.0 as f64,
            };
            self.numbers.extend([
                link.waiting() as f64,
                link.waiting_octets().0 as f64,
                throughput,
                link.total_drops() as f64,
                link.total_marks() as f64,
            ]);
        }
        self.since = now;
        self.next += self.interval;
    }

    /// The rows since the last call, one behind the other.
    pub(crate) fn take(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.numbers)
    }
}

fn rate(octets: u64, span: SimDuration) -> f64 {
    if span.is_zero() { f64::NAN } else { octets as f64 * 8.0 / span.as_secs_f64() }
}
