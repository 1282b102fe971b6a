//! Static shortest-path routes.

use std::collections::VecDeque;

use crate::config::{LinkId, NetworkConfig, NodeId};

/// The links from one node to another with the fewest hops, or `None` if there is no way. Among equals the link that
/// comes first in the configuration wins, so routes are the same on every machine.
pub fn shortest_path(network: &NetworkConfig, from: NodeId, to: NodeId) -> Option<Vec<LinkId>> {
    let outgoing = outgoing_links(network);
    let mut arrived_by: Vec<Option<LinkId>> = vec![None; network.nodes.len()];
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        if node == to {
            return Some(trace_back(network, &arrived_by, from, to));
        }
        for &link in &outgoing[node] {
            let next = network.links[link].to;
            if next != from && arrived_by[next].is_none() {
                arrived_by[next] = Some(link);
                queue.push_back(next);
            }
        }
    }
    None
}

fn outgoing_links(network: &NetworkConfig) -> Vec<Vec<LinkId>> {
    let mut outgoing = vec![Vec::new(); network.nodes.len()];
    for (id, link) in network.links.iter().enumerate() {
        outgoing[link.from].push(id);
    }
    outgoing
}

fn trace_back(network: &NetworkConfig, arrived_by: &[Option<LinkId>], from: NodeId, to: NodeId) -> Vec<LinkId> {
    let mut path = Vec::new();
    let mut node = to;
    while node != from {
        let link = arrived_by[node].expect("every node on the way was reached by a link");
        path.push(link);
        node = network.links[link].from;
    }
    path.reverse();
    path
}
