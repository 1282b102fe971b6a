//! Tables in docs/reference agree with the declarations from which they come.
//!
//! A table stands between `<!-- declared controllers: NAME NAME -->` (or `queues`,
//! `buffer_policies`, `links`, `traffic`) and `<!-- end of declared -->`; parts of the same fields share one. `declared tcp: switches` are
//! TCP's, and `declared tcp: words` what their words mean. `ACKCLOCK_UPDATE_DOCS=1 cargo test -p ackclock-scenario --test suite reference` writes them anew.

use std::path::{Path, PathBuf};
use std::{env, fs};

use ackclock_cc::controllers;
use ackclock_declare::{About, Json, Part, Parts, entry_table, parameter_table, summary_table, word_table};
use ackclock_net::queue::queues;
use ackclock_relay::buffer_policies;
use ackclock_tcp::TcpConfig;

const BEGIN: &str = "<!-- declared ";
const END: &str = "<!-- end of declared -->";

/// The pages on the scenario format.
fn pages() -> impl Iterator<Item = PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    ["scenario", "queues", "traffic", "appliances", "controllers", "tcp"]
        .into_iter()
        .map(move |name| folder.join(name).with_extension("md"))
}

/// The table of the parts with these names.
fn table<C, X>(all: &Parts<C, X>, names: &[&str]) -> String {
    let parts: Vec<_> = names.iter().map(|name| all.find(name).unwrap_or_else(|| panic!("no {name}"))).collect();
    let table = parameter_table(names, parts[0]);
    assert!(parts.iter().all(|part| parameter_table(names, part) == table), "{names:?} have fields of their own");
    table
}

/// The tables of the entries with these names, in order.
fn entries(all: &Json, names: &[&str]) -> String {
    let all = all.as_array().expect("a list");
    let entry = |name: &&str| all.iter().find(|entry| entry["name"] == *name).unwrap_or_else(|| panic!("no {name}"));
    names.iter().map(entry).map(entry_table).collect::<Vec<_>>().join("\n")
}

/// The table of all parts of this kind, with their summaries.
fn summaries(kind: &str) -> String {
    match kind {
        "buffer_policies" => summary_table("buffer policy", buffer_policies()),
        _ => panic!("nothing is declared as {kind}"),
    }
}

/// The names of parts with fields.
fn with_fields<C, X>(all: &Parts<C, X>) -> impl Iterator<Item = &'static str> {
    all.iter().filter(|part| !part.fields.is_empty()).map(|part| part.about.name)
}

/// The table of TCP's switches, or of their words.
fn tcp_table(what: &str) -> String {
    let about = About { name: "tcp", aliases: &[], summary: "TCP", source: "", departures: "" };
    let part = Part::new(about, (), &[], |_| (), |config: TcpConfig| config);
    match what {
        "switches" => parameter_table(&["tcp"], &part),
        "words" => word_table("tcp", &part),
        _ => panic!("no table of {what}"),
    }
}

/// The page with every declared table up to date, and the names of its tables.
fn renewed(page: &str) -> (String, Vec<String>) {
    let mut pieces = page.split(BEGIN);
    let mut text = pieces.next().unwrap_or_default().to_owned();
    let mut found = Vec::new();
    for piece in pieces {
        let (head, rest) = piece.split_once(" -->").expect("a marker ends");
        let (_, after) = rest.split_once(END).expect("a table ends");
        let (kind, names) = head.split_once(": ").expect("a kind and names");
        let list: Vec<&str> = names.split(' ').collect();
        let table = match kind {
            "controllers" => table(controllers(), &list),
            "queues" => table(queues(), &list),
            "buffer_policies" => table(buffer_policies(), &list),
            "links" => entries(&ackclock_scenario::links(), &list),
            "traffic" => entries(&ackclock_scenario::traffic(), &list),
            "summaries" => summaries(names),
            "tcp" => tcp_table(names),
            _ => panic!("nothing is declared as {kind}"),
        };
        text.extend([BEGIN, head, " -->\n", &table, END, after]);
        if !["summaries", "traffic"].contains(&kind) {
            found.extend(list.into_iter().map(str::to_owned));
        }
    }
    (text, found)
}

/// The page with a heading and a place at its end for the table of each part that has none.
fn completed(page: &Path, text: &str) -> String {
    let kind = page.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let names = match kind {
        "controllers" => controllers().names(),
        "queues" => queues().names(),
        _ => &[],
    };
    let (_, found) = renewed(text);
    let without = names.iter().filter(|name| !found.iter().any(|found| found == *name));
    let place = |name| format!("\n## {name}\n\n{BEGIN}{kind}: {name} -->\n{END}\n");
    text.to_owned() + &without.map(place).collect::<String>()
}

#[test]
fn the_tables_are_what_is_declared() {
    let updates = env::var_os("ACKCLOCK_UPDATE_DOCS").is_some();
    let (mut stale, mut found) = (Vec::new(), Vec::new());
    for page in pages() {
        let text = fs::read_to_string(&page).expect("the page is there");
        let (wanted, named) = if updates { renewed(&completed(&page, &text)) } else { renewed(&text) };
        found.extend(named);
        if text == wanted {
            continue;
        }
        if updates {
            fs::write(&page, wanted).expect("the page can be written");
        } else {
            let line = wanted.lines().zip(text.lines()).find(|(wanted, found)| wanted != found);
            stale.push(format!("{}: {line:?}", page.display()));
        }
    }
    let parts = controllers().names().iter().chain(queues().names()).chain(&["switches", "words"]).copied();
    let mut names: Vec<String> = parts.chain(with_fields(buffer_policies())).map(str::to_owned).collect();
    names.extend(
        ackclock_scenario::links()
            .as_array()
            .expect("a list")
            .iter()
            .map(|entry| entry["name"].as_str().expect("a name").to_owned()),
    );
    found.sort();
    names.sort();
    let without: Vec<&String> = names.iter().filter(|name| !found.contains(name)).collect();
    let how = "ACKCLOCK_UPDATE_DOCS=1 cargo test -p ackclock-scenario --test suite reference";
    let mark =
        "a controller or queue gets one by the command below; others need the line '<!-- declared links: NAME -->'";
    assert!(without.is_empty(), "docs/reference has no table of {without:?}; {mark}\n  {how}");
    assert_eq!(found, names, "each is declared, and has one table");
    assert!(stale.is_empty(), "pages are stale; write them anew with\n  {how}\n{stale:#?}");
}
