//! `ackclock-proxy record`: the TCP state of both sides of a running proxy's connections, at each ACK, as a folder of results.
//!
//! The kernel's tracepoints are those of `ackclock-kernel`, which watches the cgroup that the proxy runs in; the proxy says by the
//! kernel's numbers for sockets (`SO_COOKIE`) which of them are two sides of one connection. What others in that cgroup do is left out. The
//! folder has one file, `trace.jsonl`, whose lines are those of `ackclock-kernel record` and one for each pair; `ackclock report` and all
//! that takes results read it as it is.

use std::collections::{HashMap, HashSet};
use std::env;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::http;

/// The program with the tracepoints, and the variable that names another.
const TRACER: &str = "ackclock-kernel";
const TRACER_NAMED: &str = "ACKCLOCK_KERNEL_PROGRAM";

/// The file in the folder.
pub const TRACE: &str = "trace.jsonl";

/// Interval of the requests for the proxy's pairs.
const PAUSE: Duration = Duration::from_millis(200);

/// Number of consecutive unanswered requests after which a proxy has ended.
const UNANSWERED: u32 = 5;

/// Number of requests after which a socket that the proxy has not named is not its own: one that was requested as a
/// connection arrived may have been taken since.
const PATIENCE: u32 = 10;

/// Lines of sockets that are not known, at most.
const MOST_UNKNOWN: usize = 1 << 20;

/// Path of the recording program: beside this one, where a variable says, or where programs are searched.
pub fn tracer() -> PathBuf {
    let beside = || env::current_exe().ok().map(|own| own.with_file_name(TRACER)).filter(|path| path.is_file());
    env::var_os(TRACER_NAMED).map(PathBuf::from).or_else(beside).unwrap_or_else(|| TRACER.into())
}

/// Extent of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Number of connections.
    pub pairs: usize,
    /// Lines of their sockets.
    pub records: u64,
    /// It was interrupted, and is whole.
    pub is_interrupted: bool,
    /// The proxy ended before the time was over.
    pub is_left: bool,
}

/// Records the connections of the proxy with metrics at `address` into a new folder, for the duration `lasting` or
/// until an interruption.
pub fn record(address: SocketAddr, folder: &Path, lasting: Option<Duration>) -> io::Result<Recorded> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    let mut pairs = Pairs::default();
    let process = pairs.ask(address)?;
    fs::create_dir(folder).map_err(|error| at(folder, &error))?;
    let path = folder.join(TRACE);
    let mut file = BufWriter::new(File::create(&path).map_err(|error| at(&path, &error))?);
    let mut child = Tracer(watch(process).inspect_err(|_| remove(folder))?);
    let told = told_by(&mut child.0);
    let lines = lines_of(&mut child.0);
    let mut sorter = Sorter { pairs, unknown: HashMap::new(), held: 0, records: 0, round: 0 };
    let began = Instant::now();
    let is_over = || interrupted.load(Ordering::Relaxed) || lasting.is_some_and(|lasting| began.elapsed() >= lasting);
    let mut unanswered = 0;
    let mut has_ended_early = false;
    while !is_over() && unanswered < UNANSWERED && !has_ended_early {
        thread::sleep(PAUSE);
        sorter.take(&lines, &mut file)?;
        // A proxy that is gone has no more connections; what was recorded stays.
        unanswered = if sorter.pairs.ask(address).is_err() { unanswered + 1 } else { 0 };
        sorter.settle(&mut file)?;
        has_ended_early = child.0.try_wait()?.is_some();
    }
    // An interruption from a terminal reaches it by itself, and a second one does no harm.
    let _ = kill_process(Pid::from_child(&child.0), Signal::INT);
    while let Ok(line) = lines.recv() {
        sorter.put(line, &mut file)?;
    }
    let status = child.0.wait()?;
    let _ = sorter.pairs.ask(address);
    sorter.settle(&mut file)?;
    file.flush()?;
    let is_interrupted = interrupted.load(Ordering::Relaxed);
    if has_ended_early && !is_interrupted && !status.success() {
        let why = told.join().unwrap_or_default().trim().trim_start_matches("error: ").to_owned();
        let why = if why.is_empty() { format!("{TRACER} ended by itself: {status}") } else { why };
        if sorter.records == 0 {
            remove(folder);
            return Err(io::Error::other(why));
        }
        let records = sorter.records;
        return Err(io::Error::other(format!("{why}; {} has the {records} records until then", folder.display())));
    }
    let is_left = has_ended_early || unanswered >= UNANSWERED;
    Ok(Recorded { pairs: sorter.pairs.count, records: sorter.records, is_interrupted, is_left })
}

/// The program with the tracepoints; it ends with the recording, however that ends.
struct Tracer(Child);

impl Drop for Tracer {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}; give a folder that does not exist yet", path.display()))
}

/// Removes the folder of a recording that did not begin.
fn remove(folder: &Path) {
    let _ = fs::remove_file(folder.join(TRACE));
    let _ = fs::remove_dir(folder);
}

fn watch(process: u64) -> io::Result<Child> {
    let program = tracer();
    let mut command = Command::new(&program);
    command.args(["watch", "--process", &process.to_string(), "--output", "/dev/stdout"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().map_err(|error| {
        let message = format!(
            "{} cannot be started ({error}): it has the kernel's tracepoints; put it next to this program, or name it in {TRACER_NAMED}",
            program.display()
        );
        io::Error::new(error.kind(), message)
    })
}

/// Error output of the recording program, once it has ended.
fn told_by(child: &mut Child) -> thread::JoinHandle<String> {
    let errors = child.stderr.take();
    thread::spawn(move || {
        let mut told = String::new();
        if let Some(mut errors) = errors {
            let _ = errors.read_to_string(&mut told);
        }
        told
    })
}

fn lines_of(child: &mut Child) -> Receiver<String> {
    let (sender, lines) = channel();
    if let Some(output) = child.stdout.take() {
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
    }
    lines
}

/// Known sockets of the proxy, and the lines that describe them.
#[derive(Debug, Default)]
struct Pairs {
    sockets: HashSet<u64>,
    /// Both sockets of each pair that was described.
    told: HashSet<(u64, u64)>,
    count: usize,
    /// Lines that are to be written.
    new: Vec<String>,
}

impl Pairs {
    /// Asks the proxy; its number as a process.
    fn ask(&mut self, address: SocketAddr) -> io::Result<u64> {
        let answer = http::get(address, "/pairs")?;
        for pair in answer["pairs"].as_array().into_iter().flatten() {
            self.note(pair);
        }
        let missing = || io::Error::other(format!("no proxy that can be recorded serves metrics at {address}"));
        answer["process"].as_u64().ok_or_else(missing)
    }

    fn note(&mut self, pair: &Json) {
        let cookie = |side: &str| pair[side].as_u64();
        self.sockets.extend([cookie("near"), cookie("far")].into_iter().flatten());
        if let (Some(near), Some(far)) = (cookie("near"), cookie("far"))
            && self.told.insert((near, far))
        {
            self.count += 1;
            let line = json!({
                "kind": "pair", "flow": near, "with": far, "number": self.count, "listener": pair["listener"],
                "client": pair["client"], "server": pair["server"],
            });
            self.new.push(line.to_string());
        }
    }
}

/// Keeps what is of the proxy's own sockets.
struct Sorter {
    pairs: Pairs,
    /// Lines of sockets that are not known, with the round in which the first came.
    unknown: HashMap<u64, (u32, Vec<String>)>,
    held: usize,
    records: u64,
    round: u32,
}

impl Sorter {
    fn take(&mut self, lines: &Receiver<String>, file: &mut impl Write) -> io::Result<()> {
        lines.try_iter().try_for_each(|line| self.put(line, file))
    }

    fn put(&mut self, line: String, file: &mut impl Write) -> io::Result<()> {
        match flow_of(&line) {
            None => writeln!(file, "{line}"),
            Some(flow) if self.pairs.sockets.contains(&flow) && !self.unknown.contains_key(&flow) => {
                self.records += 1;
                writeln!(file, "{line}")
            }
            Some(_) if self.held >= MOST_UNKNOWN => Ok(()),
            Some(flow) => {
                self.held += 1;
                self.unknown.entry(flow).or_insert((self.round, Vec::new())).1.push(line);
                Ok(())
            }
        }
    }

    /// Writes what has become known, and forgets what is of others.
    fn settle(&mut self, file: &mut impl Write) -> io::Result<()> {
        self.round += 1;
        let Self { pairs, unknown, held, records, round } = self;
        let mut written = Ok(());
        unknown.retain(|flow, (since, lines)| {
            let is_own = pairs.sockets.contains(flow);
            if is_own {
                *records += lines.len() as u64;
                for line in &mut *lines {
                    written = std::mem::replace(&mut written, Ok(())).and_then(|()| writeln!(file, "{line}"));
                }
            }
            let stays = !is_own && *round - *since < PATIENCE;
            if !stays {
                *held -= lines.len();
            }
            stays
        });
        written?;
        pairs.new.drain(..).try_for_each(|line| writeln!(file, "{line}"))
    }
}

/// The socket that a line is of; none of the first and the last line.
fn flow_of(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once("\"flow\":")?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorter() -> Sorter {
        Sorter { pairs: Pairs::default(), unknown: HashMap::new(), held: 0, records: 0, round: 0 }
    }

    #[test]
    fn lines_wait_until_it_is_known_whose_they_are_and_others_are_left_out() {
        let (mut sorter, mut file) = (sorter(), Vec::new());
        let lines = ["{\"kind\":\"begin\"}", "{\"flow\":7,\"n\":1}", "{\"flow\":8,\"n\":2}", "{\"flow\":9,\"n\":3}"];
        for line in lines {
            sorter.put(line.to_owned(), &mut file).unwrap();
        }
        sorter.pairs.note(&json!({"near": 7, "far": null, "listener": "web"}));
        sorter.settle(&mut file).unwrap();
        sorter.put("{\"flow\":7,\"n\":4}".to_owned(), &mut file).unwrap();
        sorter.pairs.note(&json!({"near": 7, "far": 8, "listener": "web", "client": "c", "server": "s"}));
        for _ in 0..=PATIENCE {
            sorter.settle(&mut file).unwrap();
        }
        let text = String::from_utf8(file).unwrap();
        let numbers: Vec<_> = text.lines().filter_map(|line| line.split("\"n\":").nth(1)).collect();
        assert_eq!(numbers, ["1}", "4}", "2}"]);
        assert_eq!(text.matches("\"kind\":\"pair\"").count(), 1, "{text}");
        assert!(sorter.unknown.is_empty() && sorter.held == 0, "9 is nobody's");
        assert_eq!((sorter.records, sorter.pairs.count), (3, 1));
    }

    #[test]
    fn the_flow_of_a_line_is_its_number() {
        assert_eq!(flow_of("{\"kind\":\"segment\",\"time_s\":1.5,\"flow\":12,\"x\":3}"), Some(12));
        assert_eq!(flow_of("{\"kind\":\"end\",\"records\":12}"), None);
    }
}
