//! The engine's controllers on the connections of a kernel in virtual time, which waits for the answer to each report.
//!
//! Source: `struct report` and `struct decision` of `python/ackclock/running/ackclock_agent.c`. Departures: those of `kernel_sender`.

use std::collections::BTreeMap;
use std::fmt;

use ackclock_cc::{CongestionController, Controller, HandshakeEvent};
use ackclock_scenario::Scenario;
use ackclock_sim::{FlowConfig, SimulationConfig};
use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::kernel_sender::{KernelAck, KernelCounts, KernelSender};

/// Port of the first flow's accepting end in a run on a kernel. Those of further flows, datagrams and groups of short
/// flows follow: the port says to which of them a packet belongs.
pub const FIRST_KERNEL_PORT: u16 = 4_096;

/// Size of a report, octets.
pub const KERNEL_REPORT_LEN: usize = 128;
/// Size of a decision, octets.
const KERNEL_DECISION_LEN: usize = 40;

/// A report that is of no connection of the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownConnection {
    /// Remote and local.
    ports: [u32; 2],
}

impl fmt::Display for UnknownConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [remote, local] = self.ports;
        write!(f, "the kernel reported an unknown connection, from port {local} to {remote}")
    }
}

impl std::error::Error for UnknownConnection {}

/// The controllers of a scenario's flows, one for each connection, which the kernel's controller `ackclock_agent` asks.
#[derive(Debug)]
pub struct KernelControllers {
    config: SimulationConfig,
    senders: BTreeMap<u32, KernelSender<Controller>>,
    decisions: u32,
}

impl KernelControllers {
    /// The controllers of a scenario, before its first connection.
    pub fn new(scenario: &Scenario) -> Self {
        Self { config: scenario.config().clone(), senders: BTreeMap::new(), decisions: 0 }
    }

    /// The decision on a report.
    pub fn answer(&mut self, report: &[u8; KERNEL_REPORT_LEN]) -> Result<[u8; KERNEL_DECISION_LEN], UnknownConnection> {
        let report = Report::parse(report);
        let sender = match self.senders.entry(report.connection) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(new) => {
                let flow = flow(&self.config, report.ports).ok_or(UnknownConnection { ports: report.ports })?;
                new.insert(begin(flow, &report.ack))
            }
        };
        match report.kind {
            Kind::Ack => sender.on_ack(&report.ack, sender.controller.is_in_slow_start()),
            Kind::Timer => sender.on_timer(&report.ack),
            Kind::Start => sender.on_start(&report.ack),
        }
        if sender.controller.is_decision_due() {
            sender.controller.decide(sender.now());
        }
        self.decisions = self.decisions.wrapping_add(1).max(1);
        let rate = sender.controller.pacing_rate().map_or(0, |rate| (rate.0 / 8).max(1));
        let mut decision = [0; KERNEL_DECISION_LEN];
        let mut write = |place: usize, octets: &[u8]| decision[place..place + octets.len()].copy_from_slice(octets);
        for (field, value) in [self.decisions, report.connection, sender.window(), 1].into_iter().enumerate() {
            write(4 * field, &value.to_ne_bytes());
        }
        for (field, value) in [rate, report.ack.time_ns, sender.wake_ns()].into_iter().enumerate() {
            write(16 + 8 * field, &value.to_ne_bytes());
        }
        Ok(decision)
    }
}

/// A controller at the beginning of its connection.
fn begin(flow: &FlowConfig, ack: &KernelAck) -> KernelSender<Controller> {
    let mss = Bytes(u64::from(ack.mss));
    let window = Bytes(u64::from(ack.cwnd) * mss.0);
    let mut controller = Controller::new(&flow.controller, mss, window, flow.sender.initial_ssthresh);
    if ack.srtt_us > 0 {
        let srtt = SimDuration::from_micros(u64::from(ack.srtt_us));
        controller.on_handshake(&HandshakeEvent { now: SimTime::ZERO, srtt, is_opener: true });
    }
    KernelSender::new(controller, mss)
}

/// The flow of a connection, one of whose ends has the flow's port.
fn flow(config: &SimulationConfig, ports: [u32; 2]) -> Option<&FlowConfig> {
    let first_group = config.flows.len() + config.traffic.datagrams.len();
    ports.into_iter().find_map(|port| {
        let place = port.checked_sub(u32::from(FIRST_KERNEL_PORT))? as usize;
        let group = || config.traffic.arrivals.get(place.checked_sub(first_group)?).map(|group| &group.flow);
        config.flows.get(place).or_else(group)
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ack,
    Timer,
    Start,
}

/// A report as the kernel writes it.
struct Report {
    connection: u32,
    /// Remote and local.
    ports: [u32; 2],
    kind: Kind,
    ack: KernelAck,
}

impl Report {
    fn parse(octets: &[u8; KERNEL_REPORT_LEN]) -> Self {
        let long = |place: usize| u64::from_ne_bytes(octets[place..place + 8].try_into().expect("eight octets"));
        let word = |place: usize| u32::from_ne_bytes(octets[place..place + 4].try_into().expect("four octets"));
        let counts = KernelCounts {
            bytes_acked: long(88),
            outstanding: word(96),
            delivered: word(100),
            lost: word(104),
            sample_delivered: word(60),
            interval_us: word(64),
            prior_delivered: word(108),
            prior_inflight: word(112),
            sample_end: word(116).cast_signed(),
            is_app_limited: octets[120] != 0,
            is_retransmission: octets[121] != 0,
            is_cwnd_limited: octets[122] != 0,
        };
        let ack = KernelAck {
            time_ns: long(0),
            cwnd: word(24),
            srtt_us: word(32),
            min_rtt_us: word(36),
            rtt_us: word(40),
            inflight: word(44),
            acked: word(48),
            lost: word(52),
            state: word(56),
            mss: word(68),
            counts: Some(counts),
        };
        let kind = match word(80) {
            0 => Kind::Ack,
            1 => Kind::Timer,
            _ => Kind::Start,
        };
        Self { connection: word(16), ports: [word(84), word(20)], kind, ack }
    }
}
