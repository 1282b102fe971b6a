//! Congestion controllers: those that the kernel has, and those that `ackclock-kernel` can give it as programs of eBPF.

use std::fs;
use std::io;
use std::process::{Command, Stdio};

use socket2::{Domain, Protocol, Socket, Type};

use crate::config::Config;
use crate::config::file::Side;
use crate::record;

/// The names that `TCP_CONGESTION` takes now.
pub fn available() -> Vec<String> {
    let listed = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    listed.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// True if a socket can have it. Asking a socket makes the kernel look for a module of that name, which the list does not show.
pub fn is_available(name: &str) -> bool {
    let is_taken = || {
        let socket = Socket::new(Domain::IPV4, Type::STREAM.cloexec(), Some(Protocol::TCP));
        socket.is_ok_and(|socket| socket.set_tcp_congestion(name.as_bytes()).is_ok())
    };
    available().iter().any(|known| known == name) || is_taken()
}

/// The names that `ackclock-kernel` can register; none without that program.
pub fn loadable() -> Vec<String> {
    let listed = Command::new(record::tracer()).arg("list").stdin(Stdio::null()).stderr(Stdio::null()).output();
    listed.map(|told| names(&String::from_utf8_lossy(&told.stdout))).unwrap_or_default()
}

/// The second column of its table, below the headings.
fn names(table: &str) -> Vec<String> {
    let rows = table.lines().skip(1).take_while(|line| !line.trim().is_empty());
    rows.filter_map(|row| row.split_whitespace().nth(1)).map(str::to_owned).collect()
}

/// Controllers of a configuration that the kernel does not have.
pub fn missing(config: &Config) -> Vec<String> {
    let of_listeners = config.listeners.iter().flat_map(|it| [&it.listen.near, &it.listen.far]);
    let of_rules = config.file.rule.iter().flat_map(|rule| rule.near.iter().chain(&rule.far));
    let own = |side: &Side| side.congestion.clone();
    let mut names: Vec<String> = of_listeners.chain(of_rules).filter_map(own).collect();
    names.sort();
    names.dedup();
    names.retain(|name| !is_available(name));
    names
}

/// Has `ackclock-kernel` register one, for as long as the machine is up or until `ackclock-kernel unload`.
pub fn load(name: &str) -> io::Result<()> {
    let told = Command::new(record::tracer()).args(["load", name]).stdin(Stdio::null()).output()?;
    if told.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&told.stderr);
    Err(io::Error::other(format!(
        "the controller {name} could not be loaded: {}; for a service, `systemctl enable --now ackclock-kernel@{name}` loads it",
        why.trim().trim_start_matches("error: ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_table_and_not_of_what_is_registered() {
        // as `ackclock-kernel list` prints it
        let table = "controller      in the kernel   departures\naimd            ac_aimd         \n\
                     highspeed       ac_highspeed    a(w) and b(w) are straight lines\n\nregistered:\nac_x  highspeed\n";
        assert_eq!(names(table), ["ac_aimd", "ac_highspeed"]);
        assert_eq!(names(""), [""; 0]);
    }

    #[test]
    fn reno_is_there_and_haste_is_not() {
        // every Linux has reno
        assert!(is_available("reno") && !is_available("haste"));
    }
}
