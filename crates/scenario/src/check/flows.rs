//! Flows: groups spread out, hosts found, controllers and applications settled.

use ackclock_cc::{ClassicConfig, ControllerConfig, CubicConfig, CubicVariant, FixedConfig, RenoConfig};
use ackclock_net::{RandomStream, Router};
use ackclock_sim::{AppConfig, FlowConfig, Span};
use ackclock_tcp::TcpConfig;
use ackclock_units::{Bytes, SimDuration, SimTime};

use super::model::set_ecn;
use super::tcp::{HostTables, Layer, MAX_WINDOW, amount};
use super::topology::BuiltTopology;
use super::traffic::{Role, role};
use super::{Checker, suggest};
use crate::file::{
    App, Controller, CubicParameters, Duration, FilesApp, FlowTable, RenoParameters, Size, Spacing, StartTable,
    TcpTable, TextOr,
};
use crate::tree::FieldPath;

const MAX_FLOWS: u64 = 100_000;
/// Of all flows together.
const MAX_FILES: u64 = 10_000_000;
/// The least C that Linux's CUBIC can hold, segments/s^3.
const LINUX_PRECISION: f64 = 1.0 / 1024.0;

/// One flow of the scenario: an entry of the file, or one of the group that it makes.
pub(crate) struct FlowPlan<'a> {
    pub(crate) name: String,
    pub(crate) table: &'a FlowTable,
    pub(crate) path: FieldPath,
    start: SimTime,
}

impl<'a> Checker<'a, '_> {
    /// Every flow with its name and start, before there is a network.
    pub(crate) fn plan_flows(&mut self) -> Vec<FlowPlan<'a>> {
        let path = FieldPath::of("flow");
        let mut plans: Vec<FlowPlan<'a>> = Vec::new();
        let file = self.file;
        let Some(flows) = file.flow.as_ref().filter(|flows| !flows.0.is_empty()) else {
            self.missing(&path, "[[flow]] with controller = \"cubic\"");
            return plans;
        };
        for (index, table) in flows.iter() {
            let path = path.index(index);
            let name = table.name.clone().unwrap_or_else(|| format!("flow{}", index + 1));
            let count = table.count.unwrap_or(1);
            if count == 0 || count > MAX_FLOWS - plans.len() as u64 {
                let remedy = format!("let the scenario have 1 to {MAX_FLOWS} flows in all");
                self.report(&path.key("count"), "is no number of flows", remedy);
                continue;
            }
            let starts = self.starts(table, &name, count, &path);
            for (number, start) in (1..).zip(starts) {
                let name = if table.count.is_some() { format!("{name}.{number}") } else { name.clone() };
                plans.push(FlowPlan { name, table, path: path.clone(), start });
            }
        }
        self.check_names(&plans);
        plans
    }

    fn check_names(&mut self, plans: &[FlowPlan<'_>]) {
        let mut names: Vec<(&str, &FieldPath)> = plans.iter().map(|plan| (plan.name.as_str(), &plan.path)).collect();
        names.sort_by_key(|(name, _)| *name);
        for pair in names.windows(2) {
            if pair[0].0 == pair[1].0 {
                let what = format!("there are two flows named {:?}", pair[0].0);
                self.report(&pair[1].1.key("name"), what, "give each flow a name of its own");
            }
        }
    }

    fn starts(&mut self, table: &FlowTable, name: &str, count: u64, path: &FieldPath) -> Vec<SimTime> {
        let path = path.key("start");
        let (first, spacing) = match &table.start {
            None => (SimDuration::ZERO, None),
            Some(TextOr::Text(start)) => (start.0, None),
            Some(TextOr::Table(StartTable { first, spacing })) => (first.unwrap_or_default().0, spacing.as_ref()),
        };
        if first >= self.duration {
            let remedy = format!("start before the end of the run at {}", self.duration);
            self.report(&path, "lies at or after the end of the run, so the flow would never start", remedy);
        }
        if let Some(TextOr::Text(gap)) = spacing
            && first < self.duration
            && first + gap.0 * (count - 1) >= self.duration
        {
            let remedy = format!("let the last of {count} flows start before the end of the run at {}", self.duration);
            self.report(&path.key("spacing"), "spreads the group beyond the end of the run", remedy);
        }
        let mut random = RandomStream::new(self.seed, &format!("start {name}"));
        let mut next = SimTime::ZERO + first;
        let mut starts = Vec::with_capacity(count as usize);
        for _ in 0..count {
            starts.push(next);
            next += match spacing {
                None => SimDuration::ZERO,
                Some(spacing) => match self.span(spacing, &path.key("spacing")) {
                    Span::Constant(gap) => gap,
                    Span::Exponential(mean) => random.exponential(mean),
                },
            };
        }
        starts
    }

    pub(crate) fn span(&mut self, spacing: &Spacing, path: &FieldPath) -> Span {
        match spacing {
            TextOr::Text(span) => Span::Constant(span.0),
            TextOr::Table(table) => Span::Exponential(table.exponential.map_or_else(
                || {
                    self.missing(&path.key("exponential"), "exponential = \"50 ms\"");
                    SimDuration::ZERO
                },
                |mean| mean.0,
            )),
        }
    }

    pub(crate) fn build_flows(
        &mut self,
        plans: &[FlowPlan<'_>],
        topology: &BuiltTopology,
        hosts: &HostTables,
    ) -> Vec<FlowConfig> {
        let mut flows = Vec::with_capacity(plans.len());
        for (position, plan) in plans.iter().enumerate() {
            let ends = self.flow_ends(plan, position, topology);
            // A flow whose hosts are not known is checked all the same, for its other mistakes.
            let (from, to) = ends.unwrap_or_default();
            let flow = self.flow(plan, from, to, hosts);
            flows.extend(ends.map(|_| flow));
        }
        self.check_routes(plans, &flows);
        flows
    }

    fn flow(&mut self, plan: &FlowPlan<'_>, from: usize, to: usize, hosts: &HostTables) -> FlowConfig {
        let table = plan.table;
        let path = &plan.path;
        let controller = table.controller.clone().unwrap_or_else(|| Controller::Cubic(CubicParameters::default()));
        let recovery = controller.recovery();
        let layers = self.layers(plan, from, hosts, ("sender_tcp", table.sender_tcp.as_ref()));
        let profile = self.profile(&layers);
        let controller = controller.over(&profile.reno, &profile.cubic);
        let mut sender = self.tcp(&layers, recovery);
        set_ecn(&mut sender, &controller.own(), &layers);
        let layers = self.layers(plan, to, hosts, ("receiver_tcp", table.receiver_tcp.as_ref()));
        let mut receiver = self.tcp(&layers, recovery);
        set_ecn(&mut receiver, &controller.own(), &layers);
        if let Some(rate) = table.read_rate
            && rate.0.0 == 0
        {
            self.report(&path.key("read_rate"), "is a reader that never reads", "use at least 1 bit/s");
        }
        self.check_role(table, path);
        let app = match role(table) {
            Role::Connection => table.app.as_ref().map_or(AppConfig::Bulk, |app| self.app(app, &path.key("app"))),
            Role::Arrivals(_) | Role::Datagrams(_) => AppConfig::Bulk,
        };
        self.check_delay_controller(&controller.own(), &[sender, receiver], &path.key("controller"));
        FlowConfig {
            name: plan.name.clone(),
            from,
            to,
            start: plan.start,
            controller_name: controller.name(),
            controller: self
                .controller(&controller, sender.mss, &path.key("controller"))
                .seeded(self.stream_seed(plan)),
            sender,
            receiver,
            app,
            reply: table.reply.as_ref().map(|app| self.app(app, &path.key("reply"))),
            read_rate: table.read_rate.map(|rate| rate.0),
            stops_reading: None,
            accepts: true,
            abort_at: None,
        }
    }

    /// Of the controller's random stream.
    fn stream_seed(&self, plan: &FlowPlan<'_>) -> u64 {
        RandomStream::new(self.seed, &format!("controller {}", plan.name)).bits()
    }

    /// An endpoint by itself, outside any network.
    pub(crate) fn endpoint(&mut self, table: &TcpTable, controller: &Controller) -> (TcpConfig, ControllerConfig) {
        if matches!(controller, Controller::Policy(_)) {
            let remedy = "use another controller; a policy runs in a scenario";
            self.report(&FieldPath::of("controller"), "is a policy, whose file is not read here", remedy);
        }
        let layers = [Layer { path: FieldPath::of("tcp"), table: table.clone() }];
        let profile = self.profile(&layers);
        let mut tcp = self.tcp(&layers, controller.recovery());
        set_ecn(&mut tcp, controller, &layers);
        let controller = controller.over(&profile.reno, &profile.cubic);
        let controller = self.controller(&controller, tcp.mss, &FieldPath::of("controller"));
        (tcp, controller)
    }

    /// Options of one end, from the most general to the most particular.
    fn layers(
        &self,
        plan: &FlowPlan<'_>,
        host: usize,
        hosts: &HostTables,
        (side, own): (&str, Option<&TcpTable>),
    ) -> Vec<Layer> {
        let layer = |path: FieldPath, table: Option<&TcpTable>| table.map(|table| Layer { path, table: table.clone() });
        let mut layers: Vec<Layer> = layer(FieldPath::of("tcp"), self.file.tcp.as_ref()).into_iter().collect();
        layers.extend(hosts.get(&host).into_iter().flatten().cloned());
        layers.extend(layer(plan.path.key("tcp"), plan.table.tcp.as_ref()));
        layers.extend(layer(plan.path.key(side), own));
        layers
    }

    fn flow_ends(&mut self, plan: &FlowPlan<'_>, position: usize, topology: &BuiltTopology) -> Option<(usize, usize)> {
        let table = plan.table;
        let (from, to) = if let Some(pairs) = &topology.pairs {
            for (field, name) in [("from", &table.from), ("to", &table.to)] {
                if name.is_some() {
                    let remedy = "remove it; every flow of a dumbbell has hosts of its own, `reverse` turns it round";
                    self.report(&plan.path.key(field), "a dumbbell's flows do not name hosts", remedy);
                }
            }
            pairs[position]
        } else {
            if table.rtt.is_some() && !self.network.nodes.is_empty() {
                let remedy = "remove it, and set the delays of the links";
                self.report(&plan.path.key("rtt"), "only a dumbbell's flows have a round trip of their own", remedy);
            }
            let default = topology.default_ends.get(position % topology.default_ends.len().max(1)).copied();
            let from = self.flow_end(plan, "from", table.from.as_ref(), default.map(|ends| ends.0), topology);
            let to = self.flow_end(plan, "to", table.to.as_ref(), default.map(|ends| ends.1), topology);
            (from?, to?)
        };
        if from == to {
            self.report(&plan.path.key("to"), "is where the flow begins", "send to another host");
            return None;
        }
        Some(if table.reverse.unwrap_or(false) { (to, from) } else { (from, to) })
    }

    fn flow_end(
        &mut self,
        plan: &FlowPlan<'_>,
        field: &str,
        name: Option<&String>,
        default: Option<usize>,
        topology: &BuiltTopology,
    ) -> Option<usize> {
        let path = plan.path.key(field);
        let Some(name) = name else {
            if default.is_none() && !self.diagnostics.has_mistake_in("topology") {
                let example = topology.host_names(&self.network).first().map_or("A", |name| *name).to_owned();
                self.missing(&path, &format!("{field} = {example:?}"));
            }
            return default;
        };
        // Hosts are listed in the order of their nodes.
        let is_host = |node: &usize| topology.hosts.binary_search(node).is_ok();
        let host = self.node_ids.get(name).copied().filter(is_host);
        if host.is_none() {
            let remedy = suggest(name, &topology.host_names(&self.network));
            self.report_unknown(&path, "names no host", remedy);
        }
        host
    }

    fn check_routes(&mut self, plans: &[FlowPlan<'_>], flows: &[FlowConfig]) {
        if !self.diagnostics.is_empty() {
            return; // a network with mistakes lacks links
        }
        let network = std::mem::take(&mut self.network);
        let mut router = Router::new(&network);
        for (plan, flow) in plans.iter().zip(flows) {
            for (from, to) in [(flow.from, flow.to), (flow.to, flow.from)] {
                if router.shortest_path(from, to).is_none() {
                    let (a, b) = (&network.nodes[from].name, &network.nodes[to].name);
                    let what = format!("there is no way from {a:?} to {b:?}");
                    self.report(&plan.path, what, "add links, in both directions: ACKs travel back");
                }
            }
        }
        self.network = network;
    }

    pub(super) fn controller(&mut self, controller: &Controller, mss: u32, path: &FieldPath) -> ControllerConfig {
        match controller {
            Controller::Tahoe(table) | Controller::Reno(table) | Controller::NewReno(table) => {
                ControllerConfig::Reno(self.reno(table, path))
            }
            Controller::Cubic(table) => ControllerConfig::Cubic(self.cubic(table, path)),
            Controller::Aimd(table) => ControllerConfig::Classic(ClassicConfig::Aimd(self.aimd(table, path))),
            Controller::Bic(table) => ControllerConfig::Classic(ClassicConfig::Bic(self.bic(table, path))),
            Controller::HighSpeed(table) => {
                ControllerConfig::Classic(ClassicConfig::HighSpeed(self.high_speed(table, path)))
            }
            Controller::Htcp(table) => {
                ControllerConfig::Classic(ClassicConfig::Htcp(super::classic_controllers::htcp(table)))
            }
            Controller::Hybla(table) => ControllerConfig::Classic(ClassicConfig::Hybla(self.hybla(table, path))),
            Controller::Illinois(table) => {
                ControllerConfig::Classic(ClassicConfig::Illinois(self.illinois(table, path)))
            }
            Controller::Scalable(table) => {
                ControllerConfig::Classic(ClassicConfig::Scalable(self.scalable(table, path)))
            }
            Controller::Veno(table) => ControllerConfig::Classic(ClassicConfig::Veno(self.veno(table, path))),
            Controller::Westwood(table) => {
                ControllerConfig::Classic(ClassicConfig::Westwood(self.westwood(table, path)))
            }
            Controller::Yeah(table) => ControllerConfig::Classic(ClassicConfig::Yeah(self.yeah(table, path))),
            Controller::Vegas(table) => ControllerConfig::Vegas(self.vegas(table, path)),
            Controller::VegasModified(table) => ControllerConfig::Vegas(self.vegas_modified(table, path)),
            Controller::VegasSkewTolerant(table) => ControllerConfig::Vegas(self.vegas_skew_tolerant(table, path)),
            Controller::Fast(table) => ControllerConfig::Fast(self.fast(table, path)),
            Controller::Ledbat(table) => ControllerConfig::Ledbat(self.ledbat(table, path)),
            Controller::LedbatPlusPlus(table) => ControllerConfig::LedbatPlusPlus(self.ledbat_plus_plus(table, path)),
            Controller::Copa(table) => ControllerConfig::Copa(self.copa(table, path)),
            Controller::Swift(table) => ControllerConfig::Swift(self.swift(table, path)),
            Controller::Policy(table) => self.policy(table, mss, path),
            Controller::Python(table) => self.python(table, path),
            Controller::External(table) => self.program(table, path),
            Controller::Fixed(table) => {
                let Some(window) = table.window else {
                    self.missing(&path.key("window"), "window = \"100 segments\"");
                    return ControllerConfig::Fixed(FixedConfig { window: Bytes(u64::from(mss)) });
                };
                let window = amount(window, mss);
                if window.0 < u64::from(mss) {
                    let remedy = format!("use at least \"1 segment\", {mss} bytes");
                    self.report(&path.key("window"), "is less than a segment, so nothing could be sent", remedy);
                } else if window > MAX_WINDOW {
                    self.report(&path.key("window"), "is more than any window", format!("use at most {MAX_WINDOW}"));
                }
                ControllerConfig::Fixed(FixedConfig { window })
            }
            Controller::Bbr(table) => ControllerConfig::Bbr(self.bbr(table, path)),
            Controller::Bbr3(table) => ControllerConfig::Bbr3(self.bbr3(table, path)),
            Controller::Dctcp(table) => ControllerConfig::Dctcp(self.dctcp(table, path)),
            Controller::Prague(table) => ControllerConfig::Prague(self.prague(table, path)),
            Controller::Allegro(table) => ControllerConfig::Allegro(self.allegro(table, path)),
            Controller::Vivace(table) => ControllerConfig::Vivace(self.vivace(table, path)),
            Controller::Siad(table) => ControllerConfig::Siad(self.siad(table, path)),
            Controller::DqnNewReno(table) => ControllerConfig::DqnNewReno(Box::new(self.dqn_newreno(table, path))),
            Controller::DqnCubic(table) => ControllerConfig::DqnCubic(Box::new(self.dqn_cubic(table, path))),
        }
    }

    fn reno(&mut self, table: &RenoParameters, path: &FieldPath) -> RenoConfig {
        let default = RenoConfig::default();
        self.check_betas(table.beta, table.beta_ecn, path);
        RenoConfig {
            increase: table.increase.map_or(default.increase, Into::into),
            beta: table.beta.unwrap_or(default.beta),
            beta_ecn: table.beta_ecn.or(default.beta_ecn),
            hystart: table.hystart.map_or(default.hystart, Into::into),
        }
    }

    fn cubic(&mut self, table: &CubicParameters, path: &FieldPath) -> CubicConfig {
        let default = match table.variant.map_or(CubicVariant::default(), Into::into) {
            CubicVariant::Rfc9438 => CubicConfig::default(),
            CubicVariant::Linux => CubicConfig::linux(),
        };
        let config = CubicConfig {
            variant: default.variant,
            c: table.c.unwrap_or(default.c),
            beta: table.beta.unwrap_or(default.beta),
            beta_ecn: table.beta_ecn.or(default.beta_ecn),
            fast_convergence: table.fast_convergence.unwrap_or(default.fast_convergence),
            reno_friendly: table.reno_friendly.unwrap_or(default.reno_friendly),
            hystart: table.hystart.map_or(default.hystart, Into::into),
        };
        if !(config.c > 0.0 && config.c <= 1e6) {
            self.report(&path.key("c"), "is no steepness", "use more than 0; RFC 9438 says 0.4");
        } else if config.variant == CubicVariant::Linux && config.c < LINUX_PRECISION {
            self.report(
                &path.key("c"),
                "is less than Linux's arithmetic can tell from 0",
                "use at least 1/1024, 0.001",
            );
        }
        self.check_betas(table.beta, table.beta_ecn, path);
        config
    }

    fn check_betas(&mut self, beta: Option<f64>, beta_ecn: Option<f64>, path: &FieldPath) {
        let known = [
            ("beta", beta, "use more than 0 and less than 1; Reno keeps 0.5, CUBIC 0.7"),
            ("beta_ecn", beta_ecn, "use more than 0 and less than 1; RFC 8511 says 0.8 for Reno, 0.85 for CUBIC"),
        ];
        for (field, fraction, remedy) in known {
            if fraction.is_some_and(|fraction| !(fraction > 0.0 && fraction < 1.0)) {
                self.report(&path.key(field), "is no fraction of the window to keep on congestion", remedy);
            }
        }
    }

    pub(crate) fn app(&mut self, app: &App, path: &FieldPath) -> AppConfig {
        match app {
            // The rates of datagrams are refused where there is a connection.
            App::Bulk(_) | App::Cbr(_) | App::Poisson(_) => AppConfig::Bulk,
            App::File(file) => {
                let size = self.file_size(file.size, &path.key("size"));
                AppConfig::Files { sizes: vec![size], gap: SimDuration::ZERO }
            }
            App::Files(files) => self.files(files, path),
            App::RequestResponse(table) => self.request_response(table, path),
            App::Video(table) => self.video(table, path),
            App::OnOff(table) => {
                let mut period = |spacing: &Option<Spacing>, field: &str| {
                    if let Some(spacing) = spacing {
                        self.span(spacing, &path.key(field))
                    } else {
                        self.missing(&path.key(field), &format!("{field} = \"1 s\""));
                        Span::Constant(SimDuration::from_secs(1))
                    }
                };
                let (on, off) = (period(&table.on, "on"), period(&table.off, "off"));
                for (field, span) in [("on", on), ("off", off)] {
                    if matches!(span, Span::Constant(SimDuration::ZERO) | Span::Exponential(SimDuration::ZERO)) {
                        self.report(&path.key(field), "is no time at all", "use more than zero, or app = \"bulk\"");
                    }
                }
                if let Some(rate) = table.rate
                    && rate.0.0 == 0
                {
                    self.report(&path.key("rate"), "is an application that never writes", "use at least 1 bit/s");
                }
                AppConfig::OnOff { on, off, rate: table.rate.map(|rate| rate.0) }
            }
        }
    }

    fn files(&mut self, files: &FilesApp, path: &FieldPath) -> AppConfig {
        let wanted = files.sizes.as_ref().map_or(files.count.unwrap_or(0), |sizes| sizes.0.len() as u64);
        self.files = self.files.saturating_add(wanted);
        if self.files > MAX_FILES {
            let field = if files.sizes.is_some() { "sizes" } else { "count" };
            let remedy = format!("let all flows together send at most {MAX_FILES} files");
            self.report(&path.key(field), "makes more files than fit in memory", remedy);
            return AppConfig::Bulk;
        }
        let gap = files.gap.unwrap_or(Duration(SimDuration::ZERO)).0;
        let sizes = match (&files.sizes, files.size, files.count) {
            (Some(sizes), None, None) => {
                let sizes_path = path.key("sizes");
                if sizes.0.is_empty() {
                    self.report(&sizes_path, "holds no file", "give at least one size");
                }
                sizes.iter().map(|(index, size)| self.file_size(Some(*size), &sizes_path.index(index))).collect()
            }
            (None, size, Some(count)) if count > 0 => {
                vec![self.file_size(size, &path.key("size")); count as usize]
            }
            (None, _, Some(_)) => {
                self.report(&path.key("count"), "is no number of files", "use at least 1");
                Vec::new()
            }
            (None, Some(_), None) => {
                self.missing(&path.key("count"), "count = 10");
                Vec::new()
            }
            (None, None, None) => {
                self.missing(&path.key("sizes"), "sizes = [\"1 MB\", \"10 MB\"]");
                Vec::new()
            }
            (Some(_), _, _) => {
                self.report(&path.key("sizes"), "stands beside size or count", "keep sizes, or size and count");
                Vec::new()
            }
        };
        AppConfig::Files { sizes, gap }
    }

    fn file_size(&mut self, size: Option<Size>, path: &FieldPath) -> Bytes {
        match size {
            None => self.missing(path, "size = \"50 MB\""),
            Some(Size(Bytes(0))) => self.report(path, "is no data", "use at least 1 byte"),
            Some(Size(Bytes(size))) if size > 1 << 50 => self.report(path, "is more than 1 PiB", "use less"),
            Some(size) => return size.0,
        }
        Bytes(1)
    }
}
