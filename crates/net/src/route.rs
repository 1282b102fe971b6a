//! Routes along shortest paths, which never change.

use std::collections::{BTreeMap, VecDeque};

use crate::config::{LinkConfig, NetworkConfig};
use crate::ids::{LinkId, NodeId};

/// Finds routes in one network.
///
/// Most hosts have one link to one router, so most routes are a link up, a path between two routers and a link down.
/// Those paths are kept, and thousands of flows between the same routers share one search.
#[derive(Debug)]
pub struct Router<'a> {
    network: &'a NetworkConfig,
    /// Links that leave and enter each node, in the configuration's order.
    outgoing: Vec<Vec<LinkId>>,
    incoming: Vec<Vec<LinkId>>,
    paths: BTreeMap<(NodeId, NodeId), Option<Vec<LinkId>>>,
}

impl<'a> Router<'a> {
    /// A router for `network`.
    pub fn new(network: &'a NetworkConfig) -> Self {
        let mut outgoing = vec![Vec::new(); network.nodes.len()];
        let mut incoming = vec![Vec::new(); network.nodes.len()];
        for (id, link) in network.numbered_links() {
            outgoing[link.from.index()].push(id);
            incoming[link.to.index()].push(id);
        }
        Self { network, outgoing, incoming, paths: BTreeMap::new() }
    }

    /// The configuration of a link.
    pub fn link(&self, id: LinkId) -> &LinkConfig {
        self.network.link(id)
    }

    /// The links from one node to another with the fewest hops, or `None` if there is no route. Among equals the link
    /// that comes first in the configuration wins, so routes are the same on every machine.
    pub fn shortest_path(&mut self, from: NodeId, to: NodeId) -> Option<Vec<LinkId>> {
        if from == to {
            return Some(Vec::new());
        }
        let up = only(&self.outgoing[from.index()]);
        if let Some(link) = up.filter(|&link| self.network.link(link).to == to) {
            return Some(vec![link]);
        }
        let down = only(&self.incoming[to.index()]);
        let first = up.map_or(from, |link| self.network.link(link).to);
        let last = down.map_or(to, |link| self.network.link(link).from);
        let across = self.between(first, last)?;
        Some(up.into_iter().chain(across).chain(down).collect())
    }

    fn between(&mut self, from: NodeId, to: NodeId) -> Option<Vec<LinkId>> {
        if let Some(known) = self.paths.get(&(from, to)) {
            return known.clone();
        }
        let found = self.search(from, to);
        self.paths.insert((from, to), found.clone());
        found
    }

    /// Searches for a path breadth first.
    fn search(&self, from: NodeId, to: NodeId) -> Option<Vec<LinkId>> {
        let mut arrived_by: Vec<Option<LinkId>> = vec![None; self.network.nodes.len()];
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            if node == to {
                return Some(self.trace_back(&arrived_by, from, to));
            }
            for &link in &self.outgoing[node.index()] {
                let next = self.network.link(link).to;
                if next != from && arrived_by[next.index()].is_none() {
                    arrived_by[next.index()] = Some(link);
                    queue.push_back(next);
                }
            }
        }
        None
    }

    fn trace_back(&self, arrived_by: &[Option<LinkId>], from: NodeId, to: NodeId) -> Vec<LinkId> {
        let mut path = Vec::new();
        let mut node = to;
        while node != from {
            let link = arrived_by[node.index()].expect("every node on the path was reached by a link");
            path.push(link);
            node = self.network.link(link).from;
        }
        path.reverse();
        path
    }
}

fn only(links: &[LinkId]) -> Option<LinkId> {
    if let [link] = links { Some(*link) } else { None }
}

/// One route; make a [`Router`] to find several.
pub fn shortest_path(network: &NetworkConfig, from: NodeId, to: NodeId) -> Option<Vec<LinkId>> {
    Router::new(network).shortest_path(from, to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{LinkConfig, NodeConfig};
    use ackclock_units::{Bandwidth, SimDuration};

    /// Nodes 0.., joined by the given one-way links.
    fn network(nodes: usize, links: &[(usize, usize)]) -> NetworkConfig {
        let node = |number: usize| NodeConfig { name: number.to_string(), discarder: None };
        let link = |&(from, to): &(usize, usize)| {
            let ends = (NodeId::new(from), NodeId::new(to));
            LinkConfig::plain(&format!("{from}->{to}"), ends, Bandwidth(1_000_000), SimDuration::ZERO)
        };
        let links = links.iter().map(link).collect();
        NetworkConfig { nodes: (0..nodes).map(node).collect(), links, discarders: Vec::new(), changes: Vec::new() }
    }

    fn path(network: &NetworkConfig, from: usize, to: usize) -> Option<Vec<usize>> {
        let links = shortest_path(network, NodeId::new(from), NodeId::new(to))?;
        Some(links.into_iter().map(LinkId::index).collect())
    }

    #[test]
    fn hosts_go_up_across_and_down() {
        // hosts 0 and 3 on routers 1 and 2
        let network = network(4, &[(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)]);
        assert_eq!(path(&network, 0, 3), Some(vec![0, 2, 4]));
        assert_eq!(path(&network, 3, 0), Some(vec![5, 3, 1]));
        assert_eq!(path(&network, 0, 1), Some(vec![0]));
        assert_eq!(path(&network, 2, 2), Some(vec![]));
    }

    #[test]
    fn the_fewest_hops_win_and_then_the_first_link() {
        // 0 -> 1 -> 3, 0 -> 2 -> 3, and the long way 0 -> 4 -> 5 -> 3
        let network = network(6, &[(0, 4), (4, 5), (5, 3), (0, 2), (2, 3), (0, 1), (1, 3)]);
        assert_eq!(path(&network, 0, 3), Some(vec![3, 4]));
    }

    #[test]
    fn there_may_be_no_route() {
        let network = network(3, &[(0, 1), (2, 1)]);
        assert_eq!(path(&network, 0, 2), None);
        assert_eq!(path(&network, 1, 0), None);
    }
}
