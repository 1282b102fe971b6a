//! One process after the other: what a successor takes over, and what becomes of its predecessor.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use socket2::SockRef;

use crate::program::{PROXY, Proxy, answers, connect, echo, free, knock, run, until};

fn config(listen: SocketAddr, server: SocketAddr, more: &str) -> String {
    format!("workers = 2\n[[listen]]\nname = \"one\"\naddress = \"{listen}\"\nupstream = [\"{server}\"]\n{more}\n")
}

/// The process that has taken over; it ends with this.
struct Successor(Pid);

impl Successor {
    fn of(proxy: &Proxy) -> Self {
        proxy.signal(Signal::USR2);
        until("it was handed over", || proxy.log().contains("handed over"));
        let log = proxy.log();
        let number = log.split("successor=").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap();
        Self(Pid::from_raw(number.parse().unwrap()).unwrap())
    }

    fn end(&self) {
        let _ = kill_process(self.0, Signal::TERM);
        let gone = format!("/proc/{}/fd", self.0.as_raw_nonzero());
        until("the successor is gone", || fs::read_dir(&gone).is_err());
    }
}

impl Drop for Successor {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::KILL);
    }
}

/// docs/how-to/run-the-proxy.md: with SIGUSR2 "the old process ends with its last flow"; `timeouts.drain` is for SIGTERM.
#[test]
fn a_predecessor_ends_with_its_last_flow_or_once_it_is_told_to() {
    let (listen, server) = (free(), echo());
    let mut proxy = Proxy::start(&config(listen, server, "[timeouts]\ndrain = \"100 ms\""));
    let mut flow = connect(listen);
    assert!(answers(&mut flow));
    let successor = Successor::of(&proxy);
    thread::sleep(Duration::from_millis(400));
    assert!(answers(&mut flow), "longer than timeouts.drain");
    proxy.signal(Signal::TERM);
    assert_eq!(proxy.wait(), Some(0), "with a flow that goes on");
    assert!(!answers(&mut flow) && answers(&mut connect(listen)));
    successor.end();
}

/// `TCP_MAXSEG` of a client is what the listener's SYN-ACK said, less the timestamps' 12 octets (RFC 7323).
#[test]
fn a_successor_has_the_settings_of_its_own_file() {
    let (listen, server) = (free(), echo());
    let proxy = Proxy::start(&config(listen, server, "near = { mss = 500 }"));
    let segment = || knock(listen).and_then(|socket| SockRef::from(&socket).tcp_mss()).ok();
    assert!([Some(500), Some(488)].contains(&segment()), "{:?}", segment());
    proxy.write(&config(listen, server, ""));
    let successor = Successor::of(&proxy);
    // The predecessor closes its sockets a little later, and resets who is just knocking there (ip-sysctl.rst, tcp_migrate_req).
    until("new connections come to the new sockets", || {
        (0..20).all(|_| {
            segment().is_some_and(|octets| octets > 1000) && knock(listen).is_ok_and(|mut socket| answers(&mut socket))
        })
    });
    successor.end();
}

/// A shell that stands for nft and prints its arguments.
fn stand_in(folder: &Path) -> String {
    let (nft, told) = (folder.join("nft"), folder.join("told"));
    fs::write(&nft, format!("#!/bin/sh\n{{ echo \"$*\"; [ \"$1\" = -f ] && cat; }} >> {}\nexit 0\n", told.display()))
        .unwrap();
    fs::set_permissions(&nft, fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default())
}

/// docs/how-to/run-the-proxy.md: `--apply` runs the rules' commands at the start and undoes them at the end.
#[test]
fn rules_follow_the_configuration_through_reload_and_upgrade() {
    let (listen, server) = (free(), echo());
    let folder = tempfile::tempdir().unwrap();
    let path = stand_in(folder.path());
    let redirecting = |port: u16| {
        format!("confine = false\n[[listen]]\naddress = \"{listen}\"\nmode = \"redirect\"\nports = [\"{port}\"]\n")
    };
    let told = || fs::read_to_string(folder.path().join("told")).unwrap_or_default();
    let proxy = Proxy::start_with(&redirecting(80), &["--apply"], &[("PATH", &path)]);
    assert!(told().contains("dport { 80 }"), "{}", told());
    // Rules have one name: a second process would take those of the first away.
    let refused = || {
        let second = folder.path().join("second.toml");
        fs::write(&second, redirecting(83).replace(&listen.to_string(), &free().to_string())).unwrap();
        let (code, complaint) = run(PROXY, &["--apply", &second.to_string_lossy()]);
        assert!(code == Some(1) && complaint.contains("another process has put in its rules"), "{complaint}");
        assert!(!told().contains("dport { 83 }"), "{}", told());
    };
    refused();
    proxy.write(&redirecting(81));
    proxy.signal(Signal::HUP);
    until("the rules are those of the new file", || told().contains("dport { 81 }"));
    proxy.write(&redirecting(82));
    let first = Successor::of(&proxy);
    assert!(told().contains("dport { 82 }"), "{}", told());
    let removals = told().matches("delete table inet ackclock_proxy").count();
    assert_eq!(removals, 2, "each before its successor");
    refused();
    // Without a listener that intercepts no rule is left.
    proxy.write(&format!("confine = false\n{}", config(listen, server, "")));
    kill_process(first.0, Signal::HUP).unwrap();
    until("the rules are gone", || told().matches("delete table inet ackclock_proxy").count() == 3);
    first.end();
}
