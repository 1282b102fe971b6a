//! Short flows of a group at an appliance: each has a relay while it lasts, and they are counted together.

use ackclock_net::{Direction, EndpointId, RandomStream};
use ackclock_relay::Discipline;
use ackclock_units::{Bytes, SimTime};

use super::HandshakeOrder;
use super::relay::{Carries, NewRelay, Relay, Relays};
use crate::config::SimulationConfig;
use crate::connections::Connections;
use crate::ids::{ApplianceId, GroupId, RelayId, ShortFlowId};

/// One group of short flows at one appliance.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    pub(crate) group: GroupId,
    /// Index of the split in the group: the place of the appliance on the path.
    pub(crate) split: usize,
    pub(crate) appliance: ApplianceId,
    handshake: HandshakeOrder,
    /// Seeds of both directions' disciplines.
    seeds: [RandomStream; 2],
    /// Short flows so far.
    pub(crate) flows: u64,
    /// Number of these short flows that failed.
    pub(crate) resets: u64,
}

/// A pool for each split of each group, by group, then along the path.
pub(super) fn pools(config: &SimulationConfig) -> Vec<Pool> {
    let groups = config.traffic.arrivals.iter().enumerate();
    let places = groups.flat_map(|(group, arrivals)| (0..arrivals.splits.len()).map(move |split| (group, split)));
    places.map(|(group, split)| pool(config, GroupId::new(group), split)).collect()
}

fn pool(config: &SimulationConfig, group: GroupId, split: usize) -> Pool {
    let arrivals = &config.traffic.arrivals[group.index()];
    let index = arrivals.splits[split].appliance;
    let appliance = &config.appliances[index];
    let seeds = Direction::BOTH.map(|direction| {
        let name = format!("discipline {} {} {}", appliance.name, arrivals.flow.name, direction.name());
        RandomStream::new(config.seed, &name)
    });
    Pool {
        group,
        split,
        appliance: ApplianceId::new(index),
        handshake: appliance.handshake,
        seeds,
        flows: 0,
        resets: 0,
    }
}

impl Relays {
    /// The first pool of a group: its pools are in the order of the appliances on its path.
    pub(crate) fn first_pool(&self, group: GroupId) -> usize {
        self.pools.partition_point(|pool| pool.group < group)
    }

    /// Index of a pool's totals.
    pub(super) fn totals_of_pool(&self, pool: usize) -> usize {
        self.listed + pool
    }

    /// Begins a short flow: relay `id`, an earlier flow's or the next new one, is now its own. It accepts the
    /// connection that ends at `near`, and opens the next at `far`.
    pub(crate) fn begin_short(
        &mut self,
        id: RelayId,
        pool: usize,
        flow: ShortFlowId,
        [near, far]: [EndpointId; 2],
        config: &SimulationConfig,
    ) {
        let totals = self.totals_of_pool(pool);
        let taken = &mut self.pools[pool];
        taken.flows += 1;
        let discipline = &config.appliances[taken.appliance.index()].discipline;
        let seeds = taken.seeds.each_mut().map(RandomStream::bits);
        let relay = Relay::new(NewRelay {
            appliance: taken.appliance,
            carries: Carries::ShortFlow(flow),
            near,
            far,
            handshake: taken.handshake,
            disciplines: seeds.map(|seed| Discipline::new(discipline, seed)),
            totals,
        });
        match self.list.get_mut(id.index()) {
            Some(old) => *old = relay,
            None => self.list.push(relay),
        }
    }

    /// Ends a short flow, which is over everywhere: it is counted, and leaves no state.
    pub(crate) fn end_short(
        &mut self,
        id: RelayId,
        pool: usize,
        has_failed: bool,
        now: SimTime,
        connections: &Connections,
    ) {
        self.pools[pool].resets += u64::from(has_failed);
        self.count_short(id, connections);
        let relay = &mut self.list[id.index()];
        for (stream, at) in relay.streams.iter_mut().zip(id.directions()) {
            if stream.is_queued || stream.copying > Bytes::ZERO {
                self.copiers[relay.appliance.index()].forget(at);
            }
            stream.keep(now, [Bytes::ZERO; 2], &self.window, &mut self.totals[relay.totals][at.direction().index()]);
            stream.wake = SimTime::NEVER;
        }
    }

    /// Adds the counts of a short flow so far.
    pub(crate) fn count_short(&mut self, id: RelayId, connections: &Connections) {
        let relay = &self.list[id.index()];
        for (totals, stream) in self.totals[relay.totals].iter_mut().zip(&relay.streams) {
            totals.ended += stream.counts(connections);
        }
    }
}
