//! Checks of size distributions.

use ackclock_sim::{DATA_MINING, SizeDistribution, WEB_SEARCH};
use ackclock_units::Bytes;

use super::attached::{Wrong, read_sizes};
use super::declarations::read_table;
use crate::attachments::Attachments;
use crate::diagnostic::Diagnostics;
use crate::file::{Size, SizeTable, Sizes, TextOr, Workload};
use crate::tree::FieldPath;

pub(crate) fn accept<T>(read: Result<T, Vec<Wrong>>, path: &FieldPath, sink: &mut Diagnostics<'_>) -> Option<T> {
    let mut report = |wrong: Vec<Wrong>| wrong.into_iter().for_each(|one| sink.report(path, one.what, one.remedy));
    read.map_err(&mut report).ok()
}

/// A distribution of sizes; `example` is the remedy if it is missing.
pub(crate) fn sizes(
    sizes: Option<&Sizes>,
    path: &FieldPath,
    example: &str,
    attachments: &Attachments,
    sink: &mut Diagnostics<'_>,
) -> Option<SizeDistribution> {
    match sizes {
        None => {
            sink.missing(path, example);
            None
        }
        Some(TextOr::Text(size)) => amount(*size, path, sink).map(SizeDistribution::Constant),
        Some(TextOr::Table(table)) => size_table(table, path, attachments, sink),
    }
}

/// A size from 1 byte to 1 PiB.
fn amount(size: Size, path: &FieldPath, sink: &mut Diagnostics<'_>) -> Option<Bytes> {
    if (1..=1 << 50).contains(&size.0.0) {
        return Some(size.0);
    }
    sink.report(path, "must be 1 byte to 1 PiB", "write an amount of data, such as \"1 MB\"");
    None
}

fn size_table(
    table: &SizeTable,
    path: &FieldPath,
    attachments: &Attachments,
    sink: &mut Diagnostics<'_>,
) -> Option<SizeDistribution> {
    let said = [
        table.cdf.is_some(),
        table.file.is_some(),
        table.uniform.is_some(),
        table.exponential.is_some(),
        table.pareto.is_some(),
        table.log_normal.is_some(),
    ];
    sink.refuse_hash(path, table.file.as_ref(), table.sha256.as_ref());
    let (what, remedy) = (
        "must be exactly one distribution of sizes",
        "write exactly one of cdf, file, uniform, exponential, pareto, log_normal",
    );
    match said.iter().filter(|said| **said).count() {
        0 => {
            sink.report_lack(path, what, remedy);
            return None;
        }
        1 => {}
        _ => {
            sink.report(path, what, remedy);
            return None;
        }
    }
    if let Some(workload) = table.cdf {
        return Some(SizeDistribution::Cdf(match workload {
            Workload::WebSearch => WEB_SEARCH.into(),
            Workload::DataMining => DATA_MINING.into(),
        }));
    }
    if let Some(name) = &table.file {
        let text = attachments.text(name)?;
        return accept(read_sizes(&text), &path.key("file"), sink);
    }
    if let Some(mean) = table.exponential {
        return amount(mean, &path.key("exponential"), sink).map(|mean| SizeDistribution::Exponential { mean });
    }
    if let Some(ends) = &table.uniform {
        if ends.0.contains(&None) {
            return None; // one that could not be read
        }
        let sizes: Vec<Bytes> = ends.iter().map(|(_, size)| size.0).collect();
        let [min, max] = sizes[..] else { return no_ends(path, sink) };
        if min > max {
            return no_ends(path, sink);
        }
        let ends = [min, max].map(|size| amount(Size(size), &path.key("uniform"), sink));
        let [Some(min), Some(max)] = ends else { return None };
        return Some(SizeDistribution::Uniform { min, max });
    }
    if let Some(pareto) = &table.pareto {
        return read_table(pareto, &path.key("pareto"), sink).map(SizeDistribution::from);
    }
    read_table(table.log_normal.as_ref()?, &path.key("log_normal"), sink).map(SizeDistribution::from)
}

fn no_ends(path: &FieldPath, sink: &mut Diagnostics<'_>) -> Option<SizeDistribution> {
    let remedy = "write the least and the largest size, such as [\"1 kB\", \"100 kB\"]";
    sink.report(&path.key("uniform"), "must be two sizes in rising order", remedy);
    None
}
