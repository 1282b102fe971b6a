//! Checks of short flows and datagrams.

use std::sync::Arc;

use ackclock_declare::Context;
use ackclock_net::{NetworkConfig, Router};
use ackclock_sim::{
    Arrivals, ArrivalsConfig, DatagramConfig, FlowConfig, Gaps, MediaApp, OnOffApp, QuicConfig, RateApp, Sending,
    SizeDistribution, SplitConfig, TrafficConfig, UdpProtocol,
};
use ackclock_units::{Bytes, SimDuration, SimTime};

use super::attached::read_arrivals;
use super::backlog::{review_backlog, review_encoder};
use super::declarations::read_table;
use super::location::Location;
use super::plans::FlowPlan;
use super::quic::quic_of;
use super::run::Run;
use super::sizes::{accept, sizes};
use super::splits::Splits;
use crate::attachments::Attachments;
use crate::file::{App, ArrivalsTable, Fields, FlowTable, OwnTable, Process, Protocol};

/// The most connections of all groups together, as many could be open at once.
const MAX_ARRIVALS: f64 = 8e6;

/// Size of the headers of IPv4 and UDP, octets.
pub(super) const HEADERS: u64 = 28;

/// The smallest packet of video: smaller ones are mostly headers, and a frame would be thousands of them.
const LEAST_OF_MEDIA: Bytes = Bytes(100);

const DEFAULT_BUCKETS: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];

/// The frequency at which flows arrive.
enum Frequency {
    /// Flows per second.
    Rate(f64),
    /// Their load as a fraction of the slowest link.
    Load(f64),
}

/// The kind of traffic that an entry of the scenario's flows makes.
pub(crate) enum Role<'a> {
    Connection,
    Arrivals(&'a ArrivalsTable),
    Datagrams(&'a Fields<UdpProtocol>),
}

pub(crate) fn role(table: &FlowTable) -> Role<'_> {
    match (&table.arrivals, &table.protocol) {
        (Some(arrivals), _) => Role::Arrivals(arrivals),
        (None, Some(Protocol::Udp(udp))) => Role::Datagrams(udp),
        (None, _) => Role::Connection,
    }
}

/// A flow's properties for the network, where it is not a connection with data one way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowTraits {
    /// The number of its packets; `None` for a group of short flows.
    pub(crate) number: Option<usize>,
    /// Its group's index among the groups.
    pub(crate) group: Option<usize>,
    /// Size of its IP packets, octets, if they are datagrams.
    pub(crate) datagram: Option<u64>,
    /// True if there is data on the reverse path.
    pub(crate) has_answers: bool,
}

/// The traits of each planned flow. Connections are numbered first, then datagrams.
pub(crate) fn flow_traits(plans: &[FlowPlan<'_>]) -> Vec<FlowTraits> {
    let is_connection = |plan: &&FlowPlan<'_>| matches!(role(plan.table), Role::Connection);
    let (mut connections, mut datagrams) = (0.., plans.iter().filter(is_connection).count()..);
    let mut groups = 0..;
    let traits = |plan: &FlowPlan<'_>| match role(plan.table) {
        Role::Connection => {
            let asks = matches!(plan.table.app, Some(App::RequestResponse(_) | App::Video(_)));
            let quic =
                quic_of(plan.table).map(|quic| <QuicConfig as OwnTable>::part().read(&quic.0, &Context::default()));
            let datagram = quic.map(|quic| u64::from(quic.config.max_datagram_size) + HEADERS);
            FlowTraits { number: connections.next(), has_answers: asks, datagram, ..FlowTraits::default() }
        }
        Role::Datagrams(udp) => {
            let udp = <UdpProtocol as OwnTable>::part().read(&udp.0, &Context::default()).config;
            let datagram = Some(udp.payload.0 + HEADERS);
            // Reports travel back.
            let has_answers = matches!(plan.table.app, Some(App::Media(_)));
            FlowTraits { number: datagrams.next(), has_answers, datagram, ..FlowTraits::default() }
        }
        // A list of arrivals may have replies.
        Role::Arrivals(table) => {
            let has_answers = table.reply.is_some() || table.file.is_some();
            FlowTraits { group: groups.next(), has_answers, ..FlowTraits::default() }
        }
    };
    plans.iter().map(traits).collect()
}

/// The names of flows and groups, each with its flows' numbers in packets: a group's name stands once for each flow.
pub(crate) type FlowNumbers = [(String, Option<usize>)];

pub(crate) fn flow_numbers(plans: &[FlowPlan<'_>], traits: &[FlowTraits]) -> Arc<FlowNumbers> {
    let names = |(plan, traits): (&FlowPlan<'_>, &FlowTraits)| {
        let group = Some(plan.entry_name()).filter(|group| *group != plan.name);
        let names = std::iter::once(plan.name.as_str()).chain(group);
        names.map(|name| (name.to_owned(), traits.number)).collect::<Vec<_>>()
    };
    plans.iter().zip(traits).flat_map(names).collect()
}

/// Rejects fields of a single connection on an entry that makes something else.
pub(crate) fn check_role(table: &FlowTable, at: &Location<'_>) {
    let of_connections = [
        ("reply", table.reply.is_some()),
        ("read_rate", table.read_rate.is_some()),
        ("stops_reading", table.stops_reading.is_some()),
        ("accepts", table.accepts.is_some()),
        ("abort_at", table.abort_at.is_some()),
    ];
    match role(table) {
        Role::Connection => {
            if let Some(App::Cbr(_) | App::Poisson(_) | App::Media(_)) = table.app
                && (table.protocol.is_some() || !at.key("protocol").is_unread())
            {
                let remedy = "add protocol = \"udp\", or use app = { kind = \"on_off\", ... } with a rate";
                at.key("app").report("must not send datagrams over a connection", remedy);
            }
            if table.reply.is_some() && matches!(table.app, Some(App::RequestResponse(_) | App::Video(_))) {
                let remedy = "remove reply; the receiving end answers requests";
                at.key("reply").report("must not be combined with an application that has replies of its own", remedy);
            }
            if let Some(
                reply @ (App::RequestResponse(_) | App::Video(_) | App::Cbr(_) | App::Poisson(_) | App::Media(_)),
            ) = &table.reply
            {
                let what = format!("must not be {:?}: only the end that opens a connection may be that", reply.kind());
                at.key("reply").report(what, "use bulk, file, files or on_off; or swap the flow's direction");
            }
        }
        Role::Arrivals(_) => {
            let what = "must not be set for short flows, which send what arrivals say";
            at.refuse(&of_connections, what, "remove it; arrivals have a size and a reply");
            at.refuse(&[("app", table.app.is_some())], what, "remove it; arrivals have a size");
            let is_other = matches!(table.protocol, Some(Protocol::Udp(_) | Protocol::Quic(_)));
            at.refuse(&[("protocol", is_other)], "must be \"tcp\" for short flows", "remove it");
        }
        Role::Datagrams(_) => {
            let tcp = [
                ("controller", table.controller.is_some()),
                ("tcp", table.tcp.is_some()),
                ("sender_tcp", table.sender_tcp.is_some()),
                ("receiver_tcp", table.receiver_tcp.is_some()),
                ("port", table.port.is_some()),
            ];
            let what = "must not be set for datagrams, which have no connection";
            at.refuse(&of_connections, what, "remove it, or use protocol = \"tcp\"");
            at.refuse(&tcp, what, "remove it, or use protocol = \"tcp\"");
        }
    }
}

/// Separates the connections in the plans from other traffic.
pub(crate) fn split_traffic(
    plans: &[FlowPlan<'_>],
    flows: Vec<FlowConfig>,
    splits: &Splits,
    network: &NetworkConfig,
    run: Run,
    attachments: &Attachments,
) -> (Vec<FlowConfig>, TrafficConfig) {
    let (mut connections, mut traffic) = (Vec::with_capacity(flows.len()), TrafficConfig::default());
    let mut short = ShortFlows { network, run, attachments, expected: 0.0 };
    let mut groups = 0..;
    let mut rates = Vec::new();
    for (plan, flow) in plans.iter().zip(flows) {
        match role(plan.table) {
            Role::Connection => connections.push(flow),
            Role::Arrivals(table) => {
                let at = plan.at.key("arrivals");
                let own = splits.of_group(groups.next().expect("numbers do not end"));
                let until = until_of(table.until.map(|until| until.0), plan, &at, run);
                traffic.arrivals.extend(short.arrivals(table, flow, until, own, &at));
            }
            Role::Datagrams(table) => {
                if let Some(datagrams) = datagrams(table, plan, flow, run) {
                    let field = if matches!(datagrams.sending, Sending::Media(_)) { "min_rate" } else { "rate" };
                    rates.push(plan.at.key("app").key(field));
                    traffic.datagrams.push(datagrams);
                }
            }
        }
    }
    if run.duration.is_some() {
        review_backlog(&traffic.datagrams, &rates, network);
    }
    (connections, traffic)
}

/// Groups of short flows, which have a limit together.
struct ShortFlows<'a> {
    network: &'a NetworkConfig,
    run: Run,
    attachments: &'a Attachments,
    /// The number of connections that they make, up to the group being checked.
    expected: f64,
}

impl ShortFlows<'_> {
    fn arrivals(
        &mut self,
        table: &ArrivalsTable,
        flow: FlowConfig,
        until: SimTime,
        splits: Vec<SplitConfig>,
        at: &Location<'_>,
    ) -> Option<ArrivalsConfig> {
        let buckets = buckets(table, at);
        if table.count == Some(0) {
            at.key("count").report("must be at least 1", "write the number of flows that arrive, or remove it");
        }
        at.refuse_hash(table.file.as_ref(), table.sha256.as_ref());
        let arrivals = match &table.file {
            Some(name) => listed(table, name, at, self.attachments)?,
            None if at.key("file").is_unread() => return None,
            None => self.drawn(table, &flow, at)?,
        };
        if let Arrivals::Listed(list) = &arrivals
            && list.iter().all(|listed| flow.start + listed.after >= until)
        {
            let remedy = "use an earlier start, a later until or a longer run, or remove the flow";
            at.key("file").report("must have a flow that begins before until and the end of the run", remedy);
        }
        let wanted = match &arrivals {
            Arrivals::Drawn { mean_gap, .. } => until.saturating_since(flow.start).0 as f64 / mean_gap,
            Arrivals::Listed(list) => list.len() as f64,
        };
        let wanted = wanted.min(table.count.map_or(f64::INFINITY, |count| count as f64));
        let connections = (1 + splits.len()) as f64;
        self.expected += wanted * connections;
        if self.expected > MAX_ARRIVALS && self.run.duration.is_some() {
            let field = if table.load.is_some() { "load" } else { "rate" };
            let each = if splits.is_empty() { String::new() } else { format!(" of {connections} connections") };
            let what =
                format!("must make fewer than {wanted:.0} flows{each}: all groups together may make {MAX_ARRIVALS:.0}");
            at.key(field).report(what, "use less, larger flows, an earlier until, or a count");
        }
        let count = table.count.unwrap_or(u64::MAX).min(MAX_ARRIVALS as u64);
        Some(ArrivalsConfig { flow, arrivals, until, count, buckets, splits })
    }

    fn drawn(&self, table: &ArrivalsTable, flow: &FlowConfig, at: &Location<'_>) -> Option<Arrivals> {
        // Each is looked at before any is missed, so that all mistakes are told at once.
        let gaps = match &table.process {
            None | Some(Process::Poisson(_)) => Some(Gaps::Exponential),
            Some(Process::Periodic(_)) => Some(Gaps::Constant),
            Some(Process::LogNormal(gaps)) => {
                read_table(gaps, &at.key("process")).map(|gaps| Gaps::LogNormal { sigma: gaps.sigma })
            }
        };
        let size = sizes(table.size.as_ref(), &at.key("size"), "size = { cdf = \"web_search\" }", self.attachments);
        let reply = table.reply.as_ref().map(|reply| sizes(Some(reply), &at.key("reply"), "", self.attachments));
        let frequency = frequency(table, at);
        let (gaps, size, reply) = (gaps?, size?, reply.map_or(Some(None), |reply| reply.map(Some))?);
        let rate = match frequency? {
            Frequency::Rate(rate) => rate,
            Frequency::Load(load) => rate_of_load(load, flow, &size, reply.as_ref(), self.network)?,
        };
        Some(Arrivals::Drawn { gaps, mean_gap: 1e9 / rate, size, reply })
    }
}

/// The time at which a flow's traffic ends. Members of a group whose random starts are too late send nothing: a
/// correct scenario is correct with every seed.
fn until_of(until: Option<SimDuration>, plan: &FlowPlan<'_>, at: &Location<'_>, run: Run) -> SimTime {
    let end = SimTime(run.end().0);
    let until = until.map_or(end, |until| SimTime(until.0).min(end));
    // A start after the end of the run has been reported.
    if until <= plan.start && plan.start < end && !plan.is_start_drawn {
        at.key("until").report("must be later than the start", "let it be later, or remove it");
    }
    until
}

fn buckets(table: &ArrivalsTable, at: &Location<'_>) -> Vec<Bytes> {
    let Some(buckets) = &table.buckets else { return DEFAULT_BUCKETS.map(Bytes).to_vec() };
    let sizes: Vec<Bytes> = buckets.iter().map(|(_, size)| size.0).collect();
    if !sizes.is_sorted_by(|a, b| a < b) || sizes.first() == Some(&Bytes::ZERO) {
        let remedy = "write them in rising order, such as [\"10 kB\", \"1 MB\"]";
        at.key("buckets").report("must be sizes in rising order, each above zero", remedy);
    }
    sizes
}

fn listed(table: &ArrivalsTable, name: &str, at: &Location<'_>, attachments: &Attachments) -> Option<Arrivals> {
    let drawn = [
        ("rate", table.rate.is_some()),
        ("load", table.load.is_some()),
        ("process", table.process.is_some()),
        ("size", table.size.is_some()),
        ("reply", table.reply.is_some()),
    ];
    at.refuse(&drawn, "must not be combined with a file of arrivals", "keep one of the two");
    let text = attachments.text(name)?;
    let flows = read_arrivals(&text);
    accept(flows, &at.key("file")).map(|flows| Arrivals::Listed(flows.into()))
}

/// The frequency of arrivals in the table.
fn frequency(table: &ArrivalsTable, at: &Location<'_>) -> Option<Frequency> {
    match (table.rate, table.load) {
        (Some(rate), None) if rate.0 > 0.0 && rate.0 <= 1e9 => return Some(Frequency::Rate(rate.0)),
        (Some(_), None) => at.key("rate").report(
            "must be more than 0 and at most \"1000000 /ms\"",
            "write the rate of arrivals, such as \"100 /s\"",
        ),
        (None, Some(load)) if load > 0.0 && load <= 100.0 => return Some(Frequency::Load(load)),
        (None, Some(_)) => at
            .key("load")
            .report("must be more than 0 and at most 100", "use a fraction such as 0.6; more than 1 is an overload"),
        (None, None) if ["load", "file"].iter().any(|field| at.key(field).is_unread()) => {}
        (None, None) => at.key("rate").missing("rate = \"1000 /s\", load = 0.5, or a file"),
        (Some(_), Some(_)) => {
            at.key("load").report("must not be combined with a rate", "keep one of the two");
        }
    }
    None
}

/// Flows per second whose payload takes the fraction `load` of the slowest link, in the direction with more
/// payload.
fn rate_of_load(
    load: f64,
    flow: &FlowConfig,
    size: &SizeDistribution,
    reply: Option<&SizeDistribution>,
    network: &NetworkConfig,
) -> Option<f64> {
    let mut router = Router::new(network);
    let mut seconds = |from, to, sizes: Option<&SizeDistribution>| {
        let path = router.shortest_path(from, to)?;
        let slowest = path.iter().map(|&link| network.link(link).rate.0).min()?;
        Some(sizes.map_or(0.0, SizeDistribution::mean) * 8.0 / slowest as f64)
    };
    let ways = [seconds(flow.from, flow.to, Some(size)), seconds(flow.to, flow.from, reply)];
    let busiest = ways.into_iter().flatten().fold(0.0, f64::max);
    (busiest > 0.0).then(|| load / busiest)
}

fn datagrams(table: &Fields<UdpProtocol>, plan: &FlowPlan<'_>, flow: FlowConfig, run: Run) -> Option<DatagramConfig> {
    let at = &plan.at;
    let protocol = read_table(table, &at.key("protocol"));
    let sending = sending(plan.table.app.as_ref(), &at.key("app"));
    let UdpProtocol { payload, until, ecn } = protocol?;
    let until = until_of(until, plan, &at.key("protocol"), run);
    let sending = sending?;
    if matches!(sending, Sending::Media(_)) && payload < LEAST_OF_MEDIA {
        let what = format!("must be at least {LEAST_OF_MEDIA} for media, whose frames are sent in such packets");
        at.key("protocol").key("payload").report(what, "use a larger payload, or remove it");
    }
    let FlowConfig { name, from, to, capture, start, .. } = flow;
    let datagrams =
        DatagramConfig { name, from, to, capture, start, until, payload: payload.0 as u32, sending, ecn: ecn.into() };
    if let Sending::Media(media) = &datagrams.sending
        && run.duration.is_some()
    {
        review_encoder(media, &datagrams, &at.key("app"));
    }
    Some(datagrams)
}

fn sending(app: Option<&App>, at: &Location<'_>) -> Option<Sending> {
    match app {
        Some(App::Cbr(table)) => read_table(table, at).map(|RateApp { rate }| Sending::Constant(rate)),
        Some(App::Poisson(table)) => read_table(table, at).map(|RateApp { rate }| Sending::Poisson(rate)),
        Some(App::OnOff(table)) => {
            let OnOffApp { on, off, rate } = read_table(table, at)?;
            if rate.is_none() {
                at.key("rate").missing("rate = \"1 Mbit/s\"");
            }
            Some(Sending::OnOff { on, off, rate: rate? })
        }
        Some(App::Media(table)) => read_table(table, at).map(|media: MediaApp| Sending::Media(Arc::new(media))),
        Some(app) => {
            let what = format!(
                "must be an application with a rate: {:?} has none, and datagrams have nothing else",
                app.kind()
            );
            at.report(what, "use kind = \"cbr\", \"poisson\" or \"on_off\" with a rate, or \"media\"");
            None
        }
        None => {
            at.missing("app = { kind = \"cbr\", rate = \"1 Mbit/s\" }");
            None
        }
    }
}
