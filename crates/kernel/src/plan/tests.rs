use super::*;
use ackclock_scenario::Scenario;

fn planned(lines: &str) -> Result<Plan, Vec<Refusal>> {
    let text = format!(
        r#"
        duration = "1 s"
        [topology]
        kind = "dumbbell"
        access = {{ rate = "1 Gbit/s", delay = "10 us" }}
        bottleneck = {{ rate = "100 Mbit/s", delay = "10 ms" }}
        {lines}
        "#
    );
    let scenario = Scenario::parse(&text, "plan.toml", &[]).expect("a right scenario");
    Plan::new(scenario.config(), &["reno".to_owned(), "cubic".to_owned(), "bbr".to_owned()])
}

fn places(lines: &str) -> Vec<String> {
    planned(lines).expect_err("refused").into_iter().map(|refusal| refusal.place).collect()
}

#[test]
fn hosts_as_the_kernel_comes_need_its_defaults_only() {
    let plan = planned("[[flow]]\nname = \"a\"\ncontroller = \"cubic\"").expect("it can");
    assert_eq!((plan.flows[0].controller.as_str(), plan.mtu), ("cubic", 1_500));
    let set = |name: &str| plan.sides[0].parameters[name].clone();
    // Documentation/networking/ip-sysctl.rst of Linux 6.18 has these as defaults.
    assert_eq!(set("net.ipv4.tcp_sack"), "1");
    assert_eq!(set("net.ipv4.tcp_recovery"), "1");
    assert_eq!(set("net.ipv4.tcp_early_retrans"), "3");
    assert_eq!(set("net.ipv4.tcp_ecn"), "2");
    assert_eq!(set("net.ipv4.tcp_rmem"), "4096 131072 33554432");
    assert_eq!(set("net.ipv4.tcp_wmem"), "4096 16384 4194304");
    assert_eq!(plan.sides[0], plan.sides[1]);
    assert_eq!(plan.flows[0].opener, SocketOptions { max_segment: 1_460, ..SocketOptions::default() });
}

#[test]
fn applications_and_short_flows_of_the_simulator_are_taken() {
    let video = "[[flow]]\nname = \"a\"\napp = { kind = \"video\", buffer = \"20 s\", choose = \"buffer\" }\n";
    let short = "[[flow]]\nname = \"b\"\ncontroller = \"reno\"\narrivals = { rate = \"10 /s\", size = \"9 kB\" }\n";
    let plan = planned(&format!("{video}{short}")).expect("it can");
    let controllers: Vec<&str> = plan.flows.iter().map(|flow| flow.controller.as_str()).collect();
    assert_eq!(controllers, ["cubic", "reno"], "flows, then groups of short ones");
    let reuse = |side: usize| plan.sides[side].parameters.contains_key("net.ipv4.tcp_tw_reuse");
    assert!(reuse(0) && !reuse(1));
}

#[test]
fn switches_that_the_kernel_has_are_set() {
    let lines = r#"
        [tcp]
        mss = 960
        timestamps = false
        sack = false
        ecn = "request"
        nagle = "off"
        receive_buffer = "1 MB"
        idle_restart = "off"
        [[flow]]
        name = "a"
        controller = "reno"
    "#;
    let plan = planned(lines).expect("it can");
    let set = |name: &str| plan.sides[1].parameters[name].clone();
    assert_eq!((set("net.ipv4.tcp_sack"), set("net.ipv4.tcp_timestamps")), ("0".to_owned(), "0".to_owned()));
    assert_eq!((set("net.ipv4.tcp_ecn"), set("net.ipv4.tcp_slow_start_after_idle")), ("1".to_owned(), "0".to_owned()));
    assert_eq!(plan.mtu, 1_000); // 960 and 40 of headers
    // Twice that is memory, of which 104/256 is window. Linux 6.18, told 123,077, had 8.153 Mbit/s over 100.3 ms: 102 kB.
    let expected =
        SocketOptions { max_segment: 960, receive_buffer: Some(1_230_770), no_delay: true, ..SocketOptions::default() };
    assert_eq!(plan.flows[0].acceptor, expected);
}

#[test]
fn the_kernel_is_told_memory_for_a_window() {
    let ends_at = |more: &str| {
        let tuning = format!("receive_autotuning = {{ initial = \"64 kB\", max = \"400 kB\", opens_to = \"{more}\" }}");
        let plan =
            planned(&format!("[tcp]\n{tuning}\n[[flow]]\nname = \"a\"\ncontroller = \"cubic\"")).expect("it can");
        plan.sides[0].parameters["net.ipv4.tcp_rmem"].clone()
    };
    // Of 400 kB Linux 6.18 made a window of 249 kB (19.88 Mbit/s over 100.3 ms), 158/256; for 400 it takes 648.
    assert_eq!(ends_at("0 B"), "4096 131072 648102");
    assert_eq!(ends_at("80931 B"), "4096 131072 400000"); // memory already
}

#[test]
fn what_the_kernel_cannot_do_is_refused_with_its_place() {
    let flow = |rest: &str| format!("[[flow]]\nname = \"a\"\n{rest}");
    assert_eq!(places(&flow("controller = \"copa\"")), ["flow[0].controller"]);
    assert_eq!(places(&flow("controller = { kind = \"cubic\", beta = 0.5 }")), ["flow[0].controller"]);
    assert!(places(&flow("controller = \"tahoe\"")).contains(&"flow[0].controller".to_owned()));
    let opnet = places(&flow("controller = \"cubic\"\ntcp = { rto = { estimator = \"rfc6298\" } }"));
    assert_eq!(opnet, ["flow[0].tcp.rto"]);
    assert_eq!(places(&flow("controller = \"cubic\"\nprotocol = \"quic\"")), ["flow[0].protocol"]);
    assert_eq!(
        places(&flow("protocol = \"udp\"\napp = { kind = \"media\", controller = \"gcc\" }")),
        ["flow \"a\": app"]
    );
    assert_eq!(places("[trace]\nevents = \"all\"\n[[flow]]\nname = \"a\"\ncontroller = \"cubic\""), ["trace.events"]);
}

#[test]
fn flows_of_one_side_have_one_set_of_parameters() {
    let two = "[[flow]]\nname = \"a\"\ncontroller = \"cubic\"\n[[flow]]\nname = \"b\"\ncontroller = \"cubic\"\ntcp = { sack = false }";
    let refusals = planned(two).expect_err("refused");
    assert_eq!(refusals[0].place, "flow[1].tcp");
    assert!(refusals[0].reason.contains("net.ipv4.tcp_sack"), "{}", refusals[0]);
}

#[test]
fn controllers_with_the_parameters_of_the_profile_are_the_kernels() {
    let plan = planned("[[flow]]\nname = \"a\"\ncontroller = \"bbr\"\n[[flow]]\nname = \"b\"\ncontroller = \"reno\"");
    let names: Vec<String> = plan.expect("it can").flows.into_iter().map(|flow| flow.controller).collect();
    assert_eq!(names, ["bbr", "reno"]);
}

#[cfg(feature = "bpf")]
#[test]
fn a_controller_that_the_kernel_lacks_is_registered_once_for_each_set_of_parameters() {
    let flow = |name: &str, more: &str| {
        format!("[[flow]]\nname = \"{name}\"\ncontroller = {{ kind = \"aimd\", a = 0.2, b = {more} }}\n")
    };
    let plan = planned(&(flow("a", "0.125") + &flow("b", "0.5") + &flow("c", "0.125"))).expect("it can");
    let names: Vec<&str> = plan.flows.iter().map(|flow| flow.controller.as_str()).collect();
    assert_eq!(names[0], names[2]);
    assert_ne!(names[0], names[1]);
    assert!(names.iter().all(|name| name.len() <= 15 && name.starts_with("ac")), "{names:?}");
    let refused = planned("[[flow]]\nname = \"a\"\ncontroller = { kind = \"highspeed\", response = \"table\" }");
    assert!(refused.expect_err("it cannot")[0].reason.contains("response"));
}
