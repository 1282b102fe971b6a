//! Runs on the kernel of this machine, between namespaces. They need root and /dev/net/tun, and say so where these are missing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ackclock-kernel");

const BULK: &str = r#"
    duration = "3 s"
    [topology]
    kind = "dumbbell"
    access = { rate = "1 Gbit/s", delay = "10 us" }
    bottleneck = { rate = "100 Mbit/s", delay = "10 ms", queue = { kind = "drop_tail", limit = "1 bdp" } }
    [[flow]]
    name = "one"
    controller = "cubic"
"#;

/// Requirement of a run that this machine lacks.
fn missing() -> Option<&'static str> {
    let is_root = fs::read_to_string("/proc/self/status").is_ok_and(|text| text.contains("Uid:\t0\t0"));
    if !is_root {
        return Some("root");
    }
    (!Path::new("/dev/net/tun").exists()).then_some("/dev/net/tun")
}

macro_rules! needs_kernel {
    () => {
        if let Some(what) = missing() {
            eprintln!("skipped: it needs {what}");
            return;
        }
    };
}

fn command(scenario: &str, name: &str) -> (Command, PathBuf) {
    let file = std::env::temp_dir().join(format!("ackclock-kernel-test-{}-{name}.toml", std::process::id()));
    fs::write(&file, scenario).expect("written");
    let mut command = Command::new(PROGRAM);
    command.arg("run").arg(&file).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    (command, file)
}

/// Every network namespace that a process is in or holds open, of this process or of all.
fn namespaces(of: Option<u32>) -> BTreeSet<PathBuf> {
    let processes = fs::read_dir("/proc").expect("there is /proc").flatten().map(|entry| entry.path());
    let wanted = processes.filter(|path| of.is_none_or(|id| path.ends_with(id.to_string())));
    let held = wanted.flat_map(|path| {
        let files = fs::read_dir(path.join("fd")).into_iter().flatten().flatten().map(|entry| entry.path());
        files.chain([path.join("ns/net")]).collect::<Vec<_>>()
    });
    held.filter_map(|link| fs::read_link(link).ok()).filter(|target| is_net(target)).collect()
}

fn is_net(target: &Path) -> bool {
    target.to_string_lossy().starts_with("net:[")
}

/// The output of a run.
fn printed(scenario: &str, name: &str) -> Value {
    let (mut command, file) = command(scenario, name);
    let output = command.output().expect("it starts");
    fs::remove_file(file).expect("removed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The first of three runs that was in time, as it says of itself: one that was not says nothing about rates and round trips.
fn in_time<T>(run: impl Fn() -> T, kernel: impl Fn(&T) -> Value) -> Option<T> {
    let found = std::iter::repeat_with(run).take(3).find(|done| kernel(done)["valid"] == true);
    if found.is_none() {
        eprintln!("skipped: this machine is too busy for a run in real time");
    }
    found
}

#[test]
fn cubic_fills_a_link_of_100_mbit_s() {
    needs_kernel!();
    let Some(result) = in_time(|| printed(BULK, "bulk"), |result| result["kernel"].clone()) else { return };
    let (flow, kernel) = (&result["summary"]["flows"][0], &result["kernel"]);
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{value} is a number in {result}"));
    // 1448 of the 1500 octets of a packet are payload: 96.53 Mbit/s at most, and slow start takes some round trips of 3 s.
    let goodput = number(&flow["goodput_bps"]);
    assert!((60e6..=96.6e6).contains(&goodput), "{result}");
    // 20.04 ms of propagation at least.
    assert!(number(&flow["rtt_ms"]["min"]) >= 20.0, "{result}");
    assert!(number(&flow["sent_segments"]) >= goodput * 3.0 / 8.0 / 1448.0, "{result}");
    let count = |name: &str| number(&kernel[name]);
    let links = result["summary"]["links"].as_array().expect("links");
    let dropped: f64 = links.iter().map(|link| number(&link["drops"]) + number(&link["losses"])).sum();
    let accounted = count("packets_delivered") + count("packets_under_way") + dropped;
    assert!((count("packets_entered") - accounted).abs() < 0.5, "no packet is lost unseen: {result}");
    assert!(number(&kernel["late_us"]["p50"]) < 20_000.0, "{result}");
}

/// 64 kB of small segments are more than of those for which the device's largest packet has room.
#[test]
fn small_segments_pass_beside_large_ones() {
    needs_kernel!();
    let small = "[[flow]]\nname = \"small\"\ncontroller = \"cubic\"\ntcp = { mss = 200 }\n";
    let scenario = BULK.replace("duration = \"3 s\"", "duration = \"1500 ms\"").replace("100 Mbit/s", "900 Mbit/s");
    let result = printed(&(scenario + small), "small");
    let flow = &result["summary"]["flows"][1];
    let (octets, segments) = (flow["delivered_bytes"].as_f64().unwrap(), flow["sent_segments"].as_f64().unwrap());
    assert!(octets > 1e6 && segments * 200.0 >= octets, "{flow}");
}

#[test]
fn short_flows_come_and_go_and_take_their_round_trips() {
    needs_kernel!();
    let groups = r#"
        [[flow]]
        name = "ask"
        arrivals = { rate = "40 /s", process = "periodic", until = "2 s", size = "400 B", reply = "20 kB" }
        [[flow]]
        name = "tell"
        arrivals = { rate = "20 /s", process = "periodic", until = "2 s", size = "3 kB" }
    "#;
    let scenario = BULK.replace("name = \"one\"", "name = \"one\"\nstart = \"2900 ms\"") + groups;
    let Some(result) = in_time(|| printed(&scenario, "short"), |result| result["kernel"].clone()) else { return };
    // Every 25 and 50 ms, the first after one gap. A round trip is 20.04 ms; ten segments (RFC 6928) are less than 20 kB, so that the
    // handshake, the request with the response's beginning, and its end take three; what is only told takes one and a half.
    for (group, started, octets, least) in [(0, 79, 20_400.0, 3.0 * 20.04), (1, 39, 3_000.0, 1.5 * 20.04)] {
        let group = &result["summary"]["groups"][group];
        let count = |name: &str| group[name].as_u64().unwrap_or_else(|| panic!("{name} in {group}"));
        assert_eq!((count("started"), count("completed"), count("aborted")), (started, started, 0), "{group}");
        assert!((group["mean_bytes"].as_f64().unwrap() - octets).abs() < 1e-9, "{group}");
        let fastest = group["fct_ms"]["min"].as_f64().unwrap();
        assert!((least..least + 15.0).contains(&fastest), "{group}");
        assert!(group["slowdown"]["min"].as_f64().unwrap() >= 1.0, "{group}");
    }
}

/// The result of a run of a scenario that was in time, and what it left in its folder.
fn result(scenario: &str, name: &str) -> Option<(Value, PathBuf)> {
    let json = |folder: &Path, name: &str| -> Value {
        serde_json::from_slice(&fs::read(folder.join(name)).expect("written")).expect("JSON")
    };
    let run = || {
        let (mut command, file) = command(scenario, name);
        let folder = file.with_extension("out");
        let output = command.arg("--into").arg(&folder).output().expect("it starts");
        fs::remove_file(file).expect("removed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        folder
    };
    in_time(run, |folder| json(folder, "kernel.json")).map(|folder| (json(&folder, "summary.json"), folder))
}

/// The packets of a pcapng file of one interface: when, how long on the wire, their headers.
fn packets(file: &Path) -> Vec<(u64, u32, Vec<u8>)> {
    let octets = fs::read(file).expect("written");
    let word = |at: usize| u32::from_le_bytes(octets[at..at + 4].try_into().expect("four octets"));
    let (mut at, mut found) = (0, Vec::new());
    while at < octets.len() {
        if word(at) == 6 {
            let time = u64::from(word(at + 12)) << 32 | u64::from(word(at + 16));
            found.push((time, word(at + 24), octets[at + 28..at + 28 + word(at + 20) as usize].to_vec()));
        }
        at += word(at + 4) as usize;
    }
    found
}

#[test]
fn a_refused_and_a_reset_connection_end_as_such_and_are_captured() {
    needs_kernel!();
    let flows = r#"
        accepts = false
        capture = true
        [[flow]]
        name = "two"
        controller = "cubic"
        abort_at = "700 ms"
        capture = true
    "#;
    let scenario = BULK.replace("3 s", "1 s") + flows;
    let Some((summary, folder)) = result(&scenario, "ends") else { return };
    let flow = |index: usize| &summary["flows"][index];
    assert_eq!((flow(0)["aborted"].as_bool(), flow(0)["delivered_bytes"].as_u64()), (Some(true), Some(0)), "{summary}");
    assert!(flow(1)["aborted"] == true && flow(1)["delivered_bytes"].as_u64() > Some(1_000_000), "{summary}");
    let (refused, reset) = (packets(&folder.join("flow_one.pcapng")), packets(&folder.join("flow_two.pcapng")));
    fs::remove_dir_all(folder).expect("removed");
    // Flags of TCP lie 13 octets behind the 20 of IPv4: SYN is 2, RST 4, ACK 16 (RFC 9293).
    let flags = |(_, _, headers): &(u64, u32, Vec<u8>)| headers[33];
    assert_eq!(refused.iter().map(flags).collect::<Vec<_>>(), [2, 4 | 16], "{refused:?}");
    let there_and_back = Duration::from_nanos(refused[1].0 - refused[0].0);
    assert!(there_and_back >= Duration::from_millis(20), "{there_and_back:?}");
    // 10.77.0.1 is the openers' address.
    let leaves = |(_, _, headers): &&(u64, u32, Vec<u8>)| headers[12..16] == [10, 77, 0, 1];
    let last = reset.iter().rfind(leaves).expect("it sent");
    assert!(flags(last) & 4 != 0, "the last is a reset: {last:?}");
    assert!((690_000_000..900_000_000).contains(&last.0), "{} ns", last.0);
    // What left between the look at the counts and the reset is in the file alone.
    let data = reset.iter().filter(leaves).filter(|(_, len, _)| *len > 100).count() as u64;
    let sent = flow(1)["sent_segments"].as_u64().expect("a count");
    assert!((sent..sent + 100).contains(&data), "{data} packets with data were captured, {sent} segments sent");
}

#[test]
fn a_captured_link_has_both_ways_and_their_times() {
    needs_kernel!();
    let scenario = BULK.replace("3 s", "1 s").replace("bottleneck = {", "bottleneck = { capture = true,");
    let Some((summary, folder)) = result(&scenario, "link") else { return };
    let octets = fs::read_dir(&folder).expect("made").flatten().map(|entry| entry.path());
    let files: Vec<PathBuf> = octets.filter(|path| path.extension().is_some_and(|ending| ending == "pcapng")).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let found = packets(&files[0]);
    fs::remove_dir_all(folder).expect("removed");
    let full: Vec<u64> = found.iter().filter(|(_, len, _)| *len == 1_500).map(|(time, _, _)| *time).collect();
    let stem = files[0].file_stem().expect("a name").to_string_lossy();
    let links = summary["links"].as_array().expect("links");
    let link = links.iter().find(|link| link["name"].as_str().is_some_and(|name| name.replace('>', "_") == stem));
    let delivered =
        link.unwrap_or_else(|| panic!("{stem} in {summary}"))["delivered_packets"].as_u64().expect("a count");
    // What is on its way at the end has been captured and not delivered, 10 ms of packets; the opener's SYN and first ACK are no data.
    let data = found.iter().filter(|(_, len, _)| *len > 100).count() as u64;
    assert!((delivered - 2..delivered + 90).contains(&data), "{data} of {delivered}");
    // 1500 octets take 120 us at 100 Mbit/s: first bits are no closer than that, and a full queue has them just so.
    let gaps: Vec<u64> = full.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| *gap >= 120_000), "{:?}", gaps.iter().min());
    assert!(gaps.iter().filter(|gap| **gap == 120_000).count() * 2 > gaps.len(), "of {}", gaps.len());
    assert!(found.iter().any(|(_, len, _)| *len < 100), "ACKs on the reverse path");
}

#[test]
fn what_the_kernel_cannot_do_ends_with_two_and_its_reason() {
    needs_kernel!();
    let (mut command, file) = command(&BULK.replace("\"cubic\"", "\"pcc_vivace\""), "refused");
    let output = command.output().expect("it starts");
    fs::remove_file(file).expect("removed");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("flow[0].controller") && told.contains("\"pcc_vivace\""), "{told}");
}

/// Kills runs at random moments, `ACKCLOCK_KILLS` of them.
#[test]
fn a_killed_run_leaves_nothing() {
    needs_kernel!();
    let kills: u64 = std::env::var("ACKCLOCK_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    let own = namespaces(Some(std::process::id()));
    let mut made = 0;
    // Where the machine is slow to start them, some more, later and later.
    for number in 0..kills + 100 {
        if number >= kills && made > 0 {
            break;
        }
        let (mut command, file) = command(BULK, "killed");
        let mut child = command.spawn().expect("it starts");
        // Moments in its start and in its run, none like another.
        sleep(Duration::from_micros(number * 7_919_117 % 400_000 + number.saturating_sub(kills) * 50_000));
        let its: BTreeSet<PathBuf> = namespaces(Some(child.id())).difference(&own).cloned().collect();
        made += its.len();
        child.kill().expect("SIGKILL");
        child.wait().expect("it ends");
        fs::remove_file(file).expect("removed");
        // Numbers are given out anew: another run on this machine may have one for as long as it lasts.
        let is_held = || namespaces(None).union(&named()).any(|one| its.contains(one));
        let is_left = is_held()
            && (0..100).all(|_| {
                sleep(Duration::from_millis(200));
                is_held()
            });
        assert!(!is_left, "a process or a name still holds one of {its:?}, of the run number {number}");
    }
    assert!(made > 0, "some were killed while they had namespaces");
    let devices = fs::read_to_string("/proc/net/dev").expect("a list");
    assert!(!devices.contains("ackclock"), "{devices}");
}

/// Network namespaces that somebody gave a name, as `ip netns` does: mounted, their number is the fourth entry of a line (proc(5)).
fn named() -> BTreeSet<PathBuf> {
    let text = fs::read_to_string("/proc/self/mountinfo").expect("a list");
    let roots = text.lines().filter_map(|line| line.split(' ').nth(3)).map(PathBuf::from);
    roots.filter(|root| is_net(root)).collect()
}

/// A process in a network namespace of its own, which goes with it.
struct Host(std::process::Child);

impl Host {
    fn new() -> Self {
        let host = Self(Command::new("unshare").args(["--net", "sleep", "60"]).spawn().expect("unshare"));
        let own = || fs::read_link("/proc/self/ns/net").expect("a namespace");
        let there = || fs::read_link(host.path()).ok();
        (0..500).take_while(|_| there().is_none_or(|it| it == own())).for_each(|_| sleep(Duration::from_millis(20)));
        host
    }

    fn path(&self) -> String {
        format!("/proc/{}/ns/net", self.0.id())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn packets_of_other_programs_are_carried_with_the_delay_of_the_scenarios_links() {
    needs_kernel!();
    let file = std::env::temp_dir().join(format!("ackclock-carry-{}.toml", std::process::id()));
    fs::write(&file, BULK).unwrap();
    let (client, server) = (Host::new(), Host::new());
    let place = |node: &str, host: &Host, address| format!("--host={node}=wan0@{}:{address}/24", host.path());
    let mut carrying = Command::new(PROGRAM)
        .arg("carry")
        .arg(&file)
        .args([place("one.left", &client, "10.91.0.1"), place("one.right", &server, "10.91.0.3")])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = std::io::BufReader::new(carrying.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    assert_eq!(line, "carrying\n");
    // Nobody listens there: the answer is a reset, a round trip later.
    let knock = || {
        let begun = std::time::Instant::now();
        let refused = std::net::TcpStream::connect("10.91.0.3:7000").expect_err("nobody listens");
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
        Ok(begun.elapsed())
    };
    let there = ackclock_kernel::namespace::Namespace::named(&client.path()).unwrap();
    let least = (0..5).map(|_| there.within(knock).unwrap()).min().unwrap();
    Command::new("kill").args(["-INT", &carrying.id().to_string()]).status().unwrap();
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut out, &mut rest).unwrap();
    assert!(carrying.wait().unwrap().success());
    let _ = fs::remove_file(file);
    // 10 ms and twice 10 us each way; the machine may be late, the network is not early
    let carried: Value = serde_json::from_str(&rest).unwrap();
    let late = Duration::from_secs_f64(carried["late_us"]["max"].as_f64().unwrap() * 2e-6);
    assert!((Duration::from_millis(20)..Duration::from_millis(40) + late).contains(&least), "{least:?}");
    assert_eq!((carried["conversations"].as_u64(), carried["packets_entered"].as_u64()), (Some(5), Some(10)));
}
