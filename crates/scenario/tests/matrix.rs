//! Every controller over a few paths, under the profile of the standards and under Linux's: one that leaves a fifth of an empty
//! link unused, or loses a tenth of its segments, has its reason here.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ackclock_cc::controllers;

use crate::common::run;

/// Name, rate in Mbit/s, round trip in ms, queue, seconds.
const PATHS: [(&str, u32, u32, &str, u32); 3] =
    [("deep", 10, 50, "2 bdp", 40), ("plain", 100, 20, "1 bdp", 16), ("shallow", 50, 40, "0.2 bdp", 24)];

const PROFILES: [&str; 2] = ["rfc", "linux-6.x"];

/// What is left of a rate after headers of 52 in 1500 octets; of this the flow has to have four fifths.
const PAYLOAD: f64 = 1448.0 / 1500.0;
const USED: f64 = 0.8;
const LOST: f64 = 0.1;

/// Controllers that are given a policy, a program or a window, and so have no behaviour of their own.
const NOT_ONES_OWN: [&str; 4] = ["fixed", "external", "python", "policy"];

/// What is on record: controller, path, profile, "idle" or "lossy", and why.
#[rustfmt::skip]
const KNOWN: &[(&str, &str, &str, &str, &str)] = &[
    ("tahoe", "shallow", "linux-6.x", "idle", SLOW_START),
    ("bbr3", "shallow", "rfc", "idle", BLIND),
    ("powertcp_theta", "plain", "linux-6.x", "idle", SWAYS),
    ("timely", "deep", "rfc", "idle", DEEP_FALLS),
    ("timely", "deep", "linux-6.x", "idle", DEEP_FALLS),
    ("timely", "plain", "rfc", "idle", DEEP_FALLS),
    ("timely", "shallow", "rfc", "idle", DEEP_FALLS),
    ("timely", "shallow", "linux-6.x", "idle", DEEP_FALLS),
    ("pcc_allegro", "deep", "rfc", "lossy", BLIND),
    ("pcc_allegro", "deep", "linux-6.x", "lossy", DEAR_START),
    ("ledbat_plus_plus", "shallow", "rfc", "idle", NO_ROOM),
    ("ledbat_plus_plus", "shallow", "linux-6.x", "idle", NO_ROOM),
    ("newreno", "plain", "linux-6.x", "idle", HOLE_BY_HOLE),
    ("verus", "plain", "rfc", "lossy", FLAT),
    ("verus", "plain", "linux-6.x", "lossy", FLAT),
    ("verus", "shallow", "rfc", "lossy", FLAT),
    ("verus", "shallow", "linux-6.x", "lossy", FLAT),
    ("sprout", "plain", "rfc", "idle", MODELLED),
    ("sprout", "plain", "linux-6.x", "idle", MODELLED),
    ("sprout", "shallow", "rfc", "lossy", TICKS_AT_ONCE),
    ("sprout", "shallow", "linux-6.x", "lossy", TICKS_AT_ONCE),
    ("vegas_modified", "plain", "rfc", "idle", TICK),
    ("vegas_modified", "plain", "linux-6.x", "idle", TICK),
    ("vegas_skew_tolerant", "plain", "linux-6.x", "idle", TICK),
    ("vegas_modified", "shallow", "rfc", "idle", TICK),
    ("vegas_modified", "shallow", "linux-6.x", "idle", TICK),
];

const HOLE_BY_HOLE: &str = "without SACK a round trip fills one hole: slow start's three hundred losses and the next ones take seven and three seconds";
const SLOW_START: &str = "every loss costs a slow start, and a fifth of a path full of buffer is spent at once";
const BLIND: &str =
    "without RACK a lost retransmission is found by a timeout only, and the buffer overflows in whole round trips";
const DEAR_START: &str = "delay counts for nothing: it fills two path fulls of buffer, is over it for the length of an interval, and takes up to 5 % of loss";
const NO_ROOM: &str =
    "the buffer holds 8 ms of its target of 60: each overflow halves the window, and slowdowns come on top";
const TICK: &str =
    "one-way delays in ticks of a millisecond: two segments queued are 0.24 ms at 100 Mbit/s (timestamp_granularity)";

const FLAT: &str = "a buffer below a round trip: delays never reach twice the least, and a curve that is flat from there on gives them windows far above the path";
const MODELLED: &str = "rates of its model end at 1000 packets/s, some 12 Mbit/s, and 79 packets in flight";
const TICKS_AT_ONCE: &str = "what a tick of 20 ms may send leaves at once, and is more than the buffer holds";
const SWAYS: &str =
    "bursts of the host sway the gradient of the round trip, of which a rise counts for more than a fall";
const DEEP_FALLS: &str = "a queue that builds up once takes it down by the gradient, event after event, and it comes back by additive increase";

fn written(controller: &str, mbit_s: u32, rtt_ms: u32) -> String {
    match controller {
        // Their delays are those of the fabric that they are tuned for.
        "swift" => format!("{{ kind = \"swift\", base_target = \"{} ms\" }}", rtt_ms + 5),
        "powertcp_theta" => format!("{{ kind = \"powertcp_theta\", line_rate = \"{mbit_s} Mbit/s\" }}"),
        "timely" => format!(
            "{{ kind = \"timely\", t_low = \"{} ms\", t_high = \"{} ms\", segment = \"16 kB\", \
             additive_increase = \"{} kbit/s\" }}",
            rtt_ms + 1,
            rtt_ms + 5,
            10 * mbit_s
        ),
        name => format!("\"{name}\""),
    }
}

/// Controllers that work on what links write into packets.
const BY_TELEMETRY: [&str; 2] = ["hpcc", "powertcp"];

/// What there is to say of a run: neither, "idle" or "lossy" with the number.
fn fault(controller: &str, path: (&str, u32, u32, &str, u32), profile: &str) -> Option<(&'static str, f64)> {
    let (_, mbit_s, rtt_ms, queue, seconds) = path;
    let summary = run(&format!(
        "duration = \"{seconds} s\"\nmeasure = {{ from = \"{} s\" }}\n[topology]\nkind = \"dumbbell\"\n\
         access = {{ rate = \"1 Gbit/s\", delay = \"0 ns\" }}\n\
         bottleneck = {{ rate = \"{mbit_s} Mbit/s\", delay = \"{} ms\", queue = {{ kind = \"drop_tail\", limit = \"{queue}\" }}, telemetry = {} }}\n\
         [tcp]\nprofile = \"{profile}\"\n[[flow]]\ncontroller = {}\n",
        seconds / 2,
        rtt_ms / 2,
        BY_TELEMETRY.contains(&controller),
        written(controller, mbit_s, rtt_ms)
    ));
    let flow = &summary.flows[0];
    let used = flow.goodput_bps / (f64::from(mbit_s) * 1e6 * PAYLOAD);
    let lost = flow.lost_segments as f64 / flow.sent_segments.max(1) as f64;
    if lost > LOST { Some(("lossy", lost)) } else { (used < USED).then_some(("idle", used)) }
}

/// Controller, path and profile, and what there is to say of them.
type Judged = (String, &'static str, &'static str, Option<(&'static str, f64)>);

/// Cases on every core.
fn all_cases() -> Vec<Judged> {
    let mut cases = Vec::new();
    let names = controllers().names().iter().filter(|name| !NOT_ONES_OWN.contains(name));
    for name in names {
        for path in PATHS {
            cases.extend(PROFILES.map(|profile| ((*name).to_owned(), path, profile)));
        }
    }
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((name, path, profile)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let fault = fault(name, *path, profile);
                    found.lock().expect("no thread fails").push((name.clone(), path.0, *profile, fault));
                }
            });
        }
    });
    found.into_inner().expect("no thread fails")
}

#[test]
fn who_leaves_a_link_empty_or_loses_much_has_the_reason_on_record() {
    let mut expected: BTreeSet<String> =
        KNOWN.iter().map(|(name, path, profile, what, _why)| format!("{name} {path} {profile} {what}")).collect();
    let mut wrong = Vec::new();
    for (name, path, profile, fault) in all_cases() {
        let Some((what, value)) = fault else { continue };
        let case = format!("{name} {path} {profile} {what}");
        if !expected.remove(&case) {
            wrong.push(format!("{case} ({value:.2}) has no reason on record"));
        }
    }
    wrong.extend(expected.into_iter().map(|case| format!("{case} is on record and no longer so")));
    wrong.sort();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
