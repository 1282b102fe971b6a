//! Every queue of the catalogue has a row in the table of evidence, and every row an existing test.

use std::collections::BTreeSet;
use std::path::Path;

/// The rows of the table under "Queues": the first and the last cell, without quotes.
fn rows(page: &str) -> Vec<(String, String)> {
    let section = page.split("\n## Queues\n").nth(1).expect("a section on queues");
    let section = section.split("\n## ").next().expect("at least one part");
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let quoted = |cell: &String| Some(cell.strip_prefix('`')?.strip_suffix('`')?.to_owned());
    let row = |line: &str| {
        let cells = cells(line);
        Some((quoted(cells.first()?)?, quoted(cells.last()?)?))
    };
    section.lines().filter(|line| line.starts_with("| `")).map(|line| row(line).expect(line)).collect()
}

fn is_a_test(root: &Path, place: &str) -> bool {
    let (file, name) = place.split_once("::").expect("file::test");
    let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
    text.contains(&format!("#[test]\nfn {name}() {{"))
}

#[test]
fn every_queue_has_evidence_and_all_evidence_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let rows = rows(&std::fs::read_to_string(root.join("docs/explanation/truth.md")).expect("the page is there"));
    let catalogue = ackclock_scenario::queues();
    let names = catalogue.as_array().expect("a list").iter().map(|entry| entry["name"].as_str().expect("a name"));
    let shown: BTreeSet<&str> = rows.iter().map(|(queue, _)| queue.as_str()).collect();
    assert_eq!(shown, names.collect::<BTreeSet<&str>>(), "a row for each queue, and for nothing else");
    for (queue, place) in &rows {
        assert!(is_a_test(&root, place), "{queue}: {place} is not a test");
    }
}

#[test]
fn a_test_that_is_not_there_is_missed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    assert!(is_a_test(&root, "crates/scenario/tests/queues.rs::a_token_bucket_decides_the_rate"));
    assert!(!is_a_test(&root, "crates/scenario/tests/queues.rs::a_token_bucket"));
    assert!(!is_a_test(&root, "crates/scenario/tests/queues.rs::dumbbell"));
    assert!(!is_a_test(&root, "crates/scenario/tests/no.rs::a_token_bucket_decides_the_rate"));
}
