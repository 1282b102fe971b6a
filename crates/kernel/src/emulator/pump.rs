//! The loop that carries packets between the hosts' devices and the network, as fast as the clock on the wall says.
//!
//! Devices are emptied, what is due is handed out, then the thread sleeps until the next event or packet. Close before an event it looks
//! at the clock instead, as a thread that is woken runs some microseconds after its time (`pace.rs`).

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ackclock_net::{Datagram, EndpointId, Packet, Payload};
use ackclock_sim::{DatagramConfig, DatagramFlow, Ecn, LinkSummary, SimulationConfig, Table};
use ackclock_units::{SimDuration, SimTime};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use super::capture::{CaptureFile, HostCaptures};
use super::lateness::Lateness;
use super::network::{Delivered, Network};
use super::pace::Pace;
use super::packet::{Side, read};
use super::rtt::RttMeter;
use super::short_flows::ShortConnections;
use crate::clock::{WallClock, is_virtual};
use crate::device::{Batch, Device};

/// Number of packets of a device after which the other has its turn; they come in super-packets of up to 45 segments of
/// Ethernet's size.
pub(super) const TURN: usize = 32;

/// Someone who looks at the ends of connections as they receive.
pub trait Observer: std::fmt::Debug + Sync {
    /// The end `to` has dealt with a segment, unless its socket was in use. `rtt` is the sample that the segment gives as an
    /// ACK, from when the data had left its host.
    fn on_delivered(&self, to: EndpointId, now: SimTime, rtt: Option<SimDuration>);
}

/// Moves packets in real time.
#[derive(Debug)]
pub struct Pump<'a> {
    clock: WallClock,
    network: Network,
    devices: [&'a Device; 2],
    batch: Batch,
    exit: Exit<'a>,
    short: ShortConnections,
    measure_from: SimTime,
    /// Packets that are nothing of ours.
    foreign: u64,
}

/// Exit of packets from the network.
#[derive(Debug)]
struct Exit<'a> {
    clock: WallClock,
    devices: [&'a Device; 2],
    lateness: Lateness,
    delivered: u64,
    refused: u64,
    /// Round trips of the data that each end sends, by its number; those of short flows have none.
    round_trips: Vec<RttMeter>,
    /// Flows of datagrams, whose numbers come after those of connections of TCP.
    datagrams: Vec<DatagramFlow>,
    tcp_connections: usize,
    captures: HostCaptures,
    observer: Option<&'a dyn Observer>,
}

/// Result of the emulator.
#[derive(Debug)]
pub struct PumpOutcome {
    /// Links over the measurement window.
    pub links: Vec<LinkSummary>,
    /// Series of links over time.
    pub series: Table,
    /// Lateness of packets handed out.
    pub lateness: Lateness,
    /// Number of packets handed out.
    pub delivered: u64,
    /// Packets that hosts sent into the network.
    pub entered: u64,
    /// Packets in the network at the end.
    pub under_way: u64,
    /// Packets that a device would not take.
    pub refused: u64,
    /// Packets that were nothing of the scenario's.
    pub foreign: u64,
    /// Round trips of what each end sent, by its number.
    pub round_trips: Vec<RttMeter>,
    /// Flows of datagrams, with what was counted of them.
    pub datagrams: Vec<DatagramFlow>,
    /// CPU time of the thread, the kernel's work within its calls included.
    pub cpu: Duration,
    /// True if it ran before all ordinary threads.
    pub is_real_time: bool,
    /// Files of what links and hosts recorded.
    pub captures: Vec<CaptureFile>,
}

impl<'a> Pump<'a> {
    /// Carries what the scenario's hosts send between these devices, of the openers and of the acceptors.
    /// `mtu` is that of the devices.
    pub fn new(clock: WallClock, config: &SimulationConfig, devices: [&'a Device; 2], mtu: u16) -> Self {
        let datagrams = &config.traffic.datagrams;
        let connections = config.flows.len() + datagrams.len();
        let meter = |flow: &DatagramConfig| DatagramFlow::new(flow, config.seed, config.measure);
        let exit = Exit {
            clock,
            devices,
            lateness: Lateness::default(),
            delivered: 0,
            refused: 0,
            round_trips: vec![RttMeter::default(); 2 * connections],
            datagrams: datagrams.iter().map(meter).collect(),
            tcp_connections: config.flows.len(),
            captures: HostCaptures::new(config),
            observer: None,
        };
        let measure_from = config.measure.from.unwrap_or(SimTime::ZERO);
        let (network, batch) = (Network::new(config), Batch::new(mtu));
        let short = ShortConnections::new(config);
        Self { clock, network, devices, batch, exit, short, measure_from, foreign: 0 }
    }

    /// Tells someone of each segment of TCP that a flow's end has received.
    #[must_use]
    pub fn observed(mut self, observer: Option<&'a dyn Observer>) -> Self {
        self.exit.observer = observer;
        self
    }

    /// Runs on the calling thread until `end`, or until `stop` is set.
    pub fn run(mut self, end: SimTime, stop: &AtomicBool) -> io::Result<PumpOutcome> {
        let mut pace = Pace::begin(self.clock);
        let before = thread_cpu()?;
        let mut is_restarted = self.measure_from == SimTime::ZERO;
        let devices = self.devices.map(AsFd::as_fd);
        let mut are_ready = [true; 2];
        loop {
            let woken = self.clock.now();
            let was_busy = self.take_in(are_ready, woken)?;
            let now = self.now(woken).min(end);
            self.network.run_until(now, &mut |delivered| self.exit.deliver(&delivered, now));
            if !is_restarted && now >= self.measure_from {
                self.exit.restart();
                is_restarted = true;
            }
            if now >= end || stop.load(Ordering::Relaxed) {
                break;
            }
            pace.rest(was_busy, (now, self.network.next_delivery().min(end)), &devices, &mut are_ready)?;
        }
        let cpu = thread_cpu()?.saturating_sub(before);
        self.finish(cpu, pace.is_real_time)
    }

    /// Takes what hosts have sent; true if there was anything.
    fn take_in(&mut self, are_ready: [bool; 2], woken: SimTime) -> io::Result<bool> {
        // A call that fails, as one that finds nothing does, takes a microsecond of virtual time.
        let turn = if is_virtual() { 1 } else { TURN };
        let mut was_busy = false;
        for side in Side::BOTH.into_iter().filter(|side| are_ready[side.index()]) {
            let mut taken = 0;
            while taken < turn {
                let packets = self.devices[side.index()].receive(&mut self.batch)?;
                if packets == 0 {
                    break;
                }
                taken += packets;
                self.enter(side, woken);
            }
            was_busy |= taken > 0;
        }
        Ok(was_busy)
    }

    /// The time in a round of the loop that began at `woken`, at which virtual time stands still.
    fn now(&self, woken: SimTime) -> SimTime {
        if is_virtual() { woken } else { self.clock.now() }
    }

    /// The packets of the batch enter the network, from the hosts of a side.
    fn enter(&mut self, side: Side, woken: SimTime) {
        let Self { clock, network, batch, exit, short, foreign, .. } = self;
        for octets in batch.packets() {
            let now = if is_virtual() { woken } else { clock.now() };
            let mut packet = read(octets, side, now);
            let is_ours = |packet: &mut Packet| short.claim(packet, octets, network) || exit.knows(packet);
            let Some(mut packet) = packet.take_if(is_ours) else {
                *foreign += 1;
                continue;
            };
            network.run_until(now, &mut |delivered| exit.deliver(&delivered, now));
            exit.on_sent(now, &mut packet, octets);
            network.enter(packet, octets);
        }
    }

    fn finish(mut self, cpu: Duration, is_real_time: bool) -> io::Result<PumpOutcome> {
        let mut captures = self.network.captures()?;
        let (entered, under_way) = (self.network.entered(), self.network.under_way() as u64);
        let (links, series) = self.network.finish();
        let Exit { lateness, delivered, refused, round_trips, datagrams, captures: of_hosts, .. } = self.exit;
        captures.extend(of_hosts.finish()?);
        let foreign = self.foreign;
        Ok(PumpOutcome {
            links,
            series,
            lateness,
            delivered,
            entered,
            under_way,
            refused,
            foreign,
            round_trips,
            datagrams,
            cpu,
            is_real_time,
            captures,
        })
    }
}

impl Exit<'_> {
    /// True of a segment of one of the flows, or a datagram from the sender of one of the flows of datagrams.
    fn knows(&self, packet: &Packet) -> bool {
        let connection = packet.connection().index();
        match &packet.payload {
            Payload::Tcp(_) => connection < self.tcp_connections,
            Payload::Udp(_) => {
                let flow = connection.checked_sub(self.tcp_connections);
                flow.is_some_and(|flow| flow < self.datagrams.len()) && Side::of(packet.to) == Side::Acceptors
            }
            Payload::Quic(_) => false,
        }
    }

    /// Hands a packet to its host; `woken` is the time in virtual time.
    fn deliver(&mut self, delivered: &Delivered<'_>, woken: SimTime) {
        let now = if is_virtual() { woken } else { self.clock.now() };
        self.lateness.add(now.saturating_since(delivered.due));
        self.delivered += 1;
        let (mut sample, mut is_tcp) = (None, false);
        match &delivered.packet.payload {
            Payload::Tcp(segment) => {
                let meter = self.round_trips.get_mut(delivered.to.index());
                (sample, is_tcp) = (meter.and_then(|meter| meter.on_ack(now, segment)), true);
            }
            Payload::Udp(Datagram { sent, number, ecn, .. }) => {
                let flow = delivered.to.connection().index() - self.tcp_connections;
                self.datagrams[flow].receive(now, *sent, *number, *ecn == Ecn::Ce);
            }
            Payload::Quic(_) => {}
        }
        if Side::of(delivered.to) == Side::Openers {
            self.captures.record(delivered.to.connection().index(), now, delivered.octets);
        }
        if self.devices[Side::of(delivered.to).index()].send(delivered.octets).is_err() {
            self.refused += 1;
        }
        if let Some(observer) = self.observer.filter(|_| is_tcp) {
            observer.on_delivered(delivered.to, now, sample);
        }
    }

    fn on_sent(&mut self, now: SimTime, packet: &mut Packet, octets: &[u8]) {
        let connection = packet.connection().index();
        if Side::of(packet.to) == Side::Acceptors {
            self.captures.record(connection, now, octets);
        }
        match &mut packet.payload {
            Payload::Tcp(segment) => {
                if let Some(meter) = self.round_trips.get_mut(packet.to.peer().index()) {
                    meter.on_segment(now, segment);
                }
            }
            // Datagrams come from the device in the order in which they were sent.
            Payload::Udp(datagram) => datagram.number = self.datagrams[connection - self.tcp_connections].send(now).0,
            Payload::Quic(_) => {}
        }
    }

    /// Restarts the meters when the measurement begins.
    fn restart(&mut self) {
        self.round_trips.iter_mut().for_each(RttMeter::restart);
    }
}

/// CPU time of the calling thread.
pub(super) fn thread_cpu() -> io::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_THREAD)?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(micros as u64))
}
