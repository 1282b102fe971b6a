//! Rates and delays that change: schedules, traces, handovers.

use std::sync::Arc;

use ackclock_net::{ChannelConfig, Outage, RateConfig, Schedule, Trace, TraceError};
use ackclock_units::{Bandwidth, Bytes, SimDuration};

use super::Checker;
use super::links::{MAX_DELAY, MAX_RATE, TOO_LONG};
use crate::file::{DelayTable, Duration, HalfLink, HandoverTable, List, RateTable, Size, TextOr};
use crate::tree::FieldPath;

/// What one line of a trace carries: a full packet of IP.
const OPPORTUNITY: Bytes = Bytes(1500);

/// A schedule's item: when it begins, with where that stands, and its value.
type Item<T> = (FieldPath, Option<Duration>, T);

impl Checker<'_, '_> {
    /// What a link says of its rate, its delay and what it does to packets. A link of fixed rate and delay that does
    /// nothing to packets has [`ChannelConfig::is_plain`].
    pub(crate) fn channel(&mut self, half: &HalfLink, path: &FieldPath) -> ChannelConfig {
        let outage = half.handover.as_ref().and_then(|table| self.handover(table, &path.key("handover")));
        ChannelConfig {
            rate: self.rate(half, &path.key("rate")),
            delay: self.delay(half, path),
            outage,
            policer: half.policer.as_ref().and_then(|table| self.policer(table, &path.key("policer"))),
            aggregate: half.aggregate.as_ref().and_then(|table| self.aggregate(table, &path.key("aggregate"))),
            impairments: self.impairments(half, path),
            keeps_order: half.keep_order.unwrap_or(true),
        }
    }

    fn rate(&mut self, half: &HalfLink, path: &FieldPath) -> RateConfig {
        const NOTHING_MOVES: &str = "is a link on which nothing moves";
        match &half.rate {
            None => self.missing(path, "rate = \"100 Mbit/s\""),
            Some(TextOr::Text(rate)) if rate.0 == Bandwidth(0) => {
                self.report(path, NOTHING_MOVES, "use at least 1 bit/s");
            }
            Some(TextOr::Text(rate)) if self.is_rate(rate.0, path) => return RateConfig::Constant(rate.0),
            Some(TextOr::Text(_)) => {}
            Some(TextOr::Table(table)) => {
                if let Some(rate) = self.changing_rate(table, path) {
                    return rate;
                }
            }
        }
        RateConfig::Constant(Bandwidth(1_000_000))
    }

    fn is_rate(&mut self, rate: Bandwidth, path: &FieldPath) -> bool {
        if rate > MAX_RATE {
            self.report(path, "is faster than any link", "use at most 100 Tbit/s");
        }
        rate <= MAX_RATE
    }

    fn changing_rate(&mut self, table: &RateTable, path: &FieldPath) -> Option<RateConfig> {
        let is_trace = table.trace.is_some() || table.instants.is_some();
        for (field, is_set) in [("opportunity", table.opportunity.is_some()), ("once", table.once.is_some())] {
            if is_set && !is_trace {
                self.report(&path.key(field), "is for a trace", "remove it, or give trace = \"lte.down\"");
            }
        }
        if table.repeat.is_some() && table.schedule.is_none() {
            self.report(&path.key("repeat"), "is for a schedule", "remove it; a trace begins again by itself");
        }
        match (&table.schedule, is_trace) {
            (Some(_), true) => self.report(&path.key("schedule"), "stands beside a trace", "keep one of the two"),
            (None, false) => {
                self.missing(
                    &path.key("schedule"),
                    "schedule = [{ rate = \"20 Mbit/s\" }, { at = \"9 s\", rate = \"5 Mbit/s\" }]",
                );
            }
            (None, true) => return self.trace_rate(table, path),
            (Some(schedule), false) => return self.rate_schedule(schedule, table.repeat, path),
        }
        None
    }

    fn rate_schedule(
        &mut self,
        schedule: &List<crate::file::RateStep>,
        repeat: Option<Duration>,
        path: &FieldPath,
    ) -> Option<RateConfig> {
        let list = path.key("schedule");
        let mut items = Vec::new();
        for (index, step) in schedule.iter() {
            let at = list.index(index);
            match step.rate {
                None => self.missing(&at.key("rate"), "rate = \"20 Mbit/s\""),
                Some(rate) if !self.is_rate(rate.0, &at.key("rate")) => {}
                Some(rate) => items.push((at.key("at"), step.at, rate.0)),
            }
        }
        let steps = self.steps(items, schedule.0.len(), repeat, path)?;
        if steps.values().all(|rate| rate.0 == 0) {
            self.report(&list, "is a link on which nothing ever moves", "let one rate be at least 1 bit/s");
            return None;
        }
        Some(RateConfig::Schedule(steps))
    }

    /// A schedule whose instants ascend from zero. `count` is how many items were written.
    fn steps<T: Copy>(
        &mut self,
        items: Vec<Item<T>>,
        count: usize,
        repeat: Option<Duration>,
        path: &FieldPath,
    ) -> Option<Schedule<T>> {
        if count == 0 {
            self.report(&path.key("schedule"), "holds no step", "begin with the one from 0 s on");
        }
        if items.is_empty() || items.len() < count {
            return None; // an item was wrong, and has been reported
        }
        let mut steps: Vec<(SimDuration, T)> = Vec::with_capacity(count);
        for (place, at, value) in items {
            let before = steps.last().map(|(before, _)| *before);
            steps.push((self.instant(at, before, &place)?, value));
        }
        let end = steps.last().map_or(SimDuration::ZERO, |(at, _)| *at);
        if repeat.is_some_and(|repeat| repeat.0 <= end) {
            self.report(&path.key("repeat"), "is not after the last step", format!("use more than {end}"));
            return None;
        }
        Some(Schedule::new(steps, repeat.map(|repeat| repeat.0)))
    }

    /// When a step begins, the one above it having begun at `before`.
    fn instant(&mut self, at: Option<Duration>, before: Option<SimDuration>, place: &FieldPath) -> Option<SimDuration> {
        let at = at.map(|at| at.0);
        match (before, at) {
            (None, None | Some(SimDuration::ZERO)) => return Some(SimDuration::ZERO),
            (None, Some(_)) => self.report(place, "leaves open what holds from the start", "begin with a step at 0 s"),
            (Some(_), None) => self.missing(place, "at = \"10 s\""),
            (Some(before), Some(at)) if at <= before => {
                self.report(place, "is not after the step above it", format!("use more than {before}"));
            }
            (Some(_), Some(at)) => return Some(at),
        }
        None
    }

    fn trace_rate(&mut self, table: &RateTable, path: &FieldPath) -> Option<RateConfig> {
        let opportunity = table.opportunity.map_or(OPPORTUNITY, |Size(size)| size);
        if opportunity == Bytes::ZERO {
            self.report(&path.key("opportunity"), "carries nothing", "use at least \"1 byte\"");
            return None;
        }
        // A file that could not be read has been reported; one that could is in `instants`.
        let text = table.instants.as_ref()?;
        let lines = text.split_whitespace().collect::<Vec<_>>().join("\n");
        match Trace::parse(&lines, opportunity, !table.once.unwrap_or(false)) {
            Ok(trace) if self.is_rate(trace.mean_rate(), path) => return Some(RateConfig::Trace(Arc::new(trace))),
            Ok(_) => {}
            Err(error) => {
                let field = if table.trace.is_some() { "trace" } else { "instants" };
                self.report(&path.key(field), inline(error), "write whole milliseconds in order, such as \"1 5 5 8\"");
            }
        }
        None
    }

    fn delay(&mut self, half: &HalfLink, path: &FieldPath) -> Schedule<SimDuration> {
        let by_turns = half.handover.as_ref().and_then(|table| table.delay.as_ref().map(|delays| (table, delays)));
        if let Some((table, delays)) = by_turns {
            if half.delay.is_some() {
                let place = path.key("handover").key("delay");
                self.report(&place, "stands beside the link's delay", "keep one of the two");
            }
            return self.delay_by_turns(table, delays, path).unwrap_or_else(|| Schedule::constant(SimDuration::ZERO));
        }
        let path = path.key("delay");
        match &half.delay {
            None => self.missing(&path, "delay = \"15 ms\""),
            Some(TextOr::Text(delay)) if self.is_delay(delay.0, &path) => return Schedule::constant(delay.0),
            Some(TextOr::Text(_)) => {}
            Some(TextOr::Table(table)) => {
                if let Some(steps) = self.delay_schedule(table, &path) {
                    return steps;
                }
            }
        }
        Schedule::constant(SimDuration::ZERO)
    }

    pub(super) fn is_delay(&mut self, delay: SimDuration, path: &FieldPath) -> bool {
        if delay > MAX_DELAY {
            self.report(path, TOO_LONG, format!("use at most {MAX_DELAY}"));
        }
        delay <= MAX_DELAY
    }

    fn delay_schedule(&mut self, table: &DelayTable, path: &FieldPath) -> Option<Schedule<SimDuration>> {
        let list = path.key("schedule");
        let Some(schedule) = &table.schedule else {
            self.missing(&list, "schedule = [{ delay = \"20 ms\" }, { at = \"9 s\", delay = \"50 ms\" }]");
            return None;
        };
        let mut items = Vec::new();
        for (index, step) in schedule.iter() {
            let at = list.index(index);
            match step.delay {
                None => self.missing(&at.key("delay"), "delay = \"20 ms\""),
                Some(delay) if !self.is_delay(delay.0, &at.key("delay")) => {}
                Some(delay) => items.push((at.key("at"), step.at, delay.0)),
            }
        }
        self.steps(items, schedule.0.len(), table.repeat, path)
    }

    /// Outages after each handover; `None` if there are none.
    fn handover(&mut self, table: &HandoverTable, path: &FieldPath) -> Option<Outage> {
        let length = table.outage.map_or(SimDuration::ZERO, |outage| outage.0);
        let Some(Duration(period)) = table.period else {
            self.missing(&path.key("period"), "period = \"15 s\"");
            return None;
        };
        if period.is_zero() {
            self.report(&path.key("period"), "is no time at all", "use \"15 s\", or what the satellites take");
        } else if length >= period {
            self.report(&path.key("outage"), "leaves no time to send", format!("use less than {period}"));
        } else if length.is_zero() && table.delay.is_none() {
            self.missing(&path.key("outage"), "outage = \"50 ms\" or delay = [\"20 ms\", \"35 ms\"]");
        } else if !length.is_zero() {
            return Some(Outage::new(period, length));
        }
        None
    }

    fn delay_by_turns(
        &mut self,
        table: &HandoverTable,
        delays: &List<Duration>,
        path: &FieldPath,
    ) -> Option<Schedule<SimDuration>> {
        let list = path.key("handover").key("delay");
        if delays.0.is_empty() {
            self.report(&list, "holds no delay", "give one for each period by turns, such as [\"20 ms\", \"35 ms\"]");
        }
        let checked: Vec<SimDuration> = delays
            .iter()
            .filter(|(index, delay)| self.is_delay(delay.0, &list.index(*index)))
            .map(|(_, delay)| delay.0)
            .collect();
        let period = table.period?.0;
        if checked.is_empty() || checked.len() < delays.0.len() || period.is_zero() {
            return None;
        }
        let whole = period * checked.len() as u64;
        let steps = (0..).zip(&checked).map(|(index, delay)| (period * index, *delay)).collect();
        Some(Schedule::new(steps, Some(whole)))
    }
}

/// What is wrong with a trace between blanks: its numbers are counted, not its lines.
fn inline(error: TraceError) -> String {
    error.to_string().replacen("line", "number", 1).replace("the line above", "the one before")
}
