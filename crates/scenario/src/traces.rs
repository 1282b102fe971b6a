//! Reads traces that a scenario names once, and keeps them in the scenario, which is then complete without the files.

use std::path::Path;
use std::sync::Arc;

use ackclock_net::{ChangingRate, Trace};
use ackclock_units::Bytes;
use serde_json::Value;

use crate::attachments::BYTE_ORDER_MARK;
use crate::diagnostic::Diagnostics;
use crate::file::{ExplicitLink, Fields, HalfLink, LinkTable, List, Rate, ScenarioFile, TextOr, Topology};
use crate::files::{FileSource, Files};
use crate::reading::MOST_OF_TABLE;
use crate::tree::FieldPath;

type RateField = Option<TextOr<Rate, Fields<ChangingRate>>>;

/// Puts the content of each trace file beside its name; paths are relative to the scenario's own file.
pub(crate) fn embed(file: &mut ScenarioFile, scenario: &str, files: &mut Files, diagnostics: &Diagnostics<'_>) {
    let folder = Path::new(scenario).parent().unwrap_or_else(|| Path::new(""));
    for (path, rate) in rates(file) {
        let Some(TextOr::Table(table)) = rate else { continue };
        let (Some(name), false) = (table.0.get("trace").and_then(Value::as_str), table.says("instants")) else {
            continue;
        };
        let place = folder.join(name);
        match files.trace(&place, read) {
            Ok(times) => {
                table.0.insert("instants".to_owned(), times.to_string().into());
            }
            Err(wrong) => {
                let path = path.key("rate").key("trace");
                for (what, remedy) in wrong {
                    diagnostics.report(&path, what, remedy);
                }
            }
        }
    }
}

/// The times of a trace, or its mistakes, each with its remedy.
fn read(place: &Path, source: &FileSource) -> Result<Arc<str>, Vec<(String, &'static str)>> {
    let unreadable = |error: std::io::Error| {
        vec![(
            format!("must be a file that can be read: {}: {error}", place.display()),
            "give the path from the scenario's own folder",
        )]
    };
    let text = without_comments(&source.read_text(place, MOST_OF_TABLE).map_err(unreadable)?);
    match Trace::parse(&text, Bytes(1), true) {
        Ok(_) => Ok(text.split_whitespace().collect::<Vec<_>>().join(" ").into()),
        Err(_) if text.lines().find(|line| !line.trim().is_empty()).is_some_and(is_time_and_rate) => {
            let what = format!("must be a trace of times, not of times and rates: {}", place.display());
            let remedy =
                "write a schedule of them: rate = { schedule = [{ at = \"0 s\", rate = \"3.2 Mbit/s\" }, ...] }";
            Err(vec![(what, remedy)])
        }
        Err(errors) => {
            let wrong = |error| format!("must be a trace of times: {}: {error}", place.display());
            Err(errors.into_iter().map(|error| (wrong(error), "write one time in whole ms a line, in order")).collect())
        }
    }
}

/// The text with an empty line for each comment, so that lines keep their numbers.
fn without_comments(text: &str) -> String {
    let text = text.trim_start_matches(BYTE_ORDER_MARK);
    text.lines().flat_map(|line| [if line.trim_start().starts_with('#') { "" } else { line }, "\n"]).collect()
}

/// True for two numbers: recordings that have the rate of a link at each time consist of such lines.
fn is_time_and_rate(line: &str) -> bool {
    let columns: Vec<&str> =
        line.split(|c: char| c == ',' || c.is_whitespace()).filter(|one| !one.is_empty()).collect();
    columns.len() == 2 && columns.iter().all(|column| column.parse::<f64>().is_ok())
}

/// Every place in a scenario where a link's rate can stand, with the path of the link.
fn rates(file: &mut ScenarioFile) -> Vec<(FieldPath, &mut RateField)> {
    let path = FieldPath::of("topology");
    let mut found = Vec::new();
    match &mut file.topology {
        None => {}
        Some(Topology::Dumbbell(table)) => {
            of_link(table.access.as_mut(), &path.key("access"), &mut found);
            of_link(table.bottleneck.as_mut(), &path.key("bottleneck"), &mut found);
        }
        Some(Topology::ParkingLot(table)) => {
            of_link(table.access.as_mut(), &path.key("access"), &mut found);
            of_link(table.bottleneck.as_mut(), &path.key("bottleneck"), &mut found);
        }
        Some(Topology::Star(table)) => of_link(table.link.as_mut(), &path.key("link"), &mut found),
        Some(Topology::Chain(table)) => {
            of_link(table.link.as_mut(), &path.key("link"), &mut found);
            for (index, link) in items(&mut table.links) {
                of_link(Some(link), &path.key("links").index(index), &mut found);
            }
        }
        Some(Topology::Explicit(table)) => {
            for (index, link) in items(&mut table.link) {
                let ExplicitLink { rate, reverse, .. } = link;
                of_parts(rate, reverse.as_mut(), &path.key("link").index(index), &mut found);
            }
        }
    }
    found
}

fn items<T>(list: &mut Option<List<T>>) -> impl Iterator<Item = (usize, &mut T)> {
    let items = list.iter_mut().flat_map(|list| list.0.iter_mut().enumerate());
    items.filter_map(|(index, item)| Some((index, item.as_mut()?)))
}

fn of_link<'a>(link: Option<&'a mut LinkTable>, path: &FieldPath, found: &mut Vec<(FieldPath, &'a mut RateField)>) {
    if let Some(link) = link {
        of_parts(&mut link.rate, link.reverse.as_mut(), path, found);
    }
}

fn of_parts<'a>(
    rate: &'a mut RateField,
    reverse: Option<&'a mut HalfLink>,
    path: &FieldPath,
    found: &mut Vec<(FieldPath, &'a mut RateField)>,
) {
    found.push((path.clone(), rate));
    if let Some(reverse) = reverse {
        found.push((path.key("reverse"), &mut reverse.rate));
    }
}
