//! The connections that appliances split.

use ackclock_net::RandomStream;
use ackclock_relay::Discipline;
use ackclock_tcp::Endpoint;
use ackclock_units::SimTime;

use super::config::HandshakeOrder;
use super::pool::{Pool, pools};
use super::totals::Totals;
use super::{ApplianceSeries, Copier, Way};
use crate::config::SimulationConfig;
use crate::outcome::Table;

/// One flow at one appliance: two ends, which face the flow's opener and its acceptor.
#[derive(Clone, Debug)]
pub(crate) struct Relay {
    /// Index of the appliance.
    pub(crate) appliance: usize,
    /// Index of the flow; of a short one, of its group.
    pub(crate) flow: usize,
    /// The endpoint that faces the opener.
    pub(crate) near: usize,
    /// The endpoint that faces the acceptor.
    pub(crate) far: usize,
    pub(crate) handshake: HandshakeOrder,
    /// The far connection has been asked for.
    pub(crate) has_connected: bool,
    /// One end failed, and the other was reset.
    pub(crate) is_dead: bool,
}

/// All appliances at work. Way `2 * relay` leads from the opener, `2 * relay + 1` to it.
#[derive(Clone, Debug)]
pub(crate) struct Relays {
    /// One for each flow at each appliance; then those of short flows.
    pub(crate) list: Vec<Relay>,
    pub(crate) ways: Vec<Way>,
    /// How many are not of short flows.
    pub(crate) listed: usize,
    /// Of each way that is not a short flow's; then two for each pool.
    pub(crate) totals: Vec<Totals>,
    pub(crate) pools: Vec<Pool>,
    pub(crate) copiers: Vec<Copier>,
    /// What is recorded over time, if anything is.
    pub(crate) series: Option<ApplianceSeries>,
}

impl Relays {
    /// The relay of `config.splits[i]` is number `i`; its near endpoint accepts the connection before it, its far
    /// endpoint opens connection `config.flows.len() + i`.
    pub(crate) fn new(config: &SimulationConfig) -> Self {
        let mut list = Vec::with_capacity(config.splits.len());
        let mut ways = Vec::with_capacity(2 * config.splits.len());
        for (index, split) in config.splits.iter().enumerate() {
            let before = config.connection_before(index);
            let (near, far) = (2 * before + 1, 2 * (config.flows.len() + index));
            let appliance = &config.appliances[split.appliance];
            list.push(Relay {
                appliance: split.appliance,
                flow: split.flow,
                near,
                far,
                handshake: appliance.handshake,
                has_connected: false,
                is_dead: false,
            });
            for (direction, from, to) in [("forward", near, far), ("backward", far, near)] {
                let name = format!("discipline {} {} {direction}", appliance.name, config.flows[split.flow].name);
                let seed = RandomStream::new(config.seed, &name).bits();
                let number = ways.len();
                ways.push(Way::new(from, to, Discipline::new(&appliance.discipline, seed), number));
            }
        }
        let copiers = config.appliances.iter().map(|appliance| Copier::new(appliance.copying)).collect();
        let is_recorded = !ways.is_empty() && !config.trace.flows.is_empty();
        let series = is_recorded.then(|| ApplianceSeries::new(ways.len()));
        let (listed, pools) = (list.len(), pools(config));
        let totals = vec![Totals::default(); 2 * (listed + pools.len())];
        Self { list, ways, listed, totals, pools, copiers, series }
    }

    /// The first of the two totals of a pool.
    pub(crate) fn totals_of_pool(&self, pool: usize) -> usize {
        2 * (self.listed + pool)
    }

    /// A row of each way, if any are recorded.
    pub(crate) fn sample(&mut self, now: SimTime, endpoints: &[Endpoint]) {
        if let Some(series) = &mut self.series {
            series.sample(now, &mut self.ways, endpoints);
        }
    }

    /// The rows of all ways; no columns if none are recorded.
    pub(crate) fn take_table(&mut self, config: &SimulationConfig) -> Table {
        let series = self.series.take();
        series.map_or_else(Table::default, |series| series.into_table(config, self))
    }

    /// The relay that a way is of.
    pub(crate) fn relay_of(way: usize) -> usize {
        way / 2
    }
}
