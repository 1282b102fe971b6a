//! Needs of a start on this host: rights, addresses, descriptors. `--check` goes through the steps of a start that the host may refuse,
//! and keeps nothing.

use std::fmt::Display;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::config::file::Side;
use crate::config::{self, Config, Listener};
use crate::holder::{self, Holder};
use crate::http::{self, MOST_ASKERS};
use crate::{confine, controllers, handover, listener, rules, side, sys};

/// Obstacle to a start, or to some of what the configuration asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The obstacle and a remedy.
    pub text: String,
    /// The proxy does not start.
    pub is_fatal: bool,
}

impl Finding {
    fn fatal(text: &dyn Display) -> Self {
        Self { text: text.to_string(), is_fatal: true }
    }

    fn warning(text: &dyn Display) -> Self {
        Self { text: text.to_string(), is_fatal: false }
    }
}

/// All obstacles to a start with this configuration, which was read from `path`, and with its rules if it `applies` them. The process
/// is confined afterwards.
pub fn check(config: &Config, path: &Path, applies: bool) -> Vec<Finding> {
    let missing = controllers::missing(config);
    let unloadable = missing.iter().filter_map(|name| controllers::may_load(name).err());
    let mut found: Vec<Finding> = unloadable.map(|error| Finding::fatal(&error)).collect();
    let refused = |field: String, text: String| Finding { text: config::refused(path, &field, &text), is_fatal: true };
    found.extend(descriptors(config, sys::raise_file_limit()).map(|warning| Finding::warning(&warning)));
    for (index, of) in config.listeners.iter().map(|of| without(of, &missing)).enumerate() {
        let at = |error: io::Error| {
            taken(of.listen.address.0, &error, &|text| refused(format!("listen[{index}].address"), text))
        };
        found.extend(listener::bind(&of).err().and_then(at));
        found.extend(side::try_all(&of).err().map(|error| refused(format!("listen[{index}]"), error.to_string())));
    }
    let metrics = config.file.metrics.address.map(|address| address.0);
    found.extend(metrics.and_then(|at| {
        http::bind(at, true)
            .err()
            .and_then(|error| taken(at, &error, &|text| refused("metrics.address".to_owned(), text)))
    }));
    if applies {
        found.extend(of_rules(&rules::commands(config).0).map(|error| Finding::fatal(&error)));
    }
    // Last: whoever is confined cannot see who has an address.
    if config.file.confine
        && let Err(error) = confine::confine(path, &handover::program())
    {
        found.push(Finding::warning(&format!("the proxy is not confined on this host: {error}")));
    }
    found
}

/// The listener without controllers that a start would load.
fn without(of: &Listener, missing: &[String]) -> Listener {
    let mut of = of.clone();
    let of_rules = of.rules.iter_mut().flat_map(|rule| [&mut rule.near, &mut rule.far]).flatten();
    let sides: Vec<&mut Side> = of_rules.chain([&mut of.listen.near, &mut of.listen.far]).collect();
    for side in sides {
        side.congestion = side.congestion.take().filter(|name| !missing.contains(name));
    }
    of
}

/// Finding of an error at an address. A proxy that runs is no obstacle: it is restarted, reloads, or hands the address over.
fn taken(address: SocketAddr, error: &io::Error, refused: &dyn Fn(String) -> Finding) -> Option<Finding> {
    if error.kind() != io::ErrorKind::AddrInUse {
        return Some(refused(error.to_string()));
    }
    match holder::of(address) {
        Some(Holder { process: Some((_, name)), .. }) if name == holder::own_name() => None,
        Some(Holder { user, process: None }) => Some(Finding::warning(&format!(
            "{error}: a process of the user {user} has it, which is an obstacle unless it is the proxy that runs already"
        ))),
        holder => Some(refused(held(error, holder))),
    }
}

/// An error at an address that is taken, with who has it, and the remedy.
fn held(error: &io::Error, holder: Option<Holder>) -> String {
    match holder {
        Some(Holder { process: Some((id, name)), .. }) => {
            format!("{error}: {name} (process {id}) has it; end it, or choose another address")
        }
        Some(Holder { user, process: None }) => {
            format!("{error}: a process of the user {user} has it; end it, or choose another address")
        }
        None => format!("{error}; end the process that has it, or choose another address"),
    }
}

/// An error at an address; with who has it, as far as this process may see that, and a remedy where it is taken.
pub fn explained(address: SocketAddr, error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::AddrInUse {
        return error;
    }
    io::Error::new(error.kind(), held(&error, holder::of(address)))
}

/// Fails where another process has an address of the configuration, as another proxy has that was started by mistake.
pub fn claim(config: &Config) -> io::Result<()> {
    for of in &config.listeners {
        listener::claim(of).map_err(|error| explained(of.listen.address.0, error))?;
    }
    let metrics = config.file.metrics.address.map(|address| address.0);
    metrics.map_or(Ok(()), |at| http::bind(at, false).map(drop).map_err(|error| explained(at, error)))
}

/// Error of the programs that the commands of rules take: nft reads the rules, and keeps nothing.
fn of_rules(commands: &str) -> Option<String> {
    let (others, rest) = commands.split_once("<<'END'\n")?;
    let table = rest.rsplit_once("END\n").map_or(rest, |(table, _)| table);
    let absent = |program: &str, package: &str, error: &io::Error| {
        format!("--apply takes {program}, which cannot be started: {error}; install {package}")
    };
    if others.contains("ip rule")
        && let Err(error) = Command::new("ip").arg("-V").stdout(Stdio::null()).status()
    {
        return Some(absent("ip", "iproute2", &error));
    }
    let mut nft = Command::new("nft");
    nft.args(["--check", "--file", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let done = nft.spawn().and_then(|mut child| {
        // It may end before it has read all.
        let _ = child.stdin.take().map(|mut input| input.write_all(table.as_bytes()));
        child.wait_with_output()
    });
    match done {
        Err(error) => Some(absent("nft", "nftables", &error)),
        Ok(done) if done.status.success() => None,
        Ok(done) => {
            let said = String::from_utf8_lossy(&done.stderr);
            Some(format!("--apply would be refused by nft: {}", said.lines().next().unwrap_or("it does not say why")))
        }
    }
}

/// Number of connections for which there are descriptors if so many `files` may be open.
pub fn room(config: &Config, files: u64) -> u64 {
    let (limits, workers) = (&config.file.limits, config.workers as u64);
    // Both ends of a pipe; a listening socket of each thread, and another to hand it over; epoll, wake and its copies.
    let of_workers = workers * (2 * limits.pipes as u64 + 2 * config.listeners.len() as u64 + 4);
    let servers = config.listeners.iter().flat_map(Listener::pools).flatten();
    let upstreams: usize = servers.map(|server| server.addresses.len()).sum();
    let others = of_workers + MOST_ASKERS as u64 + upstreams as u64 + 16;
    files.saturating_sub(others) / 2
}

/// Warning where fewer descriptors may be open than a configuration can need.
pub fn descriptors(config: &Config, files: u64) -> Option<String> {
    let (connections, room) = (config.file.limits.connections as u64, room(config, files));
    (room < connections).then(|| {
        format!(
            "limits.connections is {connections}, and the limit of open files ({files}) has room for {room}: more wait; \
             raise it (ulimit -n, or LimitNOFILE in the unit), or lower limits.connections"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    /// Two descriptors a connection, and those of threads, pipes and listeners: 2 * (2 * 10 + 2 * 1 + 4) + 64 + 1 + 16 are 133.
    #[test]
    fn descriptors_are_those_of_connections_and_others() {
        let text = "workers = 2\n[[listen]]\naddress = \"127.0.0.1:18080\"\nupstream = [\"127.0.0.1:80\"]\n\
                    [limits]\nconnections = 1000\npipes = 10\n";
        let config = parse("a.toml", text).unwrap();
        assert_eq!(descriptors(&config, 2133), None);
        let warning = descriptors(&config, 2132).unwrap();
        assert!(warning.contains("(2132) has room for 999: more wait"), "{warning}");
    }
}
