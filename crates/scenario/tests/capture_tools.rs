//! Engineers' tools on the captures of a run: tshark, tcptrace and mergecap read both directions of a connection, and a
//! view at the sender.
//!
//! Each test needs its tool; without it, it says so and checks nothing.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;

use ackclock_sim::Outcome;

use crate::captures;

struct Run {
    outcome: Outcome,
    bottleneck: PathBuf,
    sender: PathBuf,
}

/// A run whose files belong to the test `name`.
fn run(name: &str) -> Run {
    let outcome = captures::run(", capture = true", "capture = true");
    let [bottleneck, sender] = [("bottleneck", 0), ("sender", 1)].map(|(place, number)| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{place}.pcapng"));
        let file = BufWriter::new(File::create(&path).expect("the folder for temporary files is writable"));
        ackclock_sim::write_pcapng(&outcome.captures[number], file).expect("it has room");
        path
    });
    Run { outcome, bottleneck, sender }
}

/// The output of a tool; `None`, with a note, if it is not installed.
fn said(tool: &str, arguments: &[&str]) -> Option<String> {
    match Command::new(tool).args(arguments).output() {
        Ok(output) => {
            let [text, errors] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
            assert!(output.status.success(), "{tool}: {text}{errors}");
            Some(text)
        }
        Err(error) => {
            eprintln!("skipped: {tool} cannot be run here ({error}); install it to check captures with it");
            None
        }
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the path is text")
}

/// The lines of tshark's fields for the packets that pass a filter.
fn fields(path: &Path, filter: &str, names: &[&str]) -> Option<Vec<String>> {
    let mut arguments = vec!["-r", text(path), "-Y", filter, "-T", "fields", "-E", "separator= "];
    arguments.extend(names.iter().flat_map(|&name| ["-e", name]));
    said("tshark", &arguments).map(|lines| lines.lines().map(str::to_owned).collect())
}

/// The number that tcptrace reports under a name, in the column of one direction.
fn traced(report: &str, name: &str, column: usize) -> f64 {
    let line = report.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("no {name} in {report}"));
    let value = line.split(name).nth(1 + column).expect("a column").split_whitespace().next().expect("a value");
    value.parse().unwrap_or_else(|_| panic!("{value} in {line}"))
}

#[test]
fn tcptrace_sees_a_whole_connection_at_the_sender() {
    let Run { outcome, sender, .. } = run("tcptrace");
    let Some(report) = said("tcptrace", &["-l", "-r", "-n", text(&sender)]) else { return };
    let flow = &outcome.summary.flows[0];
    // The receiver never closes its side.
    assert!(report.contains("(SYNs: 2)  (FINs: 1)"), "{report}");
    assert_eq!(traced(&report, "unique bytes sent:", 0) as u64, 300_000);
    assert_eq!(traced(&report, "rexmt data pkts:", 0) as u64, flow.retransmitted_segments);
    // 24 ms, and 57.6 us for the SYN's 60 octets each way: 4.8 us at 100 Mbit/s, 48 us at 10 Mbit/s, 4.8 us.
    assert!((traced(&report, "RTT from 3WHS:", 0) - 24.1).abs() < 1e-9, "{report}");
    assert!(traced(&report, "RTT samples:", 0) > 50.0);
    assert!(!report.contains("WARNING") && !report.contains("bad"), "{report}");
}

#[test]
fn tshark_finds_the_ways_apart_and_nothing_unexpected() {
    let Run { bottleneck, .. } = run("tshark");
    let Some(ways) = fields(&bottleneck, "tcp", &["frame.interface_name", "ip.src"]) else { return };
    let mut kinds = ways.clone();
    kinds.sort();
    kinds.dedup();
    assert_eq!(kinds, ["bottleneck 10.0.0.1", "bottleneck.reverse 172.16.0.1"]);
    // Both ways are there, so that no ACK is of a segment that tshark has not seen.
    let unseen = fields(&bottleneck, "tcp.analysis.ack_lost_segment || _ws.malformed", &["frame.number"]);
    assert_eq!(unseen, Some(Vec::new()));
    let times = fields(&bottleneck, "tcp", &["frame.time_relative"]).expect("tshark ran a moment ago");
    assert!(times.iter().map(|time| time.parse::<f64>().expect("seconds")).is_sorted());
}

#[test]
fn tshark_finds_the_senders_retransmissions() {
    let Run { outcome, sender, .. } = run("retransmissions");
    // What repairs a hole less than a round trip after the last data, and not after duplicate ACKs, tshark takes for out of order.
    let filter = "tcp.analysis.retransmission || tcp.analysis.out_of_order";
    let Some(found) = fields(&sender, filter, &["frame.number"]) else { return };
    assert_eq!(found.len() as u64, outcome.summary.flows[0].retransmitted_segments);
}

#[test]
fn mergecap_puts_a_packet_beside_itself() {
    let Run { bottleneck, sender, outcome } = run("mergecap");
    let merged = bottleneck.with_file_name("merged.pcapng");
    if said("mergecap", &["-w", text(&merged), text(&sender), text(&bottleneck)]).is_none() {
        return;
    }
    let Some(lines) = fields(&merged, "tcp.flags.syn == 1", &["ip.src", "ip.id", "frame.interface_name"]) else {
        return;
    };
    let host = &outcome.captures[1].interfaces[0];
    let expected = [
        format!("10.0.0.1 0x0000 {host}"),
        "10.0.0.1 0x0000 bottleneck".to_owned(),
        "172.16.0.1 0x0000 bottleneck.reverse".to_owned(),
        format!("172.16.0.1 0x0000 {host}"),
    ];
    assert_eq!(lines, expected);
    let total: usize = outcome.captures.iter().map(|capture| capture.packets().count()).sum();
    assert_eq!(fields(&merged, "ip", &["ip.id"]).expect("tshark ran a moment ago").len(), total);
}
