//! Checks of the run's length and of the window of measurement.

use ackclock_sim::MeasureWindow;
use ackclock_units::{SimDuration, SimTime};

use crate::diagnostic::Diagnostics;
use crate::file::{Duration, MeasureTable};

/// The longest run: a year. Timers and timestamps stay exact for far longer.
const MAX_DURATION: SimDuration = SimDuration::from_secs(366 * 24 * 3600);

/// The run's seed and length.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    pub(crate) seed: u64,
    /// The duration; `None` if the scenario's is wrong, and then values that depend on it are not reported.
    pub(crate) duration: Option<SimDuration>,
}

impl Run {
    pub(crate) fn new(seed: Option<u64>, length: Option<Duration>, sink: &Diagnostics<'_>) -> Self {
        Self { seed: seed.unwrap_or(1), duration: duration(length, sink) }
    }

    /// The end of the run; where it is unknown, the latest possible one.
    pub(crate) fn end(self) -> SimDuration {
        self.duration.unwrap_or(MAX_DURATION)
    }

    /// True if the run is known to be over at this time.
    pub(crate) fn is_over_at(self, time: SimDuration) -> bool {
        self.duration.is_some_and(|end| time >= end)
    }
}

fn duration(duration: Option<Duration>, sink: &Diagnostics<'_>) -> Option<SimDuration> {
    let at = sink.root("duration");
    match duration {
        None => at.missing("duration = \"50 s\""),
        Some(Duration(SimDuration::ZERO)) => at.report("must be more than zero", "simulate at least 1 ns"),
        Some(Duration(duration)) if duration > MAX_DURATION => {
            at.report("must be at most a year", "simulate at most 8784 h");
        }
        Some(Duration(duration)) => return Some(duration),
    }
    None
}

/// The window of measurement.
pub(crate) fn measure(table: Option<&MeasureTable>, run: Run, sink: &Diagnostics<'_>) -> MeasureWindow {
    let Some(measure) = table else { return MeasureWindow::default() };
    let at = sink.root("measure");
    let (from, to) = (measure.from.unwrap_or_default().0, measure.to.map_or(run.end(), |to| to.0));
    if to > run.end() && run.duration.is_some() {
        let remedy = format!("end the measurement by {}, or simulate longer", run.end());
        at.key("to").report("must be no later than the end of the run", remedy);
    }
    if from >= to {
        let end = run.end();
        let (field, remedy) = match measure.from {
            Some(_) if from >= end => ("from", format!("begin before {end}, the end of the run, or simulate longer")),
            Some(_) => ("from", format!("begin before {to} and end after {from}")),
            None => ("to", format!("end after {from}")),
        };
        at.key(field).report("must leave some time to measure", remedy);
    }
    let time = |duration: Duration| SimTime(duration.0.0);
    MeasureWindow { from: measure.from.map(time), until: measure.to.map(time) }
}
