//! Short flows that come and go, each on a connection of its own: they arrive when the simulator's would, and are as large.
//!
//! A thread waits for arrivals; each flow has a thread at its opener and one at its acceptor while it lasts. What is counted, and what
//! a flow of this size would take on an empty path, is [`FlowGroup`]'s.
//!
//! Departure: no more than [`MOST`] are under way at once; those that would be more are not begun, which makes a run not valid.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Shutdown, SocketAddrV4};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use ackclock_sim::{Arrival, ArrivalsConfig, FlowGroup, SimulationConfig};
use ackclock_units::{Bytes, SimTime};
use socket2::{SockAddr, Socket};

use crate::clock::WallClock;
use crate::namespace::Namespace;
use crate::plan::FlowPlan;
use crate::sys::{TcpInfo, tcp_info};

/// Short flows of a group that are under way at once: each is two threads.
const MOST: usize = 500;
/// Interval at which a waiting thread checks whether the run is over.
const LOOK: Duration = Duration::from_millis(50);
/// Interval at which a socket is queried whether all data is acknowledged.
const ASK: Duration = Duration::from_millis(2);
/// Octets read or written at once.
const CHUNK: usize = 128 << 10;
/// `tcpi_state` of a socket whose connection is over.
const CLOSED: u8 = 7;

/// One group at work.
#[derive(Debug)]
pub struct ShortFlows<'a> {
    arrivals: &'a ArrivalsConfig,
    config: &'a SimulationConfig,
    plan: &'a FlowPlan,
    listener: Socket,
    address: SocketAddrV4,
    clock: WallClock,
    state: Mutex<State>,
}

/// State that the threads of a group share.
#[derive(Debug)]
struct State {
    group: FlowGroup,
    /// Flows in progress, by the port of their opener.
    flows: HashMap<u16, ShortFlow>,
    /// Sockets to be woken when the run is over.
    open: HashMap<u64, Arc<Socket>>,
    opened: u64,
    under_way: usize,
    not_begun: u64,
}

#[derive(Clone, Copy, Debug)]
struct ShortFlow {
    start: SimTime,
    arrival: Arrival,
}

/// Results of a group.
#[derive(Debug)]
pub struct ShortFlowsDone {
    /// Counts of the group.
    pub group: FlowGroup,
    /// Flows that were due while as many were under way as a group may have at once.
    pub not_begun: u64,
}

impl<'a> ShortFlows<'a> {
    /// A group whose acceptors listen at `listener`, which has this address.
    pub fn new(
        (arrivals, config): (&'a ArrivalsConfig, &'a SimulationConfig),
        plan: &'a FlowPlan,
        group: FlowGroup,
        (listener, address): (Socket, SocketAddrV4),
        clock: WallClock,
    ) -> Self {
        let (flows, open) = (HashMap::new(), HashMap::new());
        let state = Mutex::new(State { group, flows, open, opened: 0, under_way: 0, not_begun: 0 });
        Self { arrivals, config, plan, listener, address, clock, state }
    }

    /// Works on threads in the namespaces of openers and of acceptors, until `stop` is set.
    pub fn run(&self, sides: &[Namespace; 2], stop: &AtomicBool) -> io::Result<()> {
        thread::scope(|scope| {
            let accepting = scope.spawn(|| {
                sides[1].within(|| {
                    thread::scope(|inner| self.accept(inner, stop));
                    Ok(())
                })
            });
            let opening = sides[0].within(|| {
                thread::scope(|inner| self.open_all(inner, stop));
                Ok(())
            });
            accepting.join().expect("accepting does not panic").and(opening)
        })
    }

    /// Ends the threads of groups, whose `stop` is set. One that begins to wait just after it was woken is woken again: a connection that
    /// nobody answers any more would be tried for two minutes.
    pub fn end(groups: &[Self], threads: Vec<ScopedJoinHandle<'_, io::Result<()>>>) -> io::Result<()> {
        for (group, thread) in groups.iter().zip(threads) {
            while !thread.is_finished() {
                group.shut_down();
                thread::sleep(ASK);
            }
            thread.join().expect("short flows do not panic")?;
        }
        Ok(())
    }

    /// Wakes every thread that waits for a socket: the run is over.
    fn shut_down(&self) {
        let _ = self.listener.shutdown(Shutdown::Both);
        for socket in self.state().open.values() {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Results of the group, once no thread works any more.
    pub fn finish(self) -> ShortFlowsDone {
        let state = self.state.into_inner().expect("no thread panics with it");
        ShortFlowsDone { group: state.group, not_begun: state.not_begun }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics with it")
    }

    /// Begins each flow when its time has come.
    fn open_all<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, stop: &'scope AtomicBool) {
        super::hurry();
        while !stop.load(Ordering::Relaxed) {
            let Some(start) = self.state().group.next(self.arrivals) else { return };
            let left = self.clock.until(start);
            if !left.is_zero() {
                thread::sleep(left.min(LOOK));
                continue;
            }
            let mut state = self.state();
            let arrival = state.group.begin(start, self.arrivals, self.config);
            if state.under_way >= MOST {
                state.not_begun += 1;
                state.group.end(false);
                continue;
            }
            state.under_way += 1;
            scope.spawn(move || self.open(ShortFlow { start, arrival }, stop));
        }
    }

    /// The opener of one flow, from its SYN on.
    fn open(&self, flow: ShortFlow, stop: &AtomicBool) {
        let is_complete = self.exchange(flow, stop).unwrap_or(false);
        let mut state = self.state();
        state.under_way -= 1;
        // One that the end of the run has cut off is neither complete nor given up.
        if is_complete || !stop.load(Ordering::Relaxed) {
            state.group.end(is_complete);
        }
    }

    /// True once the peer has read all, and so has this end.
    fn exchange(&self, flow: ShortFlow, stop: &AtomicBool) -> io::Result<bool> {
        super::hurry();
        let socket = super::socket(&self.plan.opener)?;
        socket.set_linger(None)?;
        super::set_controller(&socket, &self.plan.controller)?;
        let (number, socket) = self.register(socket);
        let result = (|| {
            socket.connect(&self.address.into())?;
            let port = socket.local_addr()?.as_socket_ipv4().map_or(0, |address| address.port());
            self.state().flows.insert(port, flow);
            write_all(&socket, flow.arrival.size)?;
            let wanted = flow.arrival.reply;
            let got = self.read_to_end(&socket, wanted, flow.arrival.has_reply().then_some(flow))?;
            self.state().flows.remove(&port);
            Ok(got == wanted && !stop.load(Ordering::Relaxed))
        })();
        self.leave(number, &socket);
        result
    }

    /// Accepts connections until the listener is shut down.
    fn accept<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, stop: &'scope AtomicBool) {
        super::hurry();
        while !stop.load(Ordering::Relaxed) {
            let Ok((socket, from)) = self.listener.accept() else {
                thread::sleep(ASK); // the run is over, or no descriptor is left
                continue;
            };
            scope.spawn(move || self.serve(socket, &from, stop));
        }
    }

    /// The acceptor of one flow. What goes wrong there, its opener sees.
    fn serve(&self, socket: Socket, from: &SockAddr, stop: &AtomicBool) {
        super::hurry();
        let port = from.as_socket_ipv4().map_or(0, |address| address.port());
        let (number, socket) = self.register(socket);
        let _ = (|| {
            socket.set_linger(None)?;
            // Its opener says of which size it is before it sends anything.
            socket.peek(&mut [MaybeUninit::uninit(); 1])?;
            let flow = self.state().flows.get(&port).copied();
            let Some(flow) = flow else { return Ok(()) };
            let got = self.read_to_end(&socket, flow.arrival.size, (!flow.arrival.has_reply()).then_some(flow))?;
            if got == flow.arrival.size {
                write_all(&socket, flow.arrival.reply)?;
            }
            while flow.arrival.has_reply() && !is_acknowledged(&socket)? && !stop.load(Ordering::Relaxed) {
                thread::sleep(ASK);
            }
            io::Result::Ok(())
        })();
        self.leave(number, &socket);
    }

    /// Reads until the peer has closed; the flow that is given is complete once `wanted` octets are read.
    fn read_to_end(&self, mut socket: &Socket, wanted: Bytes, completes: Option<ShortFlow>) -> io::Result<Bytes> {
        let mut buffer = vec![0; CHUNK];
        let mut got = Bytes::ZERO;
        loop {
            let octets = socket.read(&mut buffer)?;
            if octets == 0 {
                return Ok(got);
            }
            let before = got;
            got += Bytes(octets as u64);
            if let Some(flow) = completes.filter(|_| before < wanted && got >= wanted) {
                let now = self.clock.now();
                self.state().group.complete((flow.start, now), flow.arrival, self.config);
            }
        }
    }

    fn register(&self, socket: Socket) -> (u64, Arc<Socket>) {
        let socket = Arc::new(socket);
        let mut state = self.state();
        state.opened += 1;
        let number = state.opened;
        state.open.insert(number, Arc::clone(&socket));
        (number, socket)
    }

    /// Counts what a socket has, which nobody uses any more.
    fn leave(&self, number: u64, socket: &Socket) {
        let TcpInfo { total_retrans, total_rto, .. } = tcp_info(socket.as_fd()).unwrap_or_default();
        let mut state = self.state();
        state.open.remove(&number);
        state.group.count(u64::from(total_retrans), u64::from(total_rto));
    }
}

fn write_all(mut socket: &Socket, octets: Bytes) -> io::Result<()> {
    let zeros = vec![0; (octets.0 as usize).min(CHUNK)];
    let mut left = octets.0 as usize;
    while left > 0 {
        left -= socket.write(&zeros[..left.min(CHUNK)])?;
    }
    socket.shutdown(Shutdown::Write)
}

/// All that was written, and its FIN.
fn is_acknowledged(socket: &Socket) -> io::Result<bool> {
    Ok(tcp_info(socket.as_fd())?.state == CLOSED)
}
