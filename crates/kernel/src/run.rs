//! A scenario on the kernel, from its check to its results.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use ackclock_net::{LinkConfig, NodeId, Router};
use ackclock_sim::{
    App, ArrivalsConfig, DatagramConfig, FlowConfig, FlowGroup, Sampling, SimulationConfig, Summary, Table,
};
use ackclock_units::{SimDuration, SimTime};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::Serialize;
use socket2::{Domain, Protocol, Socket, Type};

use crate::clock::{WallClock, is_virtual};
use crate::device::Device;
use crate::emulator::{CaptureFile, FIRST_PORT, LatenessSummary, Observer, Pump, PumpOutcome, Side, Verdict};
use crate::hosts::{
    self, Course, Ends, FlowLog, FlowSampler, Held, Reader, Row, Sampled, ShortFlows, ShortFlowsDone, Stream,
};
use crate::namespace::Namespace;
use crate::plan::{Choice, FlowPlan, Plan, Refusal};
use crate::summary;

/// The network of the namespaces, which nobody else sees.
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 77, 0, 1), Ipv4Addr::new(10, 77, 128, 1)];
/// Time from the creation of the threads to the time zero of the run.
const LEAD: Duration = Duration::from_millis(50);
/// Connections of short flows that wait to be accepted.
const BACKLOG: i32 = 1_024;
/// Interval at which interruption is checked.
const LOOK: Duration = Duration::from_millis(20);

/// Reason for which there are no results.
#[derive(Debug)]
pub enum Failure {
    /// The scenario asks for what the kernel cannot do.
    Refused(Vec<Refusal>),
    /// The machine cannot run any.
    Machine(String),
    /// A call to the kernel failed.
    Io(io::Error),
    /// Somebody wanted it to end.
    Interrupted,
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Results of a run, in the form of the simulator's.
#[derive(Debug)]
pub struct Outcome {
    /// Content of `summary.json`.
    pub summary: Summary,
    /// Series of flows over time.
    pub flows: Table,
    /// Series of links over time.
    pub links: Table,
    /// Episodes of congestion.
    pub episodes: Table,
    /// Requests that were answered.
    pub completions: Table,
    /// Packets that links and hosts recorded.
    pub captures: Vec<CaptureFile>,
    /// Report on the machine.
    pub report: Report,
}

/// Report on the machine: the manifest's entry `kernel`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Release of the kernel, as `uname -r` prints it.
    pub release: String,
    /// Whether the run can be believed.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Lateness of packets handed to hosts, microseconds.
    pub late_us: LatenessSummary,
    /// True if the emulator ran before all ordinary threads.
    pub real_time: bool,
    /// CPU time of the emulator over the time of the run, the kernel's work for receiving hosts included.
    pub emulator_cpu_share: f64,
    /// Packets that hosts sent into the network.
    pub packets_entered: u64,
    /// Packets that came to hosts.
    pub packets_delivered: u64,
    /// Packets in the network when the run ended.
    pub packets_under_way: u64,
    /// Packets lost between hosts and the emulator, of which the scenario knows nothing.
    pub device_drops: u64,
    /// Packets that were nothing of the scenario's.
    pub foreign_packets: u64,
    /// Parameters of the openers' and of the acceptors' namespace.
    pub parameters: [BTreeMap<&'static str, String>; 2],
    /// Parameters of the scenario's hosts that this kernel does not have; they are left out.
    pub absent_parameters: Vec<&'static str>,
    /// Time that the run took, seconds.
    pub wall_s: f64,
    /// CPU time of all its threads, seconds.
    pub cpu_s: f64,
}

/// Names of the kernel's controllers.
pub fn available_controllers() -> io::Result<Vec<String>> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// Runs a checked scenario in real time; `stop` ends it early, without results. `choices` are
/// controllers of the kernel in the place of the scenario's; `asks` is that of [`Plan::new`].
pub fn run(config: &SimulationConfig, choices: &[Choice], asks: bool, stop: &AtomicBool) -> Result<Outcome, Failure> {
    let available = available_controllers()?;
    let mut plan = Plan::new(config, &available, asks).map_err(Failure::Refused)?;
    plan.choose(config, choices, &available).map_err(Failure::Refused)?;
    allow_descriptors();
    let sides = Surroundings::new(&plan)?;
    let _registered = plan.loads.register()?;
    let ends = connections(config, &plan, &sides)?;
    let datagrams = datagram_sockets(config, &sides)?;
    let listeners = listeners(config, &plan, &sides)?;
    let clock = WallClock::start_in(LEAD);
    let groups = short_flows(config, &plan, listeners, clock);
    let cpu = process_cpu()?;
    let mut done = work(config, (&ends, &datagrams, &groups), &sides, clock, stop)?;
    done.groups = groups.into_iter().map(ShortFlows::finish).collect();
    done.device_drops += done.pump.refused;
    for (device, namespace) in sides.devices.iter().zip(&sides.namespaces) {
        let drops = device.drops(namespace)?;
        done.device_drops += drops.sent + drops.received;
    }
    let wall_s = clock.now().as_secs_f64();
    let cpu_s = process_cpu()?.saturating_sub(cpu).as_secs_f64();
    let mut report = report(config, &plan, &done, (wall_s, cpu_s))?;
    for parameters in &mut report.parameters {
        parameters.retain(|name, _| !sides.absent.contains(name));
    }
    report.absent_parameters = sides.absent.iter().copied().collect();
    Ok(summary::outcome(&with_choices(config, choices), &ends, done, report))
}

/// The scenario with the names of the controllers that ran.
fn with_choices(config: &SimulationConfig, choices: &[Choice]) -> SimulationConfig {
    let mut config = config.clone();
    for flow in &mut config.flows {
        if let Some((_, controller)) = choices.iter().find(|(name, _)| *name == flow.name) {
            flow.controller_name.clone_from(controller);
        }
    }
    config
}

/// Lets the process have as many open files as it may: shells usually allow 1024, and a flow is three.
fn allow_descriptors() {
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}

/// Namespaces with their devices, of openers and of acceptors.
struct Surroundings {
    namespaces: [Namespace; 2],
    devices: [Device; 2],
    mtu: u16,
    /// Parameters that this kernel does not have.
    absent: BTreeSet<&'static str>,
}

impl Surroundings {
    fn new(plan: &Plan) -> Result<Self, Failure> {
        let missing = |error: io::Error| match error.kind() {
            io::ErrorKind::PermissionDenied => {
                Failure::Machine(format!("network namespaces and TUN devices need root ({error}); run it as root"))
            }
            io::ErrorKind::NotFound => {
                Failure::Machine(format!("/dev/net/tun is missing ({error}); load the module: modprobe tun"))
            }
            _ => Failure::Io(error),
        };
        let namespaces = [Namespace::new().map_err(missing)?, Namespace::new().map_err(missing)?];
        let mut absent = BTreeSet::new();
        for (namespace, side) in namespaces.iter().zip(&plan.sides) {
            for (name, value) in &side.parameters {
                match namespace.set(name, value) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => absent.insert(*name),
                    other => other.map(|()| false)?,
                };
            }
        }
        let device = |side: Side| Device::new(&namespaces[side.index()], ADDRESSES[side.index()], plan.mtu);
        let devices = [device(Side::Openers).map_err(missing)?, device(Side::Acceptors).map_err(missing)?];
        Ok(Self { namespaces, devices, mtu: plan.mtu, absent })
    }
}

fn acceptor_address(connection: usize) -> SocketAddrV4 {
    SocketAddrV4::new(ADDRESSES[Side::Acceptors.index()], FIRST_PORT + connection as u16)
}

/// The sockets of every flow, none of them connected yet.
fn connections(config: &SimulationConfig, plan: &Plan, sides: &Surroundings) -> io::Result<Vec<Ends>> {
    let make = |(index, (flow, plan)): (usize, (&FlowConfig, &FlowPlan))| {
        let opener = sides.namespaces[0].within(|| {
            let socket = hosts::socket(&plan.opener)?;
            hosts::set_controller(&socket, &plan.controller)?;
            Ok(socket)
        })?;
        let accepts = plan.acceptors.as_ref().unwrap_or(&plan.controller);
        let wait = if flow.accepts { hosts::listen } else { hosts::bind };
        let listener = sides.namespaces[1].within(|| wait(&plan.acceptor, accepts, acceptor_address(index)))?;
        let mut streams = vec![Stream::new(flow.name.clone())];
        if flow.app.has_responses() || flow.reply.is_some() {
            streams.push(Stream::new(format!("{}.reply", flow.name)));
        }
        Ok(Ends { opener, listener, acceptor: OnceLock::new(), streams, reset: OnceLock::new() })
    };
    config.flows.iter().zip(&plan.flows).enumerate().map(make).collect()
}

/// Listening sockets for the acceptors of each group of short flows.
fn listeners(config: &SimulationConfig, plan: &Plan, sides: &Surroundings) -> io::Result<Vec<(Socket, SocketAddrV4)>> {
    let first = config.flows.len() + config.traffic.datagrams.len();
    let make = |(index, plan): (usize, &FlowPlan)| {
        let address = acceptor_address(first + index);
        let listener = sides.namespaces[1].within(|| {
            let listener = hosts::listen(&plan.acceptor, &plan.controller, address)?;
            listener.listen(BACKLOG)?;
            Ok(listener)
        })?;
        Ok((listener, address))
    };
    plan.flows[config.flows.len()..].iter().enumerate().map(make).collect()
}

/// The groups of short flows, none of which has arrived.
fn short_flows<'a>(
    config: &'a SimulationConfig,
    plan: &'a Plan,
    listeners: Vec<(Socket, SocketAddrV4)>,
    clock: WallClock,
) -> Vec<ShortFlows<'a>> {
    let mut router = Router::new(&config.network);
    let plans = &plan.flows[config.flows.len()..];
    let groups = config.traffic.arrivals.iter().zip(plans).zip(listeners);
    let make = |((arrivals, plan), listener): ((&'a ArrivalsConfig, &'a FlowPlan), (Socket, SocketAddrV4))| {
        let (from, to) = (arrivals.flow.from, arrivals.flow.to);
        let mut route = |from, to| router.shortest_path(from, to).expect("a checked scenario has every route");
        let group = FlowGroup::new(arrivals, config, &route(from, to), &route(to, from));
        ShortFlows::new((arrivals, config), plan, group, listener, clock)
    };
    groups.map(make).collect()
}

/// A sending and a receiving socket for each flow of datagrams.
fn datagram_sockets(config: &SimulationConfig, sides: &Surroundings) -> io::Result<Vec<[Socket; 2]>> {
    let make = |index: usize| {
        let to = acceptor_address(config.flows.len() + index);
        let socket = || Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP));
        let receiver = sides.namespaces[1].within(|| {
            let socket = socket()?;
            socket.bind(&to.into())?;
            Ok(socket)
        })?;
        let sender = sides.namespaces[0].within(|| {
            let socket = socket()?;
            socket.connect(&to.into())?;
            Ok(socket)
        })?;
        Ok([sender, receiver])
    };
    (0..config.traffic.datagrams.len()).map(make).collect()
}

/// Results of a run's threads.
pub(crate) struct Done {
    pub(crate) pump: PumpOutcome,
    pub(crate) sampled: Sampled,
    /// Rows of the series of flows.
    pub(crate) rows: Vec<Row>,
    /// Results of each flow.
    pub(crate) held: Vec<Held>,
    /// Results of each group of short flows.
    pub(crate) groups: Vec<ShortFlowsDone>,
    device_drops: u64,
}

/// All threads of a run, from its time zero to its end.
fn work(
    config: &SimulationConfig,
    (ends, datagrams, groups): (&[Ends], &[[Socket; 2]], &[ShortFlows<'_>]),
    sides: &Surroundings,
    clock: WallClock,
    stop: &AtomicBool,
) -> Result<Done, Failure> {
    let end = SimTime(config.duration.0);
    let is_over = AtomicBool::new(false);
    let is_over = &is_over;
    let starts: Vec<SimTime> = config.flows.iter().map(|flow| flow.start).collect();
    let log = FlowLog::new(ends, &starts, &config.trace.flows);
    // In real time the emulator, which is in a hurry, waits for no socket.
    let per_ack = is_virtual() && matches!(config.trace.sampling, Sampling::Events(_));
    let sampling = match config.trace.sampling {
        Sampling::Events(interval) if !per_ack => Sampling::Interval(interval),
        sampling => sampling,
    };
    let done = thread::scope(|scope| {
        let pump = Pump::new(clock, config, [&sides.devices[0], &sides.devices[1]], sides.mtu);
        let pump = pump.observed(per_ack.then_some(&log as &dyn Observer));
        let pumping = scope.spawn(move || pump.run(end, is_over));
        let observer = FlowSampler::new(ends, &log, config.measure);
        let observing = scope.spawn(move || observer.run(sampling, clock, end, is_over));
        let conversing: Vec<_> = config
            .flows
            .iter()
            .zip(ends)
            .enumerate()
            .map(|(index, (flow, ends))| scope.spawn(move || converse(config, (index, flow), ends, clock, is_over)))
            .collect();
        let flows = config.traffic.datagrams.iter().zip(datagrams);
        let (sending, draining): (Vec<_>, Vec<_>) = flows
            .map(|(flow, [from, to])| {
                let send = move || hosts::send(from, flow, config.seed, clock, is_over);
                (scope.spawn(send), scope.spawn(move || hosts::drain(to, is_over)))
            })
            .unzip();
        let group = |group| scope.spawn(move || ShortFlows::run(group, &sides.namespaces, is_over));
        let coming: Vec<_> = groups.iter().map(group).collect();
        while clock.now() < end && !stop.load(Ordering::Relaxed) && !pumping.is_finished() {
            thread::sleep(clock.until(end).min(LOOK));
        }
        let is_cut_short = clock.now() < end && stop.load(Ordering::Relaxed);
        let pump = if is_cut_short { None } else { Some(pumping.join().expect("the emulator does not panic")) };
        // Without it nothing moves any more, and there is nothing to wait for.
        is_over.store(matches!(pump, Some(Err(_))), Ordering::Relaxed);
        // Counts are taken before sockets are shut down.
        let sampled = if is_cut_short { None } else { Some(observing.join().expect("sampling does not panic")) };
        is_over.store(true, Ordering::Relaxed);
        ends.iter().for_each(Ends::shut_down);
        ShortFlows::end(groups, coming)?;
        let held = conversing.into_iter().map(|thread| thread.join().expect("a conversation does not panic"));
        let held: Vec<Held> = held.collect::<io::Result<_>>()?;
        let device_drops = refused(sending, draining)?;
        match (pump, sampled) {
            (Some(pump), Some(sampled)) => Ok((pump?, sampled, held, device_drops)),
            _ => Err(Failure::Interrupted),
        }
    });
    let (pump, sampled, held, device_drops) = done?;
    Ok(Done { pump, sampled, rows: log.into_rows(), held, groups: Vec::new(), device_drops })
}

/// Number of datagrams that the kernel refused to take from their senders: no queue of the scenario has seen them.
fn refused(
    sending: Vec<ScopedJoinHandle<'_, io::Result<u64>>>,
    draining: Vec<ScopedJoinHandle<'_, io::Result<()>>>,
) -> io::Result<u64> {
    let counts = sending.into_iter().map(|thread| thread.join().expect("sending datagrams does not panic"));
    let count = counts.sum::<io::Result<u64>>()?;
    draining.into_iter().try_for_each(|thread| thread.join().expect("draining does not panic"))?;
    Ok(count)
}

fn converse(
    config: &SimulationConfig,
    (index, flow): (usize, &FlowConfig),
    ends: &Ends,
    clock: WallClock,
    is_over: &AtomicBool,
) -> io::Result<Held> {
    let mut apps = vec![App::new(&flow.app, config.seed, &flow.name)];
    if flow.app.has_responses() {
        apps.push(App::responder());
    } else if let Some(reply) = &flow.reply {
        apps.push(App::new(reply, config.seed, &format!("{}.reply", flow.name)));
    }
    let reader = Reader { rate: flow.read_rate, stops: flow.stops_reading };
    let course = Course { start: flow.start, to: acceptor_address(index), reader, abort_at: flow.abort_at };
    hosts::hold(ends, apps, course, clock, is_over)
}

fn report(config: &SimulationConfig, plan: &Plan, done: &Done, (wall_s, cpu_s): (f64, f64)) -> io::Result<Report> {
    let late_us = done.pump.lateness.summary(done.pump.delivered);
    let mut verdict = Verdict::new(&late_us, least_round_trip(config), done.device_drops);
    for (group, arrivals) in done.groups.iter().zip(&config.traffic.arrivals).filter(|(group, _)| group.not_begun > 0) {
        verdict.add(format!("{} of {:?} were not started: too many were active", group.not_begun, arrivals.flow.name));
    }
    Ok(Report {
        release: nix::sys::utsname::uname()?.release().to_string_lossy().into_owned(),
        verdict,
        late_us,
        real_time: done.pump.is_real_time,
        emulator_cpu_share: done.pump.cpu.as_secs_f64() / config.duration.as_secs_f64().max(1e-9),
        packets_entered: done.pump.entered,
        packets_delivered: done.pump.delivered,
        packets_under_way: done.pump.under_way,
        device_drops: done.device_drops,
        foreign_packets: done.pump.foreign,
        parameters: [plan.sides[0].parameters.clone(), plan.sides[1].parameters.clone()],
        absent_parameters: Vec::new(),
        wall_s,
        cpu_s,
    })
}

/// The least propagation there and back of any flow.
fn least_round_trip(config: &SimulationConfig) -> SimDuration {
    let mut router = Router::new(&config.network);
    let delay = |link: &LinkConfig| link.delay.0;
    let mut one_way = |from: NodeId, to: NodeId| -> u64 {
        let path = router.shortest_path(from, to).unwrap_or_default();
        path.into_iter().map(|link| delay(config.network.link(link))).sum()
    };
    let flows = config.flows.iter().map(|flow| (flow.from, flow.to));
    let datagrams = config.traffic.datagrams.iter().map(|flow: &DatagramConfig| (flow.from, flow.to));
    let groups = config.traffic.arrivals.iter().map(|group| (group.flow.from, group.flow.to));
    let round_trips = flows.chain(datagrams).chain(groups).map(|(from, to)| one_way(from, to) + one_way(to, from));
    SimDuration(round_trips.min().unwrap_or(0))
}

/// CPU time of the process.
fn process_cpu() -> io::Result<Duration> {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike;
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(micros as u64))
}
