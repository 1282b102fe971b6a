//! How sizes are distributed.

use ackclock_sim::{DATA_MINING, SizeDistribution, WEB_SEARCH};
use ackclock_units::{Bytes, math};

use super::Checker;
use super::attached::{Wrong, read_sizes};
use crate::file::{LogNormalTable, ParetoTable, Size, SizeTable, Sizes, TextOr, Workload};
use crate::tree::FieldPath;

impl Checker<'_, '_> {
    pub(crate) fn accept<T>(&mut self, read: Result<T, Wrong>, path: &FieldPath) -> Option<T> {
        read.map_err(|Wrong { what, remedy }| self.report(path, what, remedy)).ok()
    }

    /// How sizes are distributed; `example` is what to write if nothing is said.
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

    /// At least a byte, and no more than a PiB.
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
        if said.iter().filter(|said| **said).count() != 1 {
            let remedy = "write exactly one of cdf, file, uniform, exponential, pareto, log_normal";
            self.report(path, "must be exactly one distribution of sizes", remedy);
            return None;
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
            let sizes: Vec<Bytes> = ends.iter().map(|(_, size)| size.0).collect();
            let [min, max] = sizes[..] else { return self.no_ends(path) };
            return if min.0 >= 1 && min <= max {
                Some(SizeDistribution::Uniform { min, max })
            } else {
                self.no_ends(path)
            };
        }
        if let Some(pareto) = &table.pareto {
            return self.pareto(pareto, &path.key("pareto"));
        }
        self.log_normal(table.log_normal.as_ref()?, &path.key("log_normal"))
    }

    fn no_ends(&mut self, path: &FieldPath) -> Option<SizeDistribution> {
        let remedy = "write the least and the largest size, such as [\"1 kB\", \"100 kB\"]";
        self.report(&path.key("uniform"), "must be two sizes in rising order", remedy);
        None
    }

    fn pareto(&mut self, table: &ParetoTable, path: &FieldPath) -> Option<SizeDistribution> {
        let Some(shape) = table.shape else {
            self.missing(&path.key("shape"), "shape = 1.2");
            return None;
        };
        let least = if table.max.is_some() { 0.0 } else { 1.0 };
        if !(shape > least && shape <= 1e3) {
            let what = "must be a tail index with which sizes have a mean";
            self.report(&path.key("shape"), what, "use more than 1, or more than 0 with a max");
            return None;
        }
        let max = match table.max {
            Some(max) => Some(self.size(max, &path.key("max"))?.0 as f64),
            None => None,
        };
        let min = match (table.min, table.mean) {
            (Some(min), None) => self.size(min, &path.key("min"))?.0 as f64,
            // The mean of an unbounded Pareto variable is shape * min / (shape - 1).
            (None, Some(mean)) if max.is_none() => self.size(mean, &path.key("mean"))?.0 as f64 * (shape - 1.0) / shape,
            (None, Some(_)) => {
                self.report(&path.key("mean"), "must not stand beside a max", "give min and max");
                return None;
            }
            (Some(_), Some(_)) => {
                self.report(&path.key("mean"), "must not stand beside a min", "keep one of the two");
                return None;
            }
            (None, None) => {
                self.missing(&path.key("min"), "min = \"1 kB\"");
                return None;
            }
        };
        if max.is_some_and(|max| max <= min) {
            self.report(&path.key("max"), "must be more than min", "use a larger size");
            return None;
        }
        Some(SizeDistribution::Pareto { min, shape, max })
    }

    fn log_normal(&mut self, table: &LogNormalTable, path: &FieldPath) -> Option<SizeDistribution> {
        let sigma = self.sigma(table.sigma, &path.key("sigma"))?;
        let median = match (table.median, table.mean) {
            (Some(median), None) => self.size(median, &path.key("median"))?.0 as f64,
            (None, Some(mean)) => self.size(mean, &path.key("mean"))?.0 as f64 / math::exp(sigma * sigma / 2.0),
            (Some(_), Some(_)) => {
                self.report(&path.key("mean"), "must not stand beside a median", "keep one of the two");
                return None;
            }
            (None, None) => {
                self.missing(&path.key("median"), "median = \"10 kB\"");
                return None;
            }
        };
        Some(SizeDistribution::LogNormal { median, sigma })
    }

    pub(crate) fn sigma(&mut self, sigma: Option<f64>, path: &FieldPath) -> Option<f64> {
        match sigma {
            None => self.missing(path, "sigma = 1.0"),
            Some(sigma) if !(sigma > 0.0 && sigma <= 5.0) => {
                self.report(
                    path,
                    "must be more than 0 and at most 5",
                    "write the standard deviation of the logarithm, such as 1.0",
                );
            }
            Some(sigma) => return Some(sigma),
        }
        None
    }
}
