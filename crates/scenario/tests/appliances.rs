//! Appliances in scenarios: their options, the flows that they take, and the messages of mistakes.

use ackclock_cc::ControllerConfig;
use ackclock_net::{QueueConfig, QueueLimit};
use ackclock_relay::{CreditConfig, DisciplineConfig, EceRedConfig};
use ackclock_scenario::{Diagnostic, Scenario};
use ackclock_sim::{Copying, HandshakeOrder, SimulationConfig};
use ackclock_units::{Amount, Bandwidth, Bytes, SimDuration};

/// The box of the thesis: 1 Gbit/s, a round trip of 28 ms, old hosts on the left.
const DUMBBELL: &str = r#"
duration = "10 s"
[topology]
kind = "dumbbell"
access = { rate = "1 Gbit/s", delay = "1 ms" }
bottleneck = { rate = "1 Gbit/s", delay = "12 ms" }
[[flow]]
name = "old"
controller = "reno"
[[flow]]
name = "bulk"
count = 2
controller = "highspeed"
port = 80
"#;

/// Two hosts, and three routers in a row between them.
const CHAIN: &str = r#"
duration = "10 s"
[topology]
kind = "chain"
nodes = ["A", { name = "R", kind = "router" }, { name = "S", kind = "router" }, { name = "T", kind = "router" }, "B"]
link = { rate = "1 Gbit/s", delay = "1 ms" }
[[flow]]
name = "there"
[[flow]]
name = "back"
reverse = true
"#;

fn parse(text: &str, appliances: &str) -> SimulationConfig {
    let scenario = Scenario::parse(&format!("{text}\n{appliances}"), "test.toml", &[]);
    scenario.unwrap_or_else(|error| panic!("{appliances}: {error}")).config().clone()
}

/// An appliance on the dumbbell's left router.
fn at_left(appliance: &str) -> SimulationConfig {
    parse(DUMBBELL, &format!("[[appliance]]\nnode = \"left\"\n{appliance}"))
}

fn mistakes(text: &str, appliances: &str) -> Vec<Diagnostic> {
    let text = format!("{text}\n{appliances}");
    Scenario::parse(&text, "test.toml", &[]).expect_err(appliances).diagnostics
}

/// The only mistake: place, message and remedy.
fn mistake(text: &str, appliances: &str) -> (String, String, String) {
    let mut found = mistakes(text, appliances);
    assert_eq!(found.len(), 1, "{appliances}: {found:?}");
    let found = found.remove(0);
    assert!(!found.remedy.is_empty(), "{appliances}");
    (found.field, found.message, found.remedy)
}

fn names(config: &SimulationConfig) -> Vec<(&str, &str)> {
    let name = |split: &ackclock_sim::SplitConfig| {
        (config.flows[split.flow].name.as_str(), config.appliances[split.appliance].name.as_str())
    };
    config.splits.iter().map(name).collect()
}

#[test]
fn an_appliance_takes_every_flow_that_crosses_it_with_its_defaults() {
    let config = at_left("");
    assert_eq!(names(&config), [("old", "appliance1"), ("bulk.1", "appliance1"), ("bulk.2", "appliance1")]);
    let appliance = &config.appliances[0];
    assert_eq!(config.network.node(appliance.node).name, "left");
    assert_eq!(appliance.handshake, HandshakeOrder::AcceptFirst);
    assert_eq!(appliance.copying, Copying { delay: SimDuration::ZERO, rate: None, chunk: Bytes(65_536) });
    assert_eq!(appliance.discipline, DisciplineConfig::Socket);
    let split = &config.splits[0];
    assert_eq!((split.near.controller_name.as_str(), split.far.controller_name.as_str()), ("cubic", "highspeed"));
    assert!(matches!(split.near.controller, ControllerConfig::Cubic(_)));
    assert!(matches!(split.far.controller, ControllerConfig::HighSpeed(_)));
    // without tables of their own both ends are what a host is
    assert_eq!((&split.near.tcp, &split.far.tcp), (&*config.flows[0].receiver, &*config.flows[0].sender));
}

#[test]
fn everything_of_an_appliance_can_be_said() {
    let config = parse(
        DUMBBELL,
        r#"
[tcp]
mss = 1000
[[appliance]]
name = "box"
node = "right"
handshake = "connect_first"
copying = { delay = "20 us", rate = "10 Gbit/s", chunk = "16 KiB" }
near = { controller = "newreno", tcp = { receive_buffer = "256 KiB" } }
far = { controller = { kind = "fixed", window = "4 segments" }, tcp = { mss = 500, send_buffer = "4 MB" } }
buffer_policy = { kind = "credit", margin = "1 ms" }
"#,
    );
    let appliance = &config.appliances[0];
    assert_eq!((appliance.name.as_str(), appliance.handshake), ("box", HandshakeOrder::ConnectFirst));
    let (delay, rate) = (SimDuration::from_micros(20), Some(Bandwidth(10_000_000_000)));
    assert_eq!(appliance.copying, Copying { delay, rate, chunk: Bytes(16 * 1024) });
    let credit = CreditConfig { margin: SimDuration::from_millis(1), ..CreditConfig::default() };
    assert_eq!(appliance.discipline, DisciplineConfig::Credit(credit));
    let split = &config.splits[2];
    assert_eq!((split.near.tcp.mss, split.near.tcp.receive_buffer), (1_000, Bytes(256 * 1024)));
    assert_eq!(split.near.tcp.loss_recovery, ackclock_tcp::LossRecovery::NewReno);
    assert_eq!((split.far.tcp.mss, split.far.tcp.send_buffer), (500, Bytes(4_000_000)));
    // four of its own segments
    let ControllerConfig::Fixed(fixed) = &split.far.controller else { panic!("fixed") };
    assert_eq!((fixed.window, fixed.window.in_bytes(500)), (Amount::Segments(4), Bytes(2_000)));
}

#[test]
fn every_discipline_goes_by_a_bare_name() {
    let entries = ackclock_scenario::buffer_policies();
    let entries = entries.as_array().expect("a list");
    assert_eq!(entries.len(), 8);
    for entry in entries {
        let name = entry["name"].as_str().expect("a name");
        let ecn = "[tcp]\necn = \"request\"";
        let config = parse(DUMBBELL, &format!("{ecn}\n[[appliance]]\nnode = \"left\"\nbuffer_policy = \"{name}\""));
        let said = format!("{:?}", config.appliances[0].discipline).to_lowercase();
        assert!(said.starts_with(&name.replace('_', "")), "{name} is {said}");
        for parameter in entry["parameters"].as_array().expect("a list") {
            // what the catalogue says is the default says nothing new
            let (field, default) = (parameter["name"].as_str().expect("a name"), &parameter["default"]);
            let default = default.as_str().expect("a text");
            let table = format!("{{ kind = \"{name}\", {field} = {default} }}");
            let again = parse(DUMBBELL, &format!("{ecn}\n[[appliance]]\nnode = \"left\"\nbuffer_policy = {table}"));
            assert_eq!(again.appliances[0].discipline, config.appliances[0].discipline, "{table}");
        }
    }
}

#[test]
fn lists_choose_flows_and_all_of_them_must_allow_one() {
    for (take, taken) in [
        ("flows = \"old\"", vec!["old"]),
        ("flows = [\"bulk\"]", vec!["bulk.1", "bulk.2"]),
        ("flows = [\"old\", \"bulk.2\"]", vec!["old", "bulk.2"]),
        ("from = \"bulk.1.left\"", vec!["bulk.1"]),
        ("to = [\"old.right\", \"bulk.2.right\"]", vec!["old", "bulk.2"]),
        ("controller = \"reno\"", vec!["old"]),
        ("port = [80]", vec!["bulk.1", "bulk.2"]),
        ("port = [5001]", vec!["old"]),
        ("port = [80], to = \"bulk.2.right\"", vec!["bulk.2"]),
    ] {
        let config = at_left(&format!("take = {{ {take} }}"));
        let found: Vec<&str> = names(&config).into_iter().map(|(flow, _)| flow).collect();
        assert_eq!(found, taken, "{take}");
    }
}

#[test]
fn a_flow_over_several_appliances_is_split_by_each_along_its_way() {
    let three = "[[appliance]]\nnode = \"T\"\n[[appliance]]\nname = \"first\"\nnode = \"R\"\n\
                 [[appliance]]\nnode = \"S\"\ntake = { flows = \"back\" }";
    let config = parse(CHAIN, three);
    let expected = [
        ("there", "first"),
        ("there", "appliance1"),
        ("back", "appliance1"),
        ("back", "appliance3"),
        ("back", "first"),
    ];
    assert_eq!(names(&config), expected);
}

#[test]
fn a_node_can_be_an_appliance_by_its_kind() {
    let text = CHAIN.replace("{ name = \"S\", kind = \"router\" }", "{ name = \"S\", kind = \"appliance\" }");
    assert_eq!(names(&parse(&text, "")), [("there", "S"), ("back", "S")]);
    // an entry that names it says the rest, and there is still one appliance
    let config =
        parse(&text, "[[appliance]]\nnode = \"S\"\ntake = { flows = \"back\" }\nbuffer_policy = \"drain_rate\"");
    assert_eq!(names(&config), [("back", "appliance1")]);
}

#[test]
fn a_node_of_no_kind_between_hosts_is_a_router() {
    let text = CHAIN.replace("{ name = \"S\", kind = \"router\" }", "\"S\"");
    assert_eq!(names(&parse(&text, "[[appliance]]\nnode = \"S\"")).len(), 2);
}

/// Each group's name and appliance, and the place of the group that it says it is of.
fn group_names(config: &SimulationConfig) -> Vec<(&str, &str, usize)> {
    let of = |arrivals: &'_ ackclock_sim::ArrivalsConfig| -> Vec<(String, usize, usize)> {
        arrivals.splits.iter().map(|split| (arrivals.flow.name.clone(), split.appliance, split.flow)).collect()
    };
    let found: Vec<_> = config.traffic.arrivals.iter().flat_map(of).collect();
    let name = |group: usize| config.traffic.arrivals[group].flow.name.as_str();
    for (flow, _, group) in &found {
        assert_eq!(name(*group), flow);
    }
    found.iter().map(|(_, index, group)| (name(*group), config.appliances[*index].name.as_str(), *group)).collect()
}

const GROUPS: &str = r#"
[[flow]]
name = "web"
arrivals = { rate = "10 /s", size = "1 kB" }
[[flow]]
name = "mail"
count = 2
controller = "reno"
port = 25
arrivals = { rate = "10 /s", size = "1 kB", reply = "2 kB" }
"#;

#[test]
fn groups_of_short_flows_are_taken_by_name_hosts_port_and_controller() {
    for (take, taken) in [
        ("", vec!["web", "mail.1", "mail.2"]),
        ("take = { flows = \"web\" }", vec!["web"]),
        ("take = { flows = [\"mail\", \"old\"] }", vec!["mail.1", "mail.2"]),
        ("take = { flows = \"mail.2\" }", vec!["mail.2"]),
        ("take = { from = \"web.left\" }", vec!["web"]),
        ("take = { to = \"mail.1.right\" }", vec!["mail.1"]),
        ("take = { port = [25] }", vec!["mail.1", "mail.2"]),
        ("take = { port = [80] }", vec![]),
        ("take = { controller = \"reno\" }", vec!["mail.1", "mail.2"]),
    ] {
        let config = parse(DUMBBELL, &format!("{GROUPS}[[appliance]]\nnode = \"left\"\n{take}"));
        let found: Vec<&str> = group_names(&config).into_iter().map(|(group, ..)| group).collect();
        assert_eq!(found, taken, "{take}");
    }
}

#[test]
fn a_group_over_several_appliances_has_ends_of_its_own_at_each() {
    let group = "[[flow]]\nname = \"web\"\nreverse = true\narrivals = { rate = \"10 /s\", size = \"1 kB\" }\n";
    let two = "[[appliance]]\nnode = \"R\"\nfar = { controller = \"bbr\", tcp = { mss = 500 } }\n\
               [[appliance]]\nnode = \"T\"\nnear = { controller = \"reno\" }";
    let config = parse(CHAIN, &format!("{group}{two}"));
    assert_eq!(group_names(&config), [("web", "appliance2", 0), ("web", "appliance1", 0)]);
    let splits = &config.traffic.arrivals[0].splits;
    assert_eq!((splits[0].near.controller_name.as_str(), splits[1].far.controller_name.as_str()), ("reno", "bbr"));
    assert_eq!(splits[1].far.tcp.mss, 500);
    // connections of the scenario's own are taken as before
    assert_eq!(names(&config).len(), 4);
}

#[test]
fn a_queue_must_hold_the_packets_of_a_groups_connection_too() {
    let queue = "delay = \"12 ms\", queue = { kind = \"drop_tail\", limit = \"4051 bytes\" }";
    let text = DUMBBELL.replace("delay = \"12 ms\"", queue);
    let group = "[[flow]]\nname = \"web\"\narrivals = { rate = \"1 /s\", size = \"1 kB\" }\ntcp = { mss = 4000 }\n\
                 sender_tcp = { mss = 1448 }\n";
    let jumbo = "[[appliance]]\nnode = \"left\"\ntake = { flows = \"web\" }\nfar = { tcp = { mss = 4000 } }";
    parse(&text, group);
    let (field, message, _) = mistake(&text, &format!("{group}{jumbo}"));
    assert_eq!(field, "topology.bottleneck.queue.limit");
    assert!(message.contains("4.052 kB"), "{message}");
}

#[test]
fn an_appliances_connections_count_among_those_of_a_group() {
    // 500,000 a second for 10 s: 5 million, of two connections each
    let group = "[[flow]]\nname = \"web\"\narrivals = { rate = \"500 /ms\", size = \"1 B\" }\n";
    parse(DUMBBELL, group);
    let (field, message, _) = mistake(DUMBBELL, &format!("{group}[[appliance]]\nnode = \"left\""));
    assert_eq!(field, "flow[2].arrivals.rate");
    assert!(message.contains("5000000 flows of 2 connections"), "{message}");
}

#[test]
fn datagrams_go_by() {
    let others = "[[flow]]\nname = \"web\"\narrivals = { rate = \"10 /s\", size = \"1 kB\" }\n[[flow]]\nname = \"voice\"\n\
                  protocol = \"udp\"\napp = { kind = \"cbr\", rate = \"1 Mbit/s\" }\n[[flow]]\nname = \"last\"";
    let config = parse(CHAIN, &format!("{others}\n[[appliance]]\nnode = \"S\""));
    // flows are numbered among connections
    assert_eq!(names(&config), [("there", "appliance1"), ("back", "appliance1"), ("last", "appliance1")]);
    assert_eq!(config.splits[2].flow, 2);
    assert_eq!(group_names(&config), [("web", "appliance1", 0)]);
    let take = "take = { flows = [\"there\", \"voice\"] }";
    let (field, message, remedy) = mistake(CHAIN, &format!("{others}\n[[appliance]]\nnode = \"S\"\n{take}"));
    assert_eq!(field, "appliance[0].take.flows[1]");
    assert!(message.contains("\"voice\" sends datagrams") && remedy.contains("flows of TCP"), "{message}; {remedy}");
}

#[test]
fn each_end_of_each_flow_has_a_random_stream_of_its_own() {
    let sides = "near = { controller = \"bbr\" }\nfar = { controller = \"bbr\" }";
    let seeds = |seed: u32| -> Vec<u64> {
        let config = parse(&format!("seed = {seed}\n{DUMBBELL}"), &format!("[[appliance]]\nnode = \"left\"\n{sides}"));
        let ends = config.splits.iter().flat_map(|split| [&split.near.controller, &split.far.controller]);
        let seed = |controller: &ControllerConfig| match controller {
            ControllerConfig::Bbr(config) => config.seed,
            other => panic!("{other:?}"),
        };
        ends.map(seed).collect()
    };
    let mut all = [seeds(1), seeds(2)].concat();
    assert_eq!(all.len(), 12);
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 12);
    assert_eq!(seeds(1), seeds(1));
}

#[test]
fn an_appliance_echoes_marks_as_the_senders_controller_wants() {
    let text = DUMBBELL.replace("controller = \"reno\"", "controller = \"dctcp\"");
    let config = parse(&text, "[[appliance]]\nnode = \"left\"");
    assert!(config.splits[0].near.tcp.ecn.dctcp_feedback);
    assert_eq!(config.splits[0].near.tcp.ecn.mode, ackclock_tcp::EcnMode::Request);
    assert!(!config.splits[1].near.tcp.ecn.dctcp_feedback);
}

#[test]
fn a_queue_must_hold_the_packets_of_the_connection_that_crosses_it() {
    // 40 octets of headers and 12 of timestamps: 1500 from the sender, 4052 from the appliance on
    let text = |limit: &str| {
        let queue = format!("delay = \"12 ms\", queue = {{ kind = \"drop_tail\", limit = \"{limit}\" }}");
        DUMBBELL.replace("delay = \"12 ms\"", &queue)
    };
    let jumbo = "[[host]]\nname = \"old.right\"\ntcp = { mss = 4000 }\n[[appliance]]\nnode = \"left\"\n\
                 take = { flows = \"old\" }\nfar = { tcp = { mss = 4000 } }";
    parse(&text("4052 bytes"), jumbo);
    // the reverse path has ACKs only
    let (field, message, _) = mistake(&text("4051 bytes"), jumbo);
    assert_eq!(field, "topology.bottleneck.queue.limit");
    assert!(message.contains("4.052 kB"), "{message}");
}

#[test]
fn mistakes_say_what_is_wrong_and_what_to_do() {
    for (appliance, field, what, remedy) in [
        ("node = \"lefty\"", "node", "must be the name of a node", "did you mean \"left\"?"),
        ("node = \"old.left\"", "node", "must be a router", "\"left\""),
        ("name = \"box\"", "node", "is missing", "node = \"left\""),
        (
            "node = \"left\"\ntake = { flows = \"olds\" }",
            "take.flows",
            "must be the name of a flow",
            "did you mean \"old\"?",
        ),
        (
            "node = \"left\"\ntake = { flows = [\"old\", \"x\"] }",
            "take.flows[1]",
            "must be the name of a flow",
            "\"bulk\", \"bulk.1\"",
        ),
        ("node = \"left\"\ntake = { from = \"left\" }", "take.from", "must be the name of a host", "old.left"),
        ("node = \"left\"\ntake = { to = [\"nobody\"] }", "take.to[0]", "must be the name of a host", "old.right"),
        ("node = \"left\"\ntake = { controller = \"cubic\" }", "take.controller", "of some flow", "\"reno\""),
        ("node = \"left\"\ntake = { port = [80, 443] }", "take.port[1]", "the port of some flow", "port = 443"),
        ("node = \"left\"\ntake = { flows = \"old\", port = [80] }", "take", "must allow some connection", "remove"),
        ("node = \"left\"\ntake = { flows = [] }", "take", "must allow some connection", "remove"),
        ("node = \"left\"\ntake = { from = \"old.right\" }", "take", "must allow some connection", "remove"),
        ("node = \"left\"\ncopying = { chunk = \"0 B\" }", "copying.chunk", "must be 1 byte to 1 GiB", "64 KiB"),
        ("node = \"left\"\ncopying = { rate = \"0 bit/s\" }", "copying.rate", "must be 1 bit/s to", "remove it"),
        ("node = \"left\"\ncopying = { delay = \"25 h\" }", "copying.delay", "longer than", "at most"),
        ("node = \"left\"\nhandshake = \"first\"", "handshake", "first", "accept_first"),
        ("node = \"left\"\nfar = { tcp = { mss = 0 } }", "far.tcp.mss", "must be at least 1", "1448"),
        (
            "node = \"left\"\nfar = { controller = \"newreno\", tcp = { loss_recovery = \"sack\" } }",
            "far.tcp.loss_recovery",
            "must not contradict",
            "remove it",
        ),
        (
            "node = \"left\"\nnear = { controller = { kind = \"aimd\", decrease = 2.0 } }",
            "near.controller.decrease",
            "",
            "",
        ),
        (
            "node = \"left\"\nfar = { controller = \"python:mine:Own\" }",
            "far.controller",
            "must be a built-in controller",
            "`ackclock list controllers`",
        ),
        (
            "node = \"left\"\nfar = { controller = { kind = \"external\", name = \"own\" } }",
            "far.controller",
            "must be a built-in controller",
            "`ackclock list controllers`",
        ),
        (
            "node = \"left\"\nnear = { controller = { kind = \"policy\", file = \"nowhere.onnx\" } }",
            "near.controller.file",
            "can be read",
            "check the path",
        ),
        (
            "node = \"left\"\nnear = { controller = \"vegas_modified\", tcp = { timestamps = false } }",
            "near.controller",
            "timestamps",
            "both ends",
        ),
    ] {
        let (found, message, advice) = mistake(DUMBBELL, &format!("[[appliance]]\n{appliance}"));
        assert_eq!(found, format!("appliance[0].{field}"), "{appliance}");
        assert!(message.contains(what), "{appliance}: {message}");
        assert!(advice.contains(remedy), "{appliance}: {advice}");
    }
}

/// Older scenarios have `discipline`, in text and in overrides.
#[test]
fn the_name_of_before_is_understood() {
    let appliance = |fields: &str| format!("{DUMBBELL}\n[[appliance]]\nname = \"box\"\nnode = \"left\"\n{fields}");
    let read = |fields: &str, overrides: &[&str]| {
        let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
        let scenario = Scenario::parse(&appliance(fields), "test.toml", &overrides);
        scenario.map(|scenario| scenario.config().appliances[0].discipline.clone())
    };
    let now = read("buffer_policy = { kind = \"credit\", margin = \"1 ms\" }", &[]).expect("its name of now");
    let before = "discipline = { kind = \"credit\", margin = \"1 ms\" }";
    assert_eq!(read(before, &[]).as_ref(), Ok(&now));
    let credit = "buffer_policy = \"credit\"";
    assert_eq!(read(credit, &["appliance.box.discipline.margin=\"1 ms\""]).as_ref(), Ok(&now));
    assert_eq!(
        read("", &["appliance=[{ node = \"left\", discipline = { kind = \"credit\", margin = \"1 ms\" } }]"]),
        Ok(now)
    );
    let both = read(&format!("{credit}\ndiscipline = \"socket\""), &[]).expect_err("it has both");
    assert_eq!(both.diagnostics[0].field, "appliance[0].discipline");
}

#[test]
fn parameters_of_disciplines_are_in_range() {
    for (parameters, field) in [
        ("ece_interval\", interval = \"0 s\"", "interval"),
        ("ece_droptail\", limit = \"0 B\"", "limit"),
        ("ece_red\", limit = \"320 kB\"", "limit"),
        ("ece_red\", threshold = \"680 kB\"", "threshold"),
        ("ece_red\", max_probability = 0.0", "max_probability"),
        ("ece_red\", max_probability = 1.5", "max_probability"),
        ("drain_rate\", measure = \"0 s\"", "measure"),
        ("drain_rate\", min_segments = 0", "min_segments"),
        ("drain_rate\", target = \"25 h\"", "target"),
        ("codel_window\", interval = \"0 s\"", "interval"),
        ("codel_window\", min_segments = 0", "min_segments"),
        ("not_sent\", low_water = \"0 B\"", "low_water"),
        ("not_sent\", window = \"0 B\"", "window"),
        ("credit\", slow_start_growth = 0.5", "slow_start_growth"),
        ("credit\", margin = \"25 h\"", "margin"),
        ("credit\", target = \"25 h\"", "target"),
    ] {
        let appliance = format!("[[appliance]]\nnode = \"left\"\nbuffer_policy = {{ kind = \"{parameters} }}");
        assert_eq!(mistake(DUMBBELL, &appliance).0, format!("appliance[0].buffer_policy.{field}"));
    }
    // the very limits
    let red = "buffer_policy = { kind = \"ece_red\", threshold = \"1 B\", limit = \"2 B\", max_probability = 1.0 }";
    let config = parse(DUMBBELL, &format!("[tcp]\necn = \"request\"\n[[appliance]]\nnode = \"left\"\n{red}"));
    let expected = EceRedConfig { threshold: Bytes(1), limit: Bytes(2), max_probability: 1.0 };
    assert_eq!(config.appliances[0].discipline, DisciplineConfig::EceRed(expected));
}

#[test]
fn a_discipline_that_raises_ece_needs_ecn_on_the_near_side() {
    let with = |tcp: &str, near: &str, discipline: &str| {
        let tables = format!("[tcp]\necn = \"{tcp}\"\n[[appliance]]\nnode = \"left\"\n");
        format!("{tables}near = {{ tcp = {{ ecn = \"{near}\" }} }}\nbuffer_policy = \"{discipline}\"")
    };
    for discipline in ["ece_interval", "ece_droptail", "ece_red"] {
        parse(DUMBBELL, &with("request", "accept", discipline));
        for (tcp, near) in [("request", "off"), ("accept", "request"), ("off", "request")] {
            let (field, message, remedy) = mistake(DUMBBELL, &with(tcp, near, discipline));
            assert_eq!(field, "appliance[0].buffer_policy");
            assert!(message.contains("raises ECE") && message.contains("\"old\""), "{message}");
            assert!(remedy.contains("ecn = \"request\""), "{remedy}");
        }
    }
    // behind another appliance, that one is the sender
    let two = |ecn: &str| {
        format!(
            "[[appliance]]\nnode = \"R\"\ntake = {{ flows = \"there\" }}\nfar = {{ tcp = {{ ecn = \"{ecn}\" }} }}\n\
             [[appliance]]\nnode = \"S\"\ntake = {{ flows = \"there\" }}\nnear = {{ tcp = {{ ecn = \"accept\" }} }}\n\
             discipline = \"ece_red\""
        )
    };
    parse(CHAIN, &two("request"));
    assert_eq!(mistake(CHAIN, &two("off")).0, "appliance[1].buffer_policy");
}

#[test]
fn appliances_are_apart_and_off_hosts_and_discarders() {
    let two = "[[appliance]]\nnode = \"R\"\n[[appliance]]\nnode = \"R\"";
    assert_eq!(mistake(CHAIN, two).0, "appliance[1].node");
    let two = "[[appliance]]\nname = \"box\"\nnode = \"R\"\n[[appliance]]\nname = \"box\"\nnode = \"S\"";
    assert_eq!(mistake(CHAIN, two).0, "appliance[1].name");
    let (field, message, _) = mistake(CHAIN, "[[appliance]]\nnode = \"A\"");
    assert!(field == "appliance[0].node" && message.contains("\"there\" begins or ends"), "{message}");
    let rules = "{ name = \"S\", discard = [{ kind = \"nth\", n = 1 }] }";
    let text = CHAIN.replace("{ name = \"S\", kind = \"router\" }", rules);
    assert!(mistake(&text, "[[appliance]]\nnode = \"S\"").1.contains("discarder"));
}

/// An appliance's ends have `near.tcp` and `far.tcp`; a `[[host]]` of its node would be without effect.
#[test]
fn an_appliance_is_no_host() {
    let text = CHAIN.replace("{ name = \"R\", kind = \"router\" }", "\"R\"");
    assert_ne!(text, CHAIN);
    let (field, message, remedy) =
        mistake(&text, "[[appliance]]\nnode = \"R\"\n[[host]]\nname = [\"R\"]\ntcp = { mss = 500 }");
    assert_eq!(field, "host[0].name[0]");
    assert!(message.contains("an appliance sits there") && remedy.contains("near.tcp"), "{message}; {remedy}");
}

/// A ring with two paths from A to B: there over R, back over S, and a third host behind R.
const RING: &str = r#"
duration = "10 s"
[topology]
kind = "explicit"
node = [{ name = "A" }, { name = "B" }, { name = "C" }, { name = "R", kind = "router" }, { name = "S", kind = "router" }]
link = [
  { from = "A", to = "R", rate = "1 Gbit/s", delay = "1 ms", duplex = false },
  { from = "R", to = "B", rate = "1 Gbit/s", delay = "1 ms", duplex = false },
  { from = "B", to = "S", rate = "1 Gbit/s", delay = "1 ms", duplex = false },
  { from = "S", to = "A", rate = "1 Gbit/s", delay = "1 ms", duplex = false },
  { from = "R", to = "C", rate = "1 Gbit/s", delay = "1 ms" },
  { from = "S", to = "R", rate = "1 Gbit/s", delay = "1 ms" },
]
[[flow]]
name = "round"
from = "A"
to = "B"
[[flow]]
name = "aside"
from = "A"
to = "C"
"#;

#[test]
fn a_flow_must_cross_an_appliance_on_both_of_its_ways() {
    // A-R-C and C-R-S-A cross R; A-R-B comes back as B-S-A
    assert_eq!(names(&parse(RING, "[[appliance]]\nnode = \"R\"")), [("aside", "appliance1")]);
    let (field, message, _) = mistake(RING, "[[appliance]]\nnode = \"R\"\ntake = { flows = [\"aside\", \"round\"] }");
    assert_eq!(field, "appliance[0].take.flows[1]");
    assert!(message.contains("\"round\" does not come back over"), "{message}");
    let (_, message, _) = mistake(RING, "[[appliance]]\nnode = \"S\"\ntake = { flows = \"round\" }");
    assert!(message.contains("on the reverse path only"), "{message}");
    assert_eq!(mistake(RING, "[[appliance]]\nnode = \"S\"").0, "appliance[0].node");
    let text = RING.replace("{ name = \"S\", kind = \"router\" }", "{ name = \"S\", kind = \"appliance\" }");
    assert_eq!(mistake(&text, "").0, "topology.node[4].kind");
}

#[test]
fn appliances_stand_in_the_same_order_on_both_ways() {
    // A-R-S-B, and back B-R-S-A
    let link = |from: &str, to: &str| {
        format!("{{ from = \"{from}\", to = \"{to}\", rate = \"1 Gbit/s\", delay = \"1 ms\", duplex = false }}, ")
    };
    let links: String = [("A", "R"), ("R", "S"), ("S", "B"), ("B", "R"), ("S", "A")].map(|(a, b)| link(a, b)).concat();
    let text = format!(
        "duration = \"10 s\"\n[topology]\nkind = \"explicit\"\nnode = [{{ name = \"A\" }}, {{ name = \"B\" }}, \
         {{ name = \"R\", kind = \"appliance\" }}, {{ name = \"S\", kind = \"appliance\" }}]\nlink = [{links}]\n\
         [[flow]]\nfrom = \"A\"\nto = \"B\"\n"
    );
    let (field, message, _) = mistake(&text, "");
    assert_eq!(field, "flow[0]");
    assert!(message.contains("in the same order"), "{message}");
    // one of them alone is well
    let one = text.replacen("kind = \"appliance\"", "kind = \"router\"", 1);
    assert_eq!(names(&parse(&one, "")), [("flow1", "S")]);
}

#[test]
fn an_end_kept_short_by_credit_may_still_grow_its_window() {
    use ackclock_tcp::CwndValidation::{Hold, Linux, Rfc7661};
    let far = |discipline: &str, tcp: &str| {
        let table =
            format!("[[appliance]]\nnode = \"left\"\nbuffer_policy = \"{discipline}\"\nfar = {{ tcp = {{ {tcp} }} }}");
        parse(DUMBBELL, &table).splits[0].far.tcp.cwnd_validation
    };
    assert_eq!(far("socket", "profile = \"rfc\""), Hold);
    assert_eq!(far("credit", "profile = \"rfc\""), Rfc7661);
    assert_eq!(far("credit", "cwnd_validation = \"hold\""), Hold);
    assert_eq!(far("credit", ""), Rfc7661);
    assert_eq!(far("credit", "cwnd_validation = \"linux\""), Linux);
    assert_eq!(far("socket", ""), Linux);
}

#[test]
fn an_appliance_is_part_of_what_a_scenario_is() {
    let parse = |discipline: &str| {
        let text = format!("{DUMBBELL}\n[[appliance]]\nnode = \"left\"\nbuffer_policy = {discipline}");
        Scenario::parse(&text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"))
    };
    let scenario = parse("{ kind = \"credit\", margin = { uniform = [\"1 ms\", \"4 ms\"] } }");
    assert_eq!(scenario.varies()[0].0, "appliance[0].buffer_policy.margin");
    let again = Scenario::from_json(&scenario.to_json(), &[]).expect("it was right");
    assert_eq!(again.config(), scenario.config());
    assert_ne!(parse("\"credit\"").hash(), parse("\"drain_rate\"").hash());
}

#[test]
fn the_example_is_the_box_of_the_thesis_and_can_be_changed_by_name() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/ackclock/scenarios/appliance.toml");
    let load = |overrides: &[String]| Scenario::load(&path, overrides).unwrap_or_else(|error| panic!("{error}"));
    let config = load(&[]).config().clone();
    assert_eq!(names(&config), [("old", "box")]);
    assert_eq!(config.flows.iter().filter(|flow| flow.controller_name == "highspeed").count(), 10);
    // 2 * (1 ms + 12 ms + 1 ms), at 1 Gbit/s: a bdp of 3.5 MB
    let QueueConfig::DropTail(queue) = &config.network.links[0].queue else { panic!("drop tail") };
    assert_eq!(queue.limit, QueueLimit::Bytes(Bytes(3_500_000)));
    let changed = load(&["appliance.box.discipline=credit".to_owned()]);
    assert_eq!(changed.config().appliances[0].discipline, DisciplineConfig::Credit(CreditConfig::default()));
}
