//! Pacing beside Linux's `fq`: the same packets at the same nanoseconds in, the same times of departure out, to what the kernel's timers
//! take.
//!
//! The files in `linux_fq` were recorded on a kernel in virtual time by `python -m studies.linux.queue_recordings`, with `fq` so
//! configured that it paces each packet of a flow by its length (`maxrate`, the least `quantum`). Each row has a packet: its arrival, its
//! flow and its octets, then, after its ECN field, the time at which it left. `ACKCLOCK_FQ_RECORDINGS` names a folder of other recordings
//! to check.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ackclock_tcp::PacingConfig;
use ackclock_tcp::pacing::Pacer;
use ackclock_units::{Bandwidth, SimDuration, SimTime};

/// The most by which the kernel's timers are late, beside the slack that `fq` allows them: its clock has steps of 256 ns.
/// The packets of a recording.
const PACKETS: usize = 250;
const LATE: SimDuration = SimDuration::from_micros(1);
/// Zero of the recorded times.
const BASE: u64 = 1 << 20;
/// A number of segments of a connection from which on all are paced.
const ALL_PACED: u64 = 10;

/// The value of a text in a line of JSON without nesting.
fn parameter<'a>(line: &'a str, name: &str) -> &'a str {
    let (_, rest) = line.split_once(&format!("\"{name}\": \"")).expect("the recording has the parameter");
    rest.split_once('"').expect("a text ends").0
}

/// A flow: its pacer, and the departure of its packet before.
struct Flow {
    pacer: Pacer,
    before: SimTime,
}

/// The first difference between a recording and a pacer for each flow.
fn difference(text: &str) -> Option<String> {
    let line = text.lines().nth(1).expect("a recording has parameters");
    let rate: Bandwidth = parameter(line, "rate").parse().expect("a rate has a unit");
    let slack: SimDuration = parameter(line, "slack").parse().expect("a time has a unit");
    let time = |field: &str| {
        let ns: i64 = field.parse().expect("a time is a number of nanoseconds");
        SimTime(BASE.checked_add_signed(ns).expect("the base is later than any packet is early"))
    };
    let mut flows: BTreeMap<&str, Flow> = BTreeMap::new();
    assert_eq!(text.lines().skip(4).count(), PACKETS, "a recording has been cut");
    text.lines().skip(4).find_map(|row| {
        let fields: Vec<&str> = row.split(',').collect();
        let (came, octets, left) = (time(fields[0]), fields[2].parse().expect("octets are a number"), time(fields[4]));
        let new = || {
            let mut pacer = Pacer::new(PacingConfig::default());
            pacer.on_sent(left, 0, None, 0); // the first is not late
            Flow { pacer, before: SimTime::ZERO }
        };
        let flow = flows.entry(fields[1]).or_insert_with(new);
        let due = came.max(flow.before).max(flow.pacer.next());
        flow.before = left;
        assert!(flow.pacer.begin_burst(left.max(due)));
        flow.pacer.on_sent(left.max(due), octets, Some(rate), ALL_PACED);
        let apart = left.max(due) - left.min(due);
        (apart > LATE + slack).then(|| format!("{came}: a packet left at {left} there, at {due} here"))
    })
}

#[test]
fn packets_leave_as_from_fq() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/linux_fq");
    let folder = std::env::var_os("ACKCLOCK_FQ_RECORDINGS").map_or(own, PathBuf::from);
    let entries = fs::read_dir(&folder).expect("the folder of recordings can be read");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{}: has no recordings", folder.display());
    let found = |file: &PathBuf| difference(&fs::read_to_string(file).expect("the recording can be read"));
    let different: Vec<String> =
        files.iter().filter_map(|file| Some(format!("{}: {}", file.file_name()?.display(), found(file)?))).collect();
    assert!(different.is_empty(), "{} of {} differ:\n{}", different.len(), files.len(), different.join("\n"));
}
