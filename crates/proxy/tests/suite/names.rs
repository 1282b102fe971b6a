//! Servers by name: every address of a name is a server, and those that it comes to have; for root with `unshare` and `mount`.

use std::fs;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::thread;

use rustix::process::Signal;

use crate::program::{PROXY, Proxy, answers, connect, free, run, teller, until};

const NAME: &str = "moving.test";

/// Has the name stand for these addresses. The file keeps its length and its place: who reads it meanwhile finds a whole one.
fn name(folder: &Path, addresses: &[&str]) {
    let lines: Vec<String> = addresses.iter().map(|address| format!("{address} {NAME}")).collect();
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(false).open(folder.join("hosts")).unwrap();
    file.write_all(format!("{:\n<200}", lines.join("\n")).as_bytes()).unwrap();
}

/// The program with hosts of its own, and with a name server that is not there.
fn command(folder: &Path, program: &str) -> Command {
    let mounts =
        "mount --bind \"$0/hosts\" /etc/hosts && mount --bind \"$0/resolv.conf\" /etc/resolv.conf && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", mounts]).arg(folder).arg(program);
    command
}

#[test]
fn every_address_of_a_name_is_a_server_and_a_name_that_moves_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("resolv.conf"), "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n").unwrap();
    name(folder, &["127.0.0.2", "::1"]);
    let can_mount = || command(folder, "true").output().is_ok_and(|done| done.status.success());
    if !rustix::process::geteuid().is_root() || run("sh", &["-c", "command -v unshare"]).0 != Some(0) || !can_mount() {
        return eprintln!("skipped: it needs root, unshare and mount");
    }
    let (listen, port) = (free(), free().port());
    for (address, who) in [("127.0.0.2", b'a'), ("::1", b'b'), ("127.0.0.3", b'c')] {
        teller(SocketAddr::new(address.parse().unwrap(), port), who);
    }
    let config = format!(
        "workers = 1\n[[listen]]\naddress = \"{listen}\"\nupstream = [\"{NAME}:{port}\"]\nresolve_interval = \"100 ms\"\n"
    );
    let proxy = Proxy::start_by(command(folder, PROXY), &config);
    let told = || {
        let mut client = connect(listen);
        let mut who = [0];
        client.read_exact(&mut who).unwrap();
        (who[0], client)
    };
    let mut first = [told(), told()];
    first.sort_by_key(|(who, _)| *who);
    assert_eq!(first.each_ref().map(|(who, _)| *who), *b"ab", "both families, each in its turn");
    name(folder, &["127.0.0.3"]);
    until("the name is followed", || proxy.log().contains(&format!("added=127.0.0.3:{port} removed=")));
    assert_eq!([told().0, told().0], *b"cc");
    assert!(first.iter_mut().all(|(_, client)| answers(client)), "connections to servers that are gone go on");
    name(folder, &[]);
    until("a failure is told", || proxy.log().contains("a name can no longer be resolved"));
    assert_eq!(told().0, b'c', "what is known stays");
    thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(proxy.log().matches("can no longer be resolved").count(), 1, "{}", proxy.log());
    // Nor does it keep from changing the rest.
    proxy.write(&(config + "balance = \"first\"\n"));
    proxy.signal(Signal::HUP);
    until("the file is read again", || proxy.log().contains("the configuration was reloaded"));
    assert_eq!(told().0, b'c');
    name(folder, &["127.0.0.3"]);
    until("the end of the failure is told", || proxy.log().contains("a name is resolved again"));
    assert_eq!(proxy.log().matches("has other addresses").count(), 1, "{}", proxy.log());
}
