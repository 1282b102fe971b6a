//! Can any trace of a link's rate make its reader panic, or the link that replays it?

#![no_main]

use ackclock_net::Trace;
use ackclock_units::Bytes;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

#[path = "../common/mod.rs"]
mod common;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    opportunity: u16,
    once: bool,
    /// Handovers: their period, and how much of it is an outage, in microseconds.
    outages: Option<(u32, u32)>,
    is_udp: bool,
    text: &'a str,
}

fuzz_target!(|input: Input| {
    let _ = Trace::parse(input.text, Bytes(u64::from(input.opportunity)), !input.once);
    let rate = json!({
        "instants": input.text, "opportunity": format!("{} bytes", input.opportunity), "once": input.once,
    });
    let mut link = json!({
        "rate": rate, "delay": "2 ms", "queue": { "kind": "drop_tail", "limit": "50 packets" },
    });
    if let Some((period, outage)) = input.outages {
        link["handover"] = json!({ "period": format!("{period} us"), "outage": format!("{outage} us") });
    }
    let flow = if input.is_udp {
        json!({ "protocol": "udp", "app": { "kind": "cbr", "rate": "5 Mbit/s" } })
    } else {
        json!({})
    };
    common::run_text(&common::dumbbell(300, link, flow), 3_000);
});
