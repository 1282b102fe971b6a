//! The command line of `ackclock-kernel`. Exit codes: 0 done, 1 failed, 2 wrong input, 130 interrupted.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ackclock_scenario::Scenario;
use clap::{Parser, Subcommand};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::carry::{self, HostPlace, carry};
use crate::init;
use crate::output;
use crate::plan::{Choice, Plan};
use crate::run::{Failure, Outcome, available_controllers, run};

const FAILED: u8 = 1;
const WRONG_INPUT: u8 = 2;
const INTERRUPTED: u8 = 130;

/// The same scenario on the real Linux kernel.
#[derive(Debug, Parser)]
#[command(name = "ackclock-kernel", version, about, long_about = None)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a scenario in real time, between real sockets.
    Run(RunArgs),
    /// Check whether the kernel can run a scenario, and print the settings.
    Check(ScenarioArgs),
    /// Carry packets between other network namespaces over a scenario's network, until Ctrl-C.
    Carry(CarryArgs),
    /// First process of a user-mode kernel: runs one command.
    #[command(hide = true)]
    Init {
        /// Words of the kernel itself on its command line.
        #[arg(trailing_var_arg = true)]
        of_the_kernel: Vec<String>,
    },
    /// Controllers as programs of the kernel.
    #[cfg(feature = "bpf")]
    #[command(flatten)]
    Controllers(ackclock_bpf::cli::Commands),
}

#[derive(Debug, clap::Args)]
struct ScenarioArgs {
    /// A scenario file; "-" reads it from standard input.
    file: PathBuf,
    /// Override a value, such as duration='5 s'. May be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    overrides: Vec<String>,
    /// Replace the scenario's seed, which draws all its random values.
    #[arg(long)]
    seed: Option<u64>,
}

#[derive(Debug, clap::Args)]
struct RunArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Write the results into this folder, which is created if missing: summary.json, kernel.json and tables of Arrow.
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// Write the results to standard output as one stream: a line of JSON with the lengths of tables, then these as Arrow.
    #[arg(long, conflicts_with = "into")]
    stream: bool,
    /// Exit when the program that started this one exits.
    #[arg(long)]
    tied: bool,
    /// Use another controller for a flow, one that the kernel has or that is registered. May be repeated.
    #[arg(long = "controller", value_name = "FLOW=NAME", value_parser = choice)]
    controllers: Vec<Choice>,
    /// Let policies decide on the host, which a kernel in virtual time asks through its agent.
    #[arg(long)]
    asks: bool,
}

#[derive(Debug, clap::Args)]
struct CarryArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Attach a namespace (of ip netns, or a path such as /proc/PID/ns/net) to a node, by a device with this address. At least two.
    #[arg(long = "host", value_name = "NODE=DEVICE@NAMESPACE:ADDRESS/BITS", required = true)]
    hosts: Vec<HostPlace>,
    /// Stop after this many seconds.
    #[arg(long, value_parser = positive)]
    seconds: Option<f64>,
}

fn choice(text: &str) -> Result<Choice, String> {
    let (flow, name) = text.split_once('=').ok_or("must be FLOW=NAME, such as learner=ac_policy")?;
    Ok((flow.to_owned(), name.to_owned()))
}

fn positive(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (1e-3..1e9).contains(seconds));
    seconds.ok_or_else(|| "must be a number of seconds, 0.001 at least".to_owned())
}

/// Runs the command of the command line.
pub fn main() -> ExitCode {
    // Ordinary threads may wake 50 us late unless they say otherwise; all of this process inherit it.
    let _ = nix::sys::prctl::set_timerslack(1);
    let result = match Cli::parse().command {
        Command::Run(args) => run_command(&args),
        Command::Check(args) => check_command(&args),
        Command::Carry(args) => carry_command(&args),
        Command::Init { .. } => init_command(),
        #[cfg(feature = "bpf")]
        Command::Controllers(command) => return ackclock_bpf::cli::run(command),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, message)) => {
            let _ = writeln!(std::io::stderr(), "{message}");
            ExitCode::from(code)
        }
    }
}

type Ended = Result<(), (u8, String)>;

fn run_command(args: &RunArgs) -> Ended {
    if args.tied {
        let tie = nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL);
        tie.map_err(|error| (FAILED, format!("error: cannot be bound to the program that started it: {error}")))?;
    }
    let scenario = load(&args.scenario)?;
    let stop = stopped_by_signals()?;
    let outcome = run(scenario.config(), &args.controllers, args.asks, &stop).map_err(|failure| explain(&failure))?;
    if let Some(folder) = &args.into {
        let told = |error| (FAILED, format!("error: {}: {error}", folder.display()));
        std::fs::create_dir_all(folder).and_then(|()| output::write(&outcome, folder)).map_err(told)?;
    } else if args.stream {
        let told = |error| (FAILED, format!("error: standard output: {error}"));
        output::write_stream(&outcome, &mut std::io::stdout().lock()).map_err(told)?;
    } else {
        print(&outcome);
    }
    Ok(())
}

/// A flag that becomes true at a signal to stop.
fn stopped_by_signals() -> Result<Arc<AtomicBool>, (u8, String)> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let registered = signal_hook::flag::register(signal, Arc::clone(&stop));
        registered.map_err(|error| (FAILED, format!("error: signals cannot be handled: {error}")))?;
    }
    Ok(stop)
}

/// Carries packets until Ctrl-C, which is the normal end, and prints the counts.
fn carry_command(args: &CarryArgs) -> Ended {
    let scenario = load(&args.scenario)?;
    let stop = stopped_by_signals()?;
    let mut out = std::io::stdout().lock();
    let carried = carry(scenario.config(), &args.hosts, args.seconds, (&stop, &mut out));
    let carried = carried.map_err(|failure| match failure {
        carry::Failure::Wrong(what) => (WRONG_INPUT, format!("error: {what}")),
        carry::Failure::Io(error) => (FAILED, format!("error: {error}")),
    })?;
    let _ = writeln!(out, "{}", serde_json::to_string_pretty(&carried).unwrap_or_default());
    Ok(())
}

fn init_command() -> Ended {
    if std::process::id() != 1 {
        return Err((WRONG_INPUT, "error: init is for the first process of a user-mode kernel".to_owned()));
    }
    let Err(error) = init::run();
    Err((FAILED, format!("error: {error}")))
}

fn check_command(args: &ScenarioArgs) -> Ended {
    let scenario = load(args)?;
    let available = available_controllers().map_err(|error| explain(&Failure::Io(error)))?;
    let plan =
        Plan::new(scenario.config(), &available, false).map_err(|refusals| explain(&Failure::Refused(refusals)))?;
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "the largest packet has {} bytes", plan.mtu);
    for (side, host) in ["openers", "acceptors"].iter().zip(&plan.sides) {
        for (name, value) in &host.parameters {
            let _ = writeln!(out, "{side}: {name} = {value}");
        }
    }
    Ok(())
}

fn load(args: &ScenarioArgs) -> Result<Scenario, (u8, String)> {
    let wrong = |error: ackclock_scenario::ScenarioError| (WRONG_INPUT, error.to_string());
    let scenario = if args.file == Path::new("-") {
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        read.map_err(|error| (WRONG_INPUT, format!("error: standard input: {error}")))?;
        Scenario::parse(&text, "<stdin>", &args.overrides)
    } else {
        Scenario::load(&args.file, &args.overrides)
    };
    let scenario = scenario.map_err(wrong)?;
    args.seed.map_or(Ok(scenario.clone()), |seed| scenario.draw(seed)).map_err(wrong)
}

fn explain(failure: &Failure) -> (u8, String) {
    match failure {
        Failure::Refused(refusals) => {
            let lines: Vec<String> = refusals.iter().map(|refusal| format!("error: {refusal}")).collect();
            (WRONG_INPUT, format!("{}\n{} not supported by the kernel; nothing was run", lines.join("\n"), lines.len()))
        }
        Failure::Machine(what) => (FAILED, format!("error: {what}")),
        Failure::Io(error) => (FAILED, format!("error: {error}")),
        Failure::Interrupted => (INTERRUPTED, "interrupted; no results were written".to_owned()),
    }
}

fn print(outcome: &Outcome) {
    let mut out = std::io::stdout().lock();
    let summary = serde_json::json!({ "summary": outcome.summary, "kernel": outcome.report });
    let _ = writeln!(out, "{}", serde_json::to_string_pretty(&summary).unwrap_or_default());
}
