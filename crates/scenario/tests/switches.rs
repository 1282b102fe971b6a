//! Each switch of TCP is flipped alone, on small runs that reach one situation each. Only the situations that its
//! documentation names may change, and one must.
//!
//! The data is `switches/`, from which `ACKCLOCK_UPDATE_DOCS=1 cargo test -p ackclock-scenario --test suite switches`
//! writes `docs/dev/tcp-switches.md`. Flipped are the values in `switches.toml`, and every value of a profile that
//! differs from the defaults.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

use ackclock_scenario::{Scenario, profiles, schema};
use ackclock_sim::{ColumnData, Outcome, Simulation, Table};
use serde::Deserialize;
use serde_json::Value;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/dev/tcp-switches.md");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Situation {
    what: String,
    #[serde(default = "short")]
    duration: String,
    #[serde(default)]
    link: String,
    #[serde(default)]
    tcp: String,
    #[serde(default = "file")]
    flow: String,
    #[serde(default)]
    more: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Switch {
    /// Values of the switch, as TOML.
    #[serde(default)]
    to: Vec<String>,
    /// The situations that it changes.
    changes: Vec<String>,
    /// The reason why it changes no situation.
    #[serde(default)]
    none: String,
}

type Situations = BTreeMap<String, Situation>;
type Switches = BTreeMap<String, Switch>;

fn short() -> String {
    "4 s".to_owned()
}

fn file() -> String {
    "app = { kind = \"file\", size = \"150 kB\" }".to_owned()
}

fn data() -> (Situations, Switches) {
    let situations = toml::from_str(include_str!("switches/situations.toml")).expect("situations.toml");
    (situations, toml::from_str(include_str!("switches/switches.toml")).expect("switches.toml"))
}

impl Situation {
    fn text(&self) -> String {
        let Self { duration, link, tcp, flow, more, .. } = self;
        let app = if flow.contains("app =") { String::new() } else { file() };
        let controller = if flow.contains("controller =") { "" } else { "controller = \"reno\"" };
        let rate = if link.contains("rate =") { "" } else { "rate = \"8 Mbit/s\"" };
        let delay = if link.contains("delay =") { "" } else { "delay = \"20 ms\"" };
        let queue =
            if link.contains("queue =") { "" } else { "queue = { kind = \"drop_tail\", limit = \"1000 packets\" }" };
        format!(
            "duration = \"{duration}\"\ntrace = {{ per = \"event\", links = \"none\", flows = [\"cwnd\", \"srtt\", \"rto\"] }}\n\
             [topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"0 ms\" }}\n\
             [topology.bottleneck]\n{rate}\n{delay}\n{queue}\n{link}\n\
             [tcp]\nprofile = \"rfc\"\ninitial_ssthresh = \"20 segments\"\n{tcp}\n\
             [[flow]]\nname = \"f\"\n{controller}\n{flow}\n{app}\n{more}"
        )
    }

    /// A hash of all results of the run; a setting that the scenario refuses is a mistake of the test.
    fn digest(&self, name: &str, change: Option<&str>) -> u64 {
        let changes: Vec<String> = change.into_iter().map(str::to_owned).collect();
        let scenario = Scenario::parse(&self.text(), &format!("{name}.toml"), &changes)
            .unwrap_or_else(|error| panic!("{name} with {change:?}: {error}"));
        sum(&Simulation::new(scenario.config()).finish())
    }
}

fn sum(outcome: &Outcome) -> u64 {
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(&outcome.summary).expect("a summary is plain values").hash(&mut hasher);
    for table in [&outcome.flows, &outcome.episodes, &outcome.appliances] {
        add(&mut hasher, table);
    }
    hasher.finish()
}

fn add(hasher: &mut DefaultHasher, table: &Table) {
    for column in &table.columns {
        match &column.data {
            ColumnData::F64(values) => values.iter().for_each(|value| value.to_bits().hash(hasher)),
            ColumnData::U64(values) => values.hash(hasher),
            ColumnData::Bool(values) => values.hash(hasher),
            ColumnData::MaybeU64(values) => values.hash(hasher),
            ColumnData::MaybeBool(values) => values.hash(hasher),
            ColumnData::Name { codes, .. } => codes.hash(hasher),
        }
    }
}

/// Every switch, by the path that sets it: fields of `tcp`, and of its tables whose fields are switches themselves.
fn every_switch() -> BTreeSet<String> {
    let schema = schema();
    let fields = schema["$defs"]["TcpTable"]["properties"].as_object().expect("a table");
    let mut names: BTreeSet<String> = fields.keys().cloned().collect();
    names.remove("profile");
    for table in ["rto", "delayed_ack"] {
        names.remove(table);
    }
    let parts = profiles().as_array().expect("a list").iter().flat_map(leaves).collect::<BTreeMap<_, _>>();
    names.extend(parts.into_keys().filter(|name| name.contains('.')));
    names
}

/// Values of switches in profiles that differ from the defaults, as TOML.
fn values_of_profiles() -> BTreeMap<String, BTreeSet<String>> {
    let all = profiles();
    let all = all.as_array().expect("a list");
    let rfc = leaves(all.iter().find(|profile| profile["name"] == "rfc").expect("what the situations are told in"));
    let mut values = BTreeMap::<String, BTreeSet<String>>::new();
    for table in all.iter().map(leaves) {
        for (name, value) in table.iter().filter(|(name, value)| rfc.get(*name) != Some(value)) {
            values.entry(name.clone()).or_default().insert(toml_of(value));
        }
    }
    values
}

fn leaves(profile: &Value) -> BTreeMap<String, Value> {
    let mut leaves = BTreeMap::new();
    for switch in profile["switches"].as_array().expect("a list") {
        let (name, value) = (switch["name"].as_str().expect("a name"), &switch["value"]);
        match value.as_object().filter(|_| ["rto", "delayed_ack"].contains(&name)) {
            Some(fields) => {
                leaves.extend(fields.iter().map(|(field, value)| (format!("{name}.{field}"), value.clone())));
            }
            None => drop(leaves.insert(name.to_owned(), value.clone())),
        }
    }
    leaves
}

fn toml_of(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name} = {}", toml_of(value))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        other => other.to_string(),
    }
}

/// The situations that a switch changes, with any of its values.
fn changed_by(
    name: &str,
    values: &BTreeSet<String>,
    situations: &Situations,
    bases: &BTreeMap<&str, u64>,
) -> BTreeSet<String> {
    let mut changed = BTreeSet::new();
    for (situation_name, situation) in situations {
        let differs = |value: &String| {
            let change = format!("tcp.{name}={value}");
            situation.digest(situation_name, Some(&change)) != bases[situation_name.as_str()]
        };
        if values.iter().any(differs) {
            changed.insert(situation_name.clone());
        }
    }
    changed
}

/// The situations that each switch changes, run on as many threads as there are cores.
fn all_changes(
    values: &BTreeMap<&str, BTreeSet<String>>,
    situations: &Situations,
) -> BTreeMap<String, BTreeSet<String>> {
    let bases: BTreeMap<&str, u64> =
        situations.iter().map(|(name, situation)| (name.as_str(), situation.digest(name, None))).collect();
    let queue = Mutex::new(values.iter());
    let found = Mutex::new(BTreeMap::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().expect("no thread fails").next();
                    let Some((name, values)) = next else { break };
                    let changed = changed_by(name, values, situations, &bases);
                    found.lock().expect("no thread fails").insert((*name).to_owned(), changed);
                }
            });
        }
    });
    found.into_inner().expect("no thread failed")
}

/// All values to which a switch is flipped.
fn flips(switches: &Switches) -> BTreeMap<&str, BTreeSet<String>> {
    let of_profiles = values_of_profiles();
    let values = |name: &str, switch: &Switch| {
        let own = switch.to.iter().cloned();
        own.chain(of_profiles.get(name).into_iter().flatten().cloned()).collect()
    };
    switches.iter().map(|(name, switch)| (name.as_str(), values(name, switch))).collect()
}

#[test]
fn a_switch_changes_what_its_documentation_names_and_nothing_else() {
    let (situations, switches) = data();
    let flips = flips(&switches);
    let mut faults = String::new();
    for (name, changed) in all_changes(&flips, &situations) {
        let named: BTreeSet<String> = switches[&name].changes.iter().cloned().collect();
        let is_none = !switches[&name].none.is_empty();
        if changed != named || changed.is_empty() != is_none {
            let extra: Vec<_> = changed.difference(&named).collect();
            let missing: Vec<_> = named.difference(&changed).collect();
            let list: Vec<String> = changed.iter().map(|name| format!("{name:?}")).collect();
            let _ = writeln!(
                faults,
                "{name} at {:?}: changes {extra:?}, and not {missing:?}\n#= {name:?} [{}]",
                flips[name.as_str()],
                list.join(", ")
            );
        }
    }
    assert!(faults.is_empty(), "changes that are not named, or named and not there:\n{faults}");
}

#[test]
fn every_switch_is_flipped() {
    let (situations, switches) = data();
    let flipped: BTreeSet<String> = switches.keys().cloned().collect();
    assert_eq!(flipped, every_switch());
    for (name, values) in flips(&switches) {
        assert!(!values.is_empty(), "{name} has no value to be flipped to");
    }
    for (name, switch) in &switches {
        let unknown = switch.changes.iter().find(|situation| !situations.contains_key(*situation));
        assert_eq!(unknown, None, "{name} names a situation that is none");
    }
}

#[test]
fn the_page_of_the_switches_is_made_of_the_data() {
    let (situations, switches) = data();
    let page = page(&situations, &switches);
    if std::env::var_os("ACKCLOCK_UPDATE_DOCS").is_some() {
        std::fs::write(DOCS, &page).expect("the page can be written");
    }
    let written = std::fs::read_to_string(DOCS).unwrap_or_default();
    let how = "ACKCLOCK_UPDATE_DOCS=1 cargo test -p ackclock-scenario --test suite switches";
    assert!(written == page, "docs/dev/tcp-switches.md is stale; write it anew with\n  {how}");
}

fn page(situations: &Situations, switches: &Switches) -> String {
    let mut page = include_str!("switches/head.md").to_owned();
    let _ = writeln!(page, "\n## Situations\n\n| | |\n|---|---|");
    for (name, situation) in situations {
        let _ = writeln!(page, "| {} | {} |", words(name), situation.what);
    }
    let _ = writeln!(page, "\n## Switches\n\n| `tcp` | flipped to | changes |\n|---|---|---|");
    let values = flips(switches);
    for (name, switch) in switches {
        let to: Vec<String> = values[name.as_str()].iter().map(|value| format!("`{value}`")).collect();
        let changes: Vec<String> = switch.changes.iter().map(|name| words(name)).collect();
        let changes = if switch.changes.len() == situations.len() { "all".to_owned() } else { changes.join(", ") };
        let changes = if switch.none.is_empty() { changes } else { format!("none: {}", switch.none) };
        let _ = writeln!(page, "| `{name}` | {} | {changes} |", to.join(", "));
    }
    page
}

fn words(name: &str) -> String {
    let word = |word: &str| match word {
        "rack" | "sack" | "syn" => word.to_uppercase(),
        "acks" => "ACKs".to_owned(),
        "syns" => "SYNs".to_owned(),
        "linux" => "Linux".to_owned(),
        other => other.to_owned(),
    };
    name.split('_').map(word).collect::<Vec<_>>().join(" ")
}
