//! Can any list of arrivals, of sizes, or distribution of sizes make its reader panic, or the flows that come of it?

#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

#[path = "../common/mod.rs"]
mod common;

/// Where the table is put, as scenarios name files: where `run.sh` begins, beside what it builds.
static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let built = PathBuf::from("target");
    let folder = if built.is_dir() { built } else { std::env::temp_dir() };
    folder.join(format!("table-{}", std::process::id()))
});

fuzz_target!(|bytes: &[u8]| {
    std::fs::write(&*FILE, bytes).expect("room for a table");
    let file = json!({ "file": FILE.to_string_lossy() });
    let sizes = json!({ "arrivals": { "rate": "400 /s", "size": file.clone() } });
    let exchanges = json!({ "app": { "kind": "request_response", "response": file.clone() } });
    for flow in [json!({ "arrivals": file }), sizes, exchanges] {
        run(flow);
    }
});

fn run(flow: Value) {
    common::run_text(&common::dumbbell(50, common::plain(), flow), 2_000);
}
