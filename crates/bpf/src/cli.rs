//! The commands, for a program that has them among its own.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::{Args, Subcommand};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::agent::Agent;
use crate::catalogue::{Assignment, PROGRAMS};
use crate::command::{self, Group};
use crate::error::Error;
use crate::recording::{HEADINGS, Recording, line, row};
use crate::registration::{self, Kept, Order, Registration};
use crate::trace::{PAUSE, Trace, Watched};
use crate::{ece, machine};

/// Controllers as programs of the kernel.
#[derive(Debug, Subcommand)]
pub enum Commands {
    /// Register a controller with the kernel, until it is unloaded: sockets take it by its name there, which is printed.
    Load(LoadArguments),
    /// List the available controllers, and the registered ones.
    List,
    /// Remove a controller from the kernel; connections that use it keep it to their end.
    Unload {
        /// The controller's name in scenarios or in the kernel.
        name: String,
    },
    /// Change the parameters of a registered controller, while connections use it.
    Update {
        /// The controller's name in scenarios or in the kernel.
        name: String,
        /// New parameters.
        #[command(flatten)]
        params: Params,
        /// Replace a policy by this one, from `ackclock export --to bpf`.
        #[arg(long, value_name = "FILE", conflicts_with = "params")]
        policy: Option<String>,
    },
    /// Let programs raise ECE on their sockets, until that is turned off; the map in which they ask for it is printed.
    Ece {
        /// Stop letting programs raise ECE.
        #[arg(long)]
        off: bool,
    },
    /// Run a command whose connections all have a controller.
    Exec(ExecArguments),
    /// Show the state of the connections of a port, at either end, or of a process's cgroup, as they run.
    Watch(WatchArguments),
    /// Run a command, and record the state of its connections.
    Record(RecordArguments),
    /// Register the controller `ackclock_agent` for another program, which decides for its connections: for ackclock's package.
    #[command(hide = true)]
    Agent {
        /// Register `cubic_corrected` in its place.
        #[arg(long)]
        corrects: bool,
        /// The socket at which that program listens; the controller goes when it closes it.
        socket: PathBuf,
    },
}

/// Parameters, one for each use of the option.
#[derive(Args, Debug)]
pub struct Params {
    /// Set a parameter of the controller, by its name in scenarios. May be repeated.
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = assignment)]
    params: Vec<Assignment>,
}

/// Arguments of `load`.
#[derive(Args, Debug)]
pub struct LoadArguments {
    /// The controller's name in scenarios, or the file of a policy.
    name: String,
    #[command(flatten)]
    params: Params,
    /// Register it under this name for sockets, 15 letters at most; by default its own.
    #[arg(long = "as", value_name = "NAME")]
    alias: Option<String>,
}

/// Arguments of `exec`.
#[derive(Args, Debug)]
pub struct ExecArguments {
    /// The controller: of the kernel by its name there, or one of this program's, which is loaded for the command.
    #[arg(long, value_name = "NAME")]
    controller: String,
    #[command(flatten)]
    params: Params,
    /// The command, with its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Arguments of `watch`.
#[derive(Args, Debug)]
pub struct WatchArguments {
    /// The port of the connections, at either end.
    #[arg(required_unless_present = "process")]
    port: Option<u16>,
    /// Watch the connections of this process's cgroup, such as a service's, in place of a port.
    #[arg(long, value_name = "PID", conflicts_with = "port")]
    process: Option<u32>,
    /// Stop after this many seconds; by default when interrupted.
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    seconds: Option<f64>,
    /// Print every record as a line of JSON, in place of a row for each connection twice a second.
    #[arg(long)]
    json: bool,
    /// Print nothing, and write a file as `record` does.
    #[arg(long, short, value_name = "FILE", conflicts_with = "json")]
    output: Option<PathBuf>,
}

/// Arguments of `record`.
#[derive(Args, Debug)]
pub struct RecordArguments {
    /// Write to this file: a line of JSON for each segment that arrives, change of state and retransmission.
    #[arg(long, short, value_name = "FILE", default_value = "trace.jsonl")]
    output: PathBuf,
    /// Use this controller for the connections of the command, as with exec.
    #[arg(long, value_name = "NAME")]
    controller: Option<String>,
    #[command(flatten)]
    params: Params,
    /// The command, with its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<String>,
}

fn assignment(text: &str) -> Result<Assignment, String> {
    let (field, value) = text.split_once('=').ok_or("must be NAME=VALUE, such as a=0.2")?;
    Ok((field.trim().to_owned(), value.trim().to_owned()))
}

fn positive(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (1e-3..1e9).contains(seconds));
    seconds.ok_or_else(|| "must be a number of seconds, 0.001 at least".to_owned())
}

/// Runs one, and prints what it has to say; an error goes to the standard error stream.
pub fn run(command: Commands) -> ExitCode {
    match carry_out(command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn carry_out(command: Commands) -> Result<ExitCode, Error> {
    match command {
        Commands::Load(arguments) => {
            let order = Order::new(&arguments.name, &arguments.params.params, arguments.alias.as_deref())?;
            Registration::new(&order)?.keep()?;
            println!("{}", order.kernel_name());
        }
        Commands::List => list(),
        Commands::Unload { name } => registration::unload(&name)?,
        Commands::Update { name, policy: Some(file), .. } => registration::swap(&name, &file)?,
        Commands::Update { name, params, policy: None } => registration::update(&name, &params.params)?,
        Commands::Ece { off: true } => ece::detach()?,
        Commands::Ece { off: false } => {
            ece::attach()?;
            println!("{}", ece::sockets()?.display());
        }
        Commands::Exec(arguments) => {
            return exec(Some(&arguments.controller), &arguments.params, &arguments.command, None);
        }
        Commands::Watch(arguments) => watch(&arguments)?,
        Commands::Agent { corrects, socket } => serve(&socket, corrects)?,
        Commands::Record(arguments) => {
            let RecordArguments { output, controller, params, command } = arguments;
            return exec(controller.as_deref(), &params, &command, Some(&output));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The controllers that there are take no rights; those that are registered do.
fn list() {
    println!("{:<16}{:<16}departures", "controller", "in the kernel");
    for program in PROGRAMS {
        println!("{:<16}{:<16}{}", program.name, program.kernel_name, program.departures);
    }
    let kept = machine::check().and_then(|()| registration::kept());
    match kept {
        Ok(kept) => {
            println!("\nregistered:");
            for Kept { kernel_name, about, spent } in kept {
                println!("{kernel_name:<16}{about}");
                if let Some(spent) = spent {
                    let mean = spent.ns as f64 / 1e3 / spent.decisions.max(1) as f64;
                    let longest = spent.longest_ns as f64 / 1e3;
                    println!("{:16}{} decisions, {mean:.2} us each, {longest:.1} us at most", "", spent.decisions);
                }
            }
        }
        Err(missing) => eprintln!("cannot list which are registered: {missing}"),
    }
}

/// Runs a command with a controller, without one if there is none, and records its connections in a file if there is one.
fn exec(
    controller: Option<&str>,
    params: &Params,
    command: &[String],
    output: Option<&Path>,
) -> Result<ExitCode, Error> {
    machine::check()?;
    let interrupted = interruption();
    let mut group = Group::new()?;
    let registered = controller.map(|name| registered(name, &params.params)).transpose()?;
    if let Some((_, kernel_name)) = &registered {
        group.choose(kernel_name)?;
    }
    let watched = Watched::Cgroup(group.number()?);
    let mut recording = output.map(|output| Recording::new(output, watched)).transpose()?;
    let meanwhile = || recording.as_mut().map_or(Ok(()), Recording::take);
    let status = group.run_until(command, &interrupted, meanwhile)?;
    if let (Some((_, kernel_name)), chosen) = (&registered, group.chosen()?) {
        eprintln!("connections with {kernel_name}: {}", chosen.connections);
        if chosen.refused > 0 {
            eprintln!("connections for which the kernel refused it: {}", chosen.refused);
        }
    }
    if let Some(recording) = recording {
        eprintln!("{}", recording.end()?);
    }
    // A shell's exit code for a signal.
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    let code = if interrupted.load(Ordering::Relaxed) { INTERRUPTED } else { code.map_or(1, |code| code as u8) };
    Ok(ExitCode::from(code))
}

const INTERRUPTED: u8 = 130;

/// Becomes true with Ctrl-C, which then ends nothing by itself: a command in the foreground gets it as well.
fn interruption() -> Arc<AtomicBool> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // Without it Ctrl-C ends this program, and what it has in the kernel goes with it.
        let _ = signal_hook::flag::register(signal, Arc::clone(&interrupted));
    }
    interrupted
}

/// Until the other program closes its end, or dies.
fn serve(socket: &Path, corrects: bool) -> Result<(), Error> {
    let agent = if corrects { Agent::correcting() } else { Agent::new() }?;
    let mut channel = UnixStream::connect(socket).map_err(Error::file(socket))?;
    agent.hand_over(&channel)?;
    let mut nothing = [0; 64];
    while channel.read(&mut nothing).is_ok_and(|read| read > 0) {}
    Ok(())
}

fn watch(arguments: &WatchArguments) -> Result<(), Error> {
    let watched = match (arguments.port, arguments.process) {
        (_, Some(process)) => Watched::Cgroup(command::cgroup_of(process)?),
        (port, None) => Watched::Port(port.unwrap_or(0)),
    };
    let interrupted = interruption();
    let began = Instant::now();
    let is_over = || arguments.seconds.is_some_and(|seconds| began.elapsed().as_secs_f64() >= seconds);
    if let Some(path) = &arguments.output {
        let mut recording = Recording::new(path, watched)?;
        while !is_over() && !interrupted.load(Ordering::Relaxed) {
            std::thread::sleep(PAUSE);
            recording.take()?;
        }
        eprintln!("{}", recording.end()?);
        return Ok(());
    }
    let trace = Trace::new(watched)?;
    let mut output = std::io::stdout().lock();
    if !arguments.json {
        writeln!(output, "{HEADINGS}").map_err(Error::file("standard output"))?;
    }
    while !is_over() && !interrupted.load(Ordering::Relaxed) {
        std::thread::sleep(PAUSE);
        let mut latest = BTreeMap::new();
        let mut written = Ok(());
        trace.take(|record| {
            if arguments.json {
                written = std::mem::replace(&mut written, Ok(())).and_then(|()| writeln!(output, "{}", line(record)));
            } else {
                latest.insert(record.flow, *record);
            }
        })?;
        for record in latest.values() {
            written = written.and_then(|()| writeln!(output, "{}", row(record)));
        }
        written.and_then(|()| output.flush()).map_err(Error::file("standard output"))?;
    }
    eprintln!("{} records were lost: the buffer was full", trace.missed()?);
    Ok(())
}

/// The kernel's own, one that is registered, or one that is registered for this command.
fn registered(name: &str, params: &[Assignment]) -> Result<(Option<Registration>, String), Error> {
    let available = machine::available_controllers();
    if params.is_empty() && available.iter().any(|available| available == name) {
        return Ok((None, name.to_owned()));
    }
    let order = Order::new(name, params, None)?;
    if params.is_empty() && available.iter().any(|available| available == order.kernel_name()) {
        return Ok((None, order.kernel_name().to_owned()));
    }
    let registration = Registration::new(&order)?;
    let kernel_name = order.kernel_name().to_owned();
    Ok((Some(registration), kernel_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_positive_number_of_seconds() {
        assert_eq!(positive("2.5"), Ok(2.5));
        for wrong in ["NaN", "inf", "-inf", "-1", "0", "1e300", "soon", ""] {
            assert!(positive(wrong).is_err(), "{wrong}");
        }
    }
}
