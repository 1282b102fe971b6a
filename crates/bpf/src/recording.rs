//! Records of connections as lines: of JSON for a file, of a table for a reader.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::error::Error;
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
    };
    let ssthresh = if record.ssthresh == NO_SSTHRESH { "null".to_owned() } else { record.ssthresh.to_string() };
    let pacing =
        if record.pacing_rate > u64::MAX / 16 { "null".to_owned() } else { (8 * record.pacing_rate).to_string() };
    format!(
        "{{\"kind\":\"{kind}\",\"time_s\":{}.{:09},\"flow\":{},\"local_port\":{},\"remote_port\":{},\"state\":\"{}\",\
         \"cwnd_segments\":{},\"ssthresh_segments\":{ssthresh},\"srtt_s\":{},\"min_rtt_s\":{},\"inflight_segments\":{},\
         \"sacked_segments\":{},\"lost_segments\":{},\"retransmissions\":{},\"delivery_rate_bps\":{},\"pacing_rate_bps\":{pacing},\
         \"acked_bytes\":{},\"mss_bytes\":{}}}",
        record.time_ns / 1_000_000_000,
        record.time_ns % 1_000_000_000,
        record.flow,
        record.local_port,
        record.remote_port,
        state(record),
        record.cwnd,
        seconds(record.srtt_us),
        seconds(record.min_rtt_us),
        record.inflight(),
        record.sacked_out,
        record.lost_out,
        record.total_retrans,
        record.delivery_rate_bps(),
        record.bytes_acked,
        record.mss,
    )
}

fn state(record: &Record) -> &'static str {
    STATES.get(record.state as usize).copied().unwrap_or("unknown")
}

fn seconds(us: u32) -> f64 {
    f64::from(us) / 1e6
}

/// What stands above the lines of [`row`].
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

/// A file that the records of a command's connections are written to.
#[derive(Debug)]
pub struct Recording {
    trace: Trace,
    path: PathBuf,
    file: BufWriter<File>,
    taken: Instant,
    records: u64,
}

impl Recording {
    /// Begins to watch a cgroup.
    pub fn new(path: &Path, cgroup: u64) -> Result<Self, Error> {
        let file = File::create(path).map_err(Error::file(path))?;
        let trace = Trace::new(Watched::Cgroup(cgroup))?;
        Ok(Self { trace, path: path.to_owned(), file: BufWriter::new(file), taken: Instant::now(), records: 0 })
    }

    /// Writes what has come, if it is time for that.
    pub fn take(&mut self) -> Result<(), Error> {
        if self.taken.elapsed() < PAUSE { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> Result<(), Error> {
        self.taken = Instant::now();
        let (file, records, mut written) = (&mut self.file, &mut self.records, Ok(()));
        self.trace.take(|record| {
            *records += 1;
            written = std::mem::replace(&mut written, Ok(())).and_then(|()| writeln!(file, "{}", line(record)));
        })?;
        written.map_err(Error::file(&self.path))
    }

    /// Ends the file with a line that says how many records found no room; says so in words.
    pub fn end(mut self) -> Result<String, Error> {
        self.write()?;
        let missed = self.trace.missed()?;
        let last = format!("{{\"kind\":\"end\",\"records\":{},\"missed\":{missed}}}", self.records);
        writeln!(self.file, "{last}").and_then(|()| self.file.flush()).map_err(Error::file(&self.path))?;
        Ok(format!("{}: {} records, {missed} found no room", self.path.display(), self.records))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
