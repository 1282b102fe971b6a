//! Congestion controllers: those that the kernel has, and those that `ackclock-kernel` can give it as programs of eBPF.

use std::fs;
use std::io;
use std::process::{Command, Output, Stdio};

use rustix::fs::Access;
use rustix::io::Errno;
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

/// The names that `ackclock-kernel` can register; none where that program is not installed, an error where it cannot run.
pub fn loadable() -> io::Result<Vec<String>> {
    match Command::new(record::tracer()).arg("list").stdin(Stdio::null()).output() {
        Ok(told) if told.status.success() => Ok(names(&String::from_utf8_lossy(&told.stdout))),
        Ok(told) => Err(io::Error::other(words_of(&told))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Complaint of a program that failed.
fn words_of(told: &Output) -> String {
    let said = String::from_utf8_lossy(&told.stderr);
    let said = said.trim().trim_start_matches("error: ");
    if said.is_empty() { told.status.to_string() } else { said.to_owned() }
}

/// File system in which registrations outlive the program that makes them.
const BPF_FILE_SYSTEM: &str = "/sys/fs/bpf";

/// Capabilities by which a program may register a controller, with their numbers in the kernel's include/uapi/linux/capability.h.
const RIGHTS: [(u32, &str); 3] = [(12, "CAP_NET_ADMIN"), (38, "CAP_PERFMON"), (39, "CAP_BPF")];

/// An error if a program that this process starts may not register a controller.
pub fn may_load(name: &str) -> io::Result<()> {
    let has = rights_of_children();
    let lacks: Vec<&str> = RIGHTS.iter().filter(|(bit, _)| has & (1 << bit) == 0).map(|(_, name)| *name).collect();
    let remedy = format!("run `ackclock-kernel load {name}` as root before the proxy starts");
    if !lacks.is_empty() && !has_own_rights() {
        let told = format!("the controller {name} is not loaded, and loading it takes {}; {remedy}", lacks.join(", "));
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, told));
    }
    match rustix::fs::access(BPF_FILE_SYSTEM, Access::WRITE_OK | Access::EXEC_OK) {
        Err(error) if error != Errno::NOENT => {
            let told = format!("the controller {name} is not loaded, and {BPF_FILE_SYSTEM}: {error}; {remedy}");
            Err(io::Error::new(io::ErrorKind::PermissionDenied, told))
        }
        _ => Ok(()),
    }
}

/// Capabilities that a program has which this process starts. capabilities(7): the bounding set for root, the ambient set for others.
fn rights_of_children() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = if rustix::process::geteuid().is_root() { "CapBnd:" } else { "CapAmb:" };
    let set = status.lines().find_map(|line| line.strip_prefix(of));
    set.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0)
}

/// True if the program has capabilities of its own, by setcap(8).
fn has_own_rights() -> bool {
    rustix::fs::getxattr(record::tracer(), "security.capability", &mut [0_u8; 64]).is_ok()
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
    Err(io::Error::other(format!(
        "the controller {name} could not be loaded: {}; for a service, `systemctl enable --now ackclock-kernel@{name}` loads it",
        words_of(&told)
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
