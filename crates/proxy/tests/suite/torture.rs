//! The torture suite on this proxy.

use crate::program::{PROXY, run};

#[test]
fn every_case_is_as_without_the_proxy() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("ours.sh");
    let peers = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/proxies/ours.sh");
    std::fs::copy(peers, &script).unwrap();
    let command = format!("env PROXY={PROXY} {} {{listen}} {{upstream}}", script.display());
    let arguments = ["--proxy", &command, "--jobs", "12", "--random", "100"];
    let (code, text) = run(env!("CARGO_BIN_EXE_ackclock-torture"), &arguments);
    assert_eq!(code, Some(0), "{text}");
    // 261 by themselves, and those that are drawn
    assert!(text.contains("361 of 361 as without it"), "{text}");
}

#[test]
fn a_proxy_that_ends_both_ways_at_once_is_found_out() {
    if run("sh", &["-c", "command -v socat"]).0 != Some(0) {
        eprintln!("skipped: socat is missing");
        return;
    }
    // socat gives up the other direction half a second after the first has ended
    let command = "socat -t 0.1 TCP-LISTEN:{listen},reuseaddr,fork TCP:127.0.0.1:{upstream}";
    let arguments = ["--proxy", command, "--cases", "client-half-closed-5000"];
    let (code, text) = run(env!("CARGO_BIN_EXE_ackclock-torture"), &arguments);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("client-half-closed-5000-pause-300: the client saw 0 octets"), "{text}");
}
