//! Limits of a flow by arithmetic: shares of its time, over its life and over a measurement window.

use ackclock_sim::{FlowSummary, LimitShares};

/// One flow of stack `profile` over a round trip of 40 ms and a bottleneck of 1000 Mbit/s that is never full.
fn flow(profile: &str, head: &str, own: &str) -> FlowSummary {
    crate::common::run(&format!(
        "{head}\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"10 Gbit/s\", delay = \"0 ns\" }}\n\
         bottleneck = {{ rate = \"1 Gbit/s\", delay = \"20 ms\" }}\n[tcp]\nprofile = \"{profile}\"\n[[flow]]\n{own}\n"
    ))
    .flows
    .remove(0)
}

/// The shares of the window, in the order cwnd, rwnd, send buffer, application, pacing, host; their sum is 1.
fn shares(found: Option<&LimitShares>) -> [f64; 6] {
    let found = found.expect("the connection was open");
    let known = |share: Option<f64>| share.expect("a simulated sender tells all");
    let LimitShares { rwnd, send_buffer, .. } = *found;
    let [cwnd, application, pacing, host] = [found.cwnd, found.application, found.pacing, found.host].map(known);
    let all = [cwnd, rwnd, send_buffer, application, pacing, host];
    assert!((all.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{found:?}");
    all
}

fn in_window(flow: &FlowSummary) -> [f64; 6] {
    shares(flow.window.expect("there is a window").limited_by.as_ref())
}

fn is_near(found: f64, expected: f64, by: f64) -> bool {
    (found - expected).abs() <= by
}

/// RFC 9293 section 3.8.6, RFC 5681 section 2: outstanding data is at most the least of both windows and the buffer.
///
/// 64 kB in 40 ms are 13 Mbit/s of 1000; slow start passes 64 kB in the third round trip.
#[test]
fn a_full_window_or_buffer_takes_all_time_after_slow_start() {
    let head = "duration = \"10 s\"\nmeasure = { from = \"1 s\" }";
    for profile in ["rfc", "linux-6.x"] {
        let rwnd = flow(profile, head, "receiver_tcp = { receive_buffer = \"64 kB\" }");
        assert!(in_window(&rwnd)[1] > 0.999, "{profile}: {rwnd:?}");
        // Slow start lasts three round trips of the 10 s.
        assert!(shares(rwnd.limited_by.as_ref())[1] > 0.97, "{profile}: {rwnd:?}");
        let buffer = flow(profile, head, "tcp = { send_buffer = \"64 kB\" }");
        assert!(in_window(&buffer)[2] > 0.999, "{profile}: {buffer:?}");
    }
}

/// One of a hundred packets is lost: the window is some fifteen segments, and always full.
#[test]
fn reno_on_an_empty_path_is_limited_by_its_window() {
    let text = "duration = \"20 s\"\nmeasure = { from = \"2 s\" }\n[topology]\nkind = \"dumbbell\"\n\
                access = { rate = \"10 Gbit/s\", delay = \"0 ns\" }\n\
                bottleneck = { rate = \"1 Gbit/s\", delay = \"20 ms\", discard = [{ kind = \"every\", k = 100, of = \"data\" }] }\n\
                [tcp]\nprofile = \"rfc\"\n[[flow]]\ncontroller = \"reno\"\n";
    let flow = crate::common::run(text).flows.remove(0);
    assert!(in_window(&flow)[0] > 0.999, "{flow:?}");
}

/// Writing 1 Mbit/s each millisecond gives 5 kB in a round trip, less than the initial window: the application limits,
/// and data is outstanding at all times.
#[test]
fn a_paced_application_limits() {
    let app = "app = { kind = \"on_off\", on = \"100 s\", off = \"1 s\", rate = \"1 Mbit/s\" }";
    let flow = flow("rfc", "duration = \"10 s\"\nmeasure = { from = \"1 s\" }", app);
    let found = flow.window.and_then(|window| window.limited_by).expect("it was open");
    assert!(in_window(&flow)[3] > 0.999 && found.busy > 0.99, "{found:?}");
}

/// One second on and one off: the last ACK comes a round trip of 40 ms later, so that Linux's busy time is 1.04 s of 2.
#[test]
fn a_flow_that_is_idle_half_its_time_is_busy_the_other_half() {
    let app = "app = { kind = \"on_off\", on = \"1 s\", off = \"1 s\", rate = \"1 Mbit/s\" }";
    let flow = flow("rfc", "duration = \"20.5 s\"\nmeasure = { from = \"4 s\", to = \"20 s\" }", app);
    let found = flow.window.and_then(|window| window.limited_by).expect("it was open");
    assert!(in_window(&flow)[3] > 0.999 && is_near(found.busy, 0.52, 0.005), "{found:?}");
}

/// draft-ietf-ccwg-bbr: the window is twice the path's BDP, so that the pacer limits at all times except in `ProbeRTT`,
/// which takes 0.2 s and a round trip in 10 s at most.
#[test]
fn bbr_is_limited_by_its_pacer() {
    let text = |profile: &str| {
        format!(
            "duration = \"20 s\"\nmeasure = {{ from = \"5 s\" }}\n[topology]\nkind = \"dumbbell\"\n\
             access = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\nbottleneck = {{ rate = \"20 Mbit/s\", delay = \"19 ms\" }}\n\
             [tcp]\nprofile = \"{profile}\"\n[[flow]]\ncontroller = \"bbr\"\n"
        )
    };
    for profile in ["rfc", "linux-6.x"] {
        let flow = crate::common::run(&text(profile)).flows.remove(0);
        assert!(in_window(&flow)[4] > 0.95, "{profile}: {flow:?}");
    }
}

/// RFC 5681, RFC 6928: of 30 segments, the last one short, 10 leave in the first round trip, in which the window is
/// full.
///
/// The rest leaves in the second, in which no data is left to send. Time after the last ACK does not count.
#[test]
fn a_file_counts_from_its_handshake_to_its_last_ack() {
    let own = "controller = \"reno\"\napp = { kind = \"file\", size = \"43 kB\" }\ntcp = { delayed_ack = false }";
    for seconds in [1, 9] {
        let flow = flow("rfc", &format!("duration = \"{seconds} s\""), own);
        let [cwnd, .., application, _, _] = shares(flow.limited_by.as_ref());
        assert!(is_near(cwnd, 0.5, 0.01) && is_near(application, 0.5, 0.01), "{flow:?}");
        assert!((flow.limited_by.expect("it was open").busy - 1.0).abs() < 1e-12, "{flow:?}");
    }
}

/// Before a connection opens and after it was reset, no time is shared out.
#[test]
fn what_is_not_open_has_no_shares() {
    let of = |seconds: u32| flow("rfc", &format!("duration = \"{seconds} s\""), "abort_at = \"2 s\"").limited_by;
    assert_eq!(of(3), of(8));
    let late = flow("rfc", "duration = \"3 s\"\nmeasure = { to = \"1 s\" }", "start = \"2 s\"");
    assert!(late.limited_by.is_some() && late.window.expect("there is a window").limited_by.is_none(), "{late:?}");
    let quic = flow("rfc", "duration = \"3 s\"", "protocol = \"quic\"");
    assert_eq!(quic.limited_by, None);
}

/// An application that reads 80 kbit/s leaves the window closed most of the time.
#[test]
fn a_slow_reader_is_the_receivers_window() {
    let own = "read_rate = \"80 kbit/s\"\nreceiver_tcp = { receive_buffer = \"64 kB\" }";
    let flow = flow("rfc", "duration = \"20 s\"\nmeasure = { from = \"5 s\" }", own);
    assert!(in_window(&flow)[1] > 0.999, "{flow:?}");
}

/// Slow start loses some thousand segments, and without SACK one of them is repaired in each round trip: what lies behind them fills the
/// buffer, but more of it would bring nothing. Linux 7.3 counts no `sndbuf_limited` on this path, 4.96 Mbit/s and 72 retransmissions.
#[test]
fn a_buffer_full_behind_losses_is_no_limit() {
    let text = "duration = \"5 s\"\n[topology]\nkind = \"dumbbell\"\naccess = { rate = \"1 Gbit/s\", delay = \"1 ms\" }\n\
                bottleneck = { rate = \"100 Mbit/s\", delay = \"28 ms\", queue = { kind = \"drop_tail\", limit = \"500 packets\" } }\n\
                [tcp]\nsack = false\n[[flow]]\ncontroller = \"reno\"\n";
    let flow = crate::common::run(text).flows.remove(0);
    assert_eq!(flow.retransmitted_segments, 72, "{flow:?}");
    assert!(is_near(flow.goodput_bps, 4.96e6, 0.01e6), "{flow:?}");
    assert!(shares(flow.limited_by.as_ref())[2] < 0.02, "{flow:?}");
}
