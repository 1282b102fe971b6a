use super::*;
use ackclock_scenario::Scenario;

fn planned(lines: &str) -> Result<Plan, Vec<Refusal>> {
    asked(lines, false)
}

fn asked(lines: &str, asks: bool) -> Result<Plan, Vec<Refusal>> {
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
    Plan::new(scenario.config(), &["reno", "cubic", "bbr", "dctcp"].map(str::to_owned), asks)
}

/// A policy of one weight, whose file is read with the scenario.
#[cfg(feature = "bpf")]
#[test]
fn a_policy_decides_on_the_host_where_the_kernel_asks() {
    let agent = r#"{"observations": ["cwnd_segments"], "action": "orca"}"#;
    let path = std::env::temp_dir().join(format!("ackclock-plan-policy-{}.onnx", std::process::id()));
    let network = ackclock_agent::policy::policy_file(agent, None, [(&[1.0][..], &[0.0][..])].into_iter());
    std::fs::write(&path, network).expect("written");
    let lines = format!("[[flow]]\ncontroller = {{ kind = \"policy\", file = '{}' }}", path.display());
    assert_eq!(places(&lines), ["flow[0].controller"]);
    let plan = asked(&lines, true).expect("it can");
    std::fs::remove_file(path).expect("it was written");
    assert_eq!(plan.flows[0].controller, "ackclock_agent");
    let asked = asked("[[flow]]\ncontroller = \"cubic\"", true).expect("it can");
    assert_eq!(asked.flows[0].controller, "cubic", "the kernel's own");
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
    let captured = short.replace("name", "capture = true\nname");
    assert_eq!(places(&format!("{video}{captured}")), ["flow \"b\".capture"]);
}

#[test]
fn captures_refusals_and_resets_are_taken() {
    let lines = "[[flow]]\nname = \"a\"\ncontroller = \"cubic\"\ncapture = true\nabort_at = \"500 ms\"\n\
                 [[flow]]\nname = \"b\"\ncontroller = \"cubic\"\naccepts = false";
    assert!(planned(lines).is_ok());
}

/// The module asks for ECN and echoes marks exactly by itself; any other controller has no such echo.
#[test]
fn the_exact_echo_is_dctcps_alone() {
    let plan = planned("[[flow]]\nname = \"a\"\ncontroller = \"dctcp\"").expect("it can");
    assert_eq!((plan.flows[0].controller.as_str(), &*plan.sides[1].parameters["net.ipv4.tcp_ecn"]), ("dctcp", "1"));
    let refused = planned("[tcp]\ndctcp_feedback = true\n[[flow]]\nname = \"a\"\ncontroller = \"reno\"");
    let places: Vec<String> = refused.expect_err("it cannot").into_iter().map(|refusal| refusal.place).collect();
    assert_eq!(places, ["flow[0].tcp.dctcp_feedback"]);
    let refused = planned("[tcp]\ndctcp_feedback = false\n[[flow]]\nname = \"a\"\ncontroller = \"dctcp\"");
    let places: Vec<String> = refused.expect_err("it cannot").into_iter().map(|refusal| refusal.place).collect();
    assert_eq!(places, ["flow[0].tcp.dctcp_feedback"]);
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
    assert_eq!(set("net.ipv4.tcp_comp_sack_slack_ns"), "100000"); // as 6.18 comes
    assert!(!plan.sides[1].parameters.contains_key("net.ipv4.tcp_comp_sack_rtt_percent"), "6.18 does not know it");
    // Twice that is memory, of which 106/256 is window. Linux 6.18, told 123,077, had 8.153 Mbit/s over 100.3 ms: 102 kB.
    let expected =
        SocketOptions { max_segment: 960, receive_buffer: Some(1_207_548), no_delay: true, ..SocketOptions::default() };
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
    // Of 400 kB Linux 6.18 made a window of 249 kB (19.88 Mbit/s over 100.3 ms), 160/256 less a segment; for 400 it takes 640.
    // Of tcp_rmem = "4096 128000 33554432" its first window was 64,000 octets (ss -i).
    assert_eq!(ends_at("0 B"), "4096 128000 640000");
    assert_eq!(ends_at("80931 B"), "4096 128000 400000"); // memory already
}

/// docs/how-to/on-the-kernel.md: a value is set if the kernel has such a setting, and else refused. Bounds are those of Linux 6.18's
/// `sysctl_net_ipv4.c` and `tcp.h`: a byte of retries, 1 to 127 SYNs, segments of 88 to 32,767 octets, timeouts in milliseconds.
#[test]
fn numbers_that_the_kernel_does_not_take_are_refused() {
    let with = |switch: &str| format!("[[flow]]\nname = \"a\"\ncontroller = \"cubic\"\ntcp = {{ {switch} }}");
    let taken = [
        "max_retries = 255",
        "syn_retries = 1",
        "syn_retries = 127",
        "syn_linear_timeouts = 127",
        "mss = 76",
        "mss = 32755",
        "dup_thresh = 1",
        "max_dup_thresh = 2147483647",
        "user_timeout = \"1 ms\"",
        "send_autotuning = { initial = \"87 kB\", max = \"8 kB\" }",
    ];
    for switch in taken {
        assert!(planned(&with(switch)).is_ok(), "{switch}: {:?}", planned(&with(switch)));
    }
    let refused = [
        "max_retries = 256",
        "syn_retries = 0",
        "syn_retries = 128",
        "syn_linear_timeouts = 128",
        "mss = 75",
        "mss = 32756",
        "max_dup_thresh = 2147483648",
        "user_timeout = \"500 us\"",
        "user_timeout = \"600 h\"",
        "receive_autotuning = { max = \"1 kB\" }",
        "send_autotuning = { initial = \"87 kB\", max = \"4 kB\" }",
        "send_autotuning = { initial = \"20 kB\" }",
        "sack_compression = { acks = 256 }",
        "small_queues = { limit = \"2 GiB\" }",
    ];
    for switch in refused {
        let place = format!("flow[0].tcp.{}", switch.split(' ').next().expect("a name"));
        assert_eq!(places(&with(switch)), [place], "{switch}");
    }
    let set = |switch: &str, name: &str| planned(&with(switch)).expect("it can").sides[0].parameters[name].clone();
    // A window of 50 kB is 80,000 octets of memory, 160/256 of which are window; it begins with no more.
    assert_eq!(set("receive_autotuning = { max = \"50 kB\" }", "net.ipv4.tcp_rmem"), "4096 80000 80000");
    assert_eq!(set("send_autotuning = { initial = \"87 kB\", max = \"8 kB\" }", "net.ipv4.tcp_wmem"), "4096 8000 8000");
    assert_eq!(set("small_queues = { limit = \"1 MiB\" }", "net.ipv4.tcp_limit_output_bytes"), "1048576");
    assert_eq!(set("sack_compression = false", "net.ipv4.tcp_comp_sack_nr"), "0");
    assert_eq!(set("profile = \"linux-7.3\"", "net.ipv4.tcp_comp_sack_rtt_percent"), "33");
}

#[test]
fn what_the_kernel_cannot_do_is_refused_with_its_place() {
    let flow = |rest: &str| format!("[[flow]]\nname = \"a\"\n{rest}");
    assert_eq!(places(&flow("controller = \"pcc_vivace\"")), ["flow[0].controller"]);
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

#[cfg(feature = "bpf")]
#[test]
fn a_policy_in_whole_numbers_is_loaded_and_one_in_floating_point_refused() {
    let flow = |file: &str| {
        let file = format!("{}/../../studies/{file}", env!("CARGO_MANIFEST_DIR"));
        format!("[[flow]]\nname = \"a\"\ncontroller = {{ kind = \"policy\", file = \"{file}\" }}\n")
    };
    let plan = planned(&flow("kernel/dqn-newreno.whole")).expect("it can");
    assert!(plan.flows[0].controller.starts_with("ac"), "{}", plan.flows[0].controller);
    let refused = planned(&flow("learned/policy.onnx")).expect_err("it cannot");
    assert_eq!(refused[0].place, "flow[0].controller");
    assert!(refused[0].remedy.contains("ackclock export FILE --to bpf"), "{}", refused[0]);
}

#[test]
fn a_chosen_controller_is_one_of_the_kernels() {
    let text = "duration = \"1 s\"\nflow = [{ name = \"a\" }]\n[topology]\nkind = \"dumbbell\"\n\
                access = { rate = \"1 Gbit/s\", delay = \"10 us\" }\n\
                bottleneck = { rate = \"100 Mbit/s\", delay = \"10 ms\" }\n";
    let scenario = Scenario::parse(text, "plan.toml", &[]).expect("a right scenario");
    let available = ["cubic".to_owned(), "my_cc".to_owned()];
    let mut plan = Plan::new(scenario.config(), &available, false).expect("it can");
    let mut choose = |flow: &str, name: &str| {
        let refused = plan.choose(scenario.config(), &[(flow.to_owned(), name.to_owned())], &available);
        refused.map(|()| plan.flows[0].controller.clone()).map_err(|refusals| refusals[0].reason.clone())
    };
    assert_eq!(choose("a", "my_cc"), Ok("my_cc".to_owned()));
    assert_eq!(choose("a", "mine").unwrap_err(), "this kernel has no controller \"mine\"; it has cubic, my_cc");
    assert!(choose("b", "cubic").unwrap_err().starts_with("unknown TCP flow \"b\""));
}
