//! Results of a run, by name.

use std::fmt;

use ackclock_sim::{Column, ColumnData, FlowSummary, LinkSummary, Outcome, Summary, Table};

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Results {
    outcome: Outcome,
}

/// The series of one flow or one link: columns of equal length, each row at a time of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    columns: Vec<(String, Vec<f64>)>,
}

/// A name that the results do not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// The kind of the requested name: a flow, a link or a column.
    pub what: &'static str,
    /// The requested name.
    pub name: String,
    /// The known names.
    pub known: Vec<String>,
}

impl UnknownName {
    fn new<'a>(what: &'static str, name: &str, known: impl Iterator<Item = &'a str>) -> Self {
        Self { what, name: name.to_owned(), known: known.map(str::to_owned).collect() }
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, name, known } = self;
        match known.as_slice() {
            [] => write!(f, "unknown {what} {name:?}: none was recorded; let the scenario's trace record it"),
            known => write!(f, "unknown {what} {name:?}; write one of {}", known.join(", ")),
        }
    }
}

impl std::error::Error for UnknownName {}

impl Results {
    pub(crate) fn new(outcome: Outcome) -> Self {
        Self { outcome }
    }

    /// Averages and counts over the measurement window, as `summary.json` has them.
    pub fn summary(&self) -> &Summary {
        &self.outcome.summary
    }

    /// The summary of the flow of this name.
    pub fn flow(&self, name: &str) -> Result<&FlowSummary, UnknownName> {
        let flows = &self.outcome.summary.flows;
        let unknown = || UnknownName::new("flow", name, flows.iter().map(|flow| flow.name.as_str()));
        flows.iter().find(|flow| flow.name == name).ok_or_else(unknown)
    }

    /// The summary of the link of this name.
    pub fn link(&self, name: &str) -> Result<&LinkSummary, UnknownName> {
        let links = &self.outcome.summary.links;
        let unknown = || UnknownName::new("link", name, links.iter().map(|link| link.name.as_str()));
        links.iter().find(|link| link.name == name).ok_or_else(unknown)
    }

    /// Series of a flow over time: `time_s`, then such as `cwnd_bytes` and `srtt_s`.
    pub fn flow_series(&self, name: &str) -> Result<Series, UnknownName> {
        Series::of(&self.outcome.flows, "flow", name)
    }

    /// Series of a link over time: `time_s`, then such as `queue_packets`.
    pub fn link_series(&self, name: &str) -> Result<Series, UnknownName> {
        Series::of(&self.outcome.links, "link", name)
    }

    /// The outcome with everything: tables of episodes and completions, captures, counters of the engine.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// The outcome itself, to keep.
    pub fn into_outcome(self) -> Outcome {
        self.outcome
    }
}

impl Series {
    /// The rows of `name` in a table whose column `what` has the name for each row.
    fn of(table: &Table, what: &'static str, name: &str) -> Result<Self, UnknownName> {
        let rows = rows_of(table, what, name)?;
        let pick = |column: &Column| match &column.data {
            ColumnData::F64(values) => Some((column.name.to_string(), rows.iter().map(|&row| values[row]).collect())),
            _ => None,
        };
        Ok(Self { columns: table.columns.iter().filter_map(pick).collect() })
    }

    /// A column by its name, which ends in its unit; a missing value is NaN.
    pub fn column(&self, name: &str) -> Result<&[f64], UnknownName> {
        let found = self.columns.iter().find(|(column, _)| column == name);
        found.map(|(_, values)| values.as_slice()).ok_or_else(|| UnknownName::new("column", name, self.names()))
    }

    /// The names of the columns, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| name.as_str())
    }
}

/// The positions of the rows of `name`.
fn rows_of(table: &Table, what: &'static str, name: &str) -> Result<Vec<usize>, UnknownName> {
    let strings = table.columns.iter().find_map(|column| match &column.data {
        ColumnData::Name { codes, names } if column.name == what => Some((codes, names)),
        _ => None,
    });
    let Some((codes, names)) = strings else {
        return Err(UnknownName::new(what, name, std::iter::empty()));
    };
    let known = || UnknownName::new(what, name, names.iter().map(String::as_str));
    let code = names.iter().position(|known| known == name).ok_or_else(known)? as u32;
    Ok(codes.iter().enumerate().filter(|(_, found)| **found == code).map(|(row, _)| row).collect())
}
