//! Metrics of servers, the format of all metrics, and the files of the package that name them.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::Value as Json;

use crate::program::{PROXY, Proxy, answers, connect, echo, free, until};

fn metrics(at: SocketAddr) -> String {
    let mut socket = connect(at);
    socket.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    text.split_once("\r\n\r\n").expect("a head and a body").1.to_owned()
}

/// A proxy with a server that answers and one that is absent, which had a connection and failed once or twice; where it serves metrics.
fn used() -> (Proxy, SocketAddr, [SocketAddr; 3]) {
    let (listen, at, sound, absent) = (free(), free(), echo(), free());
    let config = format!(
        "workers = 1\n[[listen]]\nname = \"web\"\naddress = \"{listen}\"\nupstream = [\"{absent}\", \"{sound}\"]\nbalance = \"first\"\n\
         health_interval = \"60 s\"\nbuffer_policy = \"credit\"\n[limits]\nconnections = 100\npipes = 10\n[metrics]\naddress = \"{at}\"\n"
    );
    let proxy = Proxy::start(&config);
    let mut client = connect(listen);
    assert!(answers(&mut client));
    until("that connection is gone", || {
        let _ = client.shutdown(std::net::Shutdown::Both);
        metrics(at).contains("ackclock_proxy_active_connections{listener=\"web\"} 0\n")
    });
    (proxy, at, [listen, sound, absent])
}

#[test]
fn each_server_has_its_state_its_connections_and_its_failures() {
    let (proxy, at, [listen, sound, absent]) = used();
    let labels = |upstream: SocketAddr| format!("listener=\"web\",upstream=\"{upstream}\"");
    let has = |line: String| metrics(at).lines().any(|it| it == line);
    let mut client = connect(listen);
    assert!(answers(&mut client));
    // The check at the start was the first failure, a connection the second.
    until("the absent server is known to be down", || {
        has(format!("ackclock_proxy_upstream_up{{{}}} 0", labels(absent)))
    });
    let text = metrics(at);
    for line in [
        format!("ackclock_proxy_upstream_up{{{}}} 1", labels(sound)),
        format!("ackclock_proxy_upstream_connections{{{}}} 1", labels(sound)),
        format!("ackclock_proxy_upstream_connections{{{}}} 0", labels(absent)),
        format!("ackclock_proxy_upstream_connect_seconds_count{{{}}} 2", labels(sound)),
        format!("ackclock_proxy_upstream_connect_seconds_count{{{}}} 0", labels(absent)),
        format!("ackclock_proxy_upstream_connect_failures_total{{{},reason=\"refused\"}} 0", labels(sound)),
        format!("ackclock_proxy_upstream_connect_failures_total{{{},reason=\"timed_out\"}} 0", labels(absent)),
        "ackclock_proxy_connection_limit 100".to_owned(),
        format!("ackclock_proxy_pool_servers{{listener=\"web\",pool=\"{absent},{sound}\"}} 1"),
    ] {
        assert!(text.lines().any(|it| it == line), "{line} is not in\n{text}");
    }
    let failed = format!("ackclock_proxy_upstream_connect_failures_total{{{},reason=\"refused\"}} ", labels(absent));
    let count = text.lines().find_map(|line| line.strip_prefix(&failed)).expect("it is counted");
    assert!(
        (1..=2).contains(&count.parse::<u64>().unwrap()),
        "{count}: once for each connection, until it was left out"
    );
    // A server that the file no longer names is shown no more.
    proxy.write(&std::fs::read_to_string(proxy.path()).unwrap().replace(&format!("\"{absent}\", "), ""));
    proxy.signal(Signal::HUP);
    until("it is not shown", || !metrics(at).contains(&format!("upstream=\"{absent}\"")));
    assert!(has(format!("ackclock_proxy_upstream_connections{{{}}} 1", labels(sound))), "{}", metrics(at));
    // Nor are servers forgotten while the last connections end.
    proxy.signal(Signal::TERM);
    until("it takes no more connections", || proxy.log().contains("no more connections are accepted"));
    until("no listener is left", || std::net::TcpStream::connect(listen).is_err());
    assert!(has(format!("ackclock_proxy_upstream_connections{{{}}} 1", labels(sound))), "{}", metrics(at));
}

/// Two descriptors a connection, and those of threads, pipes and listeners: 2 * 10 + 2 * 1 + 4 + 64 + 1 + 16 are 107, and 200 leave room for 46.
#[test]
fn the_limit_of_connections_is_that_of_descriptors_where_it_is_smaller() {
    let at = free();
    let config = format!(
        "workers = 1\n[limits]\nconnections = 100\npipes = 10\n[metrics]\naddress = \"{at}\"\n\
         [[listen]]\naddress = \"{}\"\nupstream = [\"127.0.0.1:9\"]\n",
        free()
    );
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 200; exec \"$0\" \"$1\"", PROXY]);
    let _proxy = Proxy::start_by(command, &config);
    assert!(metrics(at).contains("ackclock_proxy_connection_limit 46\n"), "{}", metrics(at));
}

/// The parser of the Prometheus project's library for Python refuses what the `OpenMetrics` specification does.
#[test]
fn a_strict_parser_of_openmetrics_takes_all_of_it() {
    const PARSE: &str = "import sys\nfrom prometheus_client.openmetrics.parser import text_string_to_metric_families as families\n\
                         print(*(sample.name for family in families(sys.stdin.read()) for sample in family.samples))";
    let python = std::env::var("PYO3_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let knows = Command::new(&python).args(["-c", "import prometheus_client"]).stderr(Stdio::null()).status();
    if !knows.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: {python} lacks prometheus-client");
    }
    let (_proxy, at, _) = used();
    let mut child =
        Command::new(python).args(["-c", PARSE]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(metrics(at).as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    let names = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success() && names.contains("ackclock_proxy_upstream_up"), "{names}");
}

/// The names of metrics in a text.
fn names(text: &str) -> BTreeSet<String> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let words = text.split(|letter: char| !is_part(letter));
    words.filter(|word| word.starts_with("ackclock_proxy_")).map(str::to_owned).collect()
}

const GRAFANA: &str = include_str!("../../packaging/grafana.json");
const ALERTS: &str = include_str!("../../packaging/alerts.yml");

#[test]
fn the_dashboard_and_the_alerts_name_metrics_that_there_are() {
    let (_proxy, at, _) = used();
    let text = metrics(at);
    let samples: BTreeSet<String> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(['{', ' ']).next().unwrap().to_owned())
        .collect();
    for (file, text) in [("grafana.json", GRAFANA), ("alerts.yml", ALERTS)] {
        let named = names(text);
        assert!(named.len() >= 7, "{file} names {named:?}");
        assert_eq!(named.difference(&samples).collect::<Vec<_>>(), [""; 0], "{file} names what is not exported");
    }
    // The reference has each, without what the format adds to its name.
    let reference = include_str!("../../../../docs/reference/proxy.md");
    for family in text.lines().filter_map(|line| line.strip_prefix("# TYPE ackclock_proxy_")) {
        let (name, kind) = family.split_once(' ').unwrap();
        let name = if kind == "counter" { format!("{name}_total") } else { name.to_owned() };
        assert!(reference.contains(&format!("`{name}`")), "docs/reference/proxy.md lacks {name}");
    }
}

/// Grafana's documentation of a dashboard's JSON: panels with places on a grid of 24 columns, which do not overlap; numbers of their own;
/// variables that are declared.
#[test]
fn the_dashboard_is_one() {
    let dashboard: Json = serde_json::from_str(GRAFANA).unwrap();
    assert!(dashboard["title"].is_string() && dashboard["schemaVersion"].as_u64() >= Some(36));
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let variables: BTreeSet<&str> = variables.iter().map(|variable| variable["name"].as_str().unwrap()).collect();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
    let mut cells = BTreeSet::new();
    for panel in panels {
        let place = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        assert!(place("x") + place("w") <= 24, "{panel}");
        for x in place("x")..place("x") + place("w") {
            for y in place("y")..place("y") + place("h") {
                assert!(cells.insert((x, y)), "{} overlaps another", panel["title"]);
            }
        }
        for target in panel["targets"].as_array().unwrap() {
            let expression = target["expr"].as_str().unwrap();
            let used = expression.split('$').skip(1).map(|rest| {
                rest.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').next().unwrap()
            });
            for name in used.filter(|name| *name != "__rate_interval") {
                assert!(variables.contains(name), "{expression}");
            }
        }
    }
}

/// `promtool` is Prometheus's own: of Debian's package prometheus.
#[test]
fn promtool_takes_the_alerts_and_each_fires_on_its_fault_alone() {
    let folder = env!("CARGO_MANIFEST_DIR");
    let run = |arguments: &[&str]| Command::new("promtool").args(arguments).current_dir(folder).output();
    if run(&["--version"]).is_err() {
        return eprintln!("skipped: promtool is not installed");
    }
    for arguments in [["check", "rules", "packaging/alerts.yml"], ["test", "rules", "tests/alerts.yml"]] {
        let done = run(&arguments).unwrap();
        assert!(
            done.status.success(),
            "{}{}",
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        );
    }
    // Every alert has its fault.
    let tested = include_str!("../alerts.yml");
    for alert in ALERTS.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
        assert_eq!(tested.matches(&format!("alertname: {alert}")).count(), 2, "{alert}");
    }
}
