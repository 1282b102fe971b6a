//! The commands of this crate as a program of their own.

use std::process::ExitCode;

use ackclock_bpf::cli::{Commands, run};
use clap::Parser;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Commands,
}

fn main() -> ExitCode {
    run(Arguments::parse().command)
}
