//! Do the tools that engineers use read our capture files, without a complaint about lengths, options or checksums?
//!
//! Each test needs its tool; without it, it says so and checks nothing.

use std::fs::{self, File};
use std::io::BufWriter;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ackclock_units::SimTime;
use ackclock_wire::pcapng::PcapngWriter;
use ackclock_wire::{Addresses, Ecn, Flags, SackBlock, Segment, Seq, SynOptions, Timestamps, emit};

const OPENER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 40_000);
const ACCEPTOR: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(172, 16, 0, 1), 5_001);

/// A handshake, three segments of which the first is lost behind the capture, a SACK, the repair, and both FINs; with
/// the direction of each.
fn connection() -> Vec<(bool, Segment)> {
    let stamped =
        |value, echo| Segment { timestamps: Some(Timestamps { value, echo }), window: 500, ..Segment::default() };
    let syn = SynOptions { mss: 1_460, window_scale: Some(7), sack_permitted: true, ..SynOptions::default() };
    let data = |seq| Segment {
        seq: Seq(seq),
        ack: Seq(1),
        payload: 1_448,
        flags: Flags::ACK,
        ecn: Ecn::Ect0,
        ..stamped(3, 2)
    };
    let ack = |ack| Segment { seq: Seq(1), ack: Seq(ack), flags: Flags::ACK, ..stamped(4, 3) };
    let mut sack = ack(1);
    sack.sack.push(SackBlock { start: Seq(1_449), end: Seq(4_345) });
    let fin = |segment| Segment { flags: Flags::ACK.with(Flags::FIN), ..segment };
    vec![
        (true, Segment { flags: Flags::SYN, syn, ..stamped(1, 0) }),
        (false, Segment { ack: Seq(1), flags: Flags::SYN.with(Flags::ACK), syn, ..stamped(2, 1) }),
        (true, Segment { seq: Seq(1), ..ack(1) }),
        (true, data(1)),
        (true, data(1_449)),
        (true, data(2_897)),
        (false, sack),
        (true, data(1)),
        (false, ack(4_345)),
        (true, fin(Segment { payload: 0, ..data(4_345) })),
        (false, fin(ack(4_346))),
        (true, Segment { seq: Seq(4_346), ..ack(2) }),
    ]
}

/// Writes the connection, a packet every 1,000,000,001 ns, with payloads or with headers only.
fn write_file(name: &str, with_payload: bool) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let file = File::create(&path).expect("the folder for temporary files is writable");
    let mut writer = PcapngWriter::new(BufWriter::new(file), &["bottleneck"]).unwrap();
    for (index, (forward, segment)) in connection().into_iter().enumerate() {
        let (source, destination) = if forward { (OPENER, ACCEPTOR) } else { (ACCEPTOR, OPENER) };
        let mut packet = Vec::new();
        emit(&segment, Addresses { source, destination }, index as u16, &mut packet).unwrap();
        if with_payload {
            packet.resize(segment.ip_len() as usize, 0);
        }
        writer.packet(0, SimTime(1_000_000_001 * index as u64), &packet, segment.ip_len()).unwrap();
    }
    writer.into_inner().into_inner().expect("the file is flushed");
    path
}

/// Runs a tool; `None`, with a word about it, if it is not installed.
fn run(tool: &str, arguments: &[&str]) -> Option<Output> {
    match Command::new(tool).args(arguments).output() {
        Ok(output) => Some(output),
        Err(error) => {
            eprintln!("skipped: {tool} cannot be run here ({error}); install it to check the capture file with it");
            None
        }
    }
}

fn tshark_fields(path: &Path, fields: &[&str]) -> Option<Vec<String>> {
    let mut arguments = vec!["-r", path.to_str().expect("the path is text"), "-T", "fields", "-E", "separator= "];
    arguments.extend(["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]);
    arguments.extend(fields.iter().flat_map(|&field| ["-e", field]));
    let output = run("tshark", &arguments)?;
    assert!(output.status.success(), "tshark: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}

//= rfc9293-3.1-checksum-sent
#[test]
fn tshark_finds_every_checksum_good_and_nothing_malformed() {
    let path = write_file("full.pcapng", true);
    // A checksum's status is 1 when it is good, 0 when it is bad.
    let Some(lines) = tshark_fields(&path, &["ip.checksum.status", "tcp.checksum.status", "_ws.malformed"]) else {
        return;
    };
    assert_eq!(lines, vec!["1 1 "; 12]);
}

#[test]
fn tshark_reads_times_lengths_and_options_of_a_snapped_file() {
    let path = write_file("snapped.pcapng", false);
    let fields =
        ["frame.time_epoch", "frame.interface_name", "frame.cap_len", "frame.len", "tcp.len", "ip.dsfield.ecn"];
    let Some(lines) = tshark_fields(&path, &fields) else { return };
    assert_eq!(lines.len(), 12);
    // 20 + 20 + 12 octets were kept of 1500; the clock is at 3 * 1,000,000,001 ns.
    assert!(
        lines[3].starts_with("3.000000003 ") || lines[3].starts_with("1970-01-01T00:00:03.000000003Z "),
        "{}",
        lines[3]
    );
    assert!(lines[3].ends_with(" bottleneck 52 1500 1448 2"), "{}", lines[3]);
    let options = ["tcp.options.mss_val", "tcp.options.wscale.shift", "tcp.options.sack_le", "tcp.options.sack_re"];
    let lines = tshark_fields(&path, &options).expect("tshark ran a moment ago");
    assert_eq!(lines[0], "1460 7  ");
    assert_eq!(lines[6], "  1449 4345");
}

#[test]
fn tshark_sees_the_retransmission_and_no_errors() {
    let path = write_file("expert.pcapng", false);
    let Some(output) = run("tshark", &["-r", path.to_str().unwrap(), "-q", "-z", "expert"]) else { return };
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(report.contains("retransmission"), "{report}");
    assert!(!report.contains("Errors") && !report.contains("Malformed"), "{report}");
}

#[test]
fn tcptrace_reads_a_whole_connection() {
    let path = write_file("tcptrace.pcapng", false);
    let Some(output) = run("tcptrace", &["-l", "-n", path.to_str().unwrap()]) else { return };
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    let has = |name: &str, value: &str| report.lines().any(|line| line.contains(name) && line.contains(value));
    assert!(output.status.success(), "{report}");
    assert!(has("complete conn:", "yes"), "{report}");
    assert!(has("rexmt data pkts:", "1"), "{report}");
    assert!(has("unique bytes sent:", "4344"), "{report}"); // three segments of 1448
    assert!(!report.to_lowercase().contains("bad") && !report.contains("WARNING"), "{report}");
    fs::remove_file(path).unwrap();
}
