//! Phase effects: flows that may stay in phase with a queue for a whole run, as far as the configuration shows.
//!
//! A host whose own link is as fast as a bottleneck behind it can fill that link without a gap. Its packets then come
//! to the bottleneck's queue exactly as others leave it, and without randomness, packets of others find the queue full
//! for ever (Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", 1991).

use ackclock_net::{LinkConfig, LinkId, NetworkConfig, Router};
use ackclock_units::{SimDuration, interrupt::check};

use crate::config::SimulationConfig;

impl SimulationConfig {
    /// The first shared link at whose exact rate the host of a flow sends, without noise; `None` if there is none.
    pub fn link_in_step(&self) -> Option<&LinkConfig> {
        let mut router = Router::new(&self.network);
        let mut uses = vec![Use::default(); self.network.links.len()];
        for flow in &self.flows {
            check();
            let path = router.shortest_path(flow.from, flow.to)?;
            for link in path.iter().skip(1) {
                uses[link.index()].flows += 1;
            }
            if flow.sender.host_noise == SimDuration::ZERO
                && let Some(link) = same_pace(&self.network, &path)
            {
                uses[link.index()].is_matched = true;
            }
        }
        let shared = uses.iter().position(|link| link.is_matched && link.flows > 1)?;
        Some(&self.network.links[shared])
    }
}

#[derive(Clone, Copy, Default)]
struct Use {
    flows: usize,
    /// True if a host sends at its exact rate.
    is_matched: bool,
}

/// The link behind the first one of a path that is exactly as fast, unless the links before it spread packets
/// otherwise.
fn same_pace(network: &NetworkConfig, path: &[LinkId]) -> Option<LinkId> {
    let (first, others) = path.split_first()?;
    let first = network.link(*first);
    for id in others {
        let link = network.link(*id);
        if first.is_served() || link.rate < first.rate {
            return None;
        }
        if link.rate == first.rate && link.framing == first.framing && !link.is_served() {
            return Some(*id);
        }
    }
    None
}
