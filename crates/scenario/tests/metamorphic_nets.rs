//! Changes that must not matter to a network do not matter: names of its hosts, unused hosts and links, the start of
//! everything, and whether a link changes by its schedule or by changes of the scenario. Stars, chains and parking
//! lots, all kinds of traffic.

use ackclock_scenario::Scenario;
use ackclock_sim::Simulation;
use serde_json::Value;

use crate::controller_grid::every_controller;

/// Traffic from the first host to the second, from a time on. Hosts of profile "rfc" have no clocks, such as interrupts
/// at random moments, that a later start could shift.
const TRAFFIC: &str = r#"
[tcp]
profile = "rfc"
[[flow]]
name = "bulk"
[[flow]]
name = "dctcp"
controller = "dctcp"
tcp = { ecn = "request" }
[[flow]]
name = "quic"
protocol = "quic"
[[flow]]
name = "ask"
app = { kind = "request_response", response = { exponential = "20 kB" }, think = "30 ms" }
[[flow]]
name = "short"
arrivals = { rate = "20 /s", size = { exponential = "10 kB" }, reply = "2 kB" }
[[flow]]
name = "datagrams"
protocol = "udp"
app = { kind = "poisson", rate = "500 kbit/s" }
[[flow]]
name = "call"
protocol = "udp"
app = { kind = "media", max_rate = "500 kbit/s" }
"#;

/// A network: hosts `A` and `B` have the traffic, and the link of this name is the slowest on its path.
struct Net {
    topology: String,
    slowest: &'static str,
}

/// A network of hosts with one letter each, routers `R` and `S`, and links between them.
fn explicit(hosts: &str, links: &[(&str, &str, &str)]) -> String {
    let node = |name: char, kind: &str| format!("{{ name = \"{name}\", kind = \"{kind}\" }}");
    let nodes: Vec<String> =
        hosts.chars().map(|name| node(name, "host")).chain("RS".chars().map(|name| node(name, "router"))).collect();
    let link = |(from, to, fields): &(&str, &str, &str)| format!("{{ from = \"{from}\", to = \"{to}\", {fields} }}");
    let links: Vec<String> = links.iter().map(link).collect();
    format!("kind = \"explicit\"\nnode = [{}]\nlink = [{}]\n", nodes.join(", "), links.join(", "))
}

/// A chain, a star and a parking lot. The slowest link has these fields and a queue that drops and marks. Star and lot
/// have a further host if `is_wide`.
fn nets_of(slowest: &str, is_wide: bool) -> [Net; 3] {
    let fast = "rate = \"20 Mbit/s\", delay = \"2 ms\"";
    let slow =
        format!("{slowest}, queue = {{ kind = \"threshold\", threshold = \"10 packets\", limit = \"30 packets\" }}");
    let chain = format!(
        "kind = \"chain\"\nnodes = [\"A\", {{ name = \"R\", kind = \"router\" }}, \"B\"]\nlinks = [{{ {fast} }}, {{ {slow} }}]\n"
    );
    let mut star = vec![("A", "R", fast), ("R", "B", slow.as_str()), ("C", "R", fast)];
    let mut lot =
        vec![("A", "R", fast), ("R", "S", slow.as_str()), ("S", "B", fast), ("C", "R", fast), ("S", "D", fast)];
    if is_wide {
        star.push(("Z", "R", "rate = \"1 Gbit/s\", delay = \"1 us\""));
        lot.push(("Z", "S", "rate = \"1 Gbit/s\", delay = \"1 us\""));
    }
    let further = if is_wide { "Z" } else { "" };
    [
        Net { topology: chain, slowest: "R->B" },
        Net { topology: explicit(&format!("ABC{further}"), &star), slowest: "R->B" },
        Net { topology: explicit(&format!("ABCD{further}"), &lot), slowest: "R->S" },
    ]
}

fn nets(slowest: &str) -> [Net; 3] {
    nets_of(slowest, false)
}

const PLAIN: &str = "rate = \"6 Mbit/s\", delay = \"8 ms\"";

/// A scenario of `seconds` from `start`, when measurement begins.
fn text(net: &Net, traffic: &str, start: u32, seconds: u32) -> String {
    let from = format!("[[flow]]\nfrom = \"A\"\nto = \"B\"\nstart = \"{start} s\"");
    format!(
        "duration = \"{} s\"\nmeasure = {{ from = \"{start} s\" }}\ntrace = false\n[topology]\n{}\n{}",
        start + seconds,
        net.topology,
        traffic.replace("[[flow]]", &from)
    )
}

fn summary(text: &str) -> Value {
    let scenario = Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    serde_json::to_value(Simulation::new(scenario.config()).finish().summary).expect("JSON")
}

fn run(text: &str) -> Value {
    let value = summary(text);
    // There is something that could differ.
    let sum = |field: &str| {
        value["links"].as_array().expect("links").iter().map(|link| link[field].as_u64().unwrap_or(0)).sum::<u64>()
    };
    assert!(sum("drops") > 0 && sum("marks") > 0 && value["groups"][0]["completed"].as_u64() > Some(10), "{value:#}");
    value
}

/// The first place at which two summaries differ beyond rounding. Utilization is of time, or of octets, where
/// nanoseconds are parts of an octet.
fn difference(one: &Value, other: &Value, place: &str) -> Option<String> {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            a.iter().find_map(|(key, value)| difference(value, &b[key], &format!("{place}.{key}")))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(at, (a, b))| difference(a, b, &format!("{place}[{at}]")))
        }
        _ => {
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-8 * a.abs().max(b.abs());
            let is_same = one == other || one.as_f64().zip(other.as_f64()).is_some_and(|(a, b)| near(a, b));
            (!is_same).then(|| format!("{place}: {one} is not {other}"))
        }
    }
}

fn assert_same(one: &Value, other: &Value, what: &str) {
    if let Some(difference) = difference(one, other, "summary") {
        panic!("{what}: {difference}");
    }
}

#[test]
fn names_of_hosts_do_not_matter() {
    for net in nets(PLAIN) {
        let plain = run(&text(&net, TRAFFIC, 0, 3));
        let renamed = ["A", "B", "C", "D", "R", "S"].iter().fold(text(&net, TRAFFIC, 0, 3), |text, name| {
            text.replace(&format!("\"{name}\""), &format!("\"the host {name}\""))
        });
        let mut other = run(&renamed);
        for (link, before) in
            other["links"].as_array_mut().expect("links").iter_mut().zip(plain["links"].as_array().expect("links"))
        {
            assert_eq!(
                link["name"].as_str().map(|name| name.replace("the host ", "")),
                before["name"].as_str().map(str::to_owned)
            );
            link["name"] = before["name"].clone();
        }
        assert_same(&plain, &other, net.slowest);
    }
}

#[test]
fn hosts_that_nobody_uses_do_not_matter() {
    for (net, wide) in nets(PLAIN).into_iter().zip(nets_of(PLAIN, true)) {
        let [plain, mut other] = [&net, &wide].map(|net| run(&text(net, TRAFFIC, 0, 3)));
        let links = plain["links"].as_array().expect("links").len();
        other["links"].as_array_mut().expect("links").truncate(links);
        assert_same(&plain, &other, net.slowest);
    }
}

/// Removes what a summary has of the time at which everything began.
fn without_start(mut summary: Value) -> Value {
    for field in ["duration_s", "measure_s"] {
        summary[field] = Value::Null;
    }
    summary["flows"].as_array_mut().expect("flows").iter_mut().for_each(|flow| flow["start_s"] = Value::Null);
    summary
}

#[test]
fn when_everything_begins_does_not_matter() {
    for net in nets(PLAIN) {
        let [at_once, later] = [0, 2].map(|start| without_start(run(&text(&net, TRAFFIC, start, 3))));
        assert_same(&at_once, &later, net.slowest);
    }
}

/// A pair of flows begins a multiple of every clock's ticks later. A link of telemetry serves those that ask for it. Linux's module of TCP-LP takes the numbers of two clocks for delays, which are others later.
#[test]
fn when_a_controller_begins_does_not_matter() {
    let [net, ..] = nets(&format!("{PLAIN}, telemetry = true"));
    let mut found = Vec::new();
    for (label, controller) in every_controller().into_iter().filter(|(label, _)| label != "lp") {
        let flow = |name: &str| format!("[[flow]]\nname = \"{name}\"\ncontroller = {controller}\n");
        let traffic = format!("[tcp]\nprofile = \"rfc\"\n{}{}", flow("one"), flow("other"));
        let [at_once, later] = [0, 64].map(|start| without_start(summary(&text(&net, &traffic, start, 6))));
        found.extend(difference(&at_once, &later, &label));
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// A packet has the delay of the instant at which its last bit leaves, whoever changes the delay.
#[test]
fn a_delay_that_changes_is_the_same_by_schedule_and_by_changes() {
    let schedule = "rate = \"6 Mbit/s\", delay = { schedule = [{ delay = \"8 ms\" }, { at = \"1 s\", delay = \"30 ms\" }, \
                    { at = \"2 s\", delay = \"2 ms\" }] }, reverse = { delay = \"8 ms\" }";
    for (net, scheduled) in nets(PLAIN).into_iter().zip(nets(schedule)) {
        let change = |at: &str, delay: &str| {
            format!("[[change]]\nat = \"{at}\"\nlink = \"{}\"\ndelay = \"{delay}\"\n", net.slowest)
        };
        // In another order than that of time, which must not matter either.
        let changes = change("2 s", "2 ms") + &change("1 s", "30 ms");
        let [one, other] =
            [text(&net, &format!("{TRAFFIC}{changes}"), 0, 3), text(&scheduled, TRAFFIC, 0, 3)].map(|text| run(&text));
        assert_same(&one, &other, net.slowest);
    }
}

/// After a change a packet that is being sent ends at the old rate; with a schedule it ends at the new one. Between
/// packets the two are equal.
#[test]
fn a_rate_that_changes_while_nothing_is_sent_is_the_same_by_schedule_and_by_changes() {
    let schedule = "rate = { schedule = [{ rate = \"9 Mbit/s\" }, { at = \"1 s\", rate = \"6 Mbit/s\" }] }, delay = \"8 ms\", \
                    reverse = { rate = \"9 Mbit/s\" }";
    for (net, scheduled) in nets(&PLAIN.replace('6', "9")).into_iter().zip(nets(schedule)) {
        let change = format!("[[change]]\nat = \"1 s\"\nlink = \"{}\"\nrate = \"6 Mbit/s\"\n", net.slowest);
        let [one, other] =
            [text(&net, &format!("{TRAFFIC}{change}"), 2, 3), text(&scheduled, TRAFFIC, 2, 3)].map(|text| run(&text));
        assert_same(&one, &other, net.slowest);
    }
}
