//! All connections of a run, each with its two ends.
//!
//! A connection has a place, by which its packets name it and queues distinguish flows. Those of short flows end before
//! the run: their place then belongs to another connection, of the next generation, and packets to the old one are
//! dropped where they arrive. A connection of QUIC has a place like one of TCP, and so has a flow of datagrams, which
//! has no ends.

use std::ops::{Index, IndexMut};

use ackclock_cc::{ExternalController, HopRecord, SharedAgents};
use ackclock_events::EventKinds;
use ackclock_net::{ConnectionIndex, EndpointId, Generation};
use ackclock_quic::QuicEndpoint;
use ackclock_tcp::{Endpoint, Episode, TcpConfig};
use ackclock_units::{Bytes, Shared, SimTime};
use ackclock_wire::Segment;
use ackclock_wire::quic::QuicPacket;
use prefetch_index::prefetch_index;

use crate::end_view::EndView;
use crate::event_queue::MOST_NUMBERS;
use crate::ids::{DatagramFlowId, RelayId, RouteId, ShortFlowId, StreamId};
use crate::network::{Departed, Network, Uplink};
use crate::timer::Timer;

/// The user of an end, which is notified of its events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Role {
    /// The end has no user.
    #[default]
    Idle,
    /// The applications of a flow of the scenario's own list.
    Applications {
        /// Stream that is sent here.
        sends: Option<StreamId>,
        /// Stream that is read here.
        delivers: Option<StreamId>,
    },
    /// An appliance, which passes on what arrives.
    Relay(RelayId),
    /// A short flow that begins or ends here.
    ShortFlow(ShortFlowId),
}

/// One end of a connection. Its kind comes first, in the cache line that a packet loads first; elsewhere it would cost
/// a second line.
#[derive(Clone, Debug)]
#[repr(u32, align(64))]
#[allow(
    clippy::large_enum_variant,
    reason = "an end of TCP is the rule, and is looked at with every packet: no way round by a box"
)]
enum End {
    Tcp(Held<Endpoint>),
    Quic(Box<Held<QuicEndpoint>>),
    /// End of a flow of datagrams, which has no connection.
    Udp(DatagramFlowId),
}

/// An end and the run's state of it. The fields that every segment needs lie side by side, in front.
#[derive(Clone, Debug)]
#[repr(C)]
struct Held<E> {
    timer: Timer,
    /// Route of its packets.
    route: RouteId,
    /// Generation of the connection that has the place now; an end of QUIC keeps its place for the whole run.
    generation: Generation,
    role: Role,
    endpoint: E,
}

/// A thing with a deadline at which it acts by itself.
trait Deadline {
    fn deadline(&self) -> SimTime;
}

impl Deadline for Endpoint {
    #[inline]
    fn deadline(&self) -> SimTime {
        self.deadline()
    }
}

impl Deadline for QuicEndpoint {
    fn deadline(&self) -> SimTime {
        self.deadline()
    }
}

impl<E: Deadline> Held<E> {
    fn new(endpoint: E, route: RouteId, role: Role) -> Self {
        Self { timer: Timer::default(), route, generation: Generation::default(), role, endpoint }
    }

    #[inline]
    fn call<R>(
        &mut self,
        id: EndpointId,
        network: &mut Network,
        call: impl FnOnce(&mut E, SimTime, &mut Uplink<'_>) -> R,
    ) -> R {
        let now = network.now();
        let mut uplink = Uplink { network, peer: id.peer(), route: self.route, generation: self.generation };
        call(&mut self.endpoint, now, &mut uplink)
    }

    #[inline]
    fn arm_timer(&mut self, id: EndpointId, network: &mut Network) {
        self.timer.arm(self.endpoint.deadline(), id, &mut network.queue);
    }

    /// Handles a timer event: see [`Connections::take_timer`].
    #[inline]
    fn take_timer(&mut self, id: EndpointId, network: &mut Network) -> bool {
        if !self.timer.take(network.now()) {
            return false;
        }
        let is_due = self.endpoint.deadline() <= network.now();
        if !is_due {
            self.arm_timer(id, network);
        }
        is_due
    }
}

/// One end of a TCP connection before it exists.
pub(crate) struct NewEnd {
    pub(crate) endpoint: Endpoint,
    pub(crate) route: RouteId,
    pub(crate) role: Role,
}

/// All ends of connections.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    ends: Vec<End>,
    /// Configurations of the ends, mostly equal.
    pub(crate) configs: Shared<TcpConfig>,
    /// Agents that controllers of several ends share.
    agents: SharedAgents,
}

impl Clone for Connections {
    fn clone(&self) -> Self {
        let mut copy = Self { ends: self.ends.clone(), configs: self.configs.clone(), agents: self.agents.clone() };
        if !copy.agents.is_empty() {
            copy.join_agents(0);
        }
        copy
    }
}

impl Connections {
    /// Lets the controllers of a connection share agents with those of others.
    pub(crate) fn share_agents(&mut self, place: ConnectionIndex) {
        self.join_agents(EndpointId::opener(place).index());
    }

    /// Gives the controllers of ends from a place on their shared agents.
    fn join_agents(&mut self, from: usize) {
        for end in &mut self.ends[from..] {
            match end {
                End::Tcp(end) => end.endpoint.join(&mut self.agents),
                End::Quic(end) => end.endpoint.join(&mut self.agents),
                End::Udp(_) => {}
            }
        }
    }

    /// Prefetches the memory that a packet to this end needs first.
    #[inline]
    pub(crate) fn fetch(&self, id: EndpointId) {
        prefetch_index(&self.ends, id.index());
    }

    /// The place of the next connection.
    pub(crate) fn next(&self) -> ConnectionIndex {
        ConnectionIndex::new(self.ends.len() / 2)
    }

    /// Reserves memory for further connections: an end takes kilobytes, and room for twice as many as there are is
    /// expensive.
    pub(crate) fn expect(&mut self, connections: usize) {
        self.ends.reserve_exact(2 * connections);
    }

    /// Adds a connection behind the others: its opener, then its acceptor.
    pub(crate) fn add(&mut self, ends: [NewEnd; 2]) {
        self.extend(ends.map(|NewEnd { endpoint, route, role }| End::Tcp(Held::new(endpoint, route, role))));
    }

    fn extend(&mut self, ends: [End; 2]) {
        assert!(self.ends.len() < MOST_NUMBERS, "a run has {} connections at most", MOST_NUMBERS / 2);
        self.ends.extend(ends);
    }

    /// Adds a connection of QUIC: the ends, each with the route of its packets.
    pub(crate) fn add_quic(&mut self, ends: [(QuicEndpoint, RouteId); 2]) {
        self.extend(ends.map(|(endpoint, route)| End::Quic(Box::new(Held::new(endpoint, route, Role::Idle)))));
    }

    /// Gives a flow of datagrams its place. Returns the end that receives.
    pub(crate) fn add_datagrams(&mut self, flow: DatagramFlowId) -> EndpointId {
        let receiver = EndpointId::acceptor(self.next());
        self.extend([End::Udp(flow), End::Udp(flow)]);
        receiver
    }

    /// Puts an end in the place of one whose connection is over. A pending timer event then serves the new one, whose
    /// deadline counts when it fires. (One at a time: an endpoint is large, and is rarely moved.)
    #[inline]
    pub(crate) fn replace(&mut self, id: EndpointId, NewEnd { endpoint, route, role }: NewEnd) {
        let end = self.tcp_mut(id);
        (end.route, end.role) = (route, role);
        end.endpoint = endpoint;
    }

    /// Retires a connection that is over: packets to it are dropped from now on.
    pub(crate) fn retire(&mut self, place: ConnectionIndex) {
        for id in both_ends(place) {
            let end = self.tcp_mut(id);
            (end.generation, end.role) = (end.generation.next(), Role::Idle);
        }
    }

    /// Exchanges the ends for which `is_there` is true between two parts.
    pub(crate) fn swap(&mut self, other: &mut Self, is_there: impl Fn(EndpointId) -> bool) {
        for (number, (here, there)) in self.ends.iter_mut().zip(&mut other.ends).enumerate() {
            if is_there(EndpointId::of_number(number as u32)) {
                std::mem::swap(here, there);
            }
        }
    }

    /// The user of an end.
    pub(crate) fn role(&self, id: EndpointId) -> Role {
        match &self.ends[id.index()] {
            End::Tcp(end) => end.role,
            End::Quic(end) => end.role,
            End::Udp(_) => Role::Idle,
        }
    }

    /// The stream that is sent at an end, if there is one.
    pub(crate) fn sends(&self, id: EndpointId) -> Option<StreamId> {
        if let Role::Applications { sends, .. } = self.role(id) { sends } else { None }
    }

    pub(crate) fn set_role(&mut self, id: EndpointId, role: Role) {
        match &mut self.ends[id.index()] {
            End::Tcp(end) => end.role = role,
            End::Quic(end) => end.role = role,
            End::Udp(_) => unreachable!("datagrams have no connection"),
        }
    }

    /// Read access to an end, whatever its transport.
    pub(crate) fn view(&self, id: EndpointId) -> EndView<'_> {
        match &self.ends[id.index()] {
            End::Tcp(end) => EndView::Tcp(&end.endpoint),
            End::Quic(end) => EndView::Quic(&end.endpoint),
            End::Udp(_) => unreachable!("datagrams have no connection"),
        }
    }

    /// Time at which the application at an end will have read `octets` in all; `None` while they have not all arrived.
    pub(crate) fn time_of_read(&mut self, id: EndpointId, octets: Bytes, now: SimTime) -> Option<SimTime> {
        match &mut self.ends[id.index()] {
            End::Tcp(end) => end.endpoint.time_of_read(octets, now),
            End::Quic(end) => end.endpoint.time_of_read(octets, now),
            End::Udp(_) => None,
        }
    }

    /// Episodes at an end that have ended since the last call, and the one under way.
    pub(crate) fn take_episodes(&mut self, id: EndpointId) -> Vec<Episode> {
        let (mut ended, current) = match &mut self.ends[id.index()] {
            End::Tcp(end) => (end.endpoint.take_episodes(), end.endpoint.current_episode()),
            End::Quic(end) => (end.endpoint.take_episodes(), end.endpoint.current_episode()),
            End::Udp(_) => (Vec::new(), None),
        };
        ended.extend(current);
        ended
    }

    /// Reports events of the sending half of an end from now on.
    pub(crate) fn watch(&mut self, id: EndpointId, kinds: EventKinds) {
        match &mut self.ends[id.index()] {
            End::Tcp(end) => end.endpoint.watch(kinds),
            End::Quic(end) => end.endpoint.watch(kinds),
            End::Udp(_) => {}
        }
    }

    /// The external controller at an end, if there is one.
    pub(crate) fn external_controller(&mut self, id: EndpointId) -> Option<&mut dyn ExternalController> {
        match &mut self.ends[id.index()] {
            End::Tcp(end) => end.endpoint.external_controller(),
            End::Quic(end) => end.endpoint.external_controller(),
            End::Udp(_) => None,
        }
    }

    /// The flow of datagrams that arrive at an end.
    pub(crate) fn datagrams(&self, id: EndpointId) -> Option<DatagramFlowId> {
        if let End::Udp(flow) = self.ends[id.index()] { Some(flow) } else { None }
    }

    /// Runs `call` on an endpoint with its way into the network.
    #[inline]
    pub(crate) fn call<R>(
        &mut self,
        id: EndpointId,
        network: &mut Network,
        call: impl FnOnce(&mut Endpoint, SimTime, &mut Uplink<'_>) -> R,
    ) -> R {
        self.tcp_mut(id).call(id, network, call)
    }

    /// Runs the call of an end's own transport.
    pub(crate) fn either<R>(
        &mut self,
        id: EndpointId,
        network: &mut Network,
        tcp: impl FnOnce(&mut Endpoint, SimTime, &mut Uplink<'_>) -> R,
        quic: impl FnOnce(&mut QuicEndpoint, SimTime, &mut Uplink<'_>) -> R,
    ) -> R {
        match &mut self.ends[id.index()] {
            End::Tcp(end) => end.call(id, network, tcp),
            End::Quic(end) => end.call(id, network, quic),
            End::Udp(_) => unreachable!("datagrams have no connection"),
        }
    }

    /// Takes a packet of QUIC, and arms the timer. Returns the user of the end.
    pub(crate) fn on_quic(
        &mut self,
        id: EndpointId,
        packet: &QuicPacket,
        has_ranges: bool,
        network: &mut Network,
    ) -> Role {
        let End::Quic(end) = &mut self.ends[id.index()] else { return Role::Idle };
        let ranges = if has_ranges { network.take_ranges() } else { Vec::new() };
        end.call(id, network, |endpoint, now, out| endpoint.on_packet(now, packet, &ranges, out));
        if has_ranges {
            network.give_back(ranges);
        }
        end.arm_timer(id, network);
        end.role
    }

    /// Takes a segment, and arms the timer. Returns the user of the end; a segment for another generation is ignored.
    #[inline]
    pub(crate) fn on_segment(
        &mut self,
        id: EndpointId,
        generation: Generation,
        segment: &Segment,
        network: &mut Network,
    ) -> Option<Role> {
        let end = self.tcp_mut(id);
        if end.generation != generation {
            return None;
        }
        end.call(id, network, |endpoint, now, out| endpoint.on_segment(now, segment, out));
        end.arm_timer(id, network);
        Some(end.role)
    }

    /// Hands telemetry back to the end whose data the links wrote it into.
    pub(crate) fn on_telemetry(&mut self, id: EndpointId, generation: Generation, hops: &[HopRecord]) {
        let end = self.tcp_mut(id);
        if end.generation == generation && !hops.is_empty() {
            end.endpoint.on_telemetry(hops);
        }
    }

    /// Takes note that data of an end has left its host, or was dropped there.
    pub(crate) fn on_left(&mut self, departed: &Departed, network: &mut Network) {
        let end = self.tcp_mut(departed.sender);
        if end.generation == departed.generation {
            if departed.is_refused {
                end.endpoint.on_refused(network.now(), departed.octets);
            } else {
                end.endpoint.on_left(network.now(), departed.octets);
            }
            end.arm_timer(departed.sender, network);
        }
    }

    /// Arms the timer for an end's deadline, which may have changed.
    #[inline]
    pub(crate) fn arm_timer(&mut self, id: EndpointId, network: &mut Network) {
        match &mut self.ends[id.index()] {
            End::Tcp(end) => end.arm_timer(id, network),
            End::Quic(end) => end.arm_timer(id, network),
            End::Udp(_) => {}
        }
    }

    /// Handles the timer event of an end. Returns true if its deadline has come; if that has moved on, so does the
    /// event.
    #[inline]
    pub(crate) fn take_timer(&mut self, id: EndpointId, network: &mut Network) -> bool {
        match &mut self.ends[id.index()] {
            End::Tcp(end) => end.take_timer(id, network),
            End::Quic(end) => end.take_timer(id, network),
            End::Udp(_) => false,
        }
    }

    fn tcp(&self, id: EndpointId) -> &Held<Endpoint> {
        match &self.ends[id.index()] {
            End::Tcp(end) => end,
            End::Quic(_) | End::Udp(_) => unreachable!("{NO_TCP}"),
        }
    }

    fn tcp_mut(&mut self, id: EndpointId) -> &mut Held<Endpoint> {
        match &mut self.ends[id.index()] {
            End::Tcp(end) => end,
            End::Quic(_) | End::Udp(_) => unreachable!("{NO_TCP}"),
        }
    }
}

/// Panic message for an option of TCP only, which a checked scenario uses for TCP only.
const NO_TCP: &str = "an end of another transport than TCP";

fn both_ends(connection: ConnectionIndex) -> [EndpointId; 2] {
    [EndpointId::opener(connection), EndpointId::acceptor(connection)]
}

impl Index<EndpointId> for Connections {
    type Output = Endpoint;

    fn index(&self, id: EndpointId) -> &Endpoint {
        &self.tcp(id).endpoint
    }
}

impl IndexMut<EndpointId> for Connections {
    fn index_mut(&mut self, id: EndpointId) -> &mut Endpoint {
        &mut self.tcp_mut(id).endpoint
    }
}
