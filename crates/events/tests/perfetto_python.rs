//! Do Perfetto's own messages, as published with its Python package, read what we write?
//!
//! Needs a `python3` with the packages `perfetto` and `protobuf`; without them, the test says so and checks nothing.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use ackclock_events::{Event, LossDetection, Record, RecoveryCause, Source, SourceId, SourceKind, write_perfetto};
use ackclock_units::{Bytes, SimDuration, SimTime};

/// Prints each packet in a line, in the words of Perfetto's messages, and refuses fields that these do not have.
const READER: &str = r"
import sys
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
from google.protobuf import text_format
from google.protobuf.unknown_fields import UnknownFieldSet

def unknown(message):
    inner = [v for f, v in message.ListFields() if f.message_type]
    parts = [m for v in inner for m in (v if hasattr(v, '__len__') else [v])]
    return len(UnknownFieldSet(message)) + sum(unknown(part) for part in parts)

trace = Trace()
trace.ParseFromString(open(sys.argv[1], 'rb').read())
assert unknown(trace) == 0
for packet in trace.packet:
    print(text_format.MessageToString(packet, as_one_line=True))
";

fn records() -> Vec<Record> {
    let entered = Event::RecoveryEntered {
        cause: RecoveryCause::Loss,
        until: 14_481,
        cwnd_before: Bytes(20_000),
        cwnd: Bytes(10_000),
        ssthresh: Some(Bytes(10_000)),
    };
    let happened = [
        Event::MarkedLost { lost: Bytes(1_448), by: LossDetection::Acks },
        entered,
        Event::TimedOut { in_a_row: 1, rto: SimDuration::from_millis(400) },
        Event::RecoveryLeft { cwnd: Bytes(10_000) },
    ];
    let record = |(time, event)| Record { time: SimTime(time), source: SourceId(0), event };
    (7_u64..).zip(happened).map(record).collect()
}

fn write() -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("flow.perfetto-trace");
    let source = Source { kind: SourceKind::Flow, name: "a".to_owned(), controller: "reno".to_owned() };
    fs::write(&path, write_perfetto(&[source], &records(), Vec::new()).unwrap()).unwrap();
    path
}

#[test]
fn the_published_messages_have_every_field() {
    let found =
        Command::new("python3").args(["-c", "import perfetto.protos.perfetto.trace.perfetto_trace_pb2"]).output();
    if !found.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: python3 has no package perfetto; install perfetto and protobuf to check the trace with it");
        return;
    }
    let output = Command::new("python3").args(["-c", READER]).arg(write()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let packet = |rest: &str| format!("trusted_packet_sequence_id: 1 {rest}");
    let described =
        "track_descriptor { uuid: 1 name: \"flow a (reno)\" child_ordering: EXPLICIT sibling_order_rank: 0 }";
    assert_eq!(lines[1], packet(described));
    let event = |time: u32, event: &str| {
        format!(
            "timestamp: {time} trusted_packet_sequence_id: 1 track_event {{ {event} track_uuid: 1 }} sequence_flags: 2"
        )
    };
    assert!(lines[0].contains("primary_trace_clock: BUILTIN_CLOCK_BOOTTIME"), "{}", lines[0]);
    assert!(lines[2].contains("debug_annotations { name_iid: 1 string_value: \"acks\" }"), "{}", lines[2]);
    assert!(lines[2].contains("type: TYPE_INSTANT") && lines[2].contains("event_names { iid: 1 name: \"loss\" }"));
    assert!(lines[3].starts_with("timestamp: 8 ") && lines[3].contains("type: TYPE_SLICE_BEGIN name_iid: 2"));
    let counter = "track_descriptor { uuid: 3 name: \"cwnd\" parent_uuid: 1 counter { unit: UNIT_SIZE_BYTES } sibling_order_rank: 1 }";
    assert_eq!(lines[4], packet(counter));
    assert!(lines[5].contains("type: TYPE_COUNTER track_uuid: 3 counter_value: 10000"), "{}", lines[5]);
    assert!(lines.contains(&event(10, "type: TYPE_SLICE_END").as_str()), "{text}");
}
