//! The commands, for a program that has them among its own.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::catalogue::{Assignment, PROGRAMS};
use crate::command::Group;
use crate::error::Error;
use crate::machine;
use crate::registration::{self, Order, Registration};

/// Controllers as programs of the kernel.
#[derive(Debug, Subcommand)]
pub enum Commands {
    /// Register a controller with the kernel, until it is unloaded: sockets take it by its name there, which is printed.
    Load(LoadArguments),
    /// List the controllers that there are, and those that are registered.
    List,
    /// Take a controller out of the kernel again; connections that have it keep it to their end.
    Unload {
        /// Its name, in scenarios or in the kernel.
        name: String,
    },
    /// Give a registered controller other parameters, while connections have it.
    Update {
        /// Its name, in scenarios or in the kernel.
        name: String,
        #[command(flatten)]
        params: Params,
    },
    /// Run a command whose connections all have a controller.
    Exec(ExecArguments),
}

/// A parameter for each use.
#[derive(Args, Debug)]
pub struct Params {
    /// A parameter of the controller, as scenarios name it.
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = assignment)]
    params: Vec<Assignment>,
}

/// What `load` is given.
#[derive(Args, Debug)]
pub struct LoadArguments {
    /// The controller's name in scenarios.
    name: String,
    #[command(flatten)]
    params: Params,
    /// The name that sockets take it by, 15 letters at most.
    #[arg(long = "as", value_name = "NAME")]
    alias: Option<String>,
}

/// What `exec` is given.
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

fn assignment(text: &str) -> Result<Assignment, String> {
    let (field, value) = text.split_once('=').ok_or("must be NAME=VALUE, such as a=0.2")?;
    Ok((field.trim().to_owned(), value.trim().to_owned()))
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
        Commands::List => list()?,
        Commands::Unload { name } => registration::unload(&name)?,
        Commands::Update { name, params } => registration::update(&name, &params.params)?,
        Commands::Exec(arguments) => return exec(&arguments),
    }
    Ok(ExitCode::SUCCESS)
}

/// The controllers that there are do without rights; those that are registered do not.
fn list() -> Result<(), Error> {
    println!("{:<16}{:<16}departures", "controller", "in the kernel");
    for program in PROGRAMS {
        println!("{:<16}{:<16}{}", program.name, program.kernel_name, program.departures);
    }
    machine::check()?;
    println!("\nregistered:");
    for kept in registration::kept()? {
        println!("{:<16}{}", kept.kernel_name, kept.about);
    }
    Ok(())
}

fn exec(arguments: &ExecArguments) -> Result<ExitCode, Error> {
    machine::check()?;
    let (registration, kernel_name) = registered(&arguments.controller, &arguments.params.params)?;
    let group = Group::new(&kernel_name)?;
    let status = group.run(&arguments.command)?;
    let chosen = group.chosen()?;
    eprintln!("{} connections had {kernel_name}", chosen.connections);
    if chosen.refused > 0 {
        eprintln!("the kernel refused it to {} connections", chosen.refused);
    }
    drop((group, registration));
    // As a shell tells of a signal.
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    Ok(ExitCode::from(code.map_or(1, |code| code as u8)))
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
