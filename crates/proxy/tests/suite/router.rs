//! The router of the page: its commands as they stand there, between clients and servers with addresses of both families.

use std::process::{Child, Command};

use rustix::process::{Pid, Signal, kill_process};

use crate::namespaces::{Namespaces, missing, shell};
use crate::page::blocks;
use crate::program::{PROXY, run, until};

const PAGE: &str = "how-to/run-the-proxy.md";

/// Servers at ports 80, which the proxy takes, and 22, which it does not: each tells the client which address it sees.
const SERVERS: &str = "import socket, threading
def serve(port):
    listener = socket.create_server(('::', port), family=socket.AF_INET6, dualstack_ipv6=True)
    while True:
        client, address = listener.accept()
        threading.Thread(target=answer, args=(client, address[0].removeprefix('::ffff:'))).start()
def answer(client, address):
    octets = 0
    try:
        while got := client.recv(65536):
            octets += len(got)
            if got.endswith(b'?'): client.sendall(b'%d octets from %s' % (octets, address.encode()))
    except ConnectionResetError: pass
    client.close()
threading.Thread(target=serve, args=(22,)).start()
serve(80)
";

/// Asks the server at an address and a port, and prints the answer.
const CLIENT: &str = "import socket, sys
client = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=30)
client.sendall(bytes(99999) + b'?')
print(client.recv(100).decode())
";

/// The same, then waits for the end of the connection and prints it.
const HOLDING: &str = "import socket, sys
client = socket.create_connection((sys.argv[1], 80), timeout=30)
client.sendall(b'?')
print(client.recv(100).decode(), flush=True)
try: print('FIN' if client.recv(1) == b'' else 'octets')
except ConnectionResetError: print('RST')
";

/// The servers' addresses, and the clients' of the same families, in the networks of the page.
const ENDS: [(&str, &str); 2] = [("198.51.100.2", "192.0.2.2"), ("2001:db8:2::2", "2001:db8:1::2")];

/// A process that ends with the test.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Router {
    namespaces: Namespaces,
    folder: tempfile::TempDir,
}

impl Router {
    /// Hosts around a router that has links and nothing else.
    fn new(name: &str) -> Self {
        let namespaces = Namespaces::bare(name);
        shell(&format!(
            "ip -n {name}P link set p0 name lan0; ip -n {name}P link set p1 name wan0
            ip -n {name}C addr add 192.0.2.2/24 dev c0; ip -n {name}C addr add 2001:db8:1::2/64 dev c0 nodad
            ip -n {name}S addr add 198.51.100.2/24 dev s0; ip -n {name}S addr add 2001:db8:2::2/64 dev s0 nodad
            ip -n {name}C link set c0 up; ip -n {name}S link set s0 up
            ip -n {name}C route add default via 192.0.2.1; ip -n {name}C route add default via 2001:db8:1::1
            ip -n {name}S route add default via 198.51.100.1; ip -n {name}S route add default via 2001:db8:2::1
            ip netns exec {name}P sh -c 'for i in all lan0 wan0; do echo 1 > /proc/sys/net/ipv4/conf/$i/rp_filter; done
                echo 1 > /proc/sys/net/ipv4/conf/all/src_valid_mark'"
        ));
        let folder = tempfile::tempdir().unwrap();
        let configuration = blocks(PAGE, "conf").into_iter().find(|text| text.contains("lan0")).unwrap();
        std::fs::write(folder.path().join("proxy.toml"), configuration).unwrap();
        Self { namespaces, folder }
    }

    /// A page's command with this file in place of the installed one and the program that is tested.
    fn as_here(&self, commands: &str) -> String {
        let path = self.folder.path().join("proxy.toml");
        commands
            .replace("/etc/ackclock-proxy/proxy.toml", path.to_str().unwrap())
            .replace("ackclock-proxy -", &format!("exec {PROXY} -"))
    }

    fn inside(&self, part: &str, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &format!("{}{part}", self.namespaces.0), program]).args(arguments);
        command
    }

    fn told(&self, part: &str, program: &str, arguments: &[&str]) -> String {
        let done = self.inside(part, program, arguments).output().unwrap();
        String::from_utf8([done.stdout, done.stderr].concat()).unwrap()
    }

    /// Answer of the server at a port.
    fn answer(&self, address: &str, port: &str) -> String {
        self.told("C", "python3", &["-c", CLIENT, address, port]).trim().to_owned()
    }

    /// Connections that the proxy has accepted.
    fn accepted(&self) -> u32 {
        let ask =
            "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:9901/metrics').read().decode())";
        let text = self.told("P", "python3", &["-c", ask]);
        let of_listeners = text.lines().filter(|line| line.contains("event=\"accepted\""));
        let counts: Vec<u32> = of_listeners.map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect();
        assert_eq!(counts.len(), 2, "{text}");
        counts.iter().sum()
    }

    /// Runs commands of the page, the last of which is the proxy; it is ready when this returns.
    fn start(&self, commands: &str) -> Started {
        let proxy = Started(self.inside("P", "sh", &["-ec", &self.as_here(commands)]).spawn().unwrap());
        let top = || self.inside("P", PROXY, &["top", "--once", "127.0.0.1:9901"]).output().unwrap();
        until("it is there", || top().status.success());
        until("the rules are there", || self.has_rules());
        proxy
    }

    fn has_rules(&self) -> bool {
        self.told("P", "nft", &["list", "tables"]).contains("ackclock_proxy")
    }
}

#[test]
fn the_router_of_the_page_carries_both_families_and_fails_open() {
    if let Some(why) = missing() {
        return eprintln!("skipped: {why}");
    }
    let router = Router::new("axW");
    let _servers = Started(router.inside("S", "python3", &["-c", SERVERS]).spawn().unwrap());
    until("the servers listen", || {
        let listening = router.told("S", "cat", &["/proc/net/tcp6"]);
        listening.contains(":0050 ") && listening.contains(":0016 ")
    });
    let commands = blocks(PAGE, "bash").concat();
    let mut proxy = router.start(&commands);
    for (count, (server, client)) in (1..).zip(ENDS) {
        assert_eq!(router.answer(server, "80"), format!("100000 octets from {client}"));
        assert_eq!(router.accepted(), count);
        // A port that is not taken is routed.
        assert_eq!(router.answer(server, "22"), format!("100000 octets from {client}"));
        assert_eq!(router.accepted(), count);
    }

    // What it carries when it is killed is reset; afterwards connections pass, with the rules still there.
    let held = ENDS.map(|(server, client)| {
        let mut command = router.inside("C", "python3", &["-c", HOLDING, server]);
        (client, command.stdout(std::process::Stdio::piped()).spawn().unwrap())
    });
    until("both are carried", || router.accepted() == 4);
    let carried = || router.told("P", PROXY, &["top", "--once", "127.0.0.1:9901"]);
    until("both have their servers", || carried().matches("cubic").count() >= 2);
    proxy.0.kill().unwrap();
    proxy.0.wait().unwrap();
    for (client, process) in held {
        let said = String::from_utf8(process.wait_with_output().unwrap().stdout).unwrap();
        assert_eq!(said.lines().collect::<Vec<_>>(), [&format!("1 octets from {client}"), "RST"]);
    }
    assert!(router.has_rules());
    for (server, client) in ENDS {
        assert_eq!(router.answer(server, "80"), format!("100000 octets from {client}"));
    }

    // Started anew it takes them again, and at its end it removes what it added.
    let mut proxy = router.start(commands.lines().last().unwrap());
    assert_eq!(router.answer(ENDS[1].0, "80"), format!("100000 octets from {}", ENDS[1].1));
    assert_eq!(router.accepted(), 1);
    kill_process(Pid::from_child(&proxy.0), Signal::TERM).unwrap();
    assert!(proxy.0.wait().unwrap().success());
    assert!(!router.has_rules());
}

#[test]
fn the_routes_of_the_page_are_those_that_rules_prints() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proxy.toml");
    let configuration = blocks(PAGE, "conf").into_iter().find(|text| text.contains("lan0")).unwrap();
    std::fs::write(&path, configuration).unwrap();
    let (code, printed) = run(PROXY, &["rules", path.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{printed}");
    let routes: Vec<&str> = printed.lines().filter(|line| line.starts_with("ip ") && !line.contains(" del ")).collect();
    let shown = blocks(PAGE, "text").into_iter().find(|text| text.contains("fwmark")).unwrap();
    assert_eq!(routes, shown.lines().collect::<Vec<_>>());
    // Switches are the page's, too.
    let settings = |text: &str| {
        let words = text.split_whitespace().filter(|word| word.starts_with("net.") && word.contains('='));
        let mut found: Vec<String> = words.map(str::to_owned).collect();
        found.sort();
        found
    };
    assert_eq!(settings(&printed), settings(&blocks(PAGE, "bash").concat()));
}
