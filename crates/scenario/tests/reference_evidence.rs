//! The laws of its source that each controller and queue is held to, as the tests say that hold it.
//!
//! A test's comment says "Evidence for the controller `NAME`: LAW." (or queue, or media controller). The tables of docs between
//! `<!-- evidence: controllers -->` (or `queues`, `media`) and `<!-- end of evidence -->` are made of these, by the command that writes
//! the rest of the reference.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use ackclock_cc::controllers;
use ackclock_net::queue::queues;
use ackclock_sim::RateControl;

/// Suites of packet-level runs.
const SUITES: [&str; 3] = ["crates/env/tests", "crates/scenario/tests", "crates/sim/tests"];
const PAGES: [&str; 1] = ["docs/reference/laws.md"];
const BEGIN: &str = "<!-- evidence: ";
const END: &str = "<!-- end of evidence -->";

/// A law that a test holds a part to.
#[derive(Debug, PartialEq)]
struct Evidence {
    /// "controller", "media controller" or "queue".
    kind: String,
    name: String,
    /// Empty where another test of the part says it.
    law: String,
    file: String,
    test: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Evidence in the comments of a file's tests; one that is skipped is none.
fn evidence_in(file: &str, text: &str) -> Vec<Evidence> {
    let (mut comment, mut found, mut is_test) = (String::new(), Vec::new(), false);
    for line in text.lines() {
        if let Some(words) = line.strip_prefix("///") {
            comment.push_str(words);
        } else if line == "#[test]" {
            is_test = true;
        } else {
            let name = line.strip_prefix("fn ").and_then(|rest| rest.strip_suffix("() {")).filter(|_| is_test);
            found.extend(name.into_iter().flat_map(|name| said(&comment, file, name)));
            (comment, is_test) = (String::new(), false);
        }
    }
    found
}

fn said(comment: &str, file: &str, test: &str) -> Vec<Evidence> {
    let piece = |piece: &str| {
        let mut parts = piece.splitn(3, '`');
        let (kind, name, law) = (parts.next()?.trim(), parts.next()?, parts.next()?);
        let law = law.trim_start_matches(':').trim().trim_end_matches('.');
        let [kind, name, law, file, test] = [kind, name, law, file, test].map(str::to_owned);
        Some(Evidence { kind, name, law, file, test })
    };
    comment.split("Evidence for the ").skip(1).map(|text| piece(text).expect("KIND `NAME`: LAW")).collect()
}

/// Evidence in all suites.
fn evidence() -> Vec<Evidence> {
    let mut found = Vec::new();
    for suite in SUITES {
        let entries = fs::read_dir(root().join(suite)).expect("the suite is there");
        let names: BTreeSet<String> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        for name in names.iter().filter(|name| Path::new(name).extension().is_some_and(|end| end == "rs")) {
            let (file, text) =
                (format!("{suite}/{name}"), fs::read_to_string(root().join(suite).join(name)).expect("a text"));
            let here = evidence_in(&file, &text);
            assert_eq!(stray(&file, &text, &here), Vec::<String>::new());
            found.extend(here);
        }
    }
    found
}

/// The kind of part of a table, and the names that must have evidence: all but the parts that someone else brings.
fn listed(table: &str) -> (&'static str, Vec<&'static str>) {
    match table {
        "controllers" => ("controller", controllers().names().iter().copied().chain(["policy"]).collect()),
        "media" => ("media controller", RateControl::kinds().into_iter().map(|(name, _)| name).collect()),
        "queues" => ("queue", queues().names().to_vec()),
        _ => panic!("no table of evidence is called {table}"),
    }
}

fn table(name: &str, all: &[Evidence]) -> String {
    let (kind, names) = listed(name);
    let mut text = format!("| {kind} | law of its source | runs |\n|---|---|---|\n");
    for name in names {
        let of_it = || all.iter().filter(|each| each.kind == kind && each.name == name);
        let laws: Vec<&str> = of_it().map(|each| each.law.as_str()).filter(|law| !law.is_empty()).collect();
        let files: BTreeSet<&str> = of_it().map(|each| each.file.as_str()).collect();
        let runs = files.iter().map(|file| {
            let tests: Vec<String> =
                of_it().filter(|each| each.file == **file).map(|each| format!("`{}`", each.test)).collect();
            format!("`{file}`: {}", tests.join(", "))
        });
        let (laws, runs) = (laws.join("; "), runs.collect::<Vec<_>>().join("; "));
        text.extend(["| `", name, "` | ", &laws, " | ", &runs, " |\n"]);
    }
    text
}

/// A page with its tables of evidence as they should be.
fn renewed(page: &str, all: &[Evidence]) -> String {
    let mut pieces = page.split(BEGIN);
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once(" -->").expect("a marker ends");
        let (_, after) = rest.split_once(END).expect("a table ends");
        text.extend([BEGIN, name, " -->\n", &table(name, all), END, after]);
    }
    text
}

/// Evidence in a file's text that no test has, and parts that the rest of the file does not name.
fn stray(file: &str, text: &str, found: &[Evidence]) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let count = lines.iter().filter(|line| line.starts_with("///") && line.contains("Evidence for the ")).count();
    let code: String = lines.into_iter().filter(|line| !line.starts_with("//")).collect::<String>().to_lowercase();
    // `pcc_vivace` is Vivace in the code, `ledbat_plus_plus` LedbatPlusPlus.
    let is_named = |name: &str| code.contains(name.rsplit('_').next().unwrap_or(name));
    let unnamed = found.iter().filter(|each| !is_named(&each.name));
    let mut stray: Vec<String> =
        unnamed.map(|each| format!("{file}: {} does not name {}", each.test, each.name)).collect();
    if count > found.len() {
        stray.push(format!("{file}: evidence must stand above a test, and {} does not", count - found.len()));
    }
    stray
}

/// Parts without a law, and evidence for parts that there are not.
fn complaints(all: &[Evidence]) -> Vec<String> {
    let known: Vec<(&str, &str)> = ["controllers", "media", "queues"]
        .into_iter()
        .flat_map(|table| {
            let (kind, names) = listed(table);
            names.into_iter().map(move |name| (kind, name))
        })
        .collect();
    let holds = |(kind, name): &(&str, &str)| {
        all.iter().any(|each| each.kind == *kind && each.name == *name && !each.law.is_empty())
    };
    let without = known.iter().filter(|part| !holds(part));
    let unknown = all.iter().filter(|each| !known.contains(&(each.kind.as_str(), each.name.as_str())));
    let write =
        |kind: &str, name: &str| format!("write \"Evidence for the {kind} `{name}`: LAW.\" above a test that holds it");
    without
        .map(|(kind, name)| format!("{kind} {name} has no evidence; {}", write(kind, name)))
        .chain(unknown.map(|each| format!("{}: {}: unknown {} {}", each.file, each.test, each.kind, each.name)))
        .collect()
}

#[test]
fn every_controller_and_queue_is_held_to_its_source_by_a_run() {
    let all = evidence();
    assert_eq!(complaints(&all), Vec::<String>::new());
    for page in PAGES {
        let path = root().join(page);
        let text = fs::read_to_string(&path).expect("the page is there");
        let wanted = renewed(&text, &all);
        if env::var_os("ACKCLOCK_UPDATE_DOCS").is_some() {
            fs::write(&path, wanted).expect("the page can be written");
        } else {
            let how = "ACKCLOCK_UPDATE_DOCS=1 cargo test -p ackclock-scenario --test suite reference";
            assert_eq!(text, wanted, "{page} is stale; write it anew with\n  {how}");
        }
    }
}

#[test]
fn evidence_that_is_missing_or_of_nothing_is_found() {
    let text = "/// Full links.\n/// Evidence for the queue `red`: its\n/// own law.\n/// Evidence for the queue `no`.\n#[test]\nfn held() {\n\
                /// Evidence for the queue `pie`: a law.\n#[test]\n#[ignore]\nfn skipped() {\n";
    let found = evidence_in("a.rs", text);
    let said: Vec<[&str; 4]> = found.iter().map(|e| [&e.kind, &e.name, &e.law, &e.test].map(String::as_str)).collect();
    assert_eq!(said, [["queue", "red", "its own law", "held"], ["queue", "no", "", "held"]]);
    let complaints = complaints(&found);
    assert!(complaints.contains(&"a.rs: held: unknown queue no".to_owned()), "{complaints:?}");
    assert!(complaints.iter().any(|each| each.starts_with("queue pie has no evidence; write")), "{complaints:?}");
    assert!(!complaints.iter().any(|each| each.starts_with("queue red ")), "{complaints:?}");
    let stray = stray("a.rs", text, &found);
    assert!(stray.contains(&"a.rs: held does not name red".to_owned()), "{stray:?}");
    assert!(stray.contains(&"a.rs: evidence must stand above a test, and 1 does not".to_owned()), "{stray:?}");
}
