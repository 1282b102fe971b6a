//! docs/reference/proxy.md is written from the declaration of the configuration.

use ackclock_declare::{Entry, parameter_table};
use ackclock_proxy::config::file::{File, Limits, Listen, Log, Metrics, Rule, Side, Timeouts, Upstream};
use ackclock_proxy::config::reload;
use ackclock_proxy::end_reason::Ending;

/// Between two lines of the page that say so.
fn tables() -> String {
    fn table<K: Entry>() -> String {
        parameter_table(&[K::ABOUT.name], &K::part())
    }
    let all = [
        ("The file", table::<File>()),
        ("A listener", table::<Listen>()),
        ("A server", table::<Upstream>()),
        ("A side", table::<Side>()),
        ("A rule", table::<Rule>()),
        ("Limits", table::<Limits>()),
        ("Timeouts", table::<Timeouts>()),
        ("Metrics", table::<Metrics>()),
        ("Log", table::<Log>()),
    ];
    // Tables within have a heading of their own, below which their fields stand.
    let own = |table: &str| -> String {
        table
            .lines()
            .filter(|line| !line.trim_start_matches("| `").split('`').next().is_some_and(|name| name.contains('.')))
            .fold(String::new(), |text, line| text + line + "\n")
    };
    let sections: Vec<String> = all.iter().map(|(title, table)| format!("### {title}\n\n{}\n", own(table))).collect();
    let restart = reload::of_restart().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let reload = format!("### Reload\n\nA reload changes every field but {restart}: these take a restart.\n\n");
    sections.concat() + &reload
}

#[test]
fn the_reference_has_every_field() {
    const BEGIN: &str = "<!-- fields: begin -->\n";
    const END: &str = "<!-- fields: end -->";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/proxy.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has the line that begins the tables");
    let (written, after) = rest.split_once(END).expect("and the line that ends them");
    let wanted = format!("\n{}", tables());
    if std::env::var_os("ACKCLOCK_UPDATE_DOCS").is_some() {
        std::fs::write(path, format!("{before}{BEGIN}{wanted}{END}{after}")).unwrap();
    } else {
        assert_eq!(
            written, wanted,
            "write it with: ACKCLOCK_UPDATE_DOCS=1 cargo test -p ackclock-proxy --test suite reference"
        );
    }
}

/// The first column of the table below a heading of the page.
fn column(heading: &str) -> Vec<String> {
    let page = include_str!("../../../../docs/reference/proxy.md");
    let (_, section) = page.split_once(heading).expect("the page has the heading");
    let rows = section.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let rows = rows.take_while(|line| line.starts_with("| "));
    rows.map(|row| row.split('`').nth(1).expect("a word in a row").to_owned()).collect()
}

#[test]
fn the_reference_has_every_end_of_a_connection() {
    assert_eq!(column("### Ends of connections"), Ending::ALL.map(|ending| ending.words().to_owned()));
}
