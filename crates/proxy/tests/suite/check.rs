//! `--check` and a start: what the one reports, the other is refused for.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::geteuid;
use tempfile::TempDir;

use crate::program::{PATIENCE, PROXY, Proxy, answers, connect, echo, free};

/// The user `nobody`, who has no rights.
const NOBODY: u32 = 65_534;

/// A folder that anyone may read, with a configuration and a program in place of `ackclock-kernel`.
struct Place(TempDir);

impl Place {
    fn new(config: &str) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::set_permissions(place.0.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(place.config(), config).unwrap();
        // It lists a controller that no kernel has, and refuses to load it.
        let program = "#!/bin/sh\n[ $1 = list ] && printf 'controller in-the-kernel departures\\nabsent ac_absent -\\n'\n[ $1 = list ]\n";
        fs::write(place.kernel(), program).unwrap();
        fs::set_permissions(place.kernel(), fs::Permissions::from_mode(0o755)).unwrap();
        place
    }

    fn config(&self) -> PathBuf {
        self.0.path().join("proxy.toml")
    }

    fn kernel(&self) -> PathBuf {
        self.0.path().join("kernel")
    }

    /// Exit code and complaints of the program with these arguments before the configuration; none if it goes on running.
    fn run(&self, arguments: &[&str], user: Option<u32>) -> Option<(i32, String)> {
        let mut command = Command::new(PROXY);
        if let Some(user) = user.filter(|_| geteuid().is_root()) {
            command.uid(user).gid(user);
        }
        command.args(arguments).arg(self.config()).env("ACKCLOCK_KERNEL_PROGRAM", self.kernel());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it is a program");
        let until = Instant::now() + PATIENCE;
        while child.try_wait().unwrap().is_none() {
            if Instant::now() >= until {
                child.kill().unwrap();
                child.wait().unwrap();
                return None;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let done = child.wait_with_output().unwrap();
        Some((done.status.code().unwrap_or(-1), String::from_utf8(done.stderr).unwrap()))
    }
}

/// True if `nobody` may run the program where it lies.
fn nobody_may_run() -> bool {
    let mut command = Command::new(PROXY);
    if geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.arg("--version").output().is_ok_and(|done| done.status.success())
}

/// An address that another user may have: nobody holds its port.
fn unheld() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn listener(address: SocketAddr, more: &str) -> String {
    format!("[[listen]]\nname = \"one\"\naddress = \"{address}\"\nupstream = [\"127.0.0.1:9\"]\n{more}\n")
}

/// capabilities(7), ip(7), socket(7): what takes which right.
#[test]
fn a_check_refuses_what_a_start_is_refused_for_in_the_same_words() {
    if !nobody_may_run() {
        return eprintln!("skipped: nobody may run the program");
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap();
    let transparent = format!("[[listen]]\nname = \"one\"\naddress = \"{}\"\nmode = \"transparent\"\n", unheld());
    // Who has an address is seen by the same user only, or by root.
    let (own, nobody) = (None, Some(NOBODY));
    let mut cases = vec![
        (own, listener(at, ""), format!("cannot listen at {at} (one): ")),
        (
            own,
            listener("192.0.2.1:18080".parse().unwrap(), "clients = [\"192.0.2.0/24\"]"),
            "name an address that this host has".to_owned(),
        ),
        (
            own,
            format!("{}[metrics]\naddress = \"{at}\"\n", listener(unheld(), "")),
            format!("cannot serve metrics at {at}: "),
        ),
        (nobody, transparent, "mode transparent takes root or CAP_NET_ADMIN".to_owned()),
        (nobody, listener(unheld(), "mark = 7"), "far of one: the settings cannot be applied: ".to_owned()),
        (nobody, listener(unheld(), "near = { send_buffer = \"1 GiB\" }"), "raise net.core.wmem_max".to_owned()),
        (
            nobody,
            format!("{}[[rule]]\nnear = {{ receive_buffer = \"1 GiB\" }}\n", listener(unheld(), "")),
            "near of one: the settings cannot be applied: receive_buffer".to_owned(),
        ),
        (
            nobody,
            listener(unheld(), "far = { congestion = \"ac_absent\" }"),
            "the controller ac_absent is not loaded, and loading it takes CAP_NET_ADMIN, CAP_PERFMON, CAP_BPF; \
             run `ackclock-kernel load ac_absent` as root before the proxy starts"
                .to_owned(),
        ),
    ];
    let first = fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start").unwrap_or_default();
    if first.trim() == "1024" {
        let low = listener("127.0.0.1:81".parse().unwrap(), "");
        cases.push((nobody, low, "takes root or CAP_NET_BIND_SERVICE".to_owned()));
    }
    for (user, config, wanted) in cases {
        let place = Place::new(&config);
        let (code, checked) = place.run(&["--check"], user).unwrap();
        let has = |text: &str| text.split("; ").all(|part| checked.contains(part));
        assert!(code == 1 && has(&wanted), "{config}\n{code} {checked}");
        let (code, started) = place.run(&[], user).expect("a start is refused, too");
        let complaint = started.trim().lines().next_back().unwrap();
        assert!(code == 1 && has(complaint), "{config}\n{code} {started}\nnot in: {checked}");
    }
}

#[test]
fn a_check_names_who_has_an_address() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = Place::new(&listener(taken.local_addr().unwrap(), ""));
    let (code, told) = place.run(&["--check"], None).unwrap();
    let name = fs::read_to_string("/proc/self/comm").unwrap();
    let wanted = format!(
        "{} (process {}) has it\n    address = \"{}\"\n",
        name.trim(),
        std::process::id(),
        taken.local_addr().unwrap()
    );
    let place =
        format!("{}:3:11: listen[0].address is refused by this host: cannot listen at ", place.config().display());
    let remedy = "\n  remedy: end it, or choose another address\n";
    assert!(told.contains(&place) && told.ends_with(remedy), "{told}");
    assert!(code == 1 && told.contains(&wanted), "{told}");
}

/// socket(7): sockets of one user share a port by `SO_REUSEPORT`, and so would two proxies that were started by mistake.
#[test]
fn a_second_proxy_at_an_address_is_refused_and_says_who_has_it() {
    let (listen, at, other) = (free(), free(), free());
    let config =
        |listen: SocketAddr, at: SocketAddr| format!("{}[metrics]\naddress = \"{at}\"\n", listener(listen, ""));
    let first = Proxy::start(&config(listen, at));
    let wanted = format!("(process {}) has it; end it, or choose another address", first.child.id());
    for (config, what) in [(config(listen, other), "cannot listen at"), (config(other, at), "cannot serve metrics at")]
    {
        let (code, told) = Place::new(&config).run(&[], None).expect("it is refused");
        assert!(code == 1 && told.contains(what) && told.contains(&wanted), "{told}");
    }
}

/// docs/how-to/run-the-proxy.md: a check may be made at any time, beside the proxy that runs.
#[test]
fn a_check_beside_the_proxy_finds_nothing_and_takes_no_connection() {
    let (listen, at) = (free(), free());
    let config = format!(
        "workers = 2\n[[listen]]\nname = \"one\"\naddress = \"{listen}\"\nupstream = [\"{}\"]\n[metrics]\naddress = \"{at}\"\n",
        echo()
    );
    let proxy = Proxy::start(&config);
    let place = Place::new(&config);
    std::thread::scope(|scope| {
        let checks = scope.spawn(|| (0..5).map(|_| place.run(&["--check"], None).unwrap()).collect::<Vec<_>>());
        while !checks.is_finished() {
            assert!(answers(&mut connect(listen)));
        }
        for (code, told) in checks.join().unwrap() {
            assert!(code == 0 && !told.contains("in use"), "{told}");
        }
    });
    drop(proxy);
}

/// socket(7): a port is shared by sockets of one user. Root sees the other's process, and another user does not.
#[test]
fn a_check_by_another_user_knows_the_proxy_or_says_whose_it_is() {
    if !geteuid().is_root() || !nobody_may_run() {
        return eprintln!("skipped: it needs root, and a program that nobody may run");
    }
    let listen = unheld();
    let place = Place::new(&listener(listen, ""));
    for (user, other, wanted) in [(NOBODY, 0, ""), (0, NOBODY, "a process of the user 0 has it")] {
        let mut command = Command::new(PROXY);
        let mut child = command.uid(user).gid(user).arg(place.config()).stderr(Stdio::null()).spawn().unwrap();
        crate::program::until("it listens", || std::net::TcpStream::connect(listen).is_ok());
        let (code, told) = place.run(&["--check"], Some(other)).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(code == 0 && told.contains(wanted) && (wanted.is_empty() != told.contains("in use")), "{user}: {told}");
    }
}

/// getrlimit(2): `ulimit -n` of a shell is the limit of what it starts.
#[test]
fn too_few_descriptors_are_a_warning_of_check_and_start() {
    let place = Place::new(&listener(unheld(), ""));
    let run = |arguments: &str| {
        let command = format!("ulimit -n 100; exec timeout 2 {PROXY} {arguments} {}", place.config().display());
        let done = Command::new("sh").args(["-c", &command]).output().unwrap();
        String::from_utf8([done.stdout, done.stderr].concat()).unwrap()
    };
    let wanted = "limits.connections is 100000, and the limit of open files (100) has room for 0: more wait";
    let checked = run("--check");
    assert!(checked.contains(&format!("warning: {wanted}")) && checked.contains(": fine, 1 address"), "{checked}");
    let started = run("");
    assert!(started.contains(wanted) && started.contains("ready"), "{started}");
}

/// ld.so(8): a program whose libraries are missing ends before it begins. The cause is not kept to itself.
#[test]
fn a_program_for_controllers_that_cannot_run_is_told_of() {
    let place = Place::new(&listener(unheld(), "far = { congestion = \"ac_absent\" }"));
    fs::write(
        place.kernel(),
        "#!/bin/sh\necho 'kernel: error while loading shared libraries: libelf.so.1' >&2\nexit 127\n",
    )
    .unwrap();
    let (code, told) = place.run(&["--check"], None).unwrap();
    let wanted =
        "ackclock-kernel brings others, and cannot run: kernel: error while loading shared libraries: libelf.so.1";
    assert!(code == 2 && told.contains(wanted), "{told}");
}

/// docs/how-to/run-the-proxy.md: with `--apply` the commands of `rules` run at the start; their programs are tried beforehand.
#[test]
fn a_check_with_rules_tries_their_programs() {
    let place = Place::new(&format!("[[listen]]\nname = \"one\"\naddress = \"{}\"\nmode = \"redirect\"\n", unheld()));
    let check = |nft: Option<&str>| {
        let folder = tempfile::tempdir().unwrap();
        if let Some(nft) = nft {
            fs::write(folder.path().join("nft"), format!("#!/bin/sh\n{nft}\n")).unwrap();
            fs::set_permissions(folder.path().join("nft"), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut command = Command::new(PROXY);
        let done =
            command.args(["--check", "--apply"]).arg(place.config()).env("PATH", folder.path()).output().unwrap();
        (done.status.code(), String::from_utf8([done.stdout, done.stderr].concat()).unwrap())
    };
    let (code, told) = check(None);
    assert!(code == Some(1) && told.contains("--apply takes nft, which cannot be started"), "{told}");
    let (code, told) = check(Some("echo 'Operation not permitted' >&2; exit 1"));
    assert!(code == Some(1) && told.contains("--apply would be refused by nft: Operation not permitted"), "{told}");
    // It is given the table, and told to keep nothing.
    let wanted = "while read -r line; do case $line in *'redirect to'*) [ \"$*\" = '--check --file -' ] && exit 0;; esac; done; exit 1";
    let (code, told) = check(Some(wanted));
    assert!(code == Some(0), "{told}");
}
