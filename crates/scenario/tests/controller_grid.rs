//! Every controller of the catalogue, in every variant, through every disturbance of a path on every stack: what it has in
//! flight stays bounded, little is sent again, and an empty link is in use again within a stated number of round trips.
//!
//! A selection runs with the other tests, every cell with `make -f tests/Makefile controller-grid`. `expectations.toml` has what a
//! controller's law gives where that is less, with its source. `known.toml` lists the cells that fail today, and no others:
//! `ACKCLOCK_GRID=write` writes it. `ACKCLOCK_GRID='copa outage quic'` runs the cells of these words and prints each.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ackclock_cc::controllers;
use ackclock_scenario::{Scenario, profiles};
use ackclock_sim::{Outcome, Simulation};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::common::numbers;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/controller_grid");
/// Simulated time of a cell, s.
const SECONDS: f64 = 20.0;
/// Time from the end of a disturbance to the start of measurement, s: 100 round trips of 40 ms.
const WITHIN: f64 = 4.0;
/// The most data in flight, octets: three times the longest path (100 packets) and a full queue (60 packets).
const MOST_IN_FLIGHT: f64 = 3.0 * 160.0 * 1500.0;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Situation {
    what: String,
    #[serde(default)]
    link: String,
    #[serde(default)]
    tcp: String,
    #[serde(default)]
    quic: String,
    #[serde(default = "bulk")]
    app: String,
    /// Time at which the disturbance is over, s.
    over: f64,
    /// The longest wait of packets, ms (95 %).
    longest_wait_ms: Option<f64>,
}

fn bulk() -> String {
    "\"bulk\"".to_owned()
}

/// Requirement on a cell.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expectation {
    /// Patterns: a name, or the beginning of one before `*`.
    #[serde(default = "any")]
    controllers: Vec<String>,
    #[serde(default = "any")]
    situations: Vec<String>,
    #[serde(default = "any")]
    stacks: Vec<String>,
    /// The least share of the link in use.
    utilization: Option<f64>,
    /// The largest share of retransmitted segments.
    retransmitted: Option<f64>,
    longest_wait_ms: Option<f64>,
    /// The most data in flight, octets.
    in_flight: Option<f64>,
    /// The law with its source.
    why: String,
}

fn any() -> Vec<String> {
    vec!["*".to_owned()]
}

#[derive(Deserialize)]
struct Expectations {
    expect: Vec<Expectation>,
}

/// Stacks with known failures, by controller and situation.
type Known = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

struct Grid {
    situations: BTreeMap<String, Situation>,
    expectations: Vec<Expectation>,
    /// Each controller's label, and its form in a scenario.
    controllers: Vec<(String, String)>,
    /// Each stack's name, `[tcp]` table and protocol.
    stacks: Vec<(String, String, &'static str)>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cell {
    controller: usize,
    situation: usize,
    stack: usize,
}

/// Verdict on a cell.
enum Verdict {
    /// The scenario is refused, with the reason.
    Refused(String),
    Passed(String),
    Failed(String),
}

fn matches(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start)))
}

/// Parameters for a path of 40 ms and a queue of 60 packets, for controllers whose defaults suit other paths.
fn suited(controller: &str) -> &'static str {
    match controller {
        // The thresholds of a datacentre are far below the round trip, and its step is the link's whole rate.
        "timely" => ", t_low = \"45 ms\", t_high = \"90 ms\", segment = \"16 kB\", additive_increase = \"100 kbit/s\"",
        // A hundred packets do not fit into the queue.
        "fast" => ", alpha = 20.0",
        _ => "",
    }
}

/// Each controller by its name, and each of its other variants, with the fields that they require.
pub(crate) fn every_controller() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for part in controllers() {
        let name = part.about.name;
        let required: String =
            part.fields.iter().filter(|field| field.is_required).fold(String::new(), |text, field| {
                let value = match field.name {
                    "base_target" => "\"50 ms\"",
                    "line_rate" => "\"10 Mbit/s\"",
                    "window" => "\"60 segments\"",
                    other => panic!("{name} needs {other}: give it a value here"),
                };
                format!("{text}, {} = {value}", field.name)
            });
        let required = required + suited(name);
        let plain = format!("{{ kind = \"{name}\"{required} }}");
        match part.field("variant") {
            None => all.push((name.to_owned(), plain)),
            // Linux's module of Vegas knows no other delay than vegas itself.
            Some(field) => all.extend(
                field.words.iter().filter(|(word, _)| *word != "linux_module" || name == "vegas").map(|(word, _)| {
                    (format!("{name}:{word}"), format!("{{ kind = \"{name}\", variant = \"{word}\"{required} }}"))
                }),
            ),
        }
    }
    all
}

/// Each profile, profile `rfc` without single mechanisms, and QUIC.
fn every_stack() -> Vec<(String, String, &'static str)> {
    let profiles = profiles();
    let names = profiles.as_array().expect("a list").iter().map(|profile| profile["name"].as_str().expect("a name"));
    // Versions of one kernel differ in their receivers, and hardly in what a controller comes back from.
    let names = names.filter(|name| !["linux-7.3", "linux-6.12"].contains(name));
    let tcp =
        |name: &str, profile: &str, more: &str| (name.to_owned(), format!("profile = \"{profile}\"\n{more}"), "tcp");
    let mut stacks: Vec<_> = names
        .map(|name| {
            // A window without scaling holds 64 kB, which the path takes; 4.3BSD's buffers are smaller.
            let buffers = "receive_buffer = \"65535 B\"\nsend_buffer = \"65535 B\"\n";
            tcp(name, name, if name == "bsd-4.3" { buffers } else { "" })
        })
        .collect();
    stacks.push(tcp("no-timestamps", "rfc", "timestamps = false\n"));
    stacks.push(tcp("no-sack", "rfc", "sack = false\n"));
    stacks.push(tcp("no-rack", "linux-6.x", "loss_detection = \"dup_acks\"\ntlp = false\n"));
    stacks.push(("quic".to_owned(), String::new(), "quic"));
    stacks
}

impl Grid {
    fn new() -> Self {
        let expectations: Expectations = read("expectations");
        Self {
            situations: read("situations"),
            expectations: expectations.expect,
            controllers: every_controller(),
            stacks: every_stack(),
        }
    }

    fn every_cell(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for controller in 0..self.controllers.len() {
            for situation in 0..self.situations.len() {
                cells.extend((0..self.stacks.len()).map(|stack| Cell { controller, situation, stack }));
            }
        }
        cells
    }

    /// The names of controller, situation and stack.
    fn names(&self, cell: Cell) -> [&str; 3] {
        let situation = self.situations.keys().nth(cell.situation).expect("a situation");
        [&self.controllers[cell.controller].0, situation, &self.stacks[cell.stack].0]
    }

    /// The complete scenario of a cell.
    fn text(&self, cell: Cell) -> String {
        let [label, name, stack] = self.names(cell);
        let Situation { link, tcp, quic, app, over, .. } = &self.situations[name];
        let (_, controller) = &self.controllers[cell.controller];
        let (_, profile, protocol) = &self.stacks[cell.stack];
        let app = app.replace("SMALL", &vec!["\"10 kB\""; 25].join(", "));
        let part = controllers().find(label.split(':').next().expect("a name")).expect("of the catalogue");
        let or = |key: &str, line: &str| if link.contains(key) { String::new() } else { format!("{line}\n") };
        let mut text = format!("name = \"{label}, {name}, {stack}\"\nduration = \"{SECONDS} s\"\n");
        let _ = writeln!(text, "measure = {{ from = \"{} s\" }}", over + WITHIN);
        text += "trace = { interval = \"50 ms\", links = \"none\", flows = [\"cwnd\", \"flight_size\", \"goodput\"] }\n\
                 [topology]\nkind = \"dumbbell\"\naccess = { rate = \"1 Gbit/s\", delay = \"10 us\" }\n[topology.bottleneck]\n";
        text += &or("rate =", "rate = \"10 Mbit/s\"");
        text += &or("delay =", "delay = \"20 ms\"");
        text += &or("queue =", "queue = { kind = \"drop_tail\", limit = \"60 packets\" }");
        if part.extra.telemetry {
            text += "telemetry = true\n";
        }
        let _ = writeln!(text, "{link}");
        if *protocol == "tcp" {
            let _ = writeln!(text, "[tcp]\n{profile}{tcp}\n[[flow]]");
        } else {
            let quic = if quic.is_empty() { quic.clone() } else { format!(", {quic}") };
            let _ = writeln!(text, "[[flow]]\nprotocol = {{ kind = \"{protocol}\"{quic} }}");
        }
        text + &format!("name = \"f\"\ncontroller = {controller}\napp = {app}\n")
    }

    /// The bounds of a cell, by the last entry of the table for each quantity: share of the link in use, share
    /// retransmitted, octets in flight, wait in ms.
    fn expected(&self, cell: Cell) -> [f64; 4] {
        let [controller, situation, stack] = self.names(cell);
        let wait = self.situations[situation].longest_wait_ms.unwrap_or(f64::INFINITY);
        let mut expected = [0.9, 0.1, MOST_IN_FLIGHT, wait];
        for entry in &self.expectations {
            let Expectation { controllers, situations, stacks, .. } = entry;
            if matches(controllers, controller) && matches(situations, situation) && matches(stacks, stack) {
                let said = [entry.utilization, entry.retransmitted, entry.in_flight, entry.longest_wait_ms];
                for (value, said) in expected.iter_mut().zip(said) {
                    *value = said.unwrap_or(*value);
                }
            }
        }
        expected
    }

    fn judge(&self, cell: Cell) -> Verdict {
        let text = self.text(cell);
        let scenario = match Scenario::parse(&text, "cell.toml", &[]) {
            Ok(scenario) => scenario,
            Err(error) if error.to_string().contains(": flow[0].") => return Verdict::Refused(error.to_string()),
            Err(error) => panic!("{}: {error}", self.names(cell).join(" ")),
        };
        let run = AssertUnwindSafe(|| Simulation::new(scenario.config()).finish());
        let outcome = match panic::catch_unwind(run) {
            Ok(outcome) => outcome,
            Err(payload) => return Verdict::Failed(promise(&payload)),
        };
        let [used, again, in_flight, waits] = self.expected(cell);
        let (flow, link) = (&outcome.summary.flows[0], bottleneck(&outcome));
        let share = flow.retransmitted_segments as f64 / flow.sent_segments.max(1) as f64;
        let flight = numbers(&outcome.flows, "flight_size_bytes").into_iter().fold(0.0, f64::max);
        let cwnd = numbers(&outcome.flows, "cwnd_bytes").into_iter().fold(0.0, f64::max);
        let wait = link.queueing_delay_ms.p95;
        let told = format!(
            "uses {:.3} of the link, sends {share:.3} again, {flight:.0} B in flight, cwnd {cwnd:.0} B, waits {wait:.1} ms, {} timeouts",
            link.utilization, flow.timeouts
        );
        let is_bounded = flight <= in_flight && share <= again && wait <= waits;
        if is_bounded && link.utilization >= used {
            return Verdict::Passed(told);
        }
        Verdict::Failed(format!(
            "{told}; expected at least {used:.3}, at most {again:.3}, {in_flight:.0} B, {waits:.0} ms"
        ))
    }

    /// Verdicts on the cells, on as many threads as there are cores.
    fn run(&self, cells: &[Cell]) -> Vec<(Cell, Verdict)> {
        let next = AtomicUsize::new(0);
        let found = Mutex::new(Vec::new());
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let verdict = self.judge(*cell);
                        found.lock().expect("no thread fails").push((*cell, verdict));
                    }
                });
            }
        });
        let mut found = found.into_inner().expect("no thread failed");
        found.sort_by_key(|(cell, _)| *cell);
        found
    }
}

/// The bound that a run violates.
fn promise(payload: &Box<dyn Any + Send>) -> String {
    let text = payload.downcast_ref::<String>().map_or("a panic", String::as_str);
    format!("panics: {}", text.chars().take(200).collect::<String>())
}

/// Reads a table of the folder.
fn read<T: DeserializeOwned>(name: &str) -> T {
    let file = format!("{FOLDER}/{name}.toml");
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn bottleneck(outcome: &Outcome) -> &ackclock_sim::LinkSummary {
    let links = &outcome.summary.links;
    links.iter().max_by(|a, b| a.utilization.total_cmp(&b.utilization)).expect("a link")
}

/// Adds a cell to the list of cells that fail.
fn add(known: &mut Known, [controller, situation, stack]: [&str; 3]) {
    let stacks = known.entry(controller.to_owned()).or_default().entry(situation.to_owned()).or_default();
    stacks.insert(stack.to_owned());
}

/// Removes a cell from the list; false if it is not in it.
fn take(known: &mut Known, [controller, situation, stack]: [&str; 3]) -> bool {
    let stacks = known.get_mut(controller).and_then(|situations| situations.get_mut(situation));
    stacks.is_some_and(|stacks| stacks.remove(stack))
}

/// A few hundred cells: every third situation of each controller, on a stack drawn by its name.
fn selection(grid: &Grid) -> Vec<Cell> {
    let draw = |names: &[&str]| {
        let fnv = |sum: u64, octet: u8| (sum ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3);
        names.join(" ").bytes().fold(0xcbf2_9ce4_8422_2325, fnv) >> 32
    };
    let is_drawn = |cell: &Cell| {
        let drawn = draw(&grid.names(*cell)[..2]);
        drawn % 3 == 0 && (drawn / 3) % grid.stacks.len() as u64 == cell.stack as u64
    };
    grid.every_cell().into_iter().filter(is_drawn).collect()
}

/// Differences between the verdicts on these cells and the list of those that fail.
fn differences(grid: &Grid, cells: &[Cell], mut known: Known) -> Vec<String> {
    let mut found = Vec::new();
    for (cell, verdict) in grid.run(cells) {
        let names = grid.names(cell);
        let was_known = take(&mut known, names);
        match verdict {
            Verdict::Failed(what) if !was_known => {
                found.push(format!("{}: {what}\n{}", names.join(" "), grid.text(cell)));
            }
            Verdict::Passed(_) | Verdict::Refused(_) if was_known => {
                found.push(format!("{}: passes; take it from known.toml", names.join(" ")));
            }
            _ => {}
        }
    }
    found
}

/// Writes every cell that fails to `known.toml`.
fn write_known(grid: &Grid) {
    let mut known = Known::new();
    for (cell, verdict) in grid.run(&grid.every_cell()) {
        if matches!(verdict, Verdict::Failed(_)) {
            add(&mut known, grid.names(cell));
        }
    }
    let mut text =
        "# Cells that fail today: controller, situation, stacks. `ACKCLOCK_GRID=write` writes this.\n".to_owned();
    for (controller, situations) in known {
        let _ = writeln!(text, "\n[\"{controller}\"]");
        for (situation, stacks) in situations {
            let _ = writeln!(text, "{situation} = {stacks:?}");
        }
    }
    fs::write(format!("{FOLDER}/known.toml"), text.replace("{\"", "[\"").replace("\"}", "\"]"))
        .expect("the folder is there");
}

/// Prints the verdict on each cell of these words.
fn show(grid: &Grid, words: &str) {
    let is_asked = |cell: &Cell| words.split_whitespace().all(|word| grid.names(*cell).contains(&word));
    let cells: Vec<Cell> = grid.every_cell().into_iter().filter(is_asked).collect();
    for (cell, verdict) in grid.run(&cells) {
        let (word, what) = match verdict {
            Verdict::Refused(what) => ("refused", what),
            Verdict::Passed(what) => ("passes", what),
            Verdict::Failed(what) => ("fails", what),
        };
        eprintln!("{} {word}: {}", grid.names(cell).join(" "), what.replace('\n', " "));
        if cells.len() == 1 {
            eprintln!("{}", grid.text(cell));
        }
    }
}

pub(crate) fn run_grid() {
    let grid = Grid::new();
    let asked = std::env::var("ACKCLOCK_GRID").unwrap_or_default();
    let cells = match asked.as_str() {
        "" => selection(&grid),
        "all" => grid.every_cell(),
        "write" => return write_known(&grid),
        words => return show(&grid, words),
    };
    let found = differences(&grid, &cells, read("known"));
    assert!(found.is_empty(), "{} of {} cells:\n{}", found.len(), cells.len(), found.join("\n"));
}

#[test]
fn every_controller_comes_back_from_every_disturbance_on_every_stack() {
    run_grid();
}

#[test]
fn what_is_listed_exists() {
    let grid = Grid::new();
    let names = |cells: &[Cell]| cells.iter().map(|cell| grid.names(*cell).map(str::to_owned)).collect::<BTreeSet<_>>();
    let all = names(&grid.every_cell());
    let known: Known = read("known");
    for (controller, situations) in &known {
        for (situation, stacks) in situations {
            for stack in stacks {
                let name = [controller, situation, stack].map(Clone::clone);
                assert!(all.contains(&name), "known.toml: unknown cell {name:?}");
            }
        }
    }
    for entry in &grid.expectations {
        let Expectation { controllers, situations, stacks, why, .. } = entry;
        let is_met = |[controller, situation, stack]: &[String; 3]| {
            matches(controllers, controller) && matches(situations, situation) && matches(stacks, stack)
        };
        assert!(all.iter().any(is_met), "expectations.toml: no cell is meant: {why}");
        assert!(!why.is_empty(), "expectations.toml: an expectation has a source");
    }
    let words = grid.situations.values().filter(|situation| situation.what.is_empty()).count();
    assert_eq!(words, 0, "situations.toml: a situation says what it is");
}
