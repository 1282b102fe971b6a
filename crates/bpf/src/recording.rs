//! Records of connections as lines: of JSON for a file, of a table for a reader.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;

use crate::error::Error;
use crate::system;
use crate::trace::{Kind, PAUSE, Record, Trace, Watched};

/// The kernel's congestion states in its order, named by what they are for.
const STATES: [&str; 5] = ["open", "disorder", "reduced", "recovery", "loss"];
/// "Arbitrarily high" in the kernel, segments.
const NO_SSTHRESH: u32 = 0x7fff_ffff;

/// A record as a line of JSON. Its keys carry their units; `ssthresh_segments` is null while it is arbitrarily high.
pub fn line(record: &Record) -> String {
    let kind = match record.kind() {
        Kind::Segment => "segment",
        Kind::State => "state",
        Kind::Retransmission => "retransmission",
        Kind::Established => "established",
        Kind::Closed => "closed",
    };
    let ssthresh = if record.ssthresh == NO_SSTHRESH { "null".to_owned() } else { record.ssthresh.to_string() };
    let pacing =
        if record.pacing_rate > u64::MAX / 16 { "null".to_owned() } else { (8 * record.pacing_rate).to_string() };
    format!(
        "{{\"kind\":\"{kind}\",\"time_s\":{},\"flow\":{},\"local_port\":{},\"remote_port\":{},\"state\":\"{}\",\
         \"cwnd_segments\":{},\"ssthresh_segments\":{ssthresh},\"srtt_s\":{},\"rttvar_s\":{},\"min_rtt_s\":{},\
         \"inflight_segments\":{},\"flight_bytes\":{},\"sacked_segments\":{},\"lost_segments\":{},\"lost_total\":{},\"retransmissions\":{},\
         \"delivery_rate_bps\":{},\"pacing_rate_bps\":{pacing},\"acked_bytes\":{},\"sent_bytes\":{},\
         \"retransmitted_bytes\":{},\"received_bytes\":{},\"sent_segments\":{},\"duplicates\":{},\"rwnd_bytes\":{},\
         \"mss_bytes\":{}}}",
        time(record.time_ns),
        record.flow,
        record.local_port,
        record.remote_port,
        state(record),
        record.cwnd,
        f64::from(record.srtt_eighths) / 8e6,
        seconds(record.rttvar_us),
        seconds(record.min_rtt_us),
        record.inflight(),
        record.flight_bytes,
        record.sacked_out,
        record.lost_out,
        record.lost,
        record.total_retrans,
        record.delivery_rate_bps(),
        record.bytes_acked,
        record.bytes_sent,
        record.bytes_retrans,
        record.bytes_received,
        record.data_segs_out,
        record.dsack_dups,
        record.snd_wnd,
        record.mss,
    )
}

/// A line before a connection's first record, and before that with which it has another controller: who it is.
fn line_of_flow(record: &Record) -> String {
    let [local, remote] = record.ends();
    let line = json!({"kind": "flow", "flow": record.flow, "local": local.to_string(), "remote": remote.to_string(),
        "controller": record.controller()});
    line.to_string()
}

/// Seconds with every digit, which a floating-point number would not keep.
fn time(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

fn state(record: &Record) -> &'static str {
    STATES.get(record.state as usize).copied().unwrap_or("unknown")
}

fn seconds(us: u32) -> f64 {
    f64::from(us) / 1e6
}

/// Headings above the lines of [`row`].
pub const HEADINGS: &str =
    "      time s  ports          state       cwnd  ssthresh  inflight  srtt ms  retrans  rate Mbit/s";

/// A record as a line of a table.
pub fn row(record: &Record) -> String {
    let ports = format!("{}-{}", record.local_port, record.remote_port);
    let ssthresh = if record.ssthresh == NO_SSTHRESH { "-".to_owned() } else { record.ssthresh.to_string() };
    format!(
        "{:12.3}  {ports:<13}  {:<9}  {:>5}  {ssthresh:>8}  {:>8}  {:>7.2}  {:>7}  {:>11.2}",
        record.time_ns as f64 / 1e9,
        state(record),
        record.cwnd,
        record.inflight(),
        1e3 * seconds(record.srtt_us),
        record.total_retrans,
        record.delivery_rate_bps() as f64 / 1e6,
    )
}

/// A file that the records of connections are written to.
#[derive(Debug)]
pub struct Recording {
    trace: Trace,
    path: PathBuf,
    file: BufWriter<File>,
    taken: Instant,
    records: u64,
    /// The controller that each connection had at its latest record.
    known: BTreeMap<u64, [u8; 16]>,
    began: Instant,
    cpu_at_begin: Duration,
}

impl Recording {
    /// Begins to record the watched connections.
    pub fn new(path: &Path, watched: Watched) -> Result<Self, Error> {
        let file = File::create(path).map_err(Error::file(path))?;
        let trace = Trace::new(watched)?;
        let (began, known) = (Instant::now(), BTreeMap::new());
        let mut recording = Self {
            trace,
            path: path.to_owned(),
            file: BufWriter::new(file),
            taken: began,
            records: 0,
            known,
            began,
            cpu_at_begin: cpu_time(),
        };
        recording.begin()?;
        Ok(recording)
    }

    /// The first line: when it began by both clocks, and on what.
    fn begin(&mut self) -> Result<(), Error> {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let written = writeln!(
            self.file,
            "{{\"kind\":\"begin\",\"time_s\":{},\"unix_s\":{}.{:09},\"release\":{}}}",
            time(system::monotonic_ns()),
            unix.as_secs(),
            unix.subsec_nanos(),
            json!(release.trim()),
        );
        written.map_err(Error::file(&self.path))
    }

    /// Writes what has come, if it is time for that.
    pub fn take(&mut self) -> Result<(), Error> {
        if self.taken.elapsed() < PAUSE { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> Result<(), Error> {
        self.taken = Instant::now();
        let (file, records, known, mut written) = (&mut self.file, &mut self.records, &mut self.known, Ok(()));
        self.trace.take(|record| {
            *records += 1;
            let mut put = || {
                if known.insert(record.flow, record.controller) != Some(record.controller) {
                    writeln!(file, "{}", line_of_flow(record))?;
                }
                writeln!(file, "{}", line(record))
            };
            written = std::mem::replace(&mut written, Ok(())).and_then(|()| put());
        })?;
        // Whoever reads along, through a pipe, gets whole lines.
        written.and_then(|()| self.file.flush()).map_err(Error::file(&self.path))
    }

    /// Ends the file with a line that says how many records found no room and what the recording cost; says so in words.
    pub fn end(mut self) -> Result<String, Error> {
        self.write()?;
        let missed = self.trace.missed()?;
        let cost = cpu_time().saturating_sub(self.cpu_at_begin);
        let (programs, lasted) = (self.trace.program_time(), self.began.elapsed());
        let last = json!({
            "kind": "end",
            "time_s": system::monotonic_ns() as f64 / 1e9,
            "records": self.records,
            "missed": missed,
            "cpu_s": cost.as_secs_f64(),
            "tracepoints_cpu_s": programs.map(|time| time.as_secs_f64()),
        });
        writeln!(self.file, "{last}").and_then(|()| self.file.flush()).map_err(Error::file(&self.path))?;
        let share = 100.0 * (cost + programs.unwrap_or_default()).as_secs_f64() / lasted.as_secs_f64().max(1e-9);
        let (path, records) = (self.path.display(), self.records);
        Ok(format!("{path}: {records} records, {missed} lost; {share:.2} % of a CPU"))
    }
}

/// CPU time that this process has used.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::FAMILY_OF_V6;

    #[test]
    fn a_line_is_json_with_units_and_has_null_for_what_is_without_bound() {
        let record = Record {
            time_ns: 1_000_000_001,
            pacing_rate: u64::MAX,
            ssthresh: NO_SSTHRESH,
            state: 3,
            packets_out: 10,
            lost_out: 2,
            sacked_out: 3,
            retrans_out: 1,
            rate_delivered: 10,
            rate_interval_us: 1_000,
            mss: 1_448,
            ..Record::default()
        };
        let value: serde_json::Value = serde_json::from_str(&line(&record)).expect("JSON");
        assert_eq!(value["time_s"], 1.000_000_001);
        assert_eq!(value["state"], "recovery");
        assert!(value["ssthresh_segments"].is_null() && value["pacing_rate_bps"].is_null());
        assert_eq!(value["inflight_segments"], 6); // 10 + 1 - 2 - 3
        assert_eq!(value["delivery_rate_bps"], 115_840_000); // 10 * 1448 * 8 / 1 ms
    }

    #[test]
    fn a_connection_is_named_by_both_ends_and_its_controller() {
        let mut record = Record { family: 2, local_port: 443, remote_port: 40_112, ..Record::default() };
        record.local[..4].copy_from_slice(&[10, 0, 0, 1]);
        record.remote[..4].copy_from_slice(&[192, 0, 2, 7]);
        record.controller[..5].copy_from_slice(b"cubic");
        let value: serde_json::Value = serde_json::from_str(&line_of_flow(&record)).expect("JSON");
        assert_eq!((&value["local"], &value["remote"]), (&json!("10.0.0.1:443"), &json!("192.0.2.7:40112")));
        assert_eq!(value["controller"], "cubic");
        // ::ffff:10.0.0.1 is an address of IPv4, which a socket of both families shows so
        record.family = FAMILY_OF_V6;
        record.local = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1];
        assert_eq!(record.ends()[0].to_string(), "10.0.0.1:443");
    }
}
