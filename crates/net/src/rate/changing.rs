//! A rate that changes, as a scenario writes it.

use std::sync::Arc;

use ackclock_declare::{About, Entry, Mistake, Review, declare, default, required, unset};
use ackclock_units::{Bandwidth, Bytes, SimDuration};

use super::{RateConfig, Trace, TraceError};
use crate::effects::MAX_RATE;
use crate::schedule::{Schedule, is_filled, review_steps};

declare! {
    /// One step of a schedule of rates.
    #[derive(Copy, Eq)]
    pub struct RateStep {
        /// Instant of the step; of the first, 0 s.
        at: Option<SimDuration> = unset("0 s, for the first"),
        /// Rate from then on; "0 bit/s" is an outage.
        rate: Bandwidth = required(Bandwidth(20_000_000)).at_most(MAX_RATE),
    }
}

declare! {
    /// A rate that changes: by a schedule, or by a recorded trace.
    #[derive(Eq)]
    pub struct ChangingRate {
        /// Rates in order, from 0 s on; "0 bit/s" is an outage.
        schedule: Option<Vec<RateStep>> = unset("a trace").must_be("a list of at least one { at, rate }", is_filled),
        /// Length of the schedule, after which it begins again.
        repeat: Option<SimDuration> = unset("never"),
        /// File with one instant a line, in whole milliseconds: at each, one full packet can leave (mahimahi's format).
        /// Its path is relative to the scenario's file. At its end the trace begins again.
        trace: Option<String> = unset("a schedule"),
        /// Octets of one line of the trace, framing included.
        opportunity: Bytes = default(Bytes(1_500)).at_least(Bytes(1)),
        /// Do not repeat the trace: the link is dead at its end.
        once: bool = false,
        /// The trace itself, separated by blanks, in place of a file. A scenario that names a file is stored with its
        /// content.
        instants: Option<String> = unset("the file's"),
    }
    check ChangingRate::review;
}

impl Entry for ChangingRate {
    const ABOUT: About = About {
        name: "rate",
        aliases: &[],
        summary: "a rate that changes: rate = { schedule = [...] } or { trace = \"FILE\" }",
        source: "traces: Netravali et al., Mahimahi, USENIX ATC 2015",
        departures: "a packet caught by a change ends at the new rate; in a trace an opportunity counts IP and framing, not a \
                     tunnel's four octets (framing = \"4 bytes\" and opportunity = \"1504 bytes\" are mahimahi's own)",
    };
}

impl ChangingRate {
    fn is_trace(&self) -> bool {
        self.trace.is_some() || self.instants.is_some()
    }

    fn review(&self, review: &mut Review<'_>) {
        review.needs(&["opportunity", "once"], "a trace", self.is_trace());
        review.needs(&["repeat"], "a schedule", self.schedule.is_some());
        match (&self.schedule, self.is_trace()) {
            (Some(_), true) => review.report("schedule", "must not be combined with a trace", "keep one of the two"),
            (None, false) => {
                let example = "schedule = [{ rate = \"20 Mbit/s\" }, { at = \"9 s\", rate = \"5 Mbit/s\" }]";
                review.report("schedule", "is missing", format!("add it, such as {example}"));
            }
            (Some(steps), false) => {
                review_steps(steps.iter().map(|step| step.at), self.repeat, review);
                if steps.iter().all(|step| step.rate == Bandwidth(0)) {
                    let message = "must have a rate above zero: nothing ever moves";
                    review.report("schedule", message, "let one rate be at least 1 bit/s");
                }
            }
            (None, true) => {}
        }
    }

    /// The rate; `None` for a trace whose file has not been read.
    pub fn rate(&self) -> Result<Option<RateConfig>, Mistake> {
        if let Some(steps) = &self.schedule {
            let steps = steps.iter().map(|step| (step.at.unwrap_or_default(), step.rate)).collect();
            return Ok(Some(RateConfig::Schedule(Schedule::new(steps, self.repeat))));
        }
        let Some(text) = &self.instants else { return Ok(None) };
        let lines = text.split_whitespace().collect::<Vec<_>>().join("\n");
        let trace = Trace::parse(&lines, self.opportunity, !self.once).map_err(|errors| self.no_trace(errors[0]))?;
        if trace.mean_rate() > MAX_RATE {
            return Err(Mistake::new(
                format!("must be at most {MAX_RATE}"),
                "use a smaller opportunity, or another trace",
            ));
        }
        if trace.mean_rate() == Bandwidth(0) {
            let message = "must carry at least 1 bit/s over its length";
            let field = if self.trace.is_some() { "trace" } else { "instants" };
            return Err(Mistake::new(message, "use a larger opportunity, or a shorter trace").within(field));
        }
        Ok(Some(RateConfig::Trace(Arc::new(trace))))
    }

    /// The mistake in a trace separated by blanks: its numbers are counted, not its lines.
    fn no_trace(&self, error: TraceError) -> Mistake {
        let error = error.to_string().replacen("line", "number", 1).replace("the line above", "the one before");
        let field = if self.trace.is_some() { "trace" } else { "instants" };
        let remedy = "write whole milliseconds in order, such as \"1 5 5 8\"";
        Mistake::new(format!("must be a trace of times: {error}"), remedy).within(field)
    }
}
