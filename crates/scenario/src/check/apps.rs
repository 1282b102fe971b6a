//! Checks of the applications on connections.

use ackclock_declare::Context;
use ackclock_sim::{AppConfig, FilesApp, SizeDistribution, Span, VideoApp};
use ackclock_units::{Bytes, SimDuration};

use super::declarations::{read_part, read_table};
use super::location::Location;
use super::plans::span;
use super::sizes::sizes;
use crate::attachments::Attachments;
use crate::file::{App, Fields, RequestResponseApp};

/// The most files of all flows together.
const MAX_FILES: u64 = 10_000_000;

const DEFAULT_REQUEST: Bytes = Bytes(200);

/// The application; `total` counts the files of all.
pub(crate) fn app(app: &App, at: &Location<'_>, total: &mut u64, attachments: &Attachments) -> AppConfig {
    let app = match app {
        // The rates of datagrams are refused where there is a connection.
        App::Bulk(_) | App::Cbr(_) | App::Poisson(_) | App::Media(_) => None,
        App::Own(source) => Some(AppConfig::External(read_part(source, &Context::default(), at))),
        App::File(table) => read_table(table, at).map(|file| file.app()),
        App::Files(table) => files(table, at, total),
        App::RequestResponse(table) => request_response(table, at, attachments),
        App::Video(table) => read_table(table, at).map(|video: VideoApp| AppConfig::Video(video.client())),
        App::OnOff(table) => read_table(table, at).map(|periods| periods.app()),
    };
    app.unwrap_or(AppConfig::Bulk)
}

fn files(table: &Fields<FilesApp>, at: &Location<'_>, total: &mut u64) -> Option<AppConfig> {
    let files = read_table(table, at)?;
    *total = total.saturating_add(files.files());
    if *total > MAX_FILES {
        let field = if files.sizes.is_some() { "sizes" } else { "count" };
        let remedy = format!("let all flows together send at most {MAX_FILES} files");
        at.key(field).report("must let all files fit in memory", remedy);
        return None;
    }
    Some(files.app())
}

fn request_response(table: &RequestResponseApp, at: &Location<'_>, attachments: &Attachments) -> Option<AppConfig> {
    let request = match &table.request {
        None => Some(SizeDistribution::Constant(DEFAULT_REQUEST)),
        Some(_) => sizes(table.request.as_ref(), &at.key("request"), "", attachments),
    };
    let response = sizes(table.response.as_ref(), &at.key("response"), "response = \"100 kB\"", attachments);
    let think = match &table.think {
        None => Span::Constant(SimDuration::ZERO),
        Some(think) => span(think, &at.key("think")),
    };
    if table.count == Some(0) {
        at.key("count").report("must be at least 1", "write the number of requests, or remove it");
    }
    let count = table.count.unwrap_or(u64::MAX);
    Some(AppConfig::RequestResponse { request: request?, response: response?, think, count })
}
