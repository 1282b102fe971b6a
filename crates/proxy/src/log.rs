//! Messages on stderr: their format, their level and the line of each connection. A reload changes all of them.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, OnceLock};

use prometheus_client::metrics::counter::Counter;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Layered, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, Registry, fmt, reload};

use crate::config::file::{Log, LogFormat, LogLevel};

/// Target of the lines of connections.
pub const CONNECTIONS: &str = "connections";

type Filtered = Layered<reload::Layer<Targets, Registry>, Registry>;
type Writer = Box<dyn Layer<Filtered> + Send + Sync>;

/// The parts of the log that a reload changes.
struct Handles {
    filter: reload::Handle<Targets, Registry>,
    writer: reload::Handle<Writer, Filtered>,
}

static HANDLES: OnceLock<Handles> = OnceLock::new();

/// Writes messages from now on. To be called once.
pub fn start(log: &Log) {
    let (filter, of_filter) = reload::Layer::new(filter(log));
    let (writer, of_writer) = reload::Layer::new(writer(log));
    tracing_subscriber::registry().with(filter).with(writer).init();
    let _ = HANDLES.set(Handles { filter: of_filter, writer: of_writer });
}

/// Writes messages as these settings say, if any are written.
pub fn follow(log: &Log) {
    if let Some(handles) = HANDLES.get() {
        // It fails only where the log is gone.
        let _ = handles.writer.reload(writer(log));
        let _ = handles.filter.reload(filter(log));
    }
}

fn filter(log: &Log) -> Targets {
    let level = match log.level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    let has_connections = log.connections || log.level == LogLevel::Debug;
    let of_connections = if has_connections { LevelFilter::INFO } else { LevelFilter::OFF };
    Targets::new().with_default(level).with_target(CONNECTIONS, of_connections)
}

/// Messages that were not written, as nobody read those before.
pub(crate) static LOST: LazyLock<Counter> = LazyLock::new(Counter::default);

/// Octets that a pipe takes at once where `poll` reports room: `PIPE_BUF` of pipe(7).
const PIECE: usize = 4096;

/// The last message was lost after a part of it had been written.
static IS_CUT: AtomicBool = AtomicBool::new(false);

/// stderr, unless writing would wait for a reader: threads that carry connections must not.
struct Stderr;

impl Write for Stderr {
    fn write(&mut self, message: &[u8]) -> io::Result<usize> {
        self.write_all(message)?;
        Ok(message.len())
    }

    fn write_all(&mut self, message: &[u8]) -> io::Result<()> {
        let mut stderr = io::stderr().lock();
        let is_cut = IS_CUT.load(Ordering::Relaxed);
        let whole = if is_cut { Cow::Owned([b"\n", message].concat()) } else { Cow::Borrowed(message) };
        for (index, piece) in whole.chunks(PIECE).enumerate() {
            let mut asked = [PollFd::new(&stderr, PollFlags::OUT)];
            // An error is there to be met by writing.
            if poll(&mut asked, Some(&Timespec::default())).is_ok_and(|ready| ready == 0) {
                LOST.inc();
                IS_CUT.fetch_or(index > 0, Ordering::Relaxed);
                return Ok(());
            }
            stderr.write_all(piece)?;
        }
        IS_CUT.store(false, Ordering::Relaxed);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn writer(log: &Log) -> Writer {
    let layer = fmt::layer().with_writer(|| Stderr).with_ansi(false);
    // A message that cannot be written (a full disk, a reader that has gone) is lost. To report that to the same place would panic.
    let layer = layer.log_internal_errors(false);
    match log.format {
        LogFormat::Text => layer.with_target(false).boxed(),
        LogFormat::JsonLines => layer.json().flatten_event(true).boxed(),
    }
}
