//! A dumbbell for tests: one bottleneck, every flow with access links of its own.
#![allow(unreachable_pub, missing_docs, reason = "tests are not a library")]

pub mod model;

use ackclock_cc::{ControllerConfig, CubicConfig};
use ackclock_net::{
    DiscardRule, DiscarderConfig, DropTailConfig, LinkConfig, LinkId, NetworkConfig, NodeConfig, NodeId, PacketClass,
    QueueConfig, QueueLimit, Selection,
};
use ackclock_relay::{
    CodelWindowConfig, CreditConfig, DisciplineConfig, DrainRateConfig, EceDropTailConfig, EceRedConfig, NotSentConfig,
};
use ackclock_sim::{
    AppConfig, CapturedPacket, FlowConfig, MeasureWindow, Outcome, Sampling, Simulation, SimulationConfig, TraceConfig,
    TrafficConfig,
};
use ackclock_tcp::TcpConfig;
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

pub const DISCIPLINES: usize = 7;

/// The disciplines of appliances that act on their own; `ece_red` with limits that short flows reach.
pub fn disciplines() -> [DisciplineConfig; DISCIPLINES] {
    [
        DisciplineConfig::Socket,
        DisciplineConfig::EceDropTail(EceDropTailConfig::default()),
        DisciplineConfig::EceRed(EceRedConfig { threshold: Bytes(3_000), limit: Bytes(9_000), max_probability: 0.5 }),
        DisciplineConfig::DrainRate(DrainRateConfig::default()),
        DisciplineConfig::CodelWindow(CodelWindowConfig::default()),
        DisciplineConfig::NotSent(NotSentConfig::default()),
        DisciplineConfig::Credit(CreditConfig::default()),
    ]
}

pub struct Dumbbell {
    pub rate: Bandwidth,
    pub one_way: SimDuration,
    pub limit: QueueLimit,
    pub access: Bandwidth,
    /// Extra delay of each flow's path, one way; zero beyond the end.
    pub extra_one_way: Vec<SimDuration>,
    /// Queue of the bottleneck, if not DropTail.
    pub queue: Option<QueueConfig>,
    pub tcp: TcpConfig,
    pub controllers: Vec<ControllerConfig>,
    pub app: AppConfig,
    pub discard: Option<(PacketClass, Selection)>,
    pub discard_from: SimTime,
    pub duration: SimDuration,
    pub measure: MeasureWindow,
    pub trace: Vec<ackclock_sim::FlowSeries>,
    pub per_event: bool,
    pub seed: u64,
    pub read_rate: Option<Bandwidth>,
}

pub fn cubic() -> ControllerConfig {
    ControllerConfig::Cubic(CubicConfig::default())
}

impl Dumbbell {
    pub fn new(rate: Bandwidth, one_way: SimDuration, limit: QueueLimit, duration: SimDuration) -> Self {
        Self {
            rate,
            one_way,
            limit,
            access: Bandwidth(rate.0.saturating_mul(10)),
            extra_one_way: Vec::new(),
            queue: None,
            tcp: TcpConfig::default(),
            controllers: vec![cubic()],
            app: AppConfig::Bulk,
            discard: None,
            discard_from: SimTime::ZERO,
            duration,
            measure: MeasureWindow::default(),
            trace: Vec::new(),
            per_event: false,
            seed: 1,
            read_rate: None,
        }
    }

    pub fn config(&self) -> SimulationConfig {
        let mut network = NetworkConfig::default();
        for name in ["left", "right"] {
            network.nodes.push(NodeConfig { name: name.to_owned(), discarder: None });
        }
        let unlimited = QueueConfig::DropTail(DropTailConfig { limit: QueueLimit::Unlimited });
        let drop_tail = QueueConfig::DropTail(DropTailConfig { limit: self.limit });
        let bottleneck = self.queue.clone().unwrap_or(drop_tail);
        cable(&mut network, (0, 1), self.rate, self.one_way, &bottleneck);
        if let Some((class, selection)) = &self.discard {
            let rule = DiscardRule {
                class: *class,
                flows: None,
                from: self.discard_from,
                until: SimTime::NEVER,
                selection: selection.clone(),
            };
            network.discarders.push(DiscarderConfig { name: "discard".to_owned(), rules: vec![rule] });
            network.links[0].discarder = Some(0);
        }
        let mut flows = Vec::new();
        for (index, controller) in self.controllers.iter().enumerate() {
            let (from, to) = (network.nodes.len(), network.nodes.len() + 1);
            for side in ["a", "b"] {
                network.nodes.push(NodeConfig { name: format!("{side}{index}"), discarder: None });
            }
            let extra = self.extra_one_way.get(index).copied().unwrap_or_default();
            cable(&mut network, (from, 0), self.access, extra, &unlimited);
            cable(&mut network, (1, to), self.access, SimDuration::ZERO, &unlimited);
            flows.push(FlowConfig {
                name: format!("flow{}", index + 1),
                from: NodeId::new(from),
                to: NodeId::new(to),
                start: SimTime(index as u64 * 1_000_003),
                controller: controller.clone(),
                controller_name: "test".to_owned(),
                profile: "rfc",
                quic: None,
                sender: self.tcp.into(),
                receiver: self.tcp.into(),
                app: self.app.clone(),
                reply: None,
                read_rate: self.read_rate,
                stops_reading: None,
                accepts: true,
                abort_at: None,
                port: ackclock_sim::DEFAULT_PORT,
                capture: false,
            });
        }
        let interval = SimDuration::from_millis(10);
        SimulationConfig {
            name: "test".to_owned(),
            seed: self.seed,
            duration: self.duration,
            measure: self.measure,
            network,
            flows,
            appliances: Vec::new(),
            splits: Vec::new(),
            traffic: TrafficConfig::default(),
            trace: TraceConfig {
                internals: vec![],
                sampling: if self.per_event { Sampling::Events(interval) } else { Sampling::Interval(interval) },
                flows: self.trace.clone(),
                links: Vec::new(),
                traced_links: vec![LinkId::new(0)],
                events: None,
            },
        }
    }

    pub fn start(&self) -> Simulation {
        Simulation::new(&self.config())
    }

    pub fn run(&self) -> Outcome {
        Simulation::new(&self.config()).finish()
    }
}

fn cable(network: &mut NetworkConfig, ends: (usize, usize), rate: Bandwidth, delay: SimDuration, queue: &QueueConfig) {
    for (from, to) in [ends, (ends.1, ends.0)] {
        let ends = (NodeId::new(from), NodeId::new(to));
        let plain = LinkConfig::plain(&format!("{from}->{to}"), ends, rate, delay);
        network.links.push(LinkConfig { queue: queue.clone(), ..plain });
    }
}

/// A packet as a capture shows it.
pub struct Captured {
    pub time: SimTime,
    /// The payload in octets.
    pub payload: u32,
    pub flow: u32,
    /// Index among the connections that have the flow's place in turn.
    pub generation: u32,
    /// Port of the acceptor.
    pub port: u16,
}

/// The TCP segments of one of the captures of a run.
pub fn captured(outcome: &Outcome, number: usize) -> Vec<Captured> {
    let read = |packet: std::io::Result<CapturedPacket>| {
        let packet = packet.expect("the disk is there");
        let (addresses, segment) = ackclock_wire::parse(&packet.headers).expect("headers of TCP");
        let [(_, opener), (_, acceptor)] = {
            let mut ends = [addresses.source, addresses.destination].map(|end| (end.port() < 40_000, end));
            ends.sort();
            ends
        };
        // Flow i is opened from 10.0.0.1 + i, and port 40000 + i where it is the first of its place.
        let flow = opener.ip().to_bits() - (10 << 24) - 1;
        let generation = u32::from(opener.port()) - 40_000 - flow;
        Captured { time: packet.time, payload: segment.payload, flow, generation, port: acceptor.port() }
    };
    outcome.captures[number].packets().map(read).collect()
}
