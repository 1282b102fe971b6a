//! Checks of the applications on connections.

use ackclock_declare::Context;
use ackclock_sim::{AppConfig, FilesApp, SizeDistribution, Span, VideoApp};
use ackclock_units::{Bytes, SimDuration};

use super::Checker;
use super::declarations::{read_part, read_table};
use super::flows::span;
use super::sizes::sizes;
use crate::file::{App, Fields, RequestResponseApp};
use crate::tree::FieldPath;

/// The most files of all flows together.
const MAX_FILES: u64 = 10_000_000;

const DEFAULT_REQUEST: Bytes = Bytes(200);

impl Checker<'_, '_> {
    pub(crate) fn app(&mut self, app: &App, path: &FieldPath) -> AppConfig {
        let app = match app {
            // The rates of datagrams are refused where there is a connection.
            App::Bulk(_) | App::Cbr(_) | App::Poisson(_) | App::Media(_) => None,
            App::Own(source) => {
                Some(AppConfig::External(read_part(source, &Context::default(), path, self.diagnostics)))
            }
            App::File(table) => read_table(table, path, self.diagnostics).map(|file| file.app()),
            App::Files(table) => self.files(table, path),
            App::RequestResponse(table) => self.request_response(table, path),
            App::Video(table) => {
                read_table(table, path, self.diagnostics).map(|video: VideoApp| AppConfig::Video(video.client()))
            }
            App::OnOff(table) => read_table(table, path, self.diagnostics).map(|periods| periods.app()),
        };
        app.unwrap_or(AppConfig::Bulk)
    }

    fn files(&mut self, table: &Fields<FilesApp>, path: &FieldPath) -> Option<AppConfig> {
        let files = read_table(table, path, self.diagnostics)?;
        self.files = self.files.saturating_add(files.files());
        if self.files > MAX_FILES {
            let field = if files.sizes.is_some() { "sizes" } else { "count" };
            let remedy = format!("let all flows together send at most {MAX_FILES} files");
            self.report(&path.key(field), "must let all files fit in memory", remedy);
            return None;
        }
        Some(files.app())
    }

    fn request_response(&mut self, table: &RequestResponseApp, path: &FieldPath) -> Option<AppConfig> {
        let request = match &table.request {
            None => Some(SizeDistribution::Constant(DEFAULT_REQUEST)),
            Some(_) => {
                sizes(table.request.as_ref(), &path.key("request"), "", self.sources.attachments, self.diagnostics)
            }
        };
        let response = sizes(
            table.response.as_ref(),
            &path.key("response"),
            "response = \"100 kB\"",
            self.sources.attachments,
            self.diagnostics,
        );
        let think = match &table.think {
            None => Span::Constant(SimDuration::ZERO),
            Some(think) => span(think, &path.key("think"), self.diagnostics),
        };
        if table.count == Some(0) {
            self.report(&path.key("count"), "must be at least 1", "write how many requests, or remove it");
        }
        let count = table.count.unwrap_or(u64::MAX);
        Some(AppConfig::RequestResponse { request: request?, response: response?, think, count })
    }
}
