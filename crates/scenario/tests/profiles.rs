//! Profiles besides their switches: the default controller, values that come with a switch, the system's own names.

use ackclock_scenario::{Diagnostic, Scenario};
use ackclock_sim::Simulation;
use ackclock_tcp::{LossRecovery, MAX_SCALED_WINDOW};
use ackclock_units::Bytes;

/// The testbed of the OPNET notes: DS3, a round trip of 50 ms, a file of 50,000,000 bytes over two idle discarders.
fn notes(tcp: &str) -> Scenario {
    let text = format!(
        "duration = \"60 s\"\n[topology]\nkind = \"chain\"\nnodes = [\"Server\", {{ name = \"Discarder_1\", kind = \"discarder\" }}, \
         {{ name = \"Discarder_2\", kind = \"discarder\" }}, \"STA\"]\n\
         link = {{ rate = \"DS3\", delay = \"8333 us\", framing = \"ppp\" }}\n\
         [tcp]\nprofile = \"opnet-17\"\n{tcp}\n[[flow]]\nname = \"ftp\"\napp = {{ kind = \"file\", size = \"50 MB\" }}\n"
    );
    Scenario::parse(&text, "notes.toml", &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn completion_s(scenario: &Scenario) -> f64 {
    let summary = Simulation::new(scenario.config()).finish().summary;
    summary.flows[0].completion_s.expect("the file arrives")
}

/// The notes on OPNET: Window Scaling brings larger buffers and a very large initial ssthresh.
///
/// Without it goodput is at most about 10 Mbit/s; with it, up to the link's 45, and the file completes far sooner.
#[test]
fn window_scaling_is_one_switch_in_opnet() {
    let (off, on) = (notes(""), notes("window_scaling = true"));
    let tcp = &on.config().flows[0].sender;
    assert_eq!([tcp.receive_buffer, tcp.send_buffer], [MAX_SCALED_WINDOW; 2]);
    assert_eq!(tcp.initial_ssthresh, Some(Bytes(65_535 << 14))); // RFC 7323 section 2.3
    assert_eq!(off.config().flows[0].sender.initial_ssthresh, Some(Bytes(65_535)));
    // 65,535 * 8 / 0.05 = 10.49 Mbit/s is the bound of a window, and 50 MB take 38.1 s; 44.736 Mbit/s carries them in 8.94 s.
    let (slow, fast) = (completion_s(&off), completion_s(&on));
    assert!(slow > 38.1 && (8.94..slow / 2.0).contains(&fast), "{slow} s, {fast} s");
}

#[test]
fn what_is_written_beside_a_switch_is_left_alone() {
    let tcp = notes("window_scaling = true\nreceive_buffer = \"100860 bytes\"").config().flows[0].receiver.clone();
    assert_eq!((tcp.receive_buffer, tcp.send_buffer), (Bytes(100_860), MAX_SCALED_WINDOW));
    let tcp = notes("window_scaling = false").config().flows[0].receiver.clone();
    assert_eq!(tcp.receive_buffer, Bytes(65_535));
}

#[test]
fn window_scaling_that_changes_nothing_is_told() {
    let told = |tcp: &str| notes(tcp).scaling_without_effect().map(str::to_owned);
    for profile in ["opnet-17", "rfc", "linux-6.x"] {
        let with = |tcp: &str| {
            told(&format!("[[host]]\nname = [\"Server\", \"STA\"]\ntcp = {{ profile = \"{profile}\", {tcp} }}"))
        };
        // RFC 7323 section 2: 16 bits say up to 65,535 octets.
        assert_eq!(with("window_scaling = true, receive_buffer = \"65535 B\"").as_deref(), Some("ftp"), "{profile}");
        assert_eq!(with("window_scaling = true, receive_buffer = \"65536 B\""), None, "{profile}");
        assert_eq!(with("window_scaling = true"), None, "{profile}");
        assert_eq!(with("receive_buffer = \"65535 B\""), None, "{profile}: nobody asked for scaling");
    }
    let set = ["flow[0].sender_tcp.window_scaling=true".to_owned()];
    let one_end = Scenario::from_json(&notes("").to_json(), &set).expect("right");
    assert_eq!(one_end.scaling_without_effect(), Some("ftp"), "both ends have to offer it");
}

fn dumbbell(rest: &str) -> Result<Scenario, Vec<Diagnostic>> {
    let text = format!(
        "duration = \"1 s\"\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"OC-3\", delay = \"1 ms\" }}\n\
         bottleneck = {{ rate = \"DS3\", delay = \"8 ms\" }}\n{rest}\n"
    );
    Scenario::parse(&text, "test.toml", &[]).map_err(|error| error.diagnostics)
}

fn controller_of(rest: &str) -> String {
    dumbbell(rest).expect("right").config().flows[0].controller_name.clone()
}

#[test]
fn a_flow_that_names_no_controller_has_its_stacks() {
    // 4.3BSD-Reno; Agent/TCP of ns-2 is Tahoe; OPNET's Reno window with New Reno's recovery; Linux 2.4.0 has Reno alone; ns-3 has CUBIC since
    // 3.34; CUBIC: Linux since 2.6.19, Windows since 10, FreeBSD since 14, macOS since 10.10, RFC 9438.
    let stacks = [
        ("bsd-4.3", "reno"),
        ("ns2", "tahoe"),
        ("opnet-17", "reno"),
        ("linux-2.4", "reno"),
        ("ns3-3.4x", "cubic"),
        ("rfc", "cubic"),
    ];
    for (profile, controller) in stacks {
        assert_eq!(controller_of(&format!("[tcp]\nprofile = \"{profile}\"\n[[flow]]")), controller, "{profile}");
    }
    for modern in ["linux-6.x", "windows-11", "macos-15", "freebsd-14"] {
        assert_eq!(controller_of(&format!("[tcp]\nprofile = \"{modern}\"\n[[flow]]")), "cubic", "{modern}");
    }
    assert_eq!(controller_of("[[flow]]"), "cubic");
    assert_eq!(controller_of("[tcp]\nprofile = \"ns2\"\n[[flow]]\ncontroller = \"vegas\""), "vegas");
    // The sender's stack decides, as for parameters.
    assert_eq!(controller_of("[[flow]]\nsender_tcp = { profile = \"bsd-4.3\" }"), "reno");
    assert_eq!(controller_of("[[flow]]\nreceiver_tcp = { profile = \"bsd-4.3\" }"), "cubic");
    let tahoe = dumbbell("[tcp]\nprofile = \"ns2\"\n[[flow]]").expect("right");
    assert_eq!(tahoe.config().flows[0].sender.loss_recovery, LossRecovery::Tahoe);
}

#[test]
fn a_stacks_own_controller_does_not_outrank_what_is_written() {
    let found = dumbbell("[tcp]\nprofile = \"ns2\"\nloss_recovery = \"newreno\"\n[[flow]]").expect_err("tahoe");
    assert_eq!(found[0].field, "tcp.loss_recovery");
    assert!(found[0].message.contains("\"tahoe\""), "{}", found[0]);
    assert!(dumbbell("[tcp]\nloss_recovery = \"reno\"\n[[flow]]\nsender_tcp.profile = \"ns2\"").is_ok(), "forgotten");
}

/// The attributes of OPNET's sheet, from the notes.
#[test]
fn opnets_attributes_lead_to_the_fields_here() {
    let attributes = [
        ("Initial RTO", "initial"),
        ("Minimum RTO", "min"),
        ("Maximum RTO", "max"),
        ("RTT Gain", "rtt_gain"),
        ("Deviation Gain", "deviation_gain"),
        ("RTT Deviation Coefficient", "deviation_weight"),
        ("Timer Granularity", "granularity"),
        ("Karn's Algorithm", "karn"),
    ];
    for (attribute, field) in attributes {
        let as_key = attribute.replace('\'', "").replace(' ', "_").to_lowercase();
        for key in [format!("{attribute:?}"), as_key].into_iter().filter(|key| key != field) {
            let found = dumbbell(&format!("[tcp]\nrto = {{ {key} = 1 }}\n[[flow]]")).expect_err("unknown");
            assert_eq!(found.len(), 1, "{key}");
            assert_eq!(found[0].remedy, format!("write {field} = ..., which is OPNET's {attribute}"));
        }
    }
    let found = dumbbell("[tcp]\n\"Fast Recovery\" = \"New Reno\"\n[[flow]]").expect_err("unknown");
    assert_eq!(found[0].remedy, "write loss_recovery = ..., which is OPNET's Fast Recovery");
}

#[test]
fn a_field_of_a_table_within_leads_there() {
    let remedy = |rest: &str| dumbbell(rest).expect_err("unknown")[0].remedy.clone();
    let size = remedy("[[flow]]\nsize = \"50 MB\"");
    assert!(size.starts_with("write app = { kind = \"file\", size = ... }, or "), "{size}");
    let mss = remedy("[[flow]]\nmss = 536");
    assert_eq!(mss, "write tcp = { mss = ... }, or sender_tcp = { mss = ... }, or receiver_tcp = { mss = ... }");
    assert_eq!(
        remedy("[tcp]\ninitial_rto = \"1 s\"\n[[flow]]"),
        "write rto = { initial = ... }, which is OPNET's Initial RTO"
    );
}

#[test]
fn a_line_by_its_name_is_its_rate() {
    let scenario = dumbbell("[[flow]]\napp = { kind = \"cbr\", rate = \"DS1\" }\nprotocol = \"udp\"").expect("right");
    let json = scenario.to_json();
    for written in ["44.736 Mbit/s", "155.52 Mbit/s", "1.544 Mbit/s"] {
        assert!(json.contains(written), "{written}: {json}");
    }
    assert_eq!(Scenario::from_json(&json, &[]).expect("right").to_json(), json);
}

/// A tenth of a tick of the timestamps: Linux 6.12 and 7.3 in virtual time get 37.0 and 37.1 Gbit/s over these 20 ms. The largest
/// window is 3,930,752 octets of 6.12, and 1,187,840 of 7.3, which lets it grow less.
#[test]
fn a_round_trip_below_a_tick_opens_the_receive_window() {
    for profile in ["linux-6.x", "linux-6.12", "linux-7.3"] {
        let text = format!(
            "duration = \"20 ms\"\ntcp = {{ profile = \"{profile}\" }}\n[topology]\nkind = \"dumbbell\"\n\
             access = {{ rate = \"100 Gbit/s\", delay = \"1 us\" }}\n\
             bottleneck = {{ rate = \"40 Gbit/s\", delay = \"50 us\", queue = {{ kind = \"drop_tail\", limit = \"4 bdp\" }} }}\n\
             [[flow]]\ncontroller = \"reno\"\n"
        );
        let scenario = Scenario::parse(&text, "rack.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
        let flow = Simulation::new(scenario.config()).finish().summary.flows.remove(0);
        let gbit_s = flow.delivered_bytes as f64 * 8.0 / 0.02 / 1e9;
        assert!((35.0..38.6).contains(&gbit_s), "{profile}: {gbit_s} Gbit/s");
        // The path holds five times its bandwidth-delay product, 2.5 MB.
        assert_eq!(flow.retransmitted_segments == 0, profile == "linux-7.3", "{profile}: window and buffer");
    }
}

/// Data that is buffered when a stream is closed leaves with the FIN, and no probe asks for a window that is open.
#[test]
fn a_file_ends_with_its_last_segment() {
    for (size, most_ms) in [(1_000_u32, 60.0), (15_000, 60.0), (100_000, 130.0)] {
        let text = format!(
            "duration = \"20 s\"\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"10 us\" }}\n\
             bottleneck = {{ rate = \"10 Mbit/s\", delay = \"10 ms\" }}\n\
             [[flow]]\napp = {{ kind = \"file\", size = \"{size} B\" }}\n"
        );
        let scenario = Scenario::parse(&text, "file.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
        let summary = Simulation::new(scenario.config()).finish().summary;
        let flow = &summary.flows[0];
        // Two round trips of 20 ms for up to ten segments, one more up to thirty; 100 kB take 83 ms of the link.
        assert!(flow.completion_s.expect("it ends") < most_ms / 1e3, "{size} B: {:?} s", flow.completion_s);
        // Each segment once: the SYN and the FIN's ACK beside them.
        let crossed = summary.links[0].delivered_packets;
        assert!(crossed <= u64::from(size).div_ceil(1_448) + 4, "{size} B: {crossed} packets");
        assert_eq!((flow.timeouts, flow.retransmitted_segments), (0, 0));
    }
}

/// Linux 7.3 in virtual time: 720 Mbit/s, with 1,990 to 2,790 segments under way. Of 4 MiB of memory a third has to be free before a
/// writer goes on, where the path holds 3.5 MB.
#[test]
fn the_largest_send_buffer_bounds_a_long_fast_path() {
    let text = "duration = \"2.5 s\"\ntcp = { profile = \"linux-7.3\", host_noise = \"0 ns\" }\n[topology]\nkind = \"dumbbell\"\n\
                access = { rate = \"10 Gbit/s\", delay = \"10 us\" }\n\
                bottleneck = { rate = \"1 Gbit/s\", delay = \"14 ms\", queue = { kind = \"drop_tail\", limit = \"1 bdp\" } }\n\
                [[flow]]\ncontroller = \"cubic\"\n";
    let scenario = Scenario::parse(text, "gigabit.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    let flow = Simulation::new(scenario.config()).finish().summary.flows.remove(0);
    let mbit_s = flow.delivered_bytes as f64 * 8.0 / 2.5 / 1e6;
    assert!((mbit_s - 720.0).abs() < 7.2, "{mbit_s} Mbit/s");
    let limited = flow.limited_by.expect("it sent");
    assert!(limited.send_buffer > 0.7, "{limited:?}");
}
