//! The connections that appliances split.

use std::ops::Index;

use ackclock_net::{Direction, EndpointId, RandomStream};
use ackclock_relay::Discipline;
use ackclock_units::SimTime;

use super::config::HandshakeOrder;
use super::pool::{Pool, pools};
use super::totals::Totals;
use super::{ApplianceSeries, Copier, RelayedStream};
use crate::config::{MeasureWindow, SimulationConfig};
use crate::connections::Connections;
use crate::ids::{ApplianceId, RelayDirection, RelayId, ShortFlowId};
use crate::outcome::Table;

/// One flow at one appliance: two ends, which face the flow's opener and its acceptor.
#[derive(Clone, Debug)]
pub(crate) struct Relay {
    pub(crate) appliance: ApplianceId,
    /// Flow whose connections it joins.
    pub(crate) carries: Carries,
    /// The endpoint that faces the opener.
    pub(crate) near: EndpointId,
    /// The endpoint that faces the acceptor.
    pub(crate) far: EndpointId,
    pub(crate) handshake: HandshakeOrder,
    /// True once the far connection has been requested.
    pub(crate) has_connected: bool,
    /// True if one end failed, and the other was reset.
    pub(crate) is_dead: bool,
    /// The relayed streams, forward and backward.
    pub(super) streams: [RelayedStream; 2],
    /// Index of the [`Totals`] in which it is counted.
    pub(super) totals: usize,
}

/// Traffic for which a relay exists.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Carries {
    /// The flow at this place of the scenario's own list.
    Flow(usize),
    /// A short flow of a group.
    ShortFlow(ShortFlowId),
}

/// Fields of a new relay.
pub(super) struct NewRelay {
    pub(super) appliance: ApplianceId,
    pub(super) carries: Carries,
    pub(super) near: EndpointId,
    pub(super) far: EndpointId,
    pub(super) handshake: HandshakeOrder,
    /// The disciplines of both directions.
    pub(super) disciplines: [Discipline; 2],
    pub(super) totals: usize,
}

impl Relay {
    pub(super) fn new(new: NewRelay) -> Self {
        let NewRelay { appliance, carries, near, far, handshake, disciplines, totals } = new;
        let [forward, backward] = disciplines;
        let streams = [RelayedStream::new(near, far, forward), RelayedStream::new(far, near, backward)];
        Self { appliance, carries, near, far, handshake, has_connected: false, is_dead: false, streams, totals }
    }

    /// The stream in one direction.
    pub(crate) fn stream(&self, direction: Direction) -> &RelayedStream {
        &self.streams[direction.index()]
    }
}

/// All appliances at work.
#[derive(Clone, Debug)]
pub(crate) struct Relays {
    /// The relays of each flow at each appliance, as in [`SimulationConfig::splits`]; then those of short flows.
    pub(super) list: Vec<Relay>,
    /// Number of relays that do not serve short flows.
    pub(super) listed: usize,
    /// Totals of each relay that does not serve a short flow, then of each pool: forward and backward.
    pub(super) totals: Vec<[Totals; 2]>,
    pub(super) pools: Vec<Pool>,
    pub(super) copiers: Vec<Copier>,
    /// Series recorded over time, if any are requested.
    series: Option<ApplianceSeries>,
    pub(super) window: MeasureWindow,
}

impl Relays {
    /// The relays of a scenario. The near endpoint of a relay accepts the connection before it, its far endpoint opens
    /// the one after it.
    pub(crate) fn new(config: &SimulationConfig) -> Self {
        let list: Vec<Relay> = (0..config.splits.len()).map(|index| listed(config, RelayId::new(index))).collect();
        let copiers = config.appliances.iter().map(|appliance| Copier::new(appliance.copying)).collect();
        let is_recorded = !list.is_empty() && !config.trace.flows.is_empty();
        let series = is_recorded.then(|| ApplianceSeries::new(list.len()));
        let (listed, pools) = (list.len(), pools(config));
        let totals = vec![<[Totals; 2]>::default(); listed + pools.len()];
        Self { list, listed, totals, pools, copiers, series, window: config.measure }
    }

    /// The relays of the scenario's own flows, with their numbers.
    pub(crate) fn listed(&self) -> impl Iterator<Item = (RelayId, &Relay)> {
        self.list[..self.listed].iter().enumerate().map(|(index, relay)| (RelayId::new(index), relay))
    }

    /// The number of the next relay.
    pub(crate) fn next(&self) -> RelayId {
        RelayId::new(self.list.len())
    }

    /// True if series are recorded.
    pub(crate) fn are_recorded(&self) -> bool {
        self.series.is_some()
    }

    /// Records a row for each direction of each relay, if requested.
    pub(crate) fn sample(&mut self, now: SimTime, connections: &Connections) {
        if let Some(series) = &mut self.series {
            series.sample(now, &mut self.list, connections);
        }
    }

    /// The table of all rows; without columns if none are recorded.
    pub(crate) fn take_table(&mut self, config: &SimulationConfig) -> Table {
        let series = self.series.take();
        series.map_or_else(Table::default, |series| series.into_table(config, self))
    }

    pub(super) fn stream_mut(&mut self, at: RelayDirection) -> &mut RelayedStream {
        &mut self.list[at.relay().index()].streams[at.direction().index()]
    }
}

impl Index<RelayId> for Relays {
    type Output = Relay;

    fn index(&self, id: RelayId) -> &Relay {
        &self.list[id.index()]
    }
}

impl Index<RelayDirection> for Relays {
    type Output = RelayedStream;

    fn index(&self, at: RelayDirection) -> &RelayedStream {
        self[at.relay()].stream(at.direction())
    }
}

/// The relay of one of the scenario's own flows.
fn listed(config: &SimulationConfig, id: RelayId) -> Relay {
    let split = &config.splits[id.index()];
    let appliance = &config.appliances[split.appliance];
    let disciplines = Direction::BOTH.map(|direction| {
        let flow = &config.flows[split.flow].name;
        let name = format!("discipline {} {flow} {}", appliance.name, direction.name());
        Discipline::new(&appliance.discipline, RandomStream::new(config.seed, &name).bits())
    });
    Relay::new(NewRelay {
        appliance: ApplianceId::new(split.appliance),
        carries: Carries::Flow(split.flow),
        near: EndpointId::acceptor(config.connection_before(id)),
        far: EndpointId::opener(config.connection_after(id)),
        handshake: appliance.handshake,
        disciplines,
        totals: id.index(),
    })
}
