//! All connections of a run, each with its two ends.
//!
//! A connection has a place, by which its packets name it and queues tell flows apart. Those of short flows are over before the
//! run is: their place is another connection's then, of the next generation, and what is still under way to the one before is
//! dropped where it arrives. A flow of datagrams has a place like any other, and no TCP.

use std::ops::{Index, IndexMut};

use ackclock_cc::HopRecord;
use ackclock_net::{ConnectionIndex, EndpointId, Generation};
use ackclock_tcp::{Endpoint, TcpConfig};
use ackclock_units::{Shared, SimTime};
use ackclock_wire::Segment;

use crate::event_queue::Event;
use crate::ids::{DatagramFlowId, RelayId, RouteId, ShortFlowId, StreamId};
use crate::network::{Network, Uplink};

/// Whom an end works for: who is asked when something has happened there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Role {
    /// Nobody.
    #[default]
    Idle,
    /// The applications of a flow of the scenario's own list.
    Applications {
        /// What leaves here.
        sends: Option<StreamId>,
        /// What is read here.
        delivers: Option<StreamId>,
    },
    /// An appliance, which passes on what arrives.
    Relay(RelayId),
    /// A short flow that begins or ends here.
    ShortFlow(ShortFlowId),
}

/// One end of a connection.
#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "an end of TCP is the rule, and is looked at with every packet: no way round by a box"
)]
enum End {
    Tcp(TcpEnd),
    /// Of a flow of datagrams, which has no connection.
    Udp(DatagramFlowId),
}

/// One end of a TCP connection.
#[derive(Clone, Debug)]
struct TcpEnd {
    /// When the pending timer event fires; [`SimTime::NEVER`] if there is none.
    timer: SimTime,
    /// Of what it sends.
    route: RouteId,
    /// Of the connection that has the place now.
    generation: Generation,
    role: Role,
    endpoint: Endpoint,
}

impl TcpEnd {
    fn new(NewEnd { endpoint, route, role }: NewEnd) -> Self {
        Self { timer: SimTime::NEVER, route, generation: Generation::default(), role, endpoint }
    }

    #[inline]
    fn call<R>(
        &mut self,
        id: EndpointId,
        network: &mut Network,
        call: impl FnOnce(&mut Endpoint, SimTime, &mut Uplink<'_>) -> R,
    ) -> R {
        let now = network.now();
        let mut uplink = Uplink { network, peer: id.peer(), route: self.route, generation: self.generation };
        call(&mut self.endpoint, now, &mut uplink)
    }

    #[inline]
    fn arm_timer(&mut self, id: EndpointId, network: &mut Network) {
        let deadline = self.endpoint.deadline();
        if deadline < self.timer {
            self.timer = deadline;
            network.queue.push(deadline.max(network.now()), Event::Timer(id));
        }
    }
}

/// One end of a TCP connection before it exists.
pub(crate) struct NewEnd {
    pub(crate) endpoint: Endpoint,
    pub(crate) route: RouteId,
    pub(crate) role: Role,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connections {
    ends: Vec<End>,
    /// How ends are configured: mostly alike.
    pub(crate) configs: Shared<TcpConfig>,
}

impl Connections {
    /// The place of the next connection.
    pub(crate) fn next(&self) -> ConnectionIndex {
        ConnectionIndex::new(self.ends.len() / 2)
    }

    /// So many more are going to be added: an end takes kilobytes, and room for twice as many as there are is dear.
    pub(crate) fn expect(&mut self, connections: usize) {
        self.ends.reserve_exact(2 * connections);
    }

    /// Adds a connection behind the others: its opener, then its acceptor.
    pub(crate) fn add(&mut self, ends: [NewEnd; 2]) {
        self.ends.extend(ends.map(TcpEnd::new).map(End::Tcp));
    }

    /// Gives a flow of datagrams its place. Returns the end that receives.
    pub(crate) fn add_datagrams(&mut self, flow: DatagramFlowId) -> EndpointId {
        let receiver = EndpointId::acceptor(self.next());
        self.ends.extend([End::Udp(flow), End::Udp(flow)]);
        receiver
    }

    /// Puts an end in the place of one whose connection is over. A timer event that is still pending serves the new one: when
    /// it comes it looks at the deadline as it then is. (One at a time: an endpoint is large, and is moved as rarely as may be.)
    #[inline]
    pub(crate) fn replace(&mut self, id: EndpointId, NewEnd { endpoint, route, role }: NewEnd) {
        let end = self.tcp_mut(id);
        (end.route, end.role) = (route, role);
        end.endpoint = endpoint;
    }

    /// A connection is over: what is still under way to it belongs to nobody.
    pub(crate) fn retire(&mut self, place: ConnectionIndex) {
        for id in both_ends(place) {
            let end = self.tcp_mut(id);
            (end.generation, end.role) = (end.generation.next(), Role::Idle);
        }
    }

    /// Takes those that `is_there` says so of over from where they are, and gives others for them.
    pub(crate) fn swap(&mut self, other: &mut Self, is_there: impl Fn(EndpointId) -> bool) {
        for (number, (here, there)) in self.ends.iter_mut().zip(&mut other.ends).enumerate() {
            if is_there(EndpointId::of_number(number as u32)) {
                std::mem::swap(here, there);
            }
        }
    }

    /// Whom an end works for.
    pub(crate) fn role(&self, id: EndpointId) -> Role {
        self.tcp(id).role
    }

    /// The stream that leaves at an end, if one does.
    pub(crate) fn sends(&self, id: EndpointId) -> Option<StreamId> {
        if let Role::Applications { sends, .. } = self.role(id) { sends } else { None }
    }

    pub(crate) fn set_role(&mut self, id: EndpointId, role: Role) {
        self.tcp_mut(id).role = role;
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

    /// A segment arrives, and the timer is armed for what it changed. Returns whom the end works for; nobody hears of a segment
    /// that belongs to a connection of another generation.
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

    /// What links wrote into data of an end has come back to it.
    pub(crate) fn on_telemetry(&mut self, id: EndpointId, generation: Generation, hops: &[HopRecord]) {
        let end = self.tcp_mut(id);
        if end.generation == generation && !hops.is_empty() {
            end.endpoint.on_telemetry(hops);
        }
    }

    /// Timers are lazy: an event is scheduled only if none is pending that comes early enough, and when it comes the
    /// deadline may have moved on.
    #[inline]
    pub(crate) fn arm_timer(&mut self, id: EndpointId, network: &mut Network) {
        self.tcp_mut(id).arm_timer(id, network);
    }

    /// The timer event of an end has come. True if its deadline has, too; if that has moved on, so does the event.
    #[inline]
    pub(crate) fn is_timer_due(&mut self, id: EndpointId, network: &mut Network) -> bool {
        let end = self.tcp_mut(id);
        if end.timer != network.now() {
            return false; // an earlier event has taken its place
        }
        end.timer = SimTime::NEVER;
        let is_due = end.endpoint.deadline() <= network.now();
        if !is_due {
            end.arm_timer(id, network);
        }
        is_due
    }

    fn tcp(&self, id: EndpointId) -> &TcpEnd {
        match &self.ends[id.index()] {
            End::Tcp(end) => end,
            End::Udp(_) => unreachable!("datagrams have no connection"),
        }
    }

    fn tcp_mut(&mut self, id: EndpointId) -> &mut TcpEnd {
        match &mut self.ends[id.index()] {
            End::Tcp(end) => end,
            End::Udp(_) => unreachable!("datagrams have no connection"),
        }
    }
}

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
