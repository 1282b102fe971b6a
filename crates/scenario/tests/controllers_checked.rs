//! Every controller of the catalogue has a row in `docs/reference/controllers-checked.md`, and the runs named there exist.

use std::fs;
use std::path::{Path, PathBuf};

use ackclock_cc::controllers;
use ackclock_sim::RateControl;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The parts of a text between backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The rows of the page: a controller, and the file and name of each run.
fn rows(page: &str) -> Vec<(&str, Vec<(&str, &str)>)> {
    let cells = page.lines().filter(|line| line.starts_with("| `")).map(|line| line.split('|').collect::<Vec<_>>());
    cells
        .map(|cells| {
            let mut file = "";
            let mut runs = Vec::new();
            for name in quoted(cells[cells.len() - 2]) {
                if name.contains('/') { file = name } else { runs.push((file, name)) }
            }
            (quoted(cells[1])[0], runs)
        })
        .collect()
}

/// The mistake in the name of a run, which must be a test of a packet-level suite that is not skipped and knows the
/// controller.
fn complaint(controller: &str, file: &str, run: &str) -> Option<String> {
    if !["crates/scenario/tests/", "crates/sim/tests/", "crates/env/tests/"]
        .iter()
        .any(|folder| file.starts_with(folder))
    {
        return Some(format!("{file} is not a suite of packet-level runs"));
    }
    let Ok(text) = fs::read_to_string(root().join(file)) else { return Some(format!("{file} does not exist")) };
    if !text.contains(&format!("#[test]\nfn {run}() {{")) {
        return Some(format!("{file} has no test {run}, or skips it"));
    }
    // `pcc_vivace` is Vivace in the code, `ledbat_plus_plus` LedbatPlusPlus
    let last = controller.rsplit('_').next().unwrap_or(controller);
    (!text.to_lowercase().contains(last)).then(|| format!("{file} does not mention {controller}"))
}

/// Every controller except those from outside, and those of media.
fn names() -> impl Iterator<Item = &'static str> {
    let media = RateControl::kinds().into_iter().map(|(name, _)| name);
    controllers().names().iter().copied().chain(["policy"]).chain(media)
}

fn complaints(page: &str) -> Vec<String> {
    let rows = rows(page);
    let mut found = Vec::new();
    for name in names() {
        match rows.iter().find(|(row, _)| *row == name) {
            None => found.push(format!("{name} has no row")),
            Some((_, runs)) if runs.is_empty() => found.push(format!("{name} names no run")),
            Some(_) => {}
        }
    }
    for (name, runs) in &rows {
        if !names().any(|known| known == *name) {
            found.push(format!("{name} is not a controller"));
        }
        found.extend(runs.iter().filter_map(|(file, run)| complaint(name, file, run)));
    }
    found
}

fn page() -> String {
    fs::read_to_string(root().join("docs/reference/controllers-checked.md")).expect("the page is there")
}

#[test]
fn every_controller_is_held_to_its_source_by_a_run_that_exists() {
    let found = complaints(&page());
    assert!(found.is_empty(), "docs/reference/controllers-checked.md: {}", found.join("; "));
}

#[test]
fn a_row_or_a_run_that_is_missing_is_found() {
    let page = page();
    let without = page.lines().filter(|line| !line.starts_with("| `copa`")).collect::<Vec<_>>().join("\n");
    assert_eq!(complaints(&without), ["copa has no row"]);
    let wrong = page.replace("tests/siad.rs`: `congestion_comes_", "tests/siad.rs`: `congestion_never_comes_");
    assert!(complaints(&wrong)[0].starts_with("crates/sim/tests/siad.rs has no test congestion_never_comes_"));
}
