//! Checks of size distributions.

use ackclock_sim::{DATA_MINING, SizeDistribution, WEB_SEARCH};
use ackclock_units::Bytes;

use super::Checker;
use super::attached::{Wrong, read_sizes};
use crate::file::{Size, SizeTable, Sizes, TextOr, Workload};
use crate::tree::FieldPath;

impl Checker<'_, '_> {
    pub(crate) fn accept<T>(&mut self, read: Result<T, Vec<Wrong>>, path: &FieldPath) -> Option<T> {
        let mut report = |wrong: Vec<Wrong>| wrong.into_iter().for_each(|one| self.report(path, one.what, one.remedy));
        read.map_err(&mut report).ok()
    }

    /// A distribution of sizes; `example` is the remedy if it is missing.
    pub(crate) fn sizes(&mut self, sizes: Option<&Sizes>, path: &FieldPath, example: &str) -> Option<SizeDistribution> {
        match sizes {
            None => {
                self.missing(path, example);
                None
            }
            Some(TextOr::Text(size)) => self.size(*size, path).map(SizeDistribution::Constant),
            Some(TextOr::Table(table)) => self.size_table(table, path),
        }
    }

    /// A size from 1 byte to 1 PiB.
    fn size(&mut self, size: Size, path: &FieldPath) -> Option<Bytes> {
        if (1..=1 << 50).contains(&size.0.0) {
            return Some(size.0);
        }
        self.report(path, "must be 1 byte to 1 PiB", "write an amount of data, such as \"1 MB\"");
        None
    }

    fn size_table(&mut self, table: &SizeTable, path: &FieldPath) -> Option<SizeDistribution> {
        let said = [
            table.cdf.is_some(),
            table.file.is_some(),
            table.uniform.is_some(),
            table.exponential.is_some(),
            table.pareto.is_some(),
            table.log_normal.is_some(),
        ];
        self.refuse_hash(path, table.file.as_ref(), table.sha256.as_ref());
        let (what, remedy) = (
            "must be exactly one distribution of sizes",
            "write exactly one of cdf, file, uniform, exponential, pareto, log_normal",
        );
        match said.iter().filter(|said| **said).count() {
            0 => {
                self.report_lack(path, what, remedy);
                return None;
            }
            1 => {}
            _ => {
                self.report(path, what, remedy);
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
            let text = self.attachments.text(name)?;
            return self.accept(read_sizes(&text), &path.key("file"));
        }
        if let Some(mean) = table.exponential {
            return self.size(mean, &path.key("exponential")).map(|mean| SizeDistribution::Exponential { mean });
        }
        if let Some(ends) = &table.uniform {
            if ends.0.contains(&None) {
                return None; // one that could not be read
            }
            let sizes: Vec<Bytes> = ends.iter().map(|(_, size)| size.0).collect();
            let [min, max] = sizes[..] else { return self.no_ends(path) };
            if min > max {
                return self.no_ends(path);
            }
            let ends = [min, max].map(|size| self.size(Size(size), &path.key("uniform")));
            let [Some(min), Some(max)] = ends else { return None };
            return Some(SizeDistribution::Uniform { min, max });
        }
        if let Some(pareto) = &table.pareto {
            return self.own(pareto, &path.key("pareto")).map(SizeDistribution::from);
        }
        self.own(table.log_normal.as_ref()?, &path.key("log_normal")).map(SizeDistribution::from)
    }

    fn no_ends(&mut self, path: &FieldPath) -> Option<SizeDistribution> {
        let remedy = "write the least and the largest size, such as [\"1 kB\", \"100 kB\"]";
        self.report(&path.key("uniform"), "must be two sizes in rising order", remedy);
        None
    }
}
