//! Applications of connections.

use ackclock_sim::{AppConfig, Span};
use ackclock_units::{Bytes, SimDuration};

use super::Checker;
use crate::file::{App, Duration, FilesApp, Size, Spacing};
use crate::tree::FieldPath;

/// Of all flows together.
const MAX_FILES: u64 = 10_000_000;

impl Checker<'_, '_> {
    pub(crate) fn app(&mut self, app: &App, path: &FieldPath) -> AppConfig {
        match app {
            // The rates of datagrams are refused where there is a connection.
            App::Bulk(_) | App::Cbr(_) | App::Poisson(_) => AppConfig::Bulk,
            App::File(file) => {
                let size = self.file_size(file.size, &path.key("size"));
                AppConfig::Files { sizes: vec![size], gap: SimDuration::ZERO }
            }
            App::Files(files) => self.files(files, path),
            App::RequestResponse(table) => self.request_response(table, path),
            App::Video(table) => self.video(table, path),
            App::OnOff(table) => {
                let mut period = |spacing: &Option<Spacing>, field: &str| {
                    if let Some(spacing) = spacing {
                        self.span(spacing, &path.key(field))
                    } else {
                        self.missing(&path.key(field), &format!("{field} = \"1 s\""));
                        Span::Constant(SimDuration::from_secs(1))
                    }
                };
                let (on, off) = (period(&table.on, "on"), period(&table.off, "off"));
                for (field, span) in [("on", on), ("off", off)] {
                    if matches!(span, Span::Constant(SimDuration::ZERO) | Span::Exponential(SimDuration::ZERO)) {
                        self.report(&path.key(field), "must be more than zero", "use a longer time, or app = \"bulk\"");
                    }
                }
                if let Some(rate) = table.rate
                    && rate.0.0 == 0
                {
                    self.report(
                        &path.key("rate"),
                        "must be at least 1 bit/s",
                        "use a larger rate, or remove it: the application then writes all it can",
                    );
                }
                AppConfig::OnOff { on, off, rate: table.rate.map(|rate| rate.0) }
            }
        }
    }

    fn files(&mut self, files: &FilesApp, path: &FieldPath) -> AppConfig {
        let wanted = files.sizes.as_ref().map_or(files.count.unwrap_or(0), |sizes| sizes.0.len() as u64);
        self.files = self.files.saturating_add(wanted);
        if self.files > MAX_FILES {
            let field = if files.sizes.is_some() { "sizes" } else { "count" };
            let remedy = format!("let all flows together send at most {MAX_FILES} files");
            self.report(&path.key(field), "must let all files fit in memory", remedy);
            return AppConfig::Bulk;
        }
        let gap = files.gap.unwrap_or(Duration(SimDuration::ZERO)).0;
        let sizes = match (&files.sizes, files.size, files.count) {
            (Some(sizes), None, None) => {
                let sizes_path = path.key("sizes");
                if sizes.0.is_empty() {
                    self.report(&sizes_path, "must hold at least one size", "give at least one size");
                }
                sizes.iter().map(|(index, size)| self.file_size(Some(*size), &sizes_path.index(index))).collect()
            }
            (None, size, Some(count)) if count > 0 => {
                vec![self.file_size(size, &path.key("size")); count as usize]
            }
            (None, _, Some(_)) => {
                self.report(&path.key("count"), "must be at least 1", "write how many files are sent");
                Vec::new()
            }
            (None, Some(_), None) => {
                self.missing(&path.key("count"), "count = 10");
                Vec::new()
            }
            (None, None, None) => {
                self.missing(&path.key("sizes"), "sizes = [\"1 MB\", \"10 MB\"]");
                Vec::new()
            }
            (Some(_), _, _) => {
                self.report(&path.key("sizes"), "must not stand beside size or count", "keep sizes, or size and count");
                Vec::new()
            }
        };
        AppConfig::Files { sizes, gap }
    }

    fn file_size(&mut self, size: Option<Size>, path: &FieldPath) -> Bytes {
        match size {
            None => self.missing(path, "size = \"50 MB\""),
            Some(Size(Bytes(0))) => {
                self.report(path, "must be at least 1 byte", "write how much is sent, such as \"1 MB\"");
            }
            Some(Size(Bytes(size))) if size > 1 << 50 => {
                self.report(path, "must be at most 1 PiB", "use less, or app = \"bulk\" for a flow without end");
            }
            Some(size) => return size.0,
        }
        Bytes(1)
    }
}
