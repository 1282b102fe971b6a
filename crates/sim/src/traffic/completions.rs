//! Completion times of short flows and of requests, one by one and by classes of size.

use ackclock_units::{Bytes, Histogram, SimDuration, SimTime};
use serde::Serialize;

use crate::config::{FlowConfig, MeasureWindow};
use crate::outcome::{Column, ColumnData, Distribution, Table};
use crate::summary::distribution;

/// The unit of slowdowns: millionths.
const MILLIONTHS: f64 = 1e6;

/// A short flow, or an exchange, that is complete.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Completion {
    /// Time at which it began.
    pub start: SimTime,
    /// Payload in both directions.
    pub size: Bytes,
    /// The completion time.
    pub time: SimDuration,
    /// Time to complete on an empty path.
    pub ideal: SimDuration,
}

impl Completion {
    fn slowdown(&self) -> f64 {
        self.time.0 as f64 / self.ideal.0.max(1) as f64
    }
}

/// The completions of one group or connection. Those that began outside the measurement window are listed, and not
/// summarised.
#[derive(Clone, Debug)]
pub struct CompletionLog {
    all: Sums,
    buckets: Vec<(Option<Bytes>, Sums)>,
    rows: Vec<Completion>,
}

#[derive(Clone, Debug, Default)]
struct Sums {
    size: u128,
    count: u64,
    /// Completion times in nanoseconds.
    time: Histogram,
    slowdown: Histogram,
}

impl Sums {
    fn add(&mut self, completion: &Completion) {
        self.count += 1;
        self.size += u128::from(completion.size.0);
        self.time.add(completion.time.0);
        self.slowdown.add((completion.slowdown() * MILLIONTHS) as u64);
    }

    fn mean_size(&self) -> Option<f64> {
        (self.count > 0).then(|| self.size as f64 / self.count as f64)
    }

    fn time_ms(&self) -> Option<Distribution> {
        (self.count > 0).then(|| distribution(&self.time, 1e6))
    }

    fn slowdown(&self) -> Option<Distribution> {
        (self.count > 0).then(|| distribution(&self.slowdown, MILLIONTHS))
    }
}

impl CompletionLog {
    /// A log with classes of size up to each of `buckets`, and one above the last.
    pub fn new(buckets: &[Bytes]) -> Self {
        let ends = buckets.iter().copied().map(Some).chain((!buckets.is_empty()).then_some(None));
        Self { all: Sums::default(), buckets: ends.map(|end| (end, Sums::default())).collect(), rows: Vec::new() }
    }

    /// Adds a completion, which counts if it began in the window.
    pub fn add(&mut self, completion: Completion, window: &MeasureWindow) {
        self.rows.push(completion);
        if !window.holds(completion.start) {
            return;
        }
        self.all.add(&completion);
        let class = self.buckets.iter_mut().find(|(end, _)| end.is_none_or(|end| completion.size <= end));
        if let Some((_, sums)) = class {
            sums.add(&completion);
        }
    }

    fn buckets(&self) -> Vec<SizeBucket> {
        let mut above = 0;
        let bucket = |(end, sums): &(Option<Bytes>, Sums)| {
            let bucket = SizeBucket {
                above_bytes: above,
                up_to_bytes: end.map(|end| end.0),
                completed: sums.count,
                fct_ms: sums.time_ms(),
                slowdown: sums.slowdown(),
            };
            above = end.map_or(above, |end| end.0);
            bucket
        };
        self.buckets.iter().map(bucket).collect()
    }

    /// Summary of a connection with requests and responses.
    pub fn exchange_summary(&self) -> ExchangeSummary {
        ExchangeSummary {
            completed: self.all.count,
            mean_bytes: self.all.mean_size(),
            time_ms: self.all.time_ms(),
            slowdown: self.all.slowdown(),
        }
    }
}

/// Counts of a group beside its completions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupCounts {
    /// Flows begun within the measurement window.
    pub(crate) started: u64,
    pub(crate) aborted: u64,
    pub(crate) retransmitted_segments: u64,
    pub(crate) timeouts: u64,
    pub(crate) concurrent: u64,
    pub(crate) max_concurrent: u64,
}

/// A group of short flows, of which those that began within the measurement window count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupSummary {
    /// The name in the scenario.
    pub name: String,
    /// Name of the controller in the scenario.
    pub controller: String,
    /// The stack profile of the sending ends.
    pub profile: &'static str,
    /// Flows of the group that began.
    pub started: u64,
    /// Number of started flows whose last octet was read before the end of the run.
    pub completed: u64,
    /// Flows given up or reset, over the whole run.
    pub aborted: u64,
    /// Largest number of concurrent flows, over the whole run.
    pub max_concurrent: u64,
    /// Number of retransmitted segments, over the whole run.
    pub retransmitted_segments: u64,
    /// Expiries of the retransmission timer at both ends, those of the handshake included, over the whole run.
    pub timeouts: u64,
    /// Mean payload of completed flows, both ways; null if there are none.
    pub mean_bytes: Option<f64>,
    /// Time from the SYN to the last octet read; null if none was completed.
    pub fct_ms: Option<Distribution>,
    /// Completion time over that on an empty path; null if none was completed.
    pub slowdown: Option<Distribution>,
    /// Completions by class of size.
    pub buckets: Vec<SizeBucket>,
}

/// The completed flows of one class of sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeBucket {
    /// Size that all flows of the class exceed.
    pub above_bytes: u64,
    /// Largest size in the class; null for the last class.
    pub up_to_bytes: Option<u64>,
    /// Number of completions in the class.
    pub completed: u64,
    /// Time from the SYN to the last octet read; null if there are none.
    pub fct_ms: Option<Distribution>,
    /// Completion time over that on an empty path; null if there are none.
    pub slowdown: Option<Distribution>,
}

/// Requests and their responses on one connection; those that began within the measurement window count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExchangeSummary {
    /// Responses read to their end.
    pub completed: u64,
    /// Mean payload of request and response together; null if there are none.
    pub mean_bytes: Option<f64>,
    /// Time from the request's first octet to the response's last; null if there are none.
    pub time_ms: Option<Distribution>,
    /// Completion time over that on an empty path; null if there are none.
    pub slowdown: Option<Distribution>,
}

impl GroupSummary {
    pub(crate) fn new(flow: &FlowConfig, counts: &GroupCounts, log: &CompletionLog) -> Self {
        Self {
            name: flow.name.clone(),
            controller: flow.controller_name.clone(),
            profile: flow.profile,
            started: counts.started,
            completed: log.all.count,
            aborted: counts.aborted,
            max_concurrent: counts.max_concurrent,
            retransmitted_segments: counts.retransmitted_segments,
            timeouts: counts.timeouts,
            mean_bytes: log.all.mean_size(),
            fct_ms: log.all.time_ms(),
            slowdown: log.all.slowdown(),
            buckets: log.buckets(),
        }
    }
}

/// The table `completions.parquet`: a row for each short flow and exchange, by group, then by time of completion.
pub fn completion_table(logs: &[(String, &CompletionLog)]) -> Table {
    let rows =
        || logs.iter().enumerate().flat_map(|(code, (_, log))| log.rows.iter().map(move |row| (code as u32, row)));
    let numbers = |value: fn(&Completion) -> f64| ColumnData::F64(rows().map(|(_, row)| value(row)).collect());
    let names = logs.iter().map(|(name, _)| name.clone()).collect();
    let column = |name: &'static str, data| Column { name: name.into(), data };
    Table {
        columns: vec![
            column("flow", ColumnData::Name { codes: rows().map(|(code, _)| code).collect(), names }),
            column("start_s", numbers(|row| row.start.as_secs_f64())),
            column("size_bytes", ColumnData::U64(rows().map(|(_, row)| row.size.0).collect())),
            column("fct_s", numbers(|row| row.time.as_secs_f64())),
            column("slowdown", numbers(Completion::slowdown)),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completion(start: u64, size: u64, time: u64) -> Completion {
        Completion { start: SimTime(start), size: Bytes(size), time: SimDuration(time), ideal: SimDuration(1_000_000) }
    }

    #[test]
    fn sizes_fall_into_their_classes() {
        let mut log = CompletionLog::new(&[Bytes(100), Bytes(1_000)]);
        for (size, time) in [(100, 2_000_000), (101, 3_000_000), (1_000, 5_000_000), (1_001, 7_000_000)] {
            log.add(completion(0, size, time), &MeasureWindow::default());
        }
        let buckets = log.buckets();
        let shown: Vec<_> =
            buckets.iter().map(|bucket| (bucket.above_bytes, bucket.up_to_bytes, bucket.completed)).collect();
        assert_eq!(shown, [(0, Some(100), 1), (100, Some(1_000), 2), (1_000, None, 1)]);
        let middle = buckets[1].slowdown.expect("two flows");
        assert!((middle.mean - 4.0).abs() < 1e-9); // (3 + 5) / 2
        assert!((buckets[1].fct_ms.expect("two flows").mean - 4.0).abs() < 1e-9);
        assert!((log.all.mean_size().expect("four flows") - 550.5).abs() < 1e-9);
    }

    #[test]
    fn flows_that_begin_in_the_warm_up_are_listed_and_not_summed_up() {
        let window = MeasureWindow { from: Some(SimTime(10)), until: Some(SimTime(20)) };
        let mut log = CompletionLog::new(&[]);
        for start in [9, 10, 19, 20] {
            log.add(completion(start, 1, 1), &window);
        }
        assert_eq!(log.exchange_summary().completed, 2);
        let table = completion_table(&[("g".to_owned(), &log)]);
        assert_eq!(table.columns[0].data, ColumnData::Name { codes: vec![0; 4], names: vec!["g".to_owned()] });
        assert_eq!(table.columns.len(), 5);
    }
}
