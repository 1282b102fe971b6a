//! A table of Remy as a controller: for each region of what it remembers of its ACKs a window and a pace.
//!
//! Source: Winstein and Balakrishnan, TCP ex Machina: Computer-Generated Congestion Control, SIGCOMM 2013, section 4, and the files of
//! the authors' program (`tcpexmachina/remy`), which are read as they are: field numbers, ranges and the order of a flow's steps as
//! there. A flow remembers an EWMA of the times between the sending of the packets that were acknowledged, one of the times between
//! their ACKs, each over eight packets (the latter also over 256), and the latest RTT over the least one. With each packet the region
//! of these gives a new window, `multiple` times the old one plus `increment` packets, and the least time between two packets.
//!
//! Departures: losses are repaired by TCP and change nothing; a timeout leaves one segment until an ACK arrives. A window has at least
//! one segment, and a memory beyond the table is taken at its edge. Sent again, a packet does not count, since its time is not known. The
//! authors' receiver acknowledges every packet: set `delayed_ack = false`.

use std::sync::Arc;

use ackclock_cc::{
    AckEvent, CongestionController, CongestionEvent, Demands, RestartCause, RestartEvent, SegmentReport, Start,
};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};
use prost::Message;

use super::PolicyError;

/// Weights of a packet in the averages over eight packets and over 256.
const WEIGHT: f64 = 1.0 / 8.0;
const SLOW_WEIGHT: f64 = 1.0 / 256.0;

/// The largest window, packets.
const MOST_PACKETS: f64 = 1e6;

/// The part of a region's volume that its parts may differ by; the ranges in files are binary fractions that optimisation has cut.
const SLACK: f64 = 1e-9;

/// A table in the authors' file: a region, and its parts or its action.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct WhiskerTree {
    #[prost(message, optional, tag = "1")]
    domain: Option<MemoryRange>,
    #[prost(message, repeated, tag = "2")]
    children: Vec<WhiskerTree>,
    #[prost(message, optional, tag = "3")]
    leaf: Option<Whisker>,
}

/// The lower ends of a region, which belong to it, and the upper ones, which do not.
#[derive(Clone, PartialEq, Message)]
struct MemoryRange {
    #[prost(message, optional, tag = "11")]
    lower: Option<MemoryEnds>,
    #[prost(message, optional, tag = "12")]
    upper: Option<MemoryEnds>,
}

/// Memory of a flow; a table does without some of it.
#[derive(Clone, PartialEq, Message)]
struct MemoryEnds {
    #[prost(double, optional, tag = "21")]
    send_ewma: Option<f64>,
    #[prost(double, optional, tag = "22")]
    receive_ewma: Option<f64>,
    #[prost(double, optional, tag = "23")]
    rtt_ratio: Option<f64>,
    #[prost(double, optional, tag = "24")]
    slow_receive_ewma: Option<f64>,
    #[prost(double, optional, tag = "25")]
    rtt_difference: Option<f64>,
    #[prost(double, optional, tag = "26")]
    queueing_delay: Option<f64>,
}

/// The action of a region.
#[derive(Clone, PartialEq, Message)]
struct Whisker {
    #[prost(sint32, tag = "31")]
    increment: i32,
    #[prost(double, tag = "32")]
    multiple: f64,
    /// Least time between two packets, ms.
    #[prost(double, tag = "33")]
    intersend: f64,
}

const SIGNALS: usize = 4;

impl MemoryEnds {
    fn values(&self) -> [Option<f64>; SIGNALS] {
        [self.send_ewma, self.receive_ewma, self.rtt_ratio, self.slow_receive_ewma]
    }
}

/// A region, its parts or its action; times in ms. A signal without ends is not looked at.
#[derive(Clone, Debug)]
struct Region {
    ends: [(f64, f64); SIGNALS],
    parts: Vec<Region>,
    action: Action,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Action {
    increment: f64,
    multiple: f64,
    intersend: SimDuration,
}

impl Region {
    fn read(tree: &WhiskerTree) -> Result<Self, PolicyError> {
        let wrong =
            |what: &str| PolicyError::of_file(format!("must be a table of Remy: {what}"), "use the authors' file");
        let (Some(lower), Some(upper)) =
            tree.domain.as_ref().map_or((None, None), |d| (d.lower.as_ref(), d.upper.as_ref()))
        else {
            return Err(wrong("a region has no ends"));
        };
        if [lower, upper].iter().any(|ends| ends.rtt_difference.is_some() || ends.queueing_delay.is_some()) {
            return Err(PolicyError::of_file(
                "is a table of Remy by the RTT difference or the queueing delay, which are not known here",
                "use one by the RTT ratio, such as RemyCC-2013-delta1.dna",
            ));
        }
        let mut ends = [(f64::NEG_INFINITY, f64::INFINITY); SIGNALS];
        for (end, found) in ends.iter_mut().zip(lower.values().into_iter().zip(upper.values())) {
            match found {
                (None, None) => {}
                (Some(low), Some(high)) if low.is_finite() && high.is_finite() && low <= high => *end = (low, high),
                _ => return Err(wrong("the lower end of a region must not be above the upper one")),
            }
        }
        let parts = tree.children.iter().map(Self::read).collect::<Result<Vec<_>, _>>()?;
        let action = match (&tree.leaf, parts.is_empty()) {
            (Some(leaf), true) => {
                Action::read(leaf).ok_or_else(|| wrong("an action must be finite and not negative"))?
            }
            (None, false) => Action::default(),
            _ => return Err(wrong("a region must have either parts or an action")),
        };
        let region = Self { ends, parts, action };
        let others = region
            .parts
            .iter()
            .enumerate()
            .flat_map(|(place, one)| region.parts[..place].iter().map(move |other| one.shared_with(other)));
        if others
            .chain(region.parts.iter().map(|part| part.volume() - part.shared_with(&region)))
            .any(|volume| volume > 0.0)
        {
            return Err(wrong("the parts of a region must lie in it, and not overlap"));
        }
        let volume: f64 = region.parts.iter().map(Self::volume).sum();
        let whole = region.volume();
        if !region.parts.is_empty() && (volume - whole).abs() > SLACK * whole {
            return Err(wrong("the parts of a region must cover it"));
        }
        Ok(region)
    }

    fn volume(&self) -> f64 {
        self.ends.iter().filter(|(low, _)| low.is_finite()).map(|(low, high)| high - low).product()
    }

    /// The volume that lies in both.
    fn shared_with(&self, other: &Self) -> f64 {
        let sides = self.ends.iter().zip(&other.ends).filter(|((low, _), _)| low.is_finite());
        sides
            .map(|((low, high), (other_low, other_high))| (high.min(*other_high) - low.max(*other_low)).max(0.0))
            .product()
    }

    fn holds(&self, memory: &[f64; SIGNALS]) -> bool {
        self.ends.iter().zip(memory).all(|((low, high), value)| (*low..*high).contains(value))
    }

    /// The action for what is remembered.
    fn action(&self, memory: &[f64; SIGNALS]) -> Action {
        let mut within = *memory;
        for (value, (low, high)) in within.iter_mut().zip(&self.ends) {
            *value = value.min(high.next_down()).max(*low);
        }
        let mut region = self;
        while let Some(part) = region.parts.iter().find(|part| part.holds(&within)).or(region.parts.last()) {
            region = part;
        }
        region.action
    }
}

impl Action {
    fn read(leaf: &Whisker) -> Option<Self> {
        let is_right = [leaf.multiple, leaf.intersend].iter().all(|value| value.is_finite() && *value >= 0.0);
        let intersend = SimDuration((leaf.intersend * 1e6) as u64);
        is_right.then(|| Self { increment: f64::from(leaf.increment), multiple: leaf.multiple, intersend })
    }

    /// The window after this action, whole packets.
    fn window(&self, before: f64) -> f64 {
        (before * self.multiple + self.increment).trunc().clamp(0.0, MOST_PACKETS)
    }
}

/// A table of Remy, which flows that name its file share.
#[derive(Clone, Debug)]
pub struct RemyTable(Arc<Region>);

impl RemyTable {
    /// Reads a file of the authors' program; `None` if it is another kind of file.
    pub fn read(bytes: &[u8]) -> Option<Result<Self, PolicyError>> {
        let tree = WhiskerTree::decode(bytes).ok()?;
        tree.domain.as_ref()?;
        Some(Region::read(&tree).map(|region| Self(Arc::new(region))))
    }
}

/// Memory of a flow; times in ms.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    signals: [f64; SIGNALS],
    /// Times of the packet before: sent, and acknowledged.
    last: Option<(SimTime, SimTime)>,
    min_rtt: SimDuration,
}

impl Memory {
    fn on_packet(&mut self, sent_at: SimTime, now: SimTime) {
        let rtt = now - sent_at;
        let Some((last_sent, last_came)) = self.last.replace((sent_at, now)) else {
            self.min_rtt = rtt; // of the first packet nothing else is remembered
            return;
        };
        let [sending, receiving] =
            [sent_at.saturating_since(last_sent), now.saturating_since(last_came)].map(|gap| gap.as_secs_f64() * 1e3);
        let [send, receive, ratio, slow_receive] = &mut self.signals;
        for (average, weight, gap) in
            [(send, WEIGHT, sending), (receive, WEIGHT, receiving), (slow_receive, SLOW_WEIGHT, receiving)]
        {
            *average += weight * (gap - *average);
        }
        self.min_rtt = self.min_rtt.min(rtt);
        *ratio = if self.min_rtt.is_zero() { 1.0 } else { rtt.as_secs_f64() / self.min_rtt.as_secs_f64() };
    }
}

/// A flow by a table of Remy: see the module.
#[derive(Clone, Debug)]
pub struct Remy {
    table: RemyTable,
    mss: u64,
    memory: Memory,
    /// The window, packets.
    window: f64,
    intersend: SimDuration,
    has_timed_out: bool,
}

impl Remy {
    /// A flow at its beginning, which remembers nothing.
    pub fn new(table: RemyTable, start: &Start) -> Self {
        let action = table.0.action(&[0.0; SIGNALS]);
        Self {
            table,
            mss: start.mss.0,
            memory: Memory::default(),
            window: action.window(0.0),
            intersend: action.intersend,
            has_timed_out: false,
        }
    }
}

impl CongestionController for Remy {
    fn on_delivered(&mut self, segment: &SegmentReport) {
        self.has_timed_out = false;
        if segment.is_retransmission {
            return;
        }
        self.memory.on_packet(segment.sent_at, segment.now);
        let action = self.table.0.action(&self.memory.signals);
        (self.window, self.intersend) = (action.window(self.window), action.intersend);
    }

    fn on_ack(&mut self, _ack: &AckEvent) {}

    fn on_congestion(&mut self, _event: &CongestionEvent) {}

    fn on_restart(&mut self, restart: &RestartEvent) {
        self.has_timed_out |= restart.cause == RestartCause::Timeout;
    }

    fn cwnd(&self) -> Bytes {
        let packets = if self.has_timed_out { 1 } else { (self.window as u64).max(1) };
        Bytes(packets * self.mss)
    }

    fn pacing_rate(&self) -> Option<Bandwidth> {
        let bit_ns = self.mss * 8_000_000_000;
        bit_ns.checked_div(self.intersend.0).map(|rate| Bandwidth(rate.max(1)))
    }

    fn demands(&self) -> Demands {
        Demands { samples: true, recovery_window: true, no_ecn: true, ..Demands::default() }
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn is_in_slow_start(&self) -> bool {
        false
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let [send, receive, ratio, slow_receive] = self.memory.signals;
        record("send_ewma_ms", send);
        record("receive_ewma_ms", receive);
        record("slow_receive_ewma_ms", slow_receive);
        record("rtt_ratio", ratio);
        record("intersend_ms", self.intersend.as_secs_f64() * 1e3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_000;

    fn range(lower: [f64; 3], upper: [f64; 3]) -> MemoryRange {
        let ends = |[send, receive, ratio]: [f64; 3]| MemoryEnds {
            send_ewma: Some(send),
            receive_ewma: Some(receive),
            rtt_ratio: Some(ratio),
            ..MemoryEnds::default()
        };
        MemoryRange { lower: Some(ends(lower)), upper: Some(ends(upper)) }
    }

    fn part(lower: [f64; 3], upper: [f64; 3], increment: i32, multiple: f64, intersend: f64) -> WhiskerTree {
        let leaf = Some(Whisker { increment, multiple, intersend });
        WhiskerTree { domain: Some(range(lower, upper)), children: Vec::new(), leaf }
    }

    /// Three packets more with each one while the RTT ratio is below 1.5, then half.
    fn tree() -> WhiskerTree {
        let children =
            vec![part([0.0; 3], [64.0, 64.0, 1.5], 3, 1.0, 2.0), part([0.0, 0.0, 1.5], [64.0; 3], 0, 0.5, 8.0)];
        WhiskerTree { domain: Some(range([0.0; 3], [64.0; 3])), children, leaf: None }
    }

    fn read(tree: &WhiskerTree) -> Result<RemyTable, PolicyError> {
        RemyTable::read(&tree.encode_to_vec()).expect("a table")
    }

    fn flow(tree: &WhiskerTree) -> Remy {
        let start = Start { mss: Bytes(MSS), initial_window: Bytes(10 * MSS), initial_ssthresh: None, seed: 0 };
        Remy::new(read(tree).expect("a table that is whole"), &start)
    }

    fn deliver(remy: &mut Remy, sent_ms: u64, now_ms: u64) {
        let (sent_at, now) = (SimTime(sent_ms * 1_000_000), SimTime(now_ms * 1_000_000));
        let [size, delivered] = [Bytes(MSS); 2];
        remy.on_delivered(&SegmentReport {
            now,
            sent_at,
            start: 0,
            size,
            delivered,
            prior_delivered: Bytes::ZERO,
            tx_in_flight: size,
            lost: Bytes::ZERO,
            is_app_limited: false,
            is_retransmission: false,
        });
    }

    /// By hand: 8 * 0 of the EWMA and gaps of 4, then 12 ms; least RTT 20 ms, then 30 ms is 1.5 times that.
    #[test]
    fn each_packet_takes_the_action_of_what_is_remembered() {
        let mut remy = flow(&tree());
        assert_eq!((remy.cwnd(), remy.pacing_rate()), (Bytes(3 * MSS), Some(Bandwidth(4_000_000)))); // 1000 B in 2 ms
        deliver(&mut remy, 100, 120);
        assert_eq!((remy.cwnd(), remy.memory.signals), (Bytes(6 * MSS), [0.0; 4]));
        deliver(&mut remy, 104, 124);
        assert_eq!((remy.cwnd(), remy.memory.signals), (Bytes(9 * MSS), [0.5, 0.5, 1.0, 4.0 / 256.0]));
        deliver(&mut remy, 106, 136);
        let slow = 4.0 / 256.0 * 255.0 / 256.0 + 12.0 / 256.0;
        let expected = [0.4375 + 0.25, 0.4375 + 1.5, 1.5, slow];
        assert!(remy.memory.signals.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-15));
        assert_eq!((remy.cwnd(), remy.pacing_rate()), (Bytes(4 * MSS), Some(Bandwidth(1_000_000)))); // 4.5 packets
    }

    #[test]
    fn a_timeout_leaves_a_segment_until_an_ack() {
        let mut remy = flow(&tree());
        deliver(&mut remy, 0, 20);
        let (now, window) = (SimTime(0), Bytes(MSS));
        remy.on_restart(&RestartEvent { now, cause: RestartCause::Timeout, window, ssthresh: None });
        assert_eq!(remy.cwnd(), Bytes(MSS));
        deliver(&mut remy, 20, 40);
        assert_eq!(remy.cwnd(), Bytes(9 * MSS));
    }

    #[test]
    fn what_is_beyond_the_table_takes_its_edge() {
        let mut remy = flow(&tree());
        deliver(&mut remy, 0, 1);
        deliver(&mut remy, 10_000, 20_000);
        assert_eq!(remy.cwnd(), Bytes(3 * MSS)); // a ratio of 10,000: half of six
    }

    #[test]
    fn a_table_with_a_mistake_is_refused() {
        let mut gap = tree();
        gap.children.pop();
        let mut twice = tree();
        twice.children[1].domain = twice.children[0].domain.clone();
        let mut beyond = tree();
        beyond.children[1].domain = Some(range([0.0, 0.0, 2.5], [64.0, 64.0, 65.0]));
        let mut both = tree();
        both.leaf = Some(Whisker { increment: 1, multiple: 1.0, intersend: 1.0 });
        let mut turned = tree();
        turned.domain = Some(range([64.0; 3], [0.0; 3]));
        let endless = part([0.0; 3], [64.0; 3], 1, f64::NAN, 1.0);
        let mut by_delay = tree();
        by_delay.domain.as_mut().and_then(|domain| domain.upper.as_mut()).expect("it has ends").queueing_delay =
            Some(1.0);
        let cases = [
            (gap, "the parts of a region must cover it"),
            (twice, "must lie in it, and not overlap"),
            (beyond, "must lie in it, and not overlap"),
            (both, "either parts or an action"),
            (turned, "above the upper one"),
            (endless, "finite and not negative"),
            (by_delay, "by the RTT difference or the queueing delay"),
        ];
        for (tree, said) in cases {
            let error = read(&tree).expect_err(said);
            assert!(error.what.contains(said), "{error}");
        }
        assert!(RemyTable::read(b"").is_none());
        assert!(RemyTable::read(&[0x08, 0x0a, 0x12]).is_none(), "as an ONNX file begins");
    }
}
