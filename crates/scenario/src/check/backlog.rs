//! Rejects datagrams without congestion control that would fill the memory. Where a queue has room, packets beyond the
//! link's rate wait until the end of the run. So do frames beyond the sender's rate, unless the sender discards them.

use std::collections::BTreeMap;

use ackclock_net::{LinkConfig, LinkId, NetworkConfig, QueueConfig, QueueLimit, RateConfig, Router, Schedule};
use ackclock_sim::{DatagramConfig, MediaApp, Sending, Span};
use ackclock_units::{Bandwidth, SimDuration, SimTime};

use super::location::Location;
use super::traffic::HEADERS;

/// The most datagrams that may wait on a link: each takes some hundred octets.
const MAX_WAITING: f64 = 1e7;

/// The most steps of a changing rate that are examined.
const MOST_STEPS: usize = 10_000;

/// Traffic that arrives at a link.
#[derive(Clone, Copy, Debug, Default)]
struct Arriving {
    /// Packets per second.
    packets: f64,
    /// Rate in bit/s, framing included.
    rate: f64,
}

impl Arriving {
    fn add(&mut self, packets: f64, bits: f64) {
        self.packets += packets;
        self.rate += packets * bits;
    }

    /// The largest number of waiting packets under consecutive periods, each of seconds and bit/s.
    fn waiting(self, sends: &[(f64, f64)]) -> f64 {
        let (mut now, mut most) = (0.0_f64, 0.0_f64);
        for (seconds, rate) in sends {
            now = (now + self.packets * (1.0 - rate / self.rate) * seconds).max(0.0);
            most = most.max(now);
        }
        most
    }
}

/// Reports media with too many packets waiting at the sender, which the network does not see.
pub(super) fn review_encoder(media: &MediaApp, datagrams: &DatagramConfig, at: &Location<'_>) {
    let waiting = waiting_at_sender(media, datagrams);
    if waiting > MAX_WAITING {
        let what = format!("must not let {waiting:.0} packets wait at the sender, which take all memory");
        let remedy = "use a shorter discard_after, a smaller key_frame, or a longer key_interval";
        at.key("discard_after").report(what, remedy);
    }
}

/// Reports the flow of datagrams with which too many packets wait; the rates are written at these places.
pub(super) fn review_backlog(flows: &[DatagramConfig], rates: &[Location<'_>], network: &NetworkConfig) {
    if flows.is_empty() {
        return;
    }
    let mut router = Router::new(network);
    let mut arriving = BTreeMap::new();
    for (datagrams, rate) in flows.iter().zip(rates) {
        let path = router.shortest_path(datagrams.from, datagrams.to).unwrap_or_default();
        if let Some((waiting, link)) = too_many(datagrams, &path, network, &mut arriving) {
            let what = format!("must not leave {waiting:.0} datagrams waiting at link {link:?}, which take all memory");
            let remedy =
                "use a lower rate, larger datagrams or an earlier until, or give that link's queue a lower limit";
            rate.report(what, remedy);
        }
    }
}

/// Adds the datagrams to the traffic on the links of their path. Returns the number and the link if too many wait.
fn too_many<'a>(
    datagrams: &DatagramConfig,
    path: &[LinkId],
    network: &'a NetworkConfig,
    arriving: &mut BTreeMap<LinkId, Arriving>,
) -> Option<(f64, &'a str)> {
    let mut packets = packets_a_second(datagrams);
    let mut found = None;
    for &id in path {
        let link = network.link(id);
        let bits = (u64::from(datagrams.payload) + HEADERS + link.framing.0) as f64 * 8.0;
        if let Some(room) = room(link, bits) {
            let here = arriving.entry(id).or_default();
            here.add(packets, bits);
            let waiting = here.waiting(&sends(network, id, (datagrams.start, datagrams.until))).min(room);
            found = found.or((waiting > MAX_WAITING).then_some((waiting, link.name.as_str())));
        }
        packets = packets.min(link.rate.0 as f64 / bits);
    }
    found
}

/// The largest number of the encoder's packets before the first one is discarded.
fn waiting_at_sender(media: &MediaApp, datagrams: &DatagramConfig) -> f64 {
    let lasts = datagrams.until.saturating_since(datagrams.start).min(media.discard_after).as_secs_f64();
    let payload = f64::from(datagrams.payload);
    let packets = |octets: f64| (octets / payload).ceil();
    let frame = media.frame_interval().as_secs_f64();
    // Those of big changes of the rate come a lag apart.
    let between_keys = media.key_interval.unwrap_or(media.lag).as_secs_f64().max(frame);
    let frames = lasts / frame * packets(media.max_rate.0 as f64 / 8.0 * frame);
    frames + (lasts / between_keys).ceil() * packets(media.key_frame.0 as f64)
}

fn packets_a_second(datagrams: &DatagramConfig) -> f64 {
    let (rate, active) = match &datagrams.sending {
        Sending::Constant(rate) | Sending::Poisson(rate) => (*rate, 1.0),
        // Its controller lowers the rate to this, where nothing comes back.
        Sending::Media(media) => (media.least_rate(), 1.0),
        Sending::OnOff { on, off, rate } => {
            let (on, off) = (mean(*on).as_secs_f64(), mean(*off).as_secs_f64());
            (*rate, on / (on + off).max(f64::MIN_POSITIVE))
        }
    };
    rate.0 as f64 * active / (f64::from(datagrams.payload) * 8.0)
}

fn mean(span: Span) -> SimDuration {
    match span {
        Span::Constant(span) | Span::Exponential(span) => span,
    }
}

/// The number of packets of `bits` bits that wait before a link's queue drops one.
///
/// `None` for a discipline that drops before it is full, or that also limits its memory.
fn room(link: &LinkConfig, bits: f64) -> Option<f64> {
    use QueueConfig::{Abc, DropTail, Drr, Fq, Sfq, Sgpq, SharedBuffer, Tbf, Threshold};
    let queue = &link.queue;
    let is_patient = matches!(
        queue,
        DropTail(_) | Sgpq(_) | Threshold(_) | Tbf(_) | Drr(_) | Sfq(_) | Fq(_) | SharedBuffer(_) | Abc(_)
    );
    Some(match queue.limit().filter(|_| is_patient)? {
        QueueLimit::Unlimited => f64::INFINITY,
        QueueLimit::Packets(packets) => packets as f64,
        QueueLimit::Bytes(bytes) => bytes.0 as f64 * 8.0 / bits,
        QueueLimit::Time(time) => link.rate.min(most_of(queue)).0 as f64 * time.as_secs_f64() / bits,
    })
}

/// The highest rate at which a discipline releases packets.
fn most_of(queue: &QueueConfig) -> Bandwidth {
    if let QueueConfig::Tbf(bucket) = queue { bucket.rate } else { Bandwidth(u64::MAX) }
}

/// The periods of a link from one time to another, each in seconds with its rate in bit/s. A trace counts with its
/// mean, and recurring outages are left out.
fn sends(network: &NetworkConfig, id: LinkId, (from, until): (SimTime, SimTime)) -> Vec<(f64, f64)> {
    let link = network.link(id);
    let steps = steps(network, id);
    let most = most_of(&link.queue);
    let (mut now, mut spans) = (from, Vec::new());
    while now < until && spans.len() < MOST_STEPS {
        let (rate, change) = steps.at(now);
        let end = change.min(until);
        spans.push(((end - now).as_secs_f64(), rate.min(most).0 as f64));
        now = end;
    }
    spans
}

/// The rate of a link over time, its changes included.
fn steps(network: &NetworkConfig, id: LinkId) -> Schedule<Bandwidth> {
    let link = network.link(id);
    let own = match link.channel.as_deref().map(|channel| &channel.rate) {
        Some(RateConfig::Schedule(steps)) => steps.clone(),
        _ => Schedule::constant(link.rate),
    };
    if own.only_value().is_none() {
        return own; // which takes no changes
    }
    let of_link = network.changes.iter().filter(|change| change.link == id);
    let mut changes: Vec<_> = of_link.filter_map(|change| Some((change.at, change.rate?))).collect();
    changes.sort_by_key(|(at, _)| *at);
    let mut steps = own;
    for (at, rate) in changes {
        steps.push(at, rate);
    }
    steps
}
