//! `ackclock-proxy`: see `ackclock-proxy --help`, and docs/how-to/run-the-proxy.md of the repository.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use ackclock_proxy::app::{App, Haste};
use ackclock_proxy::config::{self, Config, Diagnostic};
use ackclock_proxy::confine::{self, Confined};
use ackclock_proxy::handover::{self, Inherited};
use ackclock_proxy::rules::Rules;
use ackclock_proxy::{check, controllers, health, http, log, record, resolver, rules, sys, top};
use lexopt::prelude::{Long, Short, Value, ValueExt};
use sd_notify::NotifyState;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR2};
use signal_hook::iterator::Signals;

const HELP: &str = "\
A TCP proxy with bounded latency and a choice of congestion control on each side.

Usage: ackclock-proxy [--apply] CONFIG
  or:  ackclock-proxy --check [--apply] CONFIG
  or:  ackclock-proxy rules [--undo] CONFIG
  or:  ackclock-proxy top [--once] ADDRESS
  or:  ackclock-proxy record [--output DIR] [--seconds S] ADDRESS
  or:  ackclock-proxy --version

  CONFIG          carry connections as CONFIG says
  --check CONFIG  print every mistake in CONFIG, and what this host refuses
  rules CONFIG    print the commands that redirect connections here; with --undo those that undo it
  top ADDRESS     show the connections of a proxy with metrics at ADDRESS; with --once, print them
  record ADDRESS  record the TCP state of both sides of its connections, at each ACK (root)

  --apply         run the commands of `rules` at the start, and those of `rules --undo` at the end;
                  one process of a host may
  --output DIR    record into this folder (default recording)
  --seconds S     end the recording after S seconds (default: at Ctrl-C)

Signals:
  HUP             read CONFIG again
  USR2            hand over to the binary that is at the same path now
  TERM            accept no more connections, and wait for the open ones
  INT             end at once

Exit codes: 0 done, 1 failed, 2 wrong input, 130 interrupted
";

/// Rules that were put in, and the claim to them.
type Applied = (Rules, OwnedFd);

/// Task of the command line.
enum Task {
    Run { path: PathBuf, apply: bool },
    Check { path: PathBuf, apply: bool },
    Rules { path: PathBuf, undo: bool },
    Top { address: SocketAddr, once: bool },
    Record { address: SocketAddr, folder: PathBuf, lasting: Option<Duration> },
    Say(String),
}

fn main() -> ExitCode {
    let task = match task() {
        Ok(task) => task,
        Err(error) => {
            complain(&format!("{error}\nsee ackclock-proxy --help"));
            return ExitCode::from(2);
        }
    };
    let done = match task {
        Task::Run { path, apply } => run(path, apply),
        Task::Check { path, apply } => check(&path, apply),
        Task::Rules { path, undo } => with(&path, |_, config| {
            let (add, remove) = rules::commands(&config);
            say(if undo { remove.trim_end() } else { add.trim_end() }).map(|()| 0)
        }),
        Task::Top { address, once: true } => top::once(address).and_then(|text| say(text.trim_end())).map(|()| 0),
        Task::Top { address, once: false } => top::live(address).map(|()| 0),
        Task::Record { address, folder, lasting } => record_into(address, &folder, lasting),
        Task::Say(text) => say(text.trim_end()).map(|()| 0),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

fn task() -> Result<Task, lexopt::Error> {
    let mut arguments = lexopt::Parser::from_env();
    let (mut words, mut check, mut apply, mut undo, mut once) = (Vec::new(), false, false, false, false);
    let (mut folder, mut lasting) = (None, None);
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("check") => check = true,
            Long("apply") => apply = true,
            Long("undo") => undo = true,
            Long("once") => once = true,
            Long("output") | Short('o') => folder = Some(PathBuf::from(arguments.value()?)),
            Long("seconds") => lasting = Some(seconds(&arguments.value()?.string()?)?),
            Long("help") | Short('h') => return Ok(Task::Say(HELP.to_owned())),
            Long("version") | Short('V') => {
                return Ok(Task::Say(format!("ackclock-proxy {}", env!("CARGO_PKG_VERSION"))));
            }
            Value(word) => words.push(word.string()?),
            other => return Err(other.unexpected()),
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let command = if let [command @ ("rules" | "top" | "record"), _] = words[..] { command } else { "" };
    let flags = [("--check", check, ""), ("--apply", apply, ""), ("--undo", undo, "rules"), ("--once", once, "top")];
    if let Some((flag, _, with)) = flags.into_iter().find(|(_, is_given, with)| *is_given && *with != command) {
        let with = if with.is_empty() { "a configuration file alone" } else { with };
        return Err(format!("{flag} is allowed only with {with}").into());
    }
    match words[..] {
        ["rules", path] => Ok(Task::Rules { path: path.into(), undo }),
        ["record", address] => {
            let folder = folder.unwrap_or_else(|| PathBuf::from("recording"));
            Ok(Task::Record { address: address_of(address)?, folder, lasting })
        }
        _ if folder.is_some() || lasting.is_some() => Err("--output and --seconds are for record".into()),
        ["top", address] => Ok(Task::Top { address: address_of(address)?, once }),
        [path] if check => Ok(Task::Check { path: path.into(), apply }),
        [path] if !["rules", "top", "record"].contains(&path) => Ok(Task::Run { path: path.into(), apply }),
        _ => Err("give one configuration file, or a command with its argument".into()),
    }
}

fn address_of(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| format!("{text}: must be an address with a port, such as 127.0.0.1:9901"))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = text.parse().ok().filter(|seconds| (0.1..1e9).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| format!("--seconds {text}: write a number of 0.1 or more"))
}

/// Records until it is over; 130 if it was interrupted, 0 where that was the only way to end it.
fn record_into(address: SocketAddr, folder: &Path, lasting: Option<Duration>) -> io::Result<u8> {
    let recorded = record::record(address, folder, lasting)?;
    let (pairs, records) = (counted(recorded.pairs, "connection", "connections"), recorded.records);
    if recorded.is_left {
        complain("the proxy stopped answering; the recording has ended");
    }
    say(&format!("{pairs}, {records} records in {}", folder.display()))?;
    Ok(if recorded.is_interrupted && lasting.is_some() { 130 } else { 0 })
}

fn say(text: &str) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{text}")
}

fn complain(text: &str) {
    // A failure cannot be reported anywhere.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn complain_of(mistakes: &[Diagnostic]) {
    let paragraphs: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
    complain(&paragraphs.join("\n\n"));
}

/// Does something with a configuration; 2 if it is wrong.
fn with(path: &Path, what: impl FnOnce(&Path, Config) -> io::Result<u8>) -> io::Result<u8> {
    match config::load(path) {
        Ok(config) => what(path, config),
        Err(mistakes) => {
            complain_of(&mistakes);
            Ok(2)
        }
    }
}

/// Reports all that a start with a configuration would be refused for, or warn of; 1 if it would be refused.
fn check(path: &Path, apply: bool) -> io::Result<u8> {
    with(path, |path, config| {
        let found = check::check(&config, path, apply);
        for finding in &found {
            complain(&format!("{}{}", if finding.is_fatal { "" } else { "warning: " }, finding.text));
        }
        if found.iter().any(|finding| finding.is_fatal) {
            return Ok(1);
        }
        let addresses = counted(config.listeners.len(), "address", "addresses");
        say(&format!("{}: fine, {addresses} to listen at", path.display())).map(|()| 0)
    })
}

fn run(path: PathBuf, apply: bool) -> io::Result<u8> {
    let mut inherited = Inherited::from_environment();
    let config = match config::load(&path) {
        Ok(config) => config,
        Err(mistakes) => {
            complain_of(&mistakes);
            return Ok(2);
        }
    };
    log::start(&config.file.log);
    for name in controllers::missing(&config) {
        controllers::may_load(&name)?;
        controllers::load(&name)?;
        tracing::info!(controller = name, "loaded; `ackclock-kernel unload` removes it from the kernel");
    }
    let files = sys::raise_file_limit();
    let claim = inherited.take_claim();
    let claim = if apply && claim.is_none() { Some(rules::claim()?) } else { claim };
    // Before anything is given up: whoever is confined cannot see who has an address.
    if !inherited.is_successor() {
        check::claim(&config)?;
    }
    let has_confined = confine::is_confined() || config.file.confine && confine(&path);
    let mut rules = claim.map(|claim| (inherited.take_rules(), claim));
    let ready = inherited.take_ready();
    // Before anything can be interrupted.
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM, SIGUSR2])?;
    let app = App::start(path, config, inherited, has_confined)?;
    let of_metrics = &app.config().file.metrics;
    let metrics =
        of_metrics.address.map(|at| http::serve(at.0, of_metrics.public, &app.shared, &app.active, app.handles()));
    let metrics = metrics.transpose()?;
    health::look_after(Arc::clone(&app.active), Arc::clone(&app.shared.troubles))?;
    resolver::look_after(Arc::clone(&app.active))?;
    if let Some((rules, _)) = &mut rules {
        rules.follow(app.config())?;
    }
    let _ = sd_notify::notify(&[NotifyState::MainPid(std::process::id()), NotifyState::Ready]);
    if let Some(warning) = check::descriptors(app.config(), files) {
        tracing::warn!("{warning}");
    }
    tracing::info!(files, workers = app.config().workers, "ready");
    if let Some(ready) = ready {
        handover::say_ready(ready);
    }
    let (code, is_succeeded) = serve(app, &mut signals, &mut rules, metrics.as_ref());
    if let Some((rules, _claim)) = rules.filter(|_| !is_succeeded) {
        rules.remove()?;
    }
    Ok(code)
}

/// Gives up unneeded rights; true if that was done. A kernel without this feature causes a warning only; a successor,
/// which may run a newer program, tries again.
fn confine(config: &Path) -> bool {
    match confine::confine(config, &handover::program()) {
        Ok(Confined { files, calls }) => {
            tracing::info!(files, calls, "confined");
            true
        }
        Err(error) => {
            tracing::warn!(%error, "not confined");
            false
        }
    }
}

/// The orders of signals to a process that takes no more connections.
fn haste(signals: &mut Signals) -> Option<Haste> {
    let said: Vec<_> = signals.pending().collect();
    let hastes = [(SIGINT, Haste::AtOnce), (SIGTERM, Haste::InTime)];
    hastes.into_iter().find(|(signal, _)| said.contains(signal)).map(|(_, haste)| haste)
}

/// Does what signals say until the end; the exit code, and whether a successor goes on.
fn serve(
    mut app: App,
    signals: &mut Signals,
    rules: &mut Option<Applied>,
    metrics: Option<&TcpListener>,
) -> (u8, bool) {
    loop {
        let Some(signal) = signals.forever().next() else { return (0, false) };
        match signal {
            SIGHUP => reload(&mut app, rules),
            SIGUSR2 => {
                if hand_over(&app, rules.as_ref().map(|(rules, claim)| (rules, claim))) {
                    // Two that answer in turns would make counters jump.
                    let _ = metrics.map(|listener| rustix::net::shutdown(listener, rustix::net::Shutdown::Both));
                    app.drain(|| haste(signals));
                    return (0, true);
                }
            }
            SIGTERM => {
                let _ = sd_notify::notify(&[NotifyState::Stopping, NotifyState::ExtendTimeoutUsec(patience(&app))]);
                tracing::info!("no more connections are accepted");
                let mut first = Some(Haste::InTime);
                let is_interrupted = app.drain(|| first.take().or_else(|| haste(signals)));
                return (if is_interrupted { 130 } else { 0 }, false);
            }
            _ => {
                app.stop();
                return (130, false);
            }
        }
    }
}

/// Microseconds that whoever watches over the service has to wait for its end (`sd_notify(3)`): `timeouts.drain`, and a moment. As
/// many as there is room for, some 71 minutes, where that is longer.
fn patience(app: &App) -> u32 {
    let wanted = config::duration(app.config().file.timeouts.drain) + Duration::from_secs(5);
    u32::try_from(wanted.as_micros()).unwrap_or(u32::MAX)
}

fn reload(app: &mut App, rules: &mut Option<Applied>) {
    let monotonic = NotifyState::monotonic_usec_now();
    let states = [Some(NotifyState::Reloading), monotonic.ok()].into_iter().flatten().collect::<Vec<_>>();
    let _ = sd_notify::notify(&states);
    match app.reload() {
        Ok(failed) => {
            if failed.is_empty() {
                tracing::info!("the configuration was reloaded");
            } else {
                let listeners = failed.join(", ");
                tracing::error!(
                    listeners,
                    "the configuration was reloaded in part; mend these listeners and reload again"
                );
            }
            if let Some(Err(error)) = rules.as_mut().map(|(rules, _)| rules.follow(app.config())) {
                tracing::error!(%error, "the rules are not as configured");
            }
        }
        Err(mistakes) => {
            tracing::error!("the new configuration has mistakes; the old one stays in force");
            for mistake in &mistakes {
                let Diagnostic { field, message, remedy, .. } = mistake;
                let gap = if field.is_empty() { "" } else { " " };
                tracing::error!(place = mistake.at(), remedy, "{field}{gap}{message}");
            }
        }
    }
    let _ = sd_notify::notify(&[NotifyState::Ready]);
}

fn hand_over(app: &App, rules: Option<(&Rules, &OwnedFd)>) -> bool {
    let active = app.active.lock().unwrap_or_else(PoisonError::into_inner);
    match handover::start_successor(&active, app.has_confined, rules) {
        Ok(child) => {
            tracing::info!(successor = child.id(), "handed over");
            true
        }
        Err(error) => {
            tracing::error!(%error, "no successor: this process continues");
            false
        }
    }
}
