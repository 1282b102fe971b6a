//! Checks of the files that a scenario names: lists of sizes, distribution functions, lists of arrivals.

use ackclock_sim::{CdfPoint, ListedFlow, SizeDistribution};
use ackclock_units::{Bytes, SimDuration};

/// The largest flow in a file, 1 PiB, and the latest start, a year.
const MAX_SIZE: f64 = (1_u64 << 50) as f64;
const MAX_START: f64 = 366.0 * 24.0 * 3_600.0;

/// The most flows in a list.
const MAX_LISTED: usize = 8_000_000;

/// The columns of a list of arrivals, as its first line names them.
const ARRIVAL_COLUMNS: [&str; 3] = ["start_s", "size_bytes", "reply_bytes"];

/// A mistake in a file, with its remedy.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) what: String,
    pub(crate) remedy: &'static str,
}

fn wrong(line: usize, what: &str, remedy: &'static str) -> Wrong {
    Wrong { what: format!("must, in line {line}, {what}"), remedy }
}

/// The most wrong lines that are reported: a file may have millions.
const MOST_TOLD: usize = 100;

/// The rows, or all mistakes in them, up to the number that is reported.
fn all_right<T>(rows: impl Iterator<Item = Result<T, Wrong>>) -> Result<Vec<T>, Vec<Wrong>> {
    let (mut found, mut wrong) = (Vec::new(), Vec::new());
    for row in rows {
        match row {
            Ok(row) => found.push(row),
            Err(one) => wrong.push(one),
        }
        if wrong.len() > MOST_TOLD {
            break;
        }
    }
    if wrong.is_empty() { Ok(found) } else { Err(wrong) }
}

/// The numbers of each line and its line number, without empty lines, comments and a first line of names.
///
/// Numbers are separated by commas or space.
fn rows(text: &str) -> impl Iterator<Item = Result<(usize, Vec<f64>), Wrong>> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let mut is_first = true;
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).filter_map(move |(number, line)| {
        // Between two commas there is a field, if an empty one, which is no number.
        let values: Result<Vec<f64>, _> = if line.contains(',') {
            line.split(',').map(|field| field.trim().parse()).collect()
        } else {
            line.split_whitespace().map(str::parse).collect()
        };
        let was_first = std::mem::replace(&mut is_first, false);
        match values {
            Ok(values) if values.iter().all(|value| value.is_finite()) => Some(Ok((number, values))),
            _ if was_first && line.starts_with(|c: char| c.is_alphabetic()) => None,
            _ => Some(Err(wrong(number, "hold numbers only", "write numbers, separated by commas or space"))),
        }
    })
}

fn size(value: f64, line: usize) -> Result<Bytes, Wrong> {
    if (1.0..=MAX_SIZE).contains(&value) {
        Ok(Bytes((value + 0.5) as u64))
    } else {
        Err(wrong(line, "have a size of 1 byte to 1 PiB", "write sizes in bytes"))
    }
}

/// A file of sizes: one column is a list of sizes, two are a distribution function.
pub(crate) fn read_sizes(text: &str) -> Result<SizeDistribution, Vec<Wrong>> {
    let mut columns = None;
    let rows = rows(text).map(|row| {
        let (line, row) = row?;
        if *columns.get_or_insert(row.len()) != row.len() {
            return Err(wrong(line, "have as many columns as in its first line", "give all lines the same columns"));
        }
        if row.len() == 1 { size(row[0], line).map(|_| (line, row)) } else { Ok((line, row)) }
    });
    let rows = all_right(rows)?;
    match columns.unwrap_or(0) {
        1 => Ok(SizeDistribution::Samples(rows.iter().map(|(_, row)| Bytes((row[0] + 0.5) as u64)).collect())),
        2 => read_cdf(&rows),
        _ => Err(vec![Wrong {
            what: "must have a column of sizes, or columns of sizes and fractions".to_owned(),
            remedy: "write one size per line, or a size and the fraction of flows of at most that size",
        }]),
    }
}

fn read_cdf(rows: &[(usize, Vec<f64>)]) -> Result<SizeDistribution, Vec<Wrong>> {
    let mut last = CdfPoint { size: 0.0, fraction: 0.0 };
    let points = rows.iter().map(|(line, row)| {
        let point = CdfPoint { size: row[0], fraction: row[1] };
        if !(0.0..=MAX_SIZE).contains(&point.size) || !(0.0..=1.0).contains(&point.fraction) {
            return Err(wrong(*line, "have a size and a fraction", "write bytes, then a fraction from 0 to 1"));
        }
        let before = std::mem::replace(&mut last, point);
        if point.size < before.size || point.fraction < before.fraction {
            let remedy = "sort sizes and fractions in rising order";
            return Err(wrong(*line, "have no less than in the line before", remedy));
        }
        Ok(point)
    });
    let mut points = all_right(points)?;
    if let Some(&first) = points.first().filter(|first| first.fraction > 0.0) {
        points.insert(0, CdfPoint { fraction: 0.0, ..first }); // the least size has all of its weight
    }
    let ends_at_one = points.last().is_some_and(|last| (last.fraction - 1.0).abs() < 1e-9 && last.size > 0.0);
    if points.len() < 2 || !ends_at_one {
        let remedy = "let the last line have the largest size and the fraction 1";
        return Err(vec![Wrong { what: "must end with the fraction 1".to_owned(), remedy }]);
    }
    Ok(SizeDistribution::Cdf(points.into()))
}

/// A file of arrivals, in any order: start, size, and optionally the size of the reply.
pub(crate) fn read_arrivals(text: &str) -> Result<Vec<ListedFlow>, Vec<Wrong>> {
    check_columns(text).map_err(|wrong| vec![wrong])?;
    let mut columns = named_columns(text);
    let flows = rows(text).map(|row| {
        let (line, row) = row?;
        if *columns.get_or_insert(row.len()) != row.len() {
            let remedy = "give all lines the same columns; a file that was cut short ends in the middle of one";
            return Err(wrong(line, "have as many columns as the first line", remedy));
        }
        listed_flow(line, &row)
    });
    let mut flows = all_right(flows.take(MAX_LISTED + 1))?;
    if flows.len() > MAX_LISTED {
        return Err(vec![Wrong { what: "must hold at most 8,000,000 flows".to_owned(), remedy: "split the file" }]);
    }
    if flows.is_empty() {
        let remedy = "write a flow a line: start_s,size_bytes,reply_bytes";
        return Err(vec![Wrong { what: "must hold at least one flow".to_owned(), remedy }]);
    }
    flows.sort_by_key(|flow| flow.after);
    Ok(flows)
}

fn listed_flow(line: usize, row: &[f64]) -> Result<ListedFlow, Wrong> {
    let (start, there, back) = match row[..] {
        [start, there] => (start, there, 0.0),
        [start, there, back] => (start, there, back),
        _ => return Err(wrong(line, "have two or three columns", "write start_s,size_bytes,reply_bytes")),
    };
    if !(0.0..=MAX_START).contains(&start) {
        return Err(wrong(line, "have a start of 0 s to a year", "write starts in seconds"));
    }
    let part = |value: f64| if value == 0.0 { Ok(Bytes::ZERO) } else { size(value, line) };
    let flow = ListedFlow { after: SimDuration::from_secs_f64(start), size: part(there)?, reply: part(back)? };
    if flow.size + flow.reply == Bytes::ZERO {
        return Err(wrong(line, "have data to send", "leave out flows of 0 bytes"));
    }
    Ok(flow)
}

/// The number of columns that the first line names; `None` if it has no names.
fn named_columns(text: &str) -> Option<usize> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?;
    first.starts_with(|c: char| c.is_alphabetic()).then(|| first.split(',').count())
}

/// Checks that a first line of names has the columns in their order.
fn check_columns(text: &str) -> Result<(), Wrong> {
    let mut lines = text.lines().map(str::trim).enumerate();
    let first = lines.find(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let Some((index, line)) = first.filter(|(_, line)| line.starts_with(|c: char| c.is_alphabetic())) else {
        return Ok(());
    };
    let names: Vec<&str> = line.split(',').map(str::trim).collect();
    if names.len() >= 2 && ARRIVAL_COLUMNS.starts_with(&names) {
        return Ok(());
    }
    let remedy = "name the columns start_s,size_bytes,reply_bytes; the last may be left out";
    Err(wrong(index + 1, "name the columns of a list of arrivals", remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_column_is_a_list_and_two_are_a_distribution() {
        let list = read_sizes("size_bytes\n100\n200\n").expect("a list");
        assert_eq!(list, SizeDistribution::Samples([Bytes(100), Bytes(200)].into()));
        let table = read_sizes("# web\n1000 0.5\n3000 1\n").expect("a table");
        let SizeDistribution::Cdf(points) = &table else { panic!("{table:?}") };
        assert_eq!(points.len(), 3); // half of the flows have 1000 bytes
        assert!((table.mean() - 1_500.0).abs() < 1e-9); // 0.5 * 1000 + 0.5 * 2000
    }

    fn said<T: std::fmt::Debug>(read: Result<T, Vec<Wrong>>) -> String {
        read.expect_err("a mistake").into_iter().map(|wrong| wrong.what).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn every_line_that_is_wrong_is_told() {
        let told = said(read_arrivals("start_s,size_bytes\n-1,100\nnan,1\n0.1,5\n0.2,-1\n0.3\n"));
        let lines: Vec<&str> = told.split("line ").skip(1).filter_map(|one| one.split(',').next()).collect();
        assert_eq!(lines, ["2", "3", "5", "6"]);
        let told = said(read_sizes("100 0.5\n200 0.4\n50 1\n"));
        assert_eq!(told.matches("no less than in the line before").count(), 2);
        assert_eq!(read_sizes(&"x\n".repeat(1_000)).expect_err("all are wrong").len(), MOST_TOLD + 1);
    }

    #[test]
    fn mistakes_are_found_in_their_line() {
        let what = |text| said(read_sizes(text));
        assert_eq!(what("100\nmany\n"), "must, in line 2, hold numbers only");
        assert_eq!(what("10 0.5\n5 1\n"), "must, in line 2, have no less than in the line before");
        assert_eq!(what("10 0.5\n20 0.9\n"), "must end with the fraction 1");
        assert_eq!(what("10\n20 1\n"), "must, in line 2, have as many columns as in its first line");
        let what = |text| said(read_arrivals(text));
        assert_eq!(what("bytes,start\n1,2\n"), "must, in line 1, name the columns of a list of arrivals");
        assert_eq!(what(" # a note\nbytes,start\n1,2\n"), "must, in line 2, name the columns of a list of arrivals");
        assert_eq!(what(" bytes,start\n1,2\n"), "must, in line 1, name the columns of a list of arrivals");
        assert_eq!(what("start_s,size_bytes\n1,0\n"), "must, in line 2, have data to send");
        let cut = "start_s,size_bytes,reply_bytes\n0.5,10,0\n0.7,10"; // the file ends in the middle of a line
        assert_eq!(what(cut), "must, in line 3, have as many columns as the first line");
        assert_eq!(what("\n"), "must hold at least one flow");
    }

    #[test]
    fn arrivals_are_put_in_order_of_time() {
        let flows = read_arrivals("start_s,size_bytes,reply_bytes\n0.5,10,0\n0.25,0,7\n").expect("two flows");
        let flow = |ms, size, reply| ListedFlow {
            after: SimDuration::from_millis(ms),
            size: Bytes(size),
            reply: Bytes(reply),
        };
        assert_eq!(flows, [flow(250, 0, 7), flow(500, 10, 0)]);
    }
}
