//! A path on this machine: two hosts and a router between them, each a network namespace, with the kernel's own token
//! bucket before the second host. They go when this does. There is one at a time in a process: connections run in real
//! time, and their round trips show the bottleneck, which another one's packets would lengthen.

use std::io::Read;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ackclock_bpf::machine;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

pub(crate) struct Lab {
    prefix: String,
    /// Until this lab has been taken down, as fields go after that.
    _alone: MutexGuard<'static, ()>,
}

const PORT: u16 = 5999;
const SINK: &str = "10.98.2.1";

impl Lab {
    /// A path with a rate in Mbit/s and a queue in octets towards the second host, and a rate in kbit/s on the reverse
    /// path if that is to be jammed; `None`, with the reason printed, where it cannot be.
    pub(crate) fn new(mbit: u32, queue_bytes: u32, back_kbit: Option<u32>) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        static ONE: Mutex<()> = Mutex::new(());
        if let Err(missing) = machine::check() {
            println!("skipped: {missing}");
            return None;
        }
        // a test that failed has left nothing behind that the next one would meet
        let alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let prefix = format!("ackt{}x{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let lab = Self { prefix, _alone: alone };
        if !lab.build(mbit, queue_bytes, back_kbit) {
            println!("skipped: no network namespaces with tc's tbf here; Debian's package iproute2 has ip and tc");
            return None;
        }
        lab.listen();
        Some(lab)
    }

    fn name(&self, end: &str) -> String {
        format!("{}{end}", self.prefix)
    }

    fn build(&self, mbit: u32, queue_bytes: u32, back_kbit: Option<u32>) -> bool {
        let [s, r, d] = ["s", "r", "d"].map(|end| self.name(end));
        let mut commands = Vec::new();
        for name in [&s, &r, &d] {
            commands.push(format!("ip netns add {name}"));
            commands.push(format!("ip -n {name} link set lo up"));
        }
        commands.push(format!("ip link add s0 netns {s} type veth peer name r0 netns {r}"));
        commands.push(format!("ip link add d0 netns {d} type veth peer name r1 netns {r}"));
        for (name, device, address) in
            [(&s, "s0", "10.98.1.1"), (&r, "r0", "10.98.1.2"), (&d, "d0", SINK), (&r, "r1", "10.98.2.2")]
        {
            commands.push(format!("ip -n {name} addr add {address}/24 dev {device}"));
            // one segment in a packet, as on a wire
            commands.push(format!("ip -n {name} link set {device} gso_max_segs 1 up"));
        }
        commands.push(format!("ip -n {s} route add default via 10.98.1.2"));
        commands.push(format!("ip -n {d} route add default via 10.98.2.2"));
        commands.push(format!("ip netns exec {r} sysctl -qw net.ipv4.ip_forward=1"));
        commands.push(format!("tc -n {r} qdisc add dev r1 root tbf rate {mbit}mbit burst 5kb limit {queue_bytes}"));
        if let Some(kbit) = back_kbit {
            commands.push(format!("tc -n {r} qdisc add dev r0 root tbf rate {kbit}kbit burst 2kb limit 6000"));
        }
        commands.iter().all(|command| {
            let mut words = command.split(' ');
            let program = words.next().expect("not empty");
            Command::new(program).args(words).status().is_ok_and(|status| status.success())
        })
    }

    /// Takes in what comes to the second host, until the test ends.
    fn listen(&self) {
        let namespace = format!("/run/netns/{}", self.name("d"));
        let (ready, is_ready) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let namespace = std::fs::File::open(namespace).expect("the namespace was made");
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).expect("root");
            let listener = TcpListener::bind((SINK, PORT)).expect("nobody else is in this namespace");
            ready.send(()).expect("the test waits");
            for connection in listener.incoming() {
                let mut connection = connection.expect("a connection");
                // each by itself: what a sender that was killed left behind may take long to end
                std::thread::spawn(move || {
                    let mut room = vec![0; 1 << 16];
                    while connection.read(&mut room).is_ok_and(|read| read > 0) {}
                });
            }
        });
        is_ready.recv().expect("the listener runs");
    }

    /// The command that sends from the first host to the second.
    pub(crate) fn send(&self, seconds: f64) -> Vec<String> {
        let send = format!("timeout {seconds} cat /dev/zero > /dev/tcp/{SINK}/{PORT}; test $? = 124");
        ["ip", "netns", "exec", &self.name("s"), "bash", "-c", &send].map(str::to_owned).to_vec()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for end in ["s", "r", "d"] {
            let _ = Command::new("ip").args(["netns", "del", &self.name(end)]).stderr(Stdio::null()).status();
        }
    }
}
