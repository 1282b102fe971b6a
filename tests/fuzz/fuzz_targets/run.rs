//! Does what holds of any results hold of any small network?
//!
//! Bytes are choices among what the catalogues list, so that a discipline or a controller that is new is tried by itself.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

#[path = "../common/mod.rs"]
mod common;

/// Those that need a program or a file from outside.
const OUTSIDE: [&str; 3] = ["policy", "python", "external"];

static QUEUES: LazyLock<Vec<String>> = LazyLock::new(|| names(ackclock_scenario::queues()));
static CONTROLLERS: LazyLock<Vec<String>> = LazyLock::new(|| names(ackclock_scenario::controllers()));
static PROFILES: LazyLock<Vec<String>> = LazyLock::new(|| names(ackclock_scenario::profiles()));
static POLICIES: LazyLock<Vec<String>> = LazyLock::new(|| names(ackclock_scenario::buffer_policies()));

fn names(catalogue: Value) -> Vec<String> {
    let entries = catalogue.as_array().expect("a list").iter();
    let names = entries.map(|entry| entry["name"].as_str().expect("a name").to_owned());
    names.filter(|name| !OUTSIDE.contains(&name.as_str())).collect()
}

fn one_of<T: AsRef<str>>(names: &[T], choice: u8) -> &str {
    names[usize::from(choice) % names.len()].as_ref()
}

#[derive(Arbitrary, Debug)]
struct Link {
    rate_kbps: u16,
    delay_us: u16,
    queue: u8,
    limit: Option<u8>,
    loss: Option<u8>,
    reorder: Option<u8>,
    duplicate: Option<u8>,
    jitter_us: Option<u16>,
    handover_ms: Option<(u8, u8)>,
    policer_kbps: Option<u16>,
    framing: Option<u8>,
}

#[derive(Arbitrary, Debug)]
enum Work {
    Bulk,
    File(u32),
    OnOff(u8, u8),
    Requests(u16, u16),
    Arrivals(u16, u16),
    Datagrams(u16, u16),
}

#[derive(Arbitrary, Debug)]
struct Flow {
    controller: u8,
    profile: Option<u8>,
    work: Work,
    start_ms: u8,
    is_reverse: bool,
    mss: Option<u16>,
    receive_buffer: Option<u32>,
    initial_window: Option<u8>,
}

#[derive(Arbitrary, Debug)]
struct Input {
    seed: u32,
    topology: u8,
    access: Link,
    bottleneck: Link,
    flows: Vec<Flow>,
    policy: Option<u8>,
}

fuzz_target!(|input: Input| {
    let flows: Vec<Value> = input.flows.iter().take(4).map(flow).collect();
    let (access, bottleneck) = (link(&input.access), link(&input.bottleneck));
    let topology = match input.topology % 4 {
        0 => json!({ "kind": "dumbbell", "access": access, "bottleneck": bottleneck }),
        1 => json!({ "kind": "parking_lot", "hops": 2, "access": access, "bottleneck": bottleneck }),
        2 => json!({ "kind": "star", "hosts": 3, "link": bottleneck }),
        _ => json!({ "kind": "chain", "nodes": ["a", "b", "c"], "links": [access, bottleneck] }),
    };
    let mut made = json!({ "duration": "400 ms", "seed": input.seed, "topology": topology, "flow": flows });
    if let Some(policy) = input.policy {
        let node = ["left", "R2", "hub", "b"][usize::from(input.topology % 4)];
        made["appliance"] = json!([{ "node": node, "buffer_policy": one_of(&POLICIES, policy) }]);
    }
    common::run_text(&made.to_string(), 20_000);
});

fn link(link: &Link) -> Value {
    let mut queue = json!({ "kind": one_of(&QUEUES, link.queue) });
    match one_of(&QUEUES, link.queue) {
        "threshold" => queue["threshold"] = format!("{} packets", link.framing.unwrap_or(5)).into(),
        "tbf" => {
            queue["rate"] = format!("{} kbit/s", 1 + u32::from(link.rate_kbps) / 2).into();
            queue["burst"] = "20 kB".into();
        }
        "priority" => queue["bands"] = json!([{ "of": "acks" }, { "max_size": "600 B" }, { "limit": "30 packets" }]),
        _ => {}
    }
    if let Some(limit) = link.limit.filter(|_| !["priority", "cake"].contains(&one_of(&QUEUES, link.queue))) {
        queue["limit"] = format!("{} packets", 1 + u32::from(limit)).into();
    }
    let rate = format!("{} kbit/s", 1 + u32::from(link.rate_kbps));
    let mut made = json!({ "rate": rate, "delay": format!("{} us", link.delay_us), "queue": queue });
    made["telemetry"] = (link.delay_us % 2 == 1).into();
    if link.delay_us % 5 == 1 {
        made["device_queue"] = (1 + u32::from(link.rate_kbps) % 100).into();
    }
    let part = |value: u8| f64::from(value) / 300.0;
    if let Some(loss) = link.loss {
        made["loss"] = json!({ "kind": "random", "p": part(loss) });
    }
    if let Some(reorder) = link.reorder {
        made["reorder"] = json!({ "kind": "probability", "p": part(reorder), "extra": "1 ms" });
    }
    if let Some(duplicate) = link.duplicate {
        made["duplicate"] = part(duplicate).into();
    }
    if let Some(jitter) = link.jitter_us {
        made["jitter"] = json!({ "kind": "uniform", "max": format!("{jitter} us") });
    }
    if let Some((sends, outage)) = link.handover_ms {
        let period = format!("{} ms", 1 + u32::from(sends) + u32::from(outage));
        made["handover"] = json!({ "period": period, "outage": format!("{outage} ms") });
    }
    if let Some(policer) = link.policer_kbps {
        made["policer"] = json!({ "rate": format!("{} kbit/s", 1 + u32::from(policer)), "burst": "20 kB" });
    }
    if let Some(framing) = link.framing {
        made["framing"] = format!("{framing} bytes").into();
    }
    made
}

fn flow(flow: &Flow) -> Value {
    let mut made = json!({ "start": format!("{} ms", flow.start_ms), "reverse": flow.is_reverse });
    if let Work::Datagrams(rate, payload) = flow.work {
        made["protocol"] = json!({ "kind": "udp", "payload": format!("{payload} bytes") });
        made["app"] = json!({ "kind": "poisson", "rate": format!("{rate} kbit/s") });
        return made;
    }
    made["controller"] = match one_of(&CONTROLLERS, flow.controller) {
        "swift" => json!({ "kind": "swift", "base_target": "5 ms" }),
        "powertcp_theta" => json!({ "kind": "powertcp_theta", "line_rate": "20 Mbit/s" }),
        name => name.into(),
    };
    match flow.work {
        Work::Bulk | Work::Datagrams(..) => {}
        Work::File(size) => made["app"] = json!({ "kind": "file", "size": format!("{size} bytes") }),
        Work::OnOff(on, off) => {
            made["app"] = json!({ "kind": "on_off", "on": format!("{on} ms"), "off": format!("{off} ms") });
        }
        Work::Requests(request, response) => {
            let [request, response] = [request, response].map(|size| format!("{size} bytes"));
            made["app"] = json!({ "kind": "request_response", "request": request, "response": response });
        }
        Work::Arrivals(rate, size) => {
            made["arrivals"] = json!({ "rate": format!("{} /s", 1 + rate / 16), "size": format!("{size} bytes") });
        }
    }
    let mut tcp = json!({});
    if let Some(profile) = flow.profile {
        tcp["profile"] = one_of(&PROFILES, profile).into();
    }
    if let Some(mss) = flow.mss {
        tcp["mss"] = mss.into();
    }
    if let Some(buffer) = flow.receive_buffer {
        tcp["receive_buffer"] = format!("{buffer} bytes").into();
    }
    if let Some(window) = flow.initial_window {
        tcp["initial_window"] = format!("{window} segments").into();
    }
    made["tcp"] = tcp;
    made
}
