//! Traffic in scenarios, and the messages of mistakes.

use std::path::PathBuf;

use ackclock_scenario::{Diagnostic, Scenario};
use ackclock_sim::{
    AppConfig, Arrivals, Ecn, Gaps, Sending, Simulation, SimulationConfig, SizeDistribution, Span, VideoChoice,
};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

fn dumbbell(flows: &str) -> String {
    format!(
        "duration = \"10 s\"\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
         bottleneck = {{ rate = \"10 Mbit/s\", delay = \"8 ms\" }}\n{flows}\n"
    )
}

fn parse(flows: &str) -> SimulationConfig {
    let scenario = Scenario::parse(&dumbbell(flows), "test.toml", &[]);
    scenario.unwrap_or_else(|error| panic!("{error}")).config().clone()
}

fn mistakes(flows: &str) -> Vec<Diagnostic> {
    Scenario::parse(&dumbbell(flows), "test.toml", &[]).expect_err("the scenario is wrong").diagnostics
}

fn one(flow: &str) -> Diagnostic {
    let mut found = mistakes(&format!("[[flow]]\n{flow}"));
    assert_eq!(found.len(), 1, "{flow}: {found:?}");
    found.remove(0)
}

#[test]
fn groups_and_datagrams_stand_beside_connections() {
    let config = parse(
        r#"
[[flow]]
name = "long"
[[flow]]
name = "web"
controller = "reno"
start = "1 s"
arrivals = { rate = "250 /s", size = { cdf = "web_search" }, reply = "1 kB", until = "9 s", count = 100 }
[[flow]]
name = "voice"
protocol = { kind = "udp", payload = "160 B", until = "5 s", ecn = "ect1" }
app = { kind = "cbr", rate = "64 kbit/s" }
"#,
    );
    assert_eq!(config.flows.len(), 1);
    let group = &config.traffic.arrivals[0];
    assert_eq!((group.flow.name.as_str(), group.flow.controller_name.as_str()), ("web", "reno"));
    assert_eq!((group.flow.start, group.until, group.count), (SimTime(1_000_000_000), SimTime(9_000_000_000), 100));
    let Arrivals::Drawn { gaps, mean_gap, reply, .. } = &group.arrivals else { panic!("drawn") };
    assert_eq!(*gaps, Gaps::Exponential);
    assert!((mean_gap - 4e6).abs() < 1e-6); // 250 a second: 4 ms
    assert_eq!(reply, &Some(SizeDistribution::Constant(Bytes(1_000))));
    let voice = &config.traffic.datagrams[0];
    assert_eq!((voice.payload, voice.ecn, voice.until), (160, Ecn::Ect1, SimTime(5_000_000_000)));
    assert_eq!(voice.sending, Sending::Constant(Bandwidth(64_000)));
}

#[test]
fn a_load_is_a_fraction_of_the_slowest_link() {
    let mean_gap = |flow: &str| match &parse(&format!("[[flow]]\n{flow}")).traffic.arrivals[0].arrivals {
        Arrivals::Drawn { mean_gap, .. } => *mean_gap,
        Arrivals::Listed(_) => panic!("drawn"),
    };
    // 10 Mbit/s and 25 kB: 50 flows a second fill the link, 20 take 0.4 of it.
    let found = mean_gap("arrivals = { load = 0.4, size = \"25 kB\" }");
    assert!((found - 5e7).abs() < 1e-3, "{found}");
    // With a reply of 50 kB the reverse path has more: 25 flows a second fill it.
    let found = mean_gap("arrivals = { load = 0.4, size = \"25 kB\", reply = \"50 kB\" }");
    assert!((found - 1e8).abs() < 1e-3, "{found}");
}

#[test]
fn sizes_can_be_said_in_many_ways() {
    let sizes = |text: &str| {
        let config = parse(&format!("[[flow]]\narrivals = {{ rate = \"1 /s\", size = {text} }}"));
        let Arrivals::Drawn { size, .. } = config.traffic.arrivals[0].arrivals.clone() else { panic!("drawn") };
        size
    };
    let mean = |text: &str| sizes(text).mean();
    assert_eq!(sizes("\"20 kB\""), SizeDistribution::Constant(Bytes(20_000)));
    let wanted = SizeDistribution::Uniform { min: Bytes(1_000), max: Bytes(3_000) };
    assert_eq!(sizes("{ uniform = [\"1 kB\", \"3 kB\"] }"), wanted);
    assert!((mean("{ exponential = \"30 kB\" }") - 3e4).abs() < 1e-9);
    assert!((mean("{ pareto = { mean = \"30 kB\", shape = 1.5 } }") - 3e4).abs() < 1e-6);
    assert!((mean("{ log_normal = { mean = \"30 kB\", sigma = 2.0 } }") - 3e4).abs() < 1e-6);
    assert!((mean("{ cdf = \"data_mining\" }") / 7.47e6 - 1.0).abs() < 0.001); // 5117 packets of 1460 bytes
}

#[test]
fn requests_and_video_have_their_defaults() {
    let config = parse(
        r#"
[[flow]]
app = { kind = "request_response", response = { exponential = "50 kB" }, think = { exponential = "1 s" } }
[[flow]]
app = "video"
[[flow]]
app = { kind = "video", ladder = ["1 Mbit/s", "3 Mbit/s"], segment = "2 s", length = "9 s", buffer = "30 s", choose = "rate" }
"#,
    );
    let AppConfig::RequestResponse { request, think, count, .. } = &config.flows[0].app else { panic!("requests") };
    assert_eq!(request, &SizeDistribution::Constant(Bytes(200)));
    assert_eq!((*think, *count), (Span::Exponential(SimDuration::from_secs(1)), u64::MAX));
    let AppConfig::Video(video) = &config.flows[1].app else { panic!("a video") };
    // Huang et al.: a buffer of 240 s, a reservoir of 90 s, the highest bitrate from 216 s on.
    let (reservoir, cushion) = (SimDuration::from_secs(90), SimDuration::from_secs(126));
    assert_eq!(video.choice, VideoChoice::Buffer { reservoir, cushion });
    let AppConfig::Video(video) = &config.flows[2].app else { panic!("a video") };
    assert_eq!(
        (video.length, video.choice),
        (Some(SimDuration::from_secs(9)), VideoChoice::Rate { window: 5, safety: 1.0 })
    );
}

#[test]
fn mistakes_name_place_value_and_remedy() {
    let found = one("arrivals = { rate = \"10 /s\", load = 0.5, size = \"1 kB\" }");
    assert_eq!(found.field, "flow[0].arrivals.load");
    assert_eq!(found.value.as_deref(), Some("0.5"));
    assert_eq!(
        (found.message.as_str(), found.remedy.as_str()),
        ("must not be combined with a rate", "keep one of the two")
    );
    let field = |flow: &str| one(flow).field;
    assert_eq!(field("arrivals = { size = \"1 kB\" }"), "flow[0].arrivals.rate");
    assert_eq!(field("arrivals = { rate = \"10 /s\" }"), "flow[0].arrivals.size");
    assert_eq!(field("arrivals = { rate = \"ten\", size = \"1 kB\" }"), "flow[0].arrivals.rate");
    assert_eq!(
        field("arrivals = { rate = \"10 /s\", size = { uniform = [\"2 kB\"] } }"),
        "flow[0].arrivals.size.uniform"
    );
    assert_eq!(field("arrivals = { rate = \"10 /s\", size = {} }"), "flow[0].arrivals.size");
    let heavy = "arrivals = { rate = \"10 /s\", size = { pareto = { min = \"1 kB\", shape = 1.0 } } }";
    assert_eq!(field(heavy), "flow[0].arrivals.size.pareto.shape");
    assert_eq!(field("arrivals = { rate = \"1000000 /s\", size = \"1 B\" }"), "flow[0].arrivals.rate");
    assert_eq!(field("arrivals = { rate = \"1 /s\", size = \"1 B\" }\napp = \"bulk\""), "flow[0].app");
    assert_eq!(field("arrivals = { rate = \"1 /s\", size = \"1 B\", until = \"0 s\" }"), "flow[0].arrivals.until");
    assert_eq!(field("app = { kind = \"cbr\", rate = \"1 Mbit/s\" }"), "flow[0].app");
    assert_eq!(field("protocol = \"udp\""), "flow[0].app");
    assert_eq!(field("protocol = \"udp\"\napp = \"bulk\""), "flow[0].app");
    let udp = "protocol = \"udp\"\napp = { kind = \"cbr\", rate = \"1 Mbit/s\" }";
    assert_eq!(field(&format!("{udp}\ncontroller = \"reno\"")), "flow[0].controller");
    assert_eq!(field("app = \"video\"\nreply = \"bulk\""), "flow[0].reply");
    assert_eq!(field("reply = \"video\""), "flow[0].reply");
    assert_eq!(field("app = { kind = \"video\", ladder = [\"2 Mbit/s\", \"1 Mbit/s\"] }"), "flow[0].app.ladder");
    assert_eq!(field("app = { kind = \"video\", buffer = \"1 s\" }"), "flow[0].app.buffer");
}

#[test]
fn datagrams_that_no_memory_holds_are_refused() {
    // 1 Gbit/s of access, 29 octets a packet: 4.31 of 100 million a second leave, in 10 s 957 million wait
    let flow = |rate: &str| {
        format!("protocol = {{ kind = \"udp\", payload = \"1 B\" }}\napp = {{ kind = \"cbr\", rate = \"{rate}\" }}")
    };
    let found = one(&flow("800 Mbit/s"));
    assert_eq!(found.field, "flow[0].app.rate");
    assert!(found.message.contains("956896552 datagrams waiting"), "{found:?}");
    parse(&format!("[[flow]]\n{}", flow("42 Mbit/s")));
    // of 550,000 a second through 10 Mbit/s, which takes 43,103, five million wait, and of twice that more than ten
    let two = dumbbell(&format!("[[flow]]\n{0}\n[[flow]]\n{0}", flow("4400 kbit/s")));
    let endless = ["topology.bottleneck.queue={ kind = \"drop_tail\", limit = \"unlimited\" }".to_owned()];
    let error = Scenario::parse(&two, "test.toml", &endless).expect_err("too many");
    assert_eq!(error.diagnostics.iter().map(|found| found.field.as_str()).collect::<Vec<_>>(), ["flow[1].app.rate"]);
}

#[test]
fn datagrams_that_no_memory_holds_are_refused_wherever_they_come_to_wait() {
    // 100 million a second of 29 octets are 23.2 Gbit/s. Once 1 Mbit/s leaves, 4310 do, and of 5 s 499,978,448 wait; of 10 s a terabyte
    // has room for all, and a gigabyte for 34 million.
    let chain = |link: &str, more: &str| {
        let text = format!(
            "duration = \"10 s\"\n[topology]\nkind = \"chain\"\nnodes = [\"a\", \"b\"]\nlinks = [{{ delay = \"1 ms\", {link} }}]\n\
             [[flow]]\nprotocol = {{ kind = \"udp\", payload = \"1 B\" }}\napp = {{ kind = \"cbr\", rate = \"800 Mbit/s\" }}\n{more}"
        );
        Scenario::parse(&text, "test.toml", &[]).map_err(|error| format!("{:?}", error.diagnostics))
    };
    let change = "[[change]]\nat = \"5 s\"\nlink = \"a->b\"\nrate = \"1 Mbit/s\"\n";
    let schedule = "rate = { schedule = [{ rate = \"24 Gbit/s\" }, { at = \"5 s\", rate = \"1 Mbit/s\" }] }";
    let slow = |queue: &str| format!("rate = \"1 Mbit/s\", queue = {queue}");
    for (link, more, waiting) in [
        ("rate = \"24 Gbit/s\"".to_owned(), change, "499978448"),
        (schedule.to_owned(), "", "499978448"),
        (slow("\"drr\""), "", "999956897"),
        (slow("{ kind = \"drop_tail\", limit = \"1 TB\" }"), "", "999956897"),
        (slow("{ kind = \"sfq\", limit = \"1 GB\" }"), "", "34482759"),
        (
            "rate = \"24 Gbit/s\", queue = { kind = \"tbf\", rate = \"1 Mbit/s\", burst = \"1500 B\" }".to_owned(),
            "",
            "999956897",
        ),
    ] {
        let found = chain(&link, more).expect_err("too many");
        assert!(
            found.contains("flow[0].app.rate") && found.contains(&format!("{waiting} datagrams waiting")),
            "{link}: {found}"
        );
    }
    for link in
        ["rate = \"24 Gbit/s\"".to_owned(), slow("{ kind = \"drop_tail\", limit = \"100 MB\" }"), slow("\"fq_codel\"")]
    {
        chain(&link, "").unwrap_or_else(|error| panic!("{link}: {error}"));
    }
}

#[test]
fn rules_know_datagrams_and_refuse_groups() {
    let rule = |flow: &str| {
        format!(
            "duration = \"1 s\"\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
             bottleneck = {{ rate = \"10 Mbit/s\", delay = \"8 ms\", discard = [{{ kind = \"every\", k = 2, flow = \"{flow}\" }}] }}\n\
             [[flow]]\nname = \"short\"\narrivals = {{ rate = \"1 /s\", size = \"1 kB\" }}\n\
             [[flow]]\nname = \"udp\"\nprotocol = \"udp\"\napp = {{ kind = \"cbr\", rate = \"960 kbit/s\" }}\n"
        )
    };
    let scenario = Scenario::parse(&rule("udp"), "t.toml", &[]).expect("a scenario");
    let summary = Simulation::new(scenario.config()).finish().summary;
    // 1200 bytes at 960 kbit/s: one every 10 ms, of which every second is discarded; the last is, and nothing tells so.
    let udp = &summary.datagrams[0];
    assert_eq!((udp.sent, udp.received, udp.lost), (100, 50, 49));
    let found = Scenario::parse(&rule("short"), "t.toml", &[]).expect_err("a group").diagnostics;
    assert_eq!(found[0].field, "topology.bottleneck.discard[0].flow");
}

/// A folder that is removed after the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ackclock-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("a file for the test");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn files_are_found_beside_the_scenario_and_held_to_their_content() {
    let folder = Folder::new("arrivals");
    folder.write("arrivals.csv", "start_s,size_bytes,reply_bytes\n0.5,1000,0\n0.1,200,5000\n");
    let toml = folder.write("replay.toml", &dumbbell("[[flow]]\narrivals = { file = \"arrivals.csv\" }"));
    let scenario = Scenario::load(&toml, &[]).expect("the file lies beside the scenario");
    let Arrivals::Listed(list) = &scenario.config().traffic.arrivals[0].arrivals else { panic!("listed") };
    assert_eq!((list.len(), list[0].size, list[0].reply), (2, Bytes(200), Bytes(5_000)));
    // The JSON form finds it again, and its hash stands for the content.
    let json = scenario.to_json();
    let again = Scenario::from_json(&json, &[]).expect("the same scenario");
    assert_eq!(again.hash(), scenario.hash());
    assert_eq!(again.with_seed(2).expect("a scenario").config().traffic, scenario.config().traffic);
    folder.write("arrivals.csv", "start_s,size_bytes\n0.5,1000\n");
    let found = Scenario::from_json(&json, &[]).expect_err("another content").diagnostics;
    assert_eq!(found[0].field, "flow[0].arrivals.file");
    assert!(found[0].message.contains("SHA-256"), "{}", found[0].message);
    assert_ne!(Scenario::load(&toml, &[]).expect("it can be read").hash(), scenario.hash());
}

#[test]
fn files_that_are_wrong_or_absent_are_mistakes() {
    let folder = Folder::new("wrong");
    folder.write("sizes.txt", "10\nmany\n");
    let flow =
        |file: &str| dumbbell(&format!("[[flow]]\narrivals = {{ rate = \"1 /s\", size = {{ file = \"{file}\" }} }}"));
    let found = |file: &str| {
        let toml = folder.write("test.toml", &flow(file));
        Scenario::load(&toml, &[]).expect_err("a mistake").diagnostics.remove(0)
    };
    let wrong = found("sizes.txt");
    assert_eq!(wrong.field, "flow[0].arrivals.size.file");
    assert_eq!(wrong.message, "must, in line 2, hold numbers only");
    assert!(found("absent.txt").message.starts_with("must be a file that can be read"));
}

#[test]
fn connections_end_otherwise_when_told() {
    let config =
        parse("[[flow]]\nstart = \"1 s\"\nstops_reading = \"5 s\"\nabort_at = \"6 s\"\naccepts = false\n[[flow]]");
    let flow = &config.flows[0];
    let (stops, aborts) = (Some(SimTime(5_000_000_000)), Some(SimTime(6_000_000_000)));
    assert_eq!((flow.stops_reading, flow.abort_at, flow.accepts), (stops, aborts, false));
    let flow = &config.flows[1];
    assert_eq!((flow.stops_reading, flow.abort_at, flow.accepts), (None, None, true));
    // of a group, those that start later are reset as they start
    let group = parse("[[flow]]\ncount = 3\nstart = { first = \"1 s\", spacing = \"2 s\" }\nabort_at = \"4 s\"");
    let times: Vec<_> = group.flows.iter().map(|flow| flow.abort_at.expect("it is said").0 / 1_000_000_000).collect();
    assert_eq!(times, [4, 4, 5]);
}

#[test]
fn ends_that_never_come_are_mistakes() {
    for (flow, field, what) in [
        ("stops_reading = \"10 s\"", "stops_reading", "before the end of the run"),
        ("abort_at = \"11 s\"", "abort_at", "before the end of the run"),
        ("start = \"3 s\"\nabort_at = \"3 s\"", "abort_at", "later than the start"),
        ("start = { first = \"3 s\" }\nabort_at = \"2 s\"", "abort_at", "later than the start"),
        ("port = 65536", "port", "from 0 to 65535, not 65536"),
    ] {
        let found = one(flow);
        assert_eq!(found.field, format!("flow[0].{field}"));
        assert!(found.message.contains(what), "{flow}: {}", found.message);
    }
    for field in ["stops_reading = \"5 s\"", "abort_at = \"5 s\"", "accepts = true"] {
        let name = field.split(' ').next().expect("a name");
        let short = one(&format!("arrivals = {{ rate = \"1 /s\", size = \"1 kB\" }}\n{field}"));
        assert_eq!(short.field, format!("flow[0].{name}"));
        let datagrams = "protocol = \"udp\"\napp = { kind = \"cbr\", rate = \"1 Mbit/s\" }";
        assert_eq!(one(&format!("{datagrams}\n{field}")).field, format!("flow[0].{name}"));
    }
    // datagrams have a port in captures only, which is always the same
    let datagrams = one("protocol = \"udp\"\napp = { kind = \"cbr\", rate = \"1 Mbit/s\" }\nport = 80");
    assert_eq!(datagrams.field, "flow[0].port");
}

#[test]
fn media_is_an_application_of_datagrams_with_a_controller_of_its_own() {
    let config = parse(
        r#"
[[flow]]
name = "call"
protocol = { kind = "udp", ecn = "ect1" }
app = { kind = "media", controller = { kind = "scream", target = "40 ms" }, max_rate = "4 Mbit/s", frame_rate = 25 }
"#,
    );
    let Sending::Media(media) = &config.traffic.datagrams[0].sending else { panic!("media") };
    assert_eq!(
        (media.controller.name(), media.max_rate, media.min_rate),
        ("scream", Bandwidth(4_000_000), Bandwidth(150_000))
    );
    assert_eq!(media.frame_interval(), SimDuration::from_millis(40));
    let place = |flow: &str| one(flow).field;
    assert_eq!(place("app = { kind = \"media\" }"), "flow[0].app");
    assert_eq!(place("reply = { kind = \"media\" }"), "flow[0].reply");
    let udp = |app: &str| place(&format!("protocol = \"udp\"\napp = {{ kind = \"media\", {app} }}"));
    assert_eq!(udp("min_rate = \"2 Mbit/s\""), "flow[0].app.min_rate");
    assert_eq!(udp("controller = { kind = \"gcc\", beta = 1.0 }"), "flow[0].app.controller.beta");
    assert_eq!(udp("controller = \"cubic\""), "flow[0].app.controller");
    let small = "protocol = { kind = \"udp\", payload = \"99 B\" }\napp = { kind = \"media\" }";
    assert_eq!(place(small), "flow[0].protocol.payload");
    assert_eq!(place("controller = \"reno\"\nprotocol = \"udp\"\napp = { kind = \"media\" }"), "flow[0].controller");
}

#[test]
fn what_media_cannot_send_below_does_not_wait_without_end() {
    // 500,000 packets a second of 1024 bits on 10 Mbit/s, which takes 9,765.625: 490,234.375 more each second, of 600.
    let flow = "[[flow]]\nprotocol = { kind = \"udp\", payload = \"100 B\" }\n\
                app = { kind = \"media\", min_rate = \"400 Mbit/s\", max_rate = \"400 Mbit/s\" }";
    let text = dumbbell(flow)
        .replace("delay = \"8 ms\"", "delay = \"8 ms\", queue = { kind = \"drop_tail\", limit = \"unlimited\" }")
        .replace("\"10 s\"", "\"600 s\"");
    let found = Scenario::parse(&text, "test.toml", &[]).expect_err("too many").diagnostics;
    assert_eq!(found[0].field, "flow[0].app.min_rate", "{found:?}");
    assert!(found[0].message.contains("294140625 datagrams"), "{found:?}");
}

fn summary(text: &str) -> ackclock_sim::Summary {
    let scenario = Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    Simulation::new(scenario.config()).finish().summary
}

#[test]
fn a_source_that_is_off_half_of_the_time_carries_half() {
    // 1 s on, 1 s off at 10 Mbit/s: 5 Mbit/s of packets, 4.83 of payload; a window, at most a queue of 1 bdp and the path, 36 ms of
    // the link, leaves in each off period.
    let app = "[[flow]]\napp = { kind = \"on_off\", on = \"1 s\", off = \"1 s\" }";
    let flow = &summary(&dumbbell(app)).flows[0];
    assert!((4.6e6..5.1e6).contains(&flow.goodput_bps), "{}", flow.goodput_bps);
}

#[test]
fn an_ideal_completion_is_of_the_link_at_its_best_however_its_change_is_written() {
    // 20 Mbit/s, from 2 s on 100: the same link as a change and as a schedule.
    let flows = |rate: &str, change: &str| {
        let text = format!(
            "duration = \"6 s\"\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
             bottleneck = {{ rate = {rate}, delay = \"20 ms\", queue = {{ kind = \"drop_tail\", limit = \"200 packets\" }} }}\n\
             [[flow]]\narrivals = {{ rate = \"4 /s\", size = \"300 kB\" }}\n{change}"
        );
        summary(&text).groups[0].slowdown.expect("flows were complete").mean
    };
    let schedule = "{ schedule = [{ rate = \"20 Mbit/s\" }, { at = \"2 s\", rate = \"100 Mbit/s\" }] }";
    let one = flows("\"20 Mbit/s\"", "[[change]]\nat = \"2 s\"\nlink = \"bottleneck\"\nrate = \"100 Mbit/s\"\n");
    let other = flows(schedule, "");
    assert!((one / other - 1.0).abs() < 0.02, "{one} and {other}");
}

#[test]
fn a_connection_is_one_of_those_that_share_a_link_however_many_ways_it_carries_data() {
    // Jain, Chiu and Hawe 1984: x is what a user gets. Two alike have an index near 1, and not half of it.
    let app = "[[flow]]\ncount = 2\napp = { kind = \"request_response\", response = \"200 kB\" }";
    let index = summary(&dumbbell(app)).jain_index.expect("both got data");
    assert!(index > 0.9, "{index}");
}

#[test]
fn whoever_is_not_there_shares_nothing() {
    // Jain, Chiu and Hawe 1984: of n users. Of one flow that begins after the window and one that was complete before it nothing is
    // said there: the index is that of the other two.
    let two = "[[flow]]\ncount = 2\n";
    let more = "[[flow]]\nname = \"before\"\napp = { kind = \"file\", size = \"1 kB\" }\n[[flow]]\nname = \"after\"\nstart = \"9 s\"\n";
    let index = |flows: &str| {
        let text = dumbbell(flows).replacen("duration", "measure = { from = \"4 s\", to = \"8 s\" }\nduration", 1);
        summary(&text).jain_index.expect("they got data")
    };
    // With four, of whom two have nothing, it could not be above a half.
    let (alone, among_others) = (index(two), index(&format!("{two}{more}")));
    assert!(alone > 0.9 && among_others > 0.9, "{alone} {among_others}");
}

#[test]
fn names_of_flows_groups_and_replies_differ() {
    for flows in [
        "[[flow]]\nname = \"a\"\nreply = \"bulk\"\n[[flow]]\nname = \"a.reply\"\n",
        "[[flow]]\nname = \"a\"\ncount = 2\n[[flow]]\nname = \"a\"\n",
        "[[flow]]\nname = \"a\"\ncount = 2\n[[flow]]\nname = \"a.2\"\n",
        "[[flow]]\nname = \"a\"\napp = { kind = \"video\" }\n[[flow]]\nname = \"a.reply\"\n",
    ] {
        let found = mistakes(flows);
        assert_eq!(found.len(), 1, "{flows}: {found:?}");
        assert!(
            found[0].field.rsplit('.').next() == Some("name") && found[0].message.starts_with("must be unique"),
            "{found:?}"
        );
    }
}

#[test]
fn an_encoder_that_would_fill_the_memory_is_refused() {
    // Key frames of 100 MB each millisecond, in packets of 1200 octets: 83,334 of them, for 100 h of waiting and more.
    let app = "protocol = \"udp\"\napp = { kind = \"media\", frame_rate = 1000, key_frame = \"100 MB\", key_interval = \"1 ms\"";
    let found = one(&format!("{app}, discard_after = \"1000 h\" }}"));
    assert_eq!(found.field, "flow[0].app.discard_after");
    // A default gives way to what is written.
    parse("[[flow]]\nprotocol = \"udp\"\napp = { kind = \"media\", max_rate = \"100 kbit/s\" }");
}

#[test]
fn a_default_is_not_judged_as_if_it_had_been_written() {
    // 64 kbit/s for 40 ms are 320 octets: no packet. Nobody wrote a limit.
    let slow = |queue: &str| {
        format!(
            "duration = \"1 s\"\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
             bottleneck = {{ rate = \"64 kbit/s\", delay = \"19 ms\"{queue} }}\n[[flow]]\ncontroller = \"reno\"\n"
        )
    };
    for kind in ["", "drop_tail", "codel", "fq_codel", "pie", "red", "sfq", "fq", "cake"] {
        let queue = if kind.is_empty() { String::new() } else { format!(", queue = \"{kind}\"") };
        Scenario::parse(&slow(&queue), "test.toml", &[]).unwrap_or_else(|error| panic!("{kind}: {error}"));
    }
    let written = slow(", queue = { kind = \"drop_tail\", limit = \"1 bdp\" }");
    assert_eq!(Scenario::parse(&written, "test.toml", &[]).expect_err("no packet").diagnostics.len(), 1);
}

/// A hop of a parking lot that no flow crosses has no BDP; no packets wait there, and two have room as at any
/// bottleneck.
#[test]
fn a_default_in_bdp_is_no_mistake_where_no_flow_crosses() {
    let lot = |queue: &str, flow: &str| {
        format!(
            "duration = \"1 s\"\n[topology]\nkind = \"parking_lot\"\nhops = 3\naccess = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
             bottleneck = {{ rate = \"10 Mbit/s\", delay = \"9 ms\"{queue} }}\n[[flow]]\n{flow}"
        )
    };
    let inner = "from = \"H2\"\nto = \"H3\"\n";
    for kind in ["drop_tail", "codel", "fq_codel", "pie", "red", "sfq", "fq", "drr", "cake", "dualpi2"] {
        Scenario::parse(&lot(&format!(", queue = \"{kind}\""), inner), "test.toml", &[])
            .unwrap_or_else(|error| panic!("{kind}: {error}"));
    }
    let limit = |flow: &str, link: &str| {
        let scenario = Scenario::parse(&lot("", flow), "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
        let links = &scenario.config().network.links;
        format!("{:?}", links.iter().find(|one| one.name == link).expect("the link").queue)
    };
    // 10 Mbit/s for 2 * (1 + 9 + 1) ms.
    assert!(limit(inner, "R2->R3").contains("Bytes(27500)"), "{}", limit(inner, "R2->R3"));
    assert!(limit(inner, "R1->R2").contains("Packets(2)"), "{}", limit(inner, "R1->R2"));
    let written = lot(", queue = { kind = \"drop_tail\", limit = \"1 bdp\" }", inner);
    let found = Scenario::parse(&written, "test.toml", &[]).expect_err("no round trip").diagnostics;
    assert_eq!(found[0].field, "topology.bottleneck.queue.limit");
}

/// An empty column does not take the next one's number: 1000 octets of reply are not a request.
#[test]
fn an_empty_column_is_no_number_and_a_byte_order_mark_no_text() {
    let folder = Folder::new("columns");
    let toml = folder.write("test.toml", &dumbbell("[[flow]]\narrivals = { file = \"list.csv\" }"));
    let read = |text: &str| {
        folder.write("list.csv", text);
        Scenario::load(&toml, &[]).map_err(|error| error.diagnostics[0].message.clone())
    };
    for text in ["0,,1000\n", "0,1000,\n", "start_s,size_bytes,reply_bytes\n0, ,1000\n"] {
        assert!(read(text).expect_err(text).contains("hold numbers only"), "{text}");
    }
    for text in ["0, 1000\n", "0 1000\n", "\u{feff}start_s,size_bytes\n0,1000\n"] {
        assert!(read(text).is_ok(), "{text}");
    }
}

#[test]
fn sizes_of_every_form_are_a_pebibyte_at_most() {
    for size in ["\"2 PiB\"", "{ uniform = [\"1 B\", \"2 PiB\"] }", "{ exponential = \"2 PiB\" }"] {
        let found = one(&format!("[[flow]]\narrivals = {{ rate = \"1 /s\", size = {size} }}"));
        assert!(found.message.contains("1 PiB"), "{size}: {found}");
    }
}
