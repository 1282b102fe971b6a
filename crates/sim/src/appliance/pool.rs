//! Short flows of a group at an appliance: each has a relay while it lasts, and they are counted together.

use ackclock_net::RandomStream;
use ackclock_relay::Discipline;
use ackclock_tcp::Endpoint;
use ackclock_units::{Bytes, SimTime};

use super::relay::{Relay, Relays};
use super::{HandshakeOrder, Way};
use crate::config::SimulationConfig;

/// One group of short flows at one appliance.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    /// Index of the group.
    pub(crate) group: usize,
    /// Which of the group's splits it is: the place of the appliance on the way.
    pub(crate) split: usize,
    /// Index of the appliance.
    pub(crate) appliance: usize,
    handshake: HandshakeOrder,
    /// Seeds of the disciplines of both ways.
    seeds: [RandomStream; 2],
    /// Short flows so far.
    pub(crate) flows: u64,
    /// Of these, those that failed.
    pub(crate) resets: u64,
}

/// A pool for each split of each group, by group, then along the way.
pub(super) fn pools(config: &SimulationConfig) -> Vec<Pool> {
    let groups = config.traffic.arrivals.iter().enumerate();
    let pool = |(group, split): (usize, usize)| {
        let arrivals = &config.traffic.arrivals[group];
        let index = arrivals.splits[split].appliance;
        let appliance = &config.appliances[index];
        let seeds = ["forward", "backward"].map(|direction| {
            let name = format!("discipline {} {} {direction}", appliance.name, arrivals.flow.name);
            RandomStream::new(config.seed, &name)
        });
        Pool { group, split, appliance: index, handshake: appliance.handshake, seeds, flows: 0, resets: 0 }
    };
    let places = groups.flat_map(|(group, arrivals)| (0..arrivals.splits.len()).map(move |split| (group, split)));
    places.map(pool).collect()
}

impl Relays {
    /// The pools of the groups before this one.
    pub(crate) fn first_pool(&self, group: usize) -> usize {
        self.pools.partition_point(|pool| pool.group < group)
    }

    /// A short flow begins: relay `index`, an earlier flow's or the next new one, is now its own.
    pub(crate) fn begin_short(&mut self, index: usize, pool: usize, near: usize, config: &SimulationConfig) {
        let totals = self.totals_of_pool(pool);
        let taken = &mut self.pools[pool];
        taken.flows += 1;
        let discipline = &config.appliances[taken.appliance].discipline;
        // Its far end opens the connection after the one that its near end accepts.
        let far = near + 1;
        let seeds = taken.seeds.each_mut().map(RandomStream::bits);
        let way =
            |from, to, direction| Way::new(from, to, Discipline::new(discipline, seeds[direction]), totals + direction);
        let ways = [way(near, far, 0), way(far, near, 1)];
        let relay = Relay {
            appliance: taken.appliance,
            flow: taken.group,
            near,
            far,
            handshake: taken.handshake,
            has_connected: false,
            is_dead: false,
        };
        if index == self.list.len() {
            self.list.push(relay);
            self.ways.extend(ways);
        } else {
            self.list[index] = relay;
            for (old, new) in self.ways[2 * index..].iter_mut().zip(ways) {
                *old = new;
            }
        }
    }

    /// A short flow is over, at this appliance as everywhere: it is counted, and leaves nothing behind.
    pub(crate) fn end_short(&mut self, index: usize, now: SimTime, counts: bool, endpoints: &[Endpoint]) {
        self.count_short(index, endpoints);
        for number in 2 * index..2 * index + 2 {
            let way = &mut self.ways[number];
            if way.is_queued || way.copying > Bytes::ZERO {
                self.copiers[self.list[index].appliance].forget(number);
            }
            way.keep(now, [Bytes::ZERO; 2], counts, &mut self.totals[way.totals]);
            way.wake = SimTime::NEVER;
        }
    }

    /// Adds what a short flow has counted so far.
    pub(crate) fn count_short(&mut self, index: usize, endpoints: &[Endpoint]) {
        for way in &self.ways[2 * index..2 * index + 2] {
            self.totals[way.totals].ended += way.counts(endpoints);
        }
    }
}
