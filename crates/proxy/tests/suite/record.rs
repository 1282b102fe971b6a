//! `ackclock-proxy record`, and controllers that are loaded on demand; for root with `ackclock-kernel` and its tracepoints.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, thread};

use ackclock_proxy::record::tracer;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value as Json;

use crate::program::{PROXY, Proxy, connect, echo, free, run, until};

/// The program beside the one that is tested, or another that a variable names; why it cannot be played without.
fn kernel() -> Result<PathBuf, &'static str> {
    let beside = PathBuf::from(PROXY).with_file_name("ackclock-kernel");
    let program = if env::var_os("ACKCLOCK_KERNEL_PROGRAM").is_some() { tracer() } else { beside };
    let path = program.to_str().unwrap_or_default();
    match () {
        () if !rustix::process::geteuid().is_root() => Err("it needs root"),
        () if !program.is_file() => {
            Err("it needs ackclock-kernel (make kernel), with the controllers that clang compiles")
        }
        () if run(path, &["watch", "1", "--seconds", "0.1"]).0 != Some(0) => Err("this kernel cannot be watched"),
        () => Ok(program),
    }
}

/// Sends `octets` octets, reads them back to the end, and returns its own address.
fn carried(to: SocketAddr, octets: usize) -> String {
    let mut socket = connect(to);
    let mut reader: TcpStream = socket.try_clone().unwrap();
    let read = thread::spawn(move || {
        let mut got = Vec::new();
        reader.read_to_end(&mut got).unwrap();
        got.len()
    });
    socket.write_all(&vec![7; octets]).unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read.join().unwrap(), octets);
    socket.local_addr().unwrap().to_string()
}

#[test]
fn both_sides_of_each_connection_are_recorded_and_nothing_else() {
    let kernel = match kernel() {
        Ok(kernel) => kernel,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let (listen, server, at) = (free(), echo(), free());
    let config = format!(
        "workers = 2\n[[listen]]\nname = \"web\"\naddress = \"{listen}\"\nupstream = [\"{server}\"]\n\
         near = {{ congestion = \"reno\" }}\nfar = {{ congestion = \"cubic\" }}\n[metrics]\naddress = \"{at}\"\n"
    );
    let _proxy = Proxy::start(&config);
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("through");
    let said = fs::File::create(folder.path().join("said")).unwrap();
    let mut recorder = Command::new(PROXY)
        .args(["record", "--output", into.to_str().unwrap(), &at.to_string()])
        .env("ACKCLOCK_KERNEL_PROGRAM", kernel)
        .stdout(Stdio::piped())
        .stderr(said)
        .spawn()
        .unwrap();
    until("it records", || fs::metadata(into.join("trace.jsonl")).is_ok_and(|file| file.is_file()));
    // The tracer takes a moment to be there: connections are made until one is recorded.
    let mut clients = Vec::new();
    until("a connection is recorded", || {
        clients.push(carried(listen, 300_000));
        thread::sleep(std::time::Duration::from_millis(250));
        clients.len() > 2 && fs::metadata(into.join("trace.jsonl")).unwrap().len() > 0
    });
    clients.push(carried(listen, 300_000));
    kill_process(Pid::from_child(&recorder), Signal::INT).unwrap();
    let status = recorder.wait().unwrap();
    let said = fs::read_to_string(folder.path().join("said")).unwrap();
    assert_eq!(status.code(), Some(0), "{said}");

    let text = fs::read_to_string(into.join("trace.jsonl")).unwrap();
    let lines: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).collect::<Vec<_>>();
    assert_eq!((of("begin").len(), of("end").len()), (1, 1));
    let flows: BTreeMap<u64, &Json> = of("flow").into_iter().map(|it| (it["flow"].as_u64().unwrap(), it)).collect();
    let last = clients.last().unwrap().as_str();
    let pair = of("pair").into_iter().find(|pair| pair["client"] == last).expect("the last is paired");
    assert_eq!((&pair["listener"], pair["server"].as_str()), (&"web".into(), Some(server.to_string().as_str())));
    let side = |key: &str| flows[&pair[key].as_u64().unwrap()];
    let (near, far) = (side("flow"), side("with"));
    assert_eq!((near["local"].as_str(), near["remote"].as_str()), (Some(listen.to_string().as_str()), Some(last)));
    assert_eq!((near["controller"].as_str(), far["controller"].as_str()), (Some("reno"), Some("cubic")));
    assert_eq!(far["remote"].as_str(), Some(server.to_string().as_str()));
    // All that the client sent was received at one side and acknowledged at the other, and so back.
    for flow in [near, far] {
        let records = lines.iter().filter(|line| line["flow"] == flow["flow"]);
        let most = |key: &str| records.clone().filter_map(|line| line[key].as_u64()).max();
        // The kernel counts the FIN as an octet.
        assert_eq!(most("received_bytes"), Some(300_001));
        assert!(most("acked_bytes") >= Some(300_000), "{:?}", most("acked_bytes"));
    }
    // The clients' and the server's own sockets are in the same cgroup.
    for flow in flows.values() {
        assert_ne!(flow["remote"].as_str(), Some(listen.to_string().as_str()), "{flow}");
        assert_ne!(flow["local"].as_str(), Some(server.to_string().as_str()), "{flow}");
    }
}

#[test]
fn what_cannot_be_recorded_is_told() {
    let (code, said) = run(PROXY, &["record", "127.0.0.1:1"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("no proxy serves metrics at 127.0.0.1:1"), "{said}");
    assert_eq!(run(PROXY, &["record", "here"]).0, Some(2));
    assert_eq!(run(PROXY, &["record", "--seconds", "never", "127.0.0.1:1"]).0, Some(2));
    assert_eq!(run(PROXY, &["top", "--seconds", "3", "127.0.0.1:1"]).0, Some(2));
}

/// Records with a program in the place of the tracer: what it said, and its exit code.
fn recorded(tracer: &str, folder: &Path, at: SocketAddr, meanwhile: impl FnOnce()) -> (Option<i32>, String) {
    let program = folder.join("tracer.sh");
    fs::write(&program, format!("#!/bin/sh\n{tracer}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let into = folder.join("out");
    let recorder = Command::new(PROXY)
        .args(["record", "--seconds", "20", "--output", into.to_str().unwrap(), &at.to_string()])
        .env("ACKCLOCK_KERNEL_PROGRAM", &program)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until("it records", || into.join("trace.jsonl").is_file());
    meanwhile();
    let output = recorder.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn a_recording_that_is_cut_short_says_so_and_keeps_what_it_has() {
    let (listen, server, at) = (free(), echo(), free());
    let more = format!("upstream = [\"{server}\"]\n[metrics]\naddress = \"{at}\"\n");
    let mut proxy = Proxy::start(&format!("workers = 1\n[[listen]]\naddress = \"{listen}\"\n{more}"));
    let mut held = connect(listen);
    held.write_all(b"a word").unwrap();
    held.read_exact(&mut [0; 6]).unwrap();
    let pairs = ackclock_proxy::http::get(at, "/pairs").unwrap();
    let near = pairs["pairs"].as_array().unwrap().iter().find_map(|pair| pair["near"].as_u64()).unwrap();
    let line = format!("echo '{{\"kind\":\"segment\",\"flow\":{near}}}'");
    let kept = |folder: &Path| fs::read_to_string(folder.join("out/trace.jsonl")).unwrap_or_default();

    let folder = tempfile::tempdir().unwrap();
    let (code, said) = recorded(&format!("{line}; sleep 0.5; echo no more room >&2; exit 1"), folder.path(), at, || ());
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("no more room") && said.contains("1 records until then"), "{said}");
    assert!(kept(folder.path()).contains("\"kind\":\"segment\""), "{said}");

    let folder = tempfile::tempdir().unwrap();
    let has_written = folder.path().join("written");
    let tracer = format!("{line}; trap 'exit 0' INT; : > {}; while true; do sleep 0.1; done", has_written.display());
    let (code, said) = recorded(&tracer, folder.path(), at, || {
        until("a record is on its way", || has_written.exists());
        proxy.child.kill().unwrap();
    });
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("the proxy stopped answering") && said.contains("1 records"), "{said}");
    assert!(kept(folder.path()).contains("\"kind\":\"segment\""), "{said}");
}

#[test]
fn a_controller_of_ebpf_is_loaded_on_demand() {
    let kernel = match kernel() {
        Ok(kernel) => kernel,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let name = "ac_illinois";
    let is_there = || ackclock_proxy::controllers::available().iter().any(|known| known == name);
    if is_there() {
        return eprintln!("skipped: {name} is registered already");
    }
    let (listen, server) = (free(), echo());
    let far = format!("far = {{ congestion = \"{name}\" }}");
    let config = format!("workers = 1\n[[listen]]\naddress = \"{listen}\"\nupstream = [\"{server}\"]\n{far}\n");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proxy.toml");
    fs::write(&path, config).unwrap();
    let checked =
        Command::new(PROXY).arg("--check").arg(&path).env("ACKCLOCK_KERNEL_PROGRAM", &kernel).output().unwrap();
    assert!(checked.status.success() && !is_there(), "checking loads nothing");
    let log = fs::File::create(folder.path().join("log")).unwrap();
    let mut proxy = Command::new(PROXY).arg(&path).env("ACKCLOCK_KERNEL_PROGRAM", &kernel).stderr(log).spawn().unwrap();
    until("it is ready", || fs::read_to_string(folder.path().join("log")).unwrap().contains("ready"));
    let was_there = is_there();
    carried(listen, 100_000);
    proxy.kill().unwrap();
    proxy.wait().unwrap();
    let unloaded = run(kernel.to_str().unwrap(), &["unload", name]);
    assert!(was_there, "{}", fs::read_to_string(folder.path().join("log")).unwrap());
    assert_eq!(unloaded.0, Some(0), "{}", unloaded.1);
}
