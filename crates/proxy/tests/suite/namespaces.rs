//! Transparent and redirected connections, between three network namespaces; for root with `ip` and `nft`.

use std::process::Command;

use crate::program::{PROXY, run};

/// A client, a proxy and a server, each with its namespace; gone when this is dropped.
pub(crate) struct Namespaces(pub(crate) String);

pub(crate) fn shell(commands: &str) -> String {
    let (code, text) = run("sh", &["-ec", commands]);
    assert_eq!(code, Some(0), "{commands}: {text}");
    text
}

/// Reason for which this cannot be played here.
pub(crate) fn missing() -> Option<&'static str> {
    let fails = |command: &str| run("sh", &["-c", command]).0 != Some(0);
    match () {
        () if !rustix::process::geteuid().is_root() => Some("it needs root"),
        () if fails("command -v nft && command -v ip && command -v python3") => Some("it needs nft, ip and python3"),
        () if fails("n=ax$$; ip netns add $n && ip netns del $n") => Some("no namespaces can be made"),
        () => None,
    }
}

impl Namespaces {
    /// Three namespaces with two links that are down: c0 to p0, p1 to s0.
    pub(crate) fn bare(name: &str) -> Self {
        let it = Self(name.to_owned());
        it.remove();
        shell(&format!(
            "for n in C P S; do ip netns add {name}$n; ip -n {name}$n link set lo up; done
            ip link add c0 netns {name}C type veth peer name p0 netns {name}P
            ip link add s0 netns {name}S type veth peer name p1 netns {name}P"
        ));
        it
    }

    fn new(name: &str) -> Self {
        let it = Self::bare(name);
        shell(&format!(
            "ip -n {name}C addr add 10.92.1.2/24 dev c0; ip -n {name}P addr add 10.92.1.1/24 dev p0
            ip -n {name}S addr add 10.92.2.2/24 dev s0; ip -n {name}P addr add 10.92.2.1/24 dev p1
            for x in 'C c0' 'P p0' 'P p1' 'S s0'; do set -- $x; ip -n {name}$1 link set $2 up; done
            ip -n {name}C route add default via 10.92.1.1; ip -n {name}S route add default via 10.92.2.1
            ip netns exec {name}P sh -c 'for i in all default p0 p1; do echo 0 > /proc/sys/net/ipv4/conf/$i/rp_filter; done
                echo 1 > /proc/sys/net/ipv4/ip_forward'"
        ));
        it
    }

    fn remove(&self) {
        for part in ["C", "P", "S"] {
            let _ = Command::new("ip").args(["netns", "del", &format!("{}{part}", self.0)]).output();
        }
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        self.remove();
    }
}

/// A server that says whom it sees, one connection after the other.
const SERVER: &str = "import socket
l = socket.create_server(('10.92.2.2', 7000))
print('ready', flush=True)
while True:
    c, a = l.accept()
    d = b''
    while x := c.recv(65536): d += x
    c.sendall(b'%d octets from %s' % (len(d), a[0].encode())); c.close()
";

const CLIENT: &str = "import socket
s = socket.create_connection(('10.92.2.2', 7000), timeout=5)
peer = s.getpeername()[0]
s.sendall(bytes(3000000)); s.shutdown(1)
print(s.recv(100).decode(), 'to', peer)
";

fn until_ruled(name: &str) {
    crate::program::until("the rules are there", || {
        run("ip", &["netns", "exec", &format!("{name}P"), "nft", "list", "table", "inet", "ackclock_proxy"]).0
            == Some(0)
    });
}

/// Answers of the server to the client behind a proxy in this mode, twice, and the proxy's rules after it has ended.
fn played(name: &str, mode: &str) -> (Vec<String>, String) {
    let namespaces = Namespaces::new(name);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proxy.toml");
    let config = format!(
        "workers = 1\n[[listen]]\naddress = \"0.0.0.0:9000\"\nmode = \"{mode}\"\ninterfaces = [\"p0\"]\n\
         destinations = [\"10.92.2.0/24\"]\nfar = {{ congestion = \"reno\" }}\n[log]\nlevel = \"warn\"\n\
         [[rule]]\nsni = [\"no.org\"]\nports = [\"7000\"]\nrefuse = true\n[timeouts]\nhello = \"1000 s\"\n"
    );
    std::fs::write(&path, config).unwrap();
    let inside = |part: &str, program: &str, arguments: &[&str]| {
        let name = format!("{}{part}", namespaces.0);
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &name, program]).args(arguments);
        command
    };
    let mut server = inside("S", "python3", &["-c", SERVER]).stdout(std::process::Stdio::null()).spawn().unwrap();
    let proxy = || inside("P", PROXY, &["--apply", path.to_str().unwrap()]).spawn().unwrap();
    let until_there = || until_ruled(name);
    let mut killed = proxy();
    until_there();
    killed.kill().unwrap();
    killed.wait().unwrap();
    // The rules of one that was killed are in nobody's way.
    shell(&format!("ip netns exec {name}P nft delete table inet ackclock_proxy"));
    let mut proxy = proxy();
    until_there();
    // Port 7000, as the kernel writes it.
    let listens =
        || inside("S", "grep", &["-q", ":1B58 ", "/proc/net/tcp"]).status().is_ok_and(|status| status.success());
    crate::program::until("the server listens", listens);
    let told = || {
        let done = inside("C", "python3", &["-c", CLIENT]).output().unwrap();
        String::from_utf8([done.stdout, done.stderr].concat()).unwrap()
    };
    let told = vec![told(), told()];
    let pid = rustix::process::Pid::from_child(&proxy);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let status = proxy.wait().unwrap();
    assert!(status.success(), "{status}");
    server.kill().unwrap();
    server.wait().unwrap();
    let left = shell(&format!(
        "ip netns exec {name}P nft list ruleset; ip -n {name}P rule; ip -n {name}P route show table 24931 2>&1 || true"
    ));
    (told, left)
}

#[test]
fn a_transparent_proxy_keeps_the_clients_address_and_takes_its_rules_away() {
    if let Some(why) = missing() {
        eprintln!("skipped: {why}");
        return;
    }
    let (told, left) = played("axT", "transparent");
    for one in told {
        assert_eq!(one.trim(), "3000000 octets from 10.92.1.2 to 10.92.2.2");
    }
    assert!(!left.contains("ackclock_proxy") && !left.contains("0x6163"), "{left}");
}

#[test]
fn a_redirected_connection_reaches_where_it_was_meant_to_go_from_the_proxys_address() {
    if let Some(why) = missing() {
        eprintln!("skipped: {why}");
        return;
    }
    let (told, left) = played("axR", "redirect");
    for one in told {
        assert_eq!(one.trim(), "3000000 octets from 10.92.2.1 to 10.92.2.2");
    }
    assert!(!left.contains("ackclock_proxy"), "{left}");
}

/// Real clients do the same through a proxy, except those that are not installed here.
#[test]
fn curl_iperf3_and_ssh_do_through_it_what_they_do_without_it() {
    if let Some(why) = missing() {
        eprintln!("skipped: {why}");
        return;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients.sh");
    let namespaces = Namespaces::new("axC");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proxy.toml");
    let config = "workers = 2\n[[listen]]\naddress = \"0.0.0.0:9000\"\nmode = \"transparent\"\ninterfaces = [\"p0\"]\n\
                  far = { congestion = \"reno\" }\nbuffer_policy = \"credit\"\nbuffer_policy_back = \"not_sent\"\n";
    std::fs::write(&path, config).unwrap();
    let name = &namespaces.0;
    let inside = ["netns", "exec", &format!("{name}P"), PROXY, "--apply", path.to_str().unwrap()];
    let mut proxy = Command::new("ip").args(inside).spawn().unwrap();
    until_ruled(name);
    let (client, server, folder) = (format!("{name}C"), format!("{name}S"), folder.path().to_str().unwrap());
    let (code, said) = run("timeout", &["100", "sh", script, &client, &server, "10.92.2.2", folder]);
    proxy.kill().unwrap();
    proxy.wait().unwrap();
    assert_eq!(code, Some(0), "{said}");
    eprintln!("{said}");
    // Seven of curl, four of iperf3, two of ssh; each with its line.
    let wanted = [("curl: ", 7, "nginx"), ("iperf3: ", 4, "iperf3"), ("ssh: ", 2, "sshd")];
    for (of, lines, needs) in wanted {
        let is_left_out =
            said.contains("skipped:") && said.lines().any(|line| line.starts_with("skipped") && line.contains(needs));
        assert!(is_left_out || said.lines().filter(|line| line.starts_with(of)).count() == lines, "{said}");
    }
}

/// socket(7): `SO_MARK` is for routing by marks (ip-rule(8), `fwmark`). Servers that only marked packets reach are tried by such.
#[test]
fn checks_of_health_take_the_way_of_the_connections() {
    let needed = "command -v unshare && command -v ip && command -v python3 && unshare -n true";
    if !rustix::process::geteuid().is_root() || run("sh", &["-c", needed]).0 != Some(0) {
        return eprintln!("skipped: it needs root, unshare, ip and python3");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proxy.toml");
    let config = "[[listen]]\naddress = \"127.0.0.1:8080\"\nupstream = [\"10.8.0.1:7000\", \"10.8.0.1:7001\"]\n\
                  mark = 7\nhealth_interval = \"50 ms\"\n";
    std::fs::write(&path, config).unwrap();
    let servers = "import socket, time
all = [socket.create_server(('10.8.0.1', port)) for port in (7000, 7001)]
time.sleep(10)
";
    let script = format!(
        "ip link set lo up; ip addr add 10.8.0.1/32 dev lo
        ip rule add pref 10 lookup local; ip rule del pref 0
        ip rule add pref 5 not fwmark 7 to 10.8.0.1 ipproto tcp dport 7000-7001 prohibit
        python3 -c \"$2\" & server=$!
        sleep 0.5
        python3 -c 'import socket; socket.create_connection((\"10.8.0.1\", 7000))' 2>/dev/null && echo reached without a mark
        {PROXY} $1 2>&1 & proxy=$!
        sleep 1
        kill $proxy $server"
    );
    let done =
        Command::new("unshare").args(["-n", "sh", "-c", &script, "sh"]).arg(&path).arg(servers).output().unwrap();
    let told = String::from_utf8_lossy(&done.stdout);
    assert!(told.contains("ready") && !told.contains("reached without a mark"), "{told}{done:?}");
    assert!(!told.contains("is_healthy"), "{told}");
}
