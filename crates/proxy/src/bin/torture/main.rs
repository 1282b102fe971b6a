//! `ackclock-torture`: the same exchanges directly and through a TCP proxy, which must make no difference.
//!
//! Each case is a pair of scripts, one for the client and one for the server: octets, FINs, resets, slow readers, and in which
//! order. It is played directly first; what either end saw then is what it has to see through the proxy. The octets of a
//! stream tell their place, so that none can be lost, doubled, moved or invented unseen.
//!
//! One thing cannot be equal: the kernel has accepted a connection before a proxy knows whether the server does. A refused
//! connection and one that is reset before its first octet count as the same.

mod case;
mod cases;
mod endpoint;
mod outcome;
mod proxy;
mod special;
mod stream;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use lexopt::prelude::{Long, Short, ValueExt};

use case::Case;
use outcome::Verdict;
use proxy::Proxy;

const HELP: &str = "\
Exchanges of every order of octets, FINs and resets, directly and through a TCP proxy, which must make no difference.

Usage: ackclock-torture --proxy COMMAND [--name NAME] [--cases PART] [--jobs N] [--random N] [--repeat N] [--json FILE]
  or:  ackclock-torture --list [--cases PART]

  --proxy COMMAND  start the proxy with this shell command; {listen} and {upstream} in it are ports of 127.0.0.1
  --name NAME      call the proxy NAME in the report (default proxy)
  --cases PART     play only the cases with PART in their name (default all)
  --jobs N         play N cases at a time, each with a proxy (default 4)
  --random N       add N random exchanges (default 0)
  --repeat N       play each case N times (default 1)
  --json FILE      write the verdicts to FILE as JSON

exit: 0 every case is as without the proxy, 1 some are not, 2 wrong input
";

struct Options {
    command: Option<String>,
    name: String,
    part: String,
    jobs: usize,
    random: usize,
    repeat: usize,
    json: Option<String>,
    list: bool,
}

fn main() -> ExitCode {
    match options().and_then(|options| options.map_or(Ok(ExitCode::SUCCESS), |options| torture(&options))) {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}\nsee ackclock-torture --help");
            ExitCode::from(2)
        }
    }
}

fn options() -> Result<Option<Options>, lexopt::Error> {
    let mut options = Options {
        command: None,
        name: "proxy".to_owned(),
        part: String::new(),
        jobs: 4,
        random: 0,
        repeat: 1,
        json: None,
        list: false,
    };
    let mut arguments = lexopt::Parser::from_env();
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("proxy") => options.command = Some(arguments.value()?.string()?),
            Long("name") => options.name = arguments.value()?.string()?,
            Long("cases") => options.part = arguments.value()?.string()?,
            Long("jobs") => options.jobs = arguments.value()?.parse::<usize>()?.clamp(1, 64),
            Long("random") => options.random = arguments.value()?.parse()?,
            Long("repeat") => options.repeat = arguments.value()?.parse()?,
            Long("json") => options.json = Some(arguments.value()?.string()?),
            Long("list") => options.list = true,
            Long("help") | Short('h') => {
                let _ = io::stdout().write_all(HELP.as_bytes());
                return Ok(None);
            }
            other => return Err(other.unexpected()),
        }
    }
    Ok(Some(options))
}

fn torture(options: &Options) -> Result<ExitCode, lexopt::Error> {
    let mut cases = cases::all();
    cases.extend(cases::random(options.random));
    cases.retain(|case| case.name.contains(&options.part));
    let specials: Vec<_> = special::ALL.iter().filter(|(name, _)| name.contains(&options.part)).collect();
    if options.list {
        let names = cases.iter().map(|case| case.name.clone()).chain(specials.iter().map(|it| it.0.to_owned()));
        let text: String = names.map(|name| name + "\n").collect();
        let _ = io::stdout().write_all(text.as_bytes());
        return Ok(ExitCode::SUCCESS);
    }
    let cases: Vec<Case> = (0..options.repeat).flat_map(|_| cases.clone()).collect();
    let command = options.command.as_ref().ok_or("--proxy is missing")?;
    let mut verdicts = play_all(&cases, command, options.jobs).map_err(|error| error.to_string())?;
    play_again_alone(&cases, &mut verdicts, command).map_err(|error| error.to_string())?;
    for (name, special) in specials {
        verdicts.push(special(name, command));
    }
    verdicts.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(path) = &options.json {
        let text: serde_json::Value = verdicts.iter().map(|it| it.to_json(&options.name)).collect();
        std::fs::write(path, text.to_string() + "\n").map_err(|error| format!("cannot write {path}: {error}"))?;
    }
    let _ = io::stdout().write_all(outcome::report(&options.name, &verdicts).as_bytes());
    Ok(ExitCode::from(u8::from(verdicts.iter().any(|verdict| verdict.difference.is_some()))))
}

/// Plays what differed once more, with nothing beside it: where many are played at once, moments pass between two steps for
/// which no proxy is to blame. What differs then, too, counts.
fn play_again_alone(cases: &[Case], verdicts: &mut [Verdict], command: &str) -> io::Result<()> {
    for verdict in verdicts.iter_mut().filter(|verdict| verdict.difference.is_some()) {
        let Some(case) = cases.iter().find(|case| case.name == verdict.name) else { continue };
        *verdict = outcome::judge(case, &mut Proxy::start(command, None)?, command);
    }
    Ok(())
}

/// Plays every case, each thread with a proxy of its own.
fn play_all(cases: &[Case], command: &str, jobs: usize) -> io::Result<Vec<Verdict>> {
    let (next, verdicts, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()), Mutex::new(None));
    thread::scope(|scope| {
        for _ in 0..jobs.min(cases.len()) {
            scope.spawn(|| {
                let mut proxy = match Proxy::start(command, None) {
                    Ok(proxy) => proxy,
                    Err(error) => {
                        *failed.lock().expect("nobody panics with it") = Some(error);
                        return;
                    }
                };
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let verdict = outcome::judge(case, &mut proxy, command);
                    verdicts.lock().expect("nobody panics with it").push(verdict);
                }
            });
        }
    });
    match failed.into_inner().expect("nobody panicked with it") {
        Some(error) => Err(error),
        None => Ok(verdicts.into_inner().expect("nobody panicked with it")),
    }
}
