//! Checks of size distributions.

use ackclock_sim::{DATA_MINING, SizeDistribution, WEB_SEARCH};
use ackclock_units::Bytes;

use super::attached::{Wrong, read_sizes};
use super::declarations::read_table;
use super::location::Location;
use crate::attachments::Attachments;
use crate::file::{Size, SizeTable, Sizes, TextOr, Workload};

pub(crate) fn accept<T>(read: Result<T, Vec<Wrong>>, at: &Location<'_>) -> Option<T> {
    read.map_err(|wrong| wrong.into_iter().for_each(|one| at.report(one.what, one.remedy))).ok()
}

/// A distribution of sizes; `example` is the remedy if it is missing.
pub(crate) fn sizes(
    sizes: Option<&Sizes>,
    at: &Location<'_>,
    example: &str,
    attachments: &Attachments,
) -> Option<SizeDistribution> {
    match sizes {
        None => {
            at.missing(example);
            None
        }
        Some(TextOr::Text(size)) => amount(*size, at).map(SizeDistribution::Constant),
        Some(TextOr::Table(table)) => size_table(table, at, attachments),
    }
}

/// A size from 1 byte to 1 PiB.
fn amount(size: Size, at: &Location<'_>) -> Option<Bytes> {
    if (1..=1 << 50).contains(&size.0.0) {
        return Some(size.0);
    }
    at.report("must be 1 byte to 1 PiB", "write an amount of data, such as \"1 MB\"");
    None
}

fn size_table(table: &SizeTable, at: &Location<'_>, attachments: &Attachments) -> Option<SizeDistribution> {
    let said = [
        table.cdf.is_some(),
        table.file.is_some(),
        table.uniform.is_some(),
        table.exponential.is_some(),
        table.pareto.is_some(),
        table.log_normal.is_some(),
    ];
    at.refuse_hash(table.file.as_ref(), table.sha256.as_ref());
    let (what, remedy) = (
        "must be exactly one distribution of sizes",
        "write exactly one of cdf, file, uniform, exponential, pareto, log_normal",
    );
    match said.iter().filter(|said| **said).count() {
        0 => {
            at.report_lack(what, remedy);
            return None;
        }
        1 => {}
        _ => {
            at.report(what, remedy);
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
        return accept(read_sizes(&text), &at.key("file"));
    }
    if let Some(mean) = table.exponential {
        return amount(mean, &at.key("exponential")).map(|mean| SizeDistribution::Exponential { mean });
    }
    if let Some(ends) = &table.uniform {
        if ends.0.contains(&None) {
            return None; // one that could not be read
        }
        let sizes: Vec<Bytes> = ends.iter().map(|(_, size)| size.0).collect();
        let [min, max] = sizes[..] else { return no_ends(at) };
        if min > max {
            return no_ends(at);
        }
        let ends = [min, max].map(|size| amount(Size(size), &at.key("uniform")));
        let [Some(min), Some(max)] = ends else { return None };
        return Some(SizeDistribution::Uniform { min, max });
    }
    if let Some(pareto) = &table.pareto {
        return read_table(pareto, &at.key("pareto")).map(SizeDistribution::from);
    }
    read_table(table.log_normal.as_ref()?, &at.key("log_normal")).map(SizeDistribution::from)
}

fn no_ends(at: &Location<'_>) -> Option<SizeDistribution> {
    let remedy = "write the least and the largest size, such as [\"1 kB\", \"100 kB\"]";
    at.key("uniform").report("must be two sizes in rising order", remedy);
    None
}
