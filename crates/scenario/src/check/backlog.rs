//! Datagrams heed nothing: where a link's queue has no limit, what they send beyond its rate waits until the end of the run, and
//! takes all memory there is. So does what an encoder makes beyond what leaves its sender, as long as nothing of it is discarded.

use std::collections::BTreeMap;

use ackclock_net::{DropTailConfig, LinkConfig, LinkId, NetworkConfig, QueueConfig, QueueLimit, Router};
use ackclock_sim::{DatagramConfig, MediaApp, Sending, Span};
use ackclock_units::SimDuration;

use super::Checker;
use super::traffic::HEADERS;
use crate::tree::FieldPath;

/// Datagrams on any one link: a packet that waits takes some hundred octets.
const MAX_WAITING: f64 = 1e7;

/// What comes to a link.
#[derive(Clone, Copy, Debug, Default)]
struct Arriving {
    /// A second.
    packets: f64,
    /// In bit/s, framing included.
    rate: f64,
}

impl Arriving {
    fn add(&mut self, packets: f64, bits: f64) {
        self.packets += packets;
        self.rate += packets * bits;
    }

    /// How many more come than leave in this time.
    fn waiting(self, link: &LinkConfig, seconds: f64) -> f64 {
        let excess = 1.0 - link.rate.0 as f64 / self.rate;
        self.packets * excess.max(0.0) * seconds
    }
}

impl Checker<'_, '_> {
    /// Reports media of which too many packets may wait at the sender, which the network does not see.
    pub(super) fn review_encoder(&mut self, media: &MediaApp, datagrams: &DatagramConfig, path: &FieldPath) {
        if self.duration.is_none() {
            return;
        }
        let waiting = waiting_at_sender(media, datagrams);
        if waiting > MAX_WAITING {
            let what = format!("must not let {waiting:.0} packets wait at the sender, which take all memory");
            let remedy = "use a shorter discard_after, a smaller key_frame, or a longer key_interval";
            self.report(&path.key("discard_after"), what, remedy);
        }
    }

    /// Reports flows of datagrams, whose rates are written at these places, that are with those before them too many to wait.
    pub(super) fn review_backlog(&mut self, flows: &[DatagramConfig], rates: &[FieldPath]) {
        if self.duration.is_none() || flows.is_empty() {
            return;
        }
        let network = std::mem::take(&mut self.network);
        let mut router = Router::new(&network);
        let mut arriving = BTreeMap::new();
        for (datagrams, rate) in flows.iter().zip(rates) {
            let path = router.shortest_path(datagrams.from, datagrams.to).unwrap_or_default();
            if let Some((waiting, link)) = too_many(datagrams, &path, &network, &mut arriving) {
                let what =
                    format!("must not leave {waiting:.0} datagrams waiting at link {link:?}, whose queue has no limit");
                let remedy =
                    "use a lower rate, larger datagrams or an earlier until, or give that link a queue with a limit";
                self.report(rate, what, remedy);
            }
        }
        drop(router);
        self.network = network;
    }
}

/// Adds these datagrams to what comes to the links of their path. Returns how many would wait at which link, if they are too many.
fn too_many<'a>(
    datagrams: &DatagramConfig,
    path: &[LinkId],
    network: &'a NetworkConfig,
    arriving: &mut BTreeMap<LinkId, Arriving>,
) -> Option<(f64, &'a str)> {
    let seconds = datagrams.until.saturating_since(datagrams.start).as_secs_f64();
    let mut packets = packets_a_second(datagrams);
    let mut found = None;
    for &id in path {
        let link = network.link(id);
        let bits = (u64::from(datagrams.payload) + HEADERS + link.framing.0) as f64 * 8.0;
        if has_no_limit(&link.queue) {
            let here = arriving.entry(id).or_default();
            here.add(packets, bits);
            let waiting = here.waiting(link, seconds);
            found = found.or((waiting > MAX_WAITING).then_some((waiting, link.name.as_str())));
        }
        packets = packets.min(link.rate.0 as f64 / bits);
    }
    found
}

/// What the encoder makes at most until the first of it is discarded.
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

fn has_no_limit(queue: &QueueConfig) -> bool {
    matches!(queue, QueueConfig::DropTail(DropTailConfig { limit: QueueLimit::Unlimited }))
}
