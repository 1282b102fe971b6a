//! The endpoints of every connection: a flow's own two, and two more for each appliance on its way.

use ackclock_cc::ControllerConfig;
use ackclock_net::{NodeId, Router};
use ackclock_tcp::{Endpoint, Reading, TcpConfig};
use ackclock_units::SimTime;

use super::{NOTHING, PortState, RELAYS};
use crate::appliance::HandshakeOrder;
use crate::config::{FlowConfig, SimulationConfig};
use crate::network::{Face, Network};

/// One end of a connection before it exists.
struct End<'a> {
    node: NodeId,
    tcp: &'a TcpConfig,
    controller: &'a ControllerConfig,
    reading: Reading,
    /// The relay that it belongs to.
    relay: Option<usize>,
    listens: Listens,
}

#[derive(Clone, Copy)]
enum Listens {
    No,
    Yes,
    AndAsks,
}

/// Endpoint `2 * c` opens connection `c`, and `2 * c + 1` accepts it.
pub(super) fn build(
    config: &SimulationConfig,
    network: &mut Network,
    router: &mut Router<'_>,
) -> (Vec<Endpoint>, Vec<PortState>) {
    let mut endpoints = Vec::with_capacity(2 * config.connections());
    let mut ports = Vec::with_capacity(2 * config.connections());
    for connection in 0..config.connections() {
        let ends = [opener(config, connection), acceptor(config, connection)];
        let ways = [(&ends[0], &ends[1]), (&ends[1], &ends[0])];
        for (end, peer) in ways {
            let mut endpoint = Endpoint::new(end.tcp, end.controller, end.reading);
            match end.listens {
                Listens::No => {}
                Listens::Yes => endpoint.listen(),
                Listens::AndAsks => endpoint.listen_and_ask(),
            }
            endpoints.push(endpoint);
            let route = network.add_route(router, end.node, peer.node);
            let sends = end.relay.map_or(NOTHING, |relay| RELAYS + relay as u32);
            ports.push(PortState { route, timer: SimTime::NEVER, sends, delivers: NOTHING });
        }
        let flow = config.flow_of(connection);
        network.set_face(connection, Face { flow: flow as u32, port: config.flows[flow].port });
    }
    (endpoints, ports)
}

fn opener(config: &SimulationConfig, connection: usize) -> End<'_> {
    if let Some(flow) = config.flows.get(connection) {
        let FlowConfig { from, sender, controller, .. } = flow;
        return End {
            node: *from,
            tcp: sender,
            controller,
            reading: Reading::AtOnce,
            relay: None,
            listens: Listens::No,
        };
    }
    let index = connection - config.flows.len();
    let split = &config.splits[index];
    End {
        node: config.appliances[split.appliance].node,
        tcp: &split.far.tcp,
        controller: &split.far.controller,
        reading: Reading::OnCall,
        relay: Some(index),
        listens: Listens::No,
    }
}

fn acceptor(config: &SimulationConfig, connection: usize) -> End<'_> {
    if let Some((index, split)) = config.split_after(connection) {
        let appliance = &config.appliances[split.appliance];
        let listens = match appliance.handshake {
            HandshakeOrder::AcceptFirst => Listens::Yes,
            HandshakeOrder::ConnectFirst => Listens::AndAsks,
        };
        return End {
            node: appliance.node,
            tcp: &split.near.tcp,
            controller: &split.near.controller,
            reading: Reading::OnCall,
            relay: Some(index),
            listens,
        };
    }
    let flow = &config.flows[config.flow_of(connection)];
    End {
        node: flow.to,
        tcp: &flow.receiver,
        controller: &flow.controller,
        reading: flow.read_rate.into(),
        relay: None,
        listens: if flow.accepts { Listens::Yes } else { Listens::No },
    }
}
