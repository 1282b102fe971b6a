//! Plans of flows: groups are expanded, and names and starts decided, before the network is built.

use std::borrow::Cow;

use ackclock_net::RandomStream;
use ackclock_sim::{DEFAULT_PORT, Span};
use ackclock_units::interrupt::check;
use ackclock_units::{SimDuration, SimTime};

use super::location::Location;
use super::quic::quic_of;
use super::run::Run;
use super::traffic::{Role, role};
use crate::diagnostic::Diagnostics;
use crate::file::{App, Controller, FlowTable, List, Spacing, StartTable, TextOr};

pub(crate) const MAX_FLOWS: u64 = 100_000;

/// One flow of the scenario: an entry of the file, or one of the group that it makes.
pub(crate) struct FlowPlan<'a> {
    pub(crate) name: String,
    pub(crate) table: &'a FlowTable,
    pub(crate) at: Location<'a>,
    pub(crate) start: SimTime,
    /// Congestion control of its ends; where the flow names none, the stack's, once the host is known.
    pub(crate) controller: Controller,
    /// True if the seed decides its start.
    pub(crate) is_start_drawn: bool,
}

impl FlowPlan<'_> {
    /// The name of its entry in the file: "bulk" for "bulk.1".
    pub(crate) fn entry_name(&self) -> &str {
        let group = self.table.count.and_then(|_| self.name.rsplit_once('.'));
        group.map_or(&self.name, |(name, _)| name)
    }

    /// The port of the receiving end.
    pub(crate) fn port(&self) -> u16 {
        self.table.port.unwrap_or(DEFAULT_PORT)
    }

    /// True if results have a second stream for data that the receiver sends.
    fn sends_back(&self) -> bool {
        let asks = matches!(self.table.app, Some(App::RequestResponse(_) | App::Video(_)));
        matches!(role(self.table), Role::Connection) && (asks || self.table.reply.is_some())
    }

    /// True for TCP; false for datagrams and QUIC.
    pub(crate) fn is_tcp(&self) -> bool {
        !matches!(role(self.table), Role::Datagrams(_)) && quic_of(self.table).is_none()
    }
}

/// Plans every flow with its name and start, before the network is built.
pub(crate) fn plan_flows<'a>(
    tables: Option<&'a List<FlowTable>>,
    run: Run,
    sink: &'a Diagnostics<'a>,
) -> Vec<FlowPlan<'a>> {
    let at = sink.root("flow");
    let mut plans: Vec<FlowPlan<'a>> = Vec::new();
    let Some(flows) = tables.filter(|flows| !flows.0.is_empty()) else {
        at.missing("[[flow]] with controller = \"cubic\"");
        return plans;
    };
    for (index, table) in flows.iter() {
        let at = at.index(index);
        at.key("name").review_name(table.name.as_deref());
        let name = table.name.clone().unwrap_or_else(|| format!("flow{}", index + 1));
        let mut count = table.count.unwrap_or(1);
        let room = MAX_FLOWS.saturating_sub(plans.len() as u64);
        if count == 0 || count > room {
            let (must, remedy) = match count {
                0 => ("must be 1 or more".to_owned(), "write 1 or more, or remove this flow".to_owned()),
                _ => (
                    format!("must leave the scenario at most {MAX_FLOWS} flows in all, {room} from here on"),
                    format!("let the scenario have 1 to {MAX_FLOWS} flows"),
                ),
            };
            at.key("count").report(must, remedy);
            if room == 0 {
                break;
            }
            count = 1; // for the other mistakes of this flow
        }
        let starts = starts(table, &name, count, &at, run);
        let is_spacing_drawn =
            matches!(&table.start, Some(TextOr::Table(StartTable { spacing: Some(TextOr::Table(_)), .. })));
        for (number, start) in (1..).zip(starts) {
            check();
            let is_start_drawn = is_spacing_drawn && number > 1;
            let name = if table.count.is_some() { format!("{name}.{number}") } else { name.clone() };
            let controller = table.controller.clone().unwrap_or_default();
            plans.push(FlowPlan { name, table, at: at.clone(), start, controller, is_start_drawn });
        }
    }
    check_names(&plans);
    plans
}

/// Rejects a name that two flows, groups or reverse streams would share.
fn check_names(plans: &[FlowPlan<'_>]) {
    let mut names: Vec<(Cow<'_, str>, &Location<'_>)> = Vec::with_capacity(plans.len());
    for (index, plan) in plans.iter().enumerate() {
        names.push((plan.name.as_str().into(), &plan.at));
        if plan.sends_back() {
            names.push((format!("{}.reply", plan.name).into(), &plan.at));
        }
        let is_first = index == 0 || plans[index - 1].at.path != plan.at.path;
        if is_first && plan.entry_name() != plan.name {
            names.push((plan.entry_name().into(), &plan.at));
        }
    }
    names.sort_by(|(one, _), (other, _)| one.cmp(other));
    for pair in names.windows(2) {
        if pair[0].0 == pair[1].0 {
            let what = format!("must be unique: two flows, groups or replies are named {:?}", pair[0].0);
            pair[1].1.key("name").report(what, "give each flow a unique name");
        }
    }
}

fn starts(table: &FlowTable, name: &str, count: u64, at: &Location<'_>, run: Run) -> Vec<SimTime> {
    let (count_at, at) = (at.key("count"), at.key("start"));
    let (first, spacing) = match &table.start {
        None => (SimDuration::ZERO, None),
        Some(TextOr::Text(start)) => (start.0, None),
        Some(TextOr::Table(StartTable { first, spacing })) => (first.unwrap_or_default().0, spacing.as_ref()),
    };
    let end = run.end();
    if run.is_over_at(first) {
        let remedy = format!("start before the end of the run at {end}");
        at.report("must be before the end of the run, or the flow would never start", remedy);
    }
    if let Some(TextOr::Text(gap)) = spacing
        && !run.is_over_at(first)
        && run.is_over_at(first + gap.0 * (count - 1))
    {
        let remedy = format!("let the last of {count} flows start before the end of the run at {end}");
        at.key("spacing").report("must let the whole group start before the end of the run", remedy);
    }
    if spacing.is_some() && table.count.is_none() && !count_at.is_unread() {
        let remedy = "add count, the number of flows, or remove spacing";
        at.key("spacing").report("has no effect without count: one flow starts once", remedy);
    }
    let mut random = RandomStream::new(run.seed, &format!("start {name}"));
    let mut next = SimTime::ZERO + first;
    let mut starts = Vec::with_capacity(count as usize);
    for _ in 0..count {
        starts.push(next);
        next += match spacing {
            None => SimDuration::ZERO,
            Some(spacing) => match span(spacing, &at.key("spacing")) {
                Span::Constant(gap) => gap,
                Span::Exponential(mean) => random.exponential(mean),
            },
        };
    }
    starts
}

/// A time between two events.
pub(crate) fn span(spacing: &Spacing, at: &Location<'_>) -> Span {
    match spacing {
        TextOr::Text(span) => Span::Constant(span.0),
        TextOr::Table(table) => Span::Exponential(table.exponential.map_or_else(
            || {
                at.key("exponential").missing("exponential = \"50 ms\"");
                SimDuration::ZERO
            },
            |mean| mean.0,
        )),
    }
}
