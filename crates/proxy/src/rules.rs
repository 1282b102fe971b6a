//! The rules of a firewall that send connections to the proxy, as commands of a shell.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixDatagram};
use std::process::{Command, Stdio};

use crate::config::file::Mode;
use crate::config::kinds::{Network, Ports};
use crate::config::{Config, Listener};

/// Packets of connections that the proxy carries from clients' own addresses have this mark,
const MARK: &str = "0x6163";

/// and this table of routes brings them to it.
const TABLE: &str = "24931";

/// The name of the table of rules.
const NAME: &str = "ackclock_proxy";

/// The name by which a process claims it.
const CLAIM: &str = "ackclock-proxy-rules";

/// Commands that put the rules in, and those that take them out. What a proxy that was killed has left is no hindrance.
pub fn commands(config: &Config) -> (String, String) {
    let mut chains = String::new();
    let mut routes = (String::new(), String::new());
    for (family, is_ipv6) in [("ip", false), ("ip6", true)] {
        let of_family = |listener: &&Listener| listener.listen.address.0.is_ipv6() == is_ipv6;
        let transparent: Vec<_> = of_mode(config, Mode::Transparent).filter(of_family).collect();
        if !transparent.is_empty() {
            // Writing to a text cannot fail, here and below.
            let _ = writeln!(
                chains,
                "  chain divert_{family} {{\n    type filter hook prerouting priority mangle; policy accept;"
            );
            let _ = writeln!(
                chains,
                "    meta nfproto {} meta l4proto tcp socket transparent 1 meta mark set {MARK} accept",
                nfproto(is_ipv6)
            );
            for listener in transparent {
                chains.push_str(&tproxy(listener, family));
            }
            chains.push_str("  }\n");
            let ip = if is_ipv6 { "ip -6" } else { "ip" };
            // One that was killed has left them behind.
            let _ = writeln!(
                routes.0,
                "{ip} rule del fwmark {MARK} lookup {TABLE} 2>/dev/null || :\n{ip} rule add fwmark {MARK} lookup {TABLE}\n\
                 {ip} route replace local default dev lo table {TABLE}"
            );
            let _ = writeln!(routes.1, "{ip} rule del fwmark {MARK} lookup {TABLE}\n{ip} route flush table {TABLE}");
        }
        let redirected: Vec<_> = of_mode(config, Mode::Redirect).filter(of_family).collect();
        if !redirected.is_empty() {
            let _ = writeln!(
                chains,
                "  chain redirect_{family} {{\n    type nat hook prerouting priority dstnat; policy accept;"
            );
            for listener in redirected {
                chains.push_str(&redirect(listener, family));
            }
            chains.push_str("  }\n");
        }
    }
    if chains.is_empty() {
        return Default::default();
    }
    let table = format!("table inet {NAME}\nflush table inet {NAME}\ntable inet {NAME} {{\n{chains}}}\n");
    let needs = needs(config);
    (
        format!("{needs}{}nft -f - <<'END'\n{table}END\n", routes.0),
        format!("nft delete table inet {NAME}\n{}", routes.1),
    )
}

/// Switches of the kernel that transparent listeners need, by their address families.
///
/// The kernel looks for the way back to a client by the mark, too, where `src_valid_mark` is set (ip-sysctl.rst; wg-quick does it), and takes the
/// client's address for its own. Otherwise `rp_filter` checks no more than on any router.
fn needs(config: &Config) -> String {
    let has = |is_ipv6| of_mode(config, Mode::Transparent).any(|it| it.listen.address.0.is_ipv6() == is_ipv6);
    let ipv4 = has(false).then_some("#   sysctl -w net.ipv4.ip_forward=1 net.ipv4.conf.all.src_valid_mark=0\n");
    let ipv6 = has(true).then_some("#   sysctl -w net.ipv6.conf.all.forwarding=1\n");
    let needs: String = ipv4.into_iter().chain(ipv6).collect();
    if needs.is_empty() {
        return needs;
    }
    format!("# The host has to forward:\n{needs}")
}

fn of_mode(config: &Config, mode: Mode) -> impl Iterator<Item = &Listener> {
    config.listeners.iter().filter(move |listener| listener.listen.mode == mode)
}

fn nfproto(is_ipv6: bool) -> &'static str {
    if is_ipv6 { "ipv6" } else { "ipv4" }
}

fn tproxy(listener: &Listener, family: &str) -> String {
    let port = listener.listen.address.0.port();
    let wanted = matched(listener, family);
    // What is for this host itself, the proxy's own port too, is left alone.
    format!("    {wanted} fib daddr type != local tproxy {family} to :{port} meta mark set {MARK} accept\n")
}

fn redirect(listener: &Listener, family: &str) -> String {
    let port = listener.listen.address.0.port();
    format!("    {} fib daddr type != local redirect to :{port}\n", matched(listener, family))
}

/// Condition on connections to which the rule applies.
fn matched(listener: &Listener, family: &str) -> String {
    let of = &listener.listen;
    let is_ipv6 = family == "ip6";
    let networks = |networks: &[Network]| -> String {
        let of_family = networks.iter().filter(|network| network.0.addr().is_ipv6() == is_ipv6);
        let named = of_family.map(ToString::to_string).collect::<Vec<_>>().join(", ");
        // None of this family: an address that no packet is from or for.
        let nobody = if is_ipv6 { "::/128" } else { "0.0.0.0/32" };
        if named.is_empty() { nobody.to_owned() } else { named }
    };
    let interfaces = match &of.interfaces {
        None => "iifname != \"lo\"".to_owned(),
        Some(names) => {
            let quoted = names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>();
            format!("iifname {{ {} }}", quoted.join(", "))
        }
    };
    let mut parts = vec![format!("meta nfproto {}", nfproto(is_ipv6)), interfaces];
    for (field, wanted) in [("saddr", &of.clients), ("daddr", &of.destinations)] {
        if let Some(wanted) = wanted {
            parts.push(format!("{family} {field} {{ {} }}", networks(wanted)));
        }
    }
    parts.push(match &of.ports {
        None => "meta l4proto tcp".to_owned(),
        Some(wanted) => {
            format!("tcp dport {{ {} }}", wanted.iter().map(Ports::to_string).collect::<Vec<_>>().join(", "))
        }
    });
    parts.join(" ")
}

/// The rules that a process has put in and is to take out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// The commands that put in what there is; empty where there is nothing.
    pub added: String,
    /// The commands that take it out.
    pub removal: String,
}

impl Rules {
    /// Puts in the rules of a configuration, in place of those that are there, if these are others.
    pub fn follow(&mut self, config: &Config) -> io::Result<()> {
        let (added, removal) = commands(config);
        if added == self.added {
            return Ok(());
        }
        run(&self.removal)?;
        run(&added).inspect_err(|_| {
            // Of several commands some may have been done. Those before are in force again.
            let _ = run(&removal);
            let _ = run(&self.added);
        })?;
        *self = Self { added, removal };
        Ok(())
    }

    /// Removes the rules.
    pub fn remove(self) -> io::Result<()> {
        run(&self.removal)
    }
}

/// Claims the rules of this host, which have one name: those of a process go where another puts in its own. The claim is a name
/// among the abstract ones of unix(7), which are the network namespace's as the rules are, and which end with the process.
pub fn claim() -> io::Result<OwnedFd> {
    let name = UnixAddress::from_abstract_name(CLAIM)?;
    let socket = UnixDatagram::bind_addr(&name).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => io::Error::new(
            error.kind(),
            format!(
                "another process has put in its rules, which --apply would replace; end it, or leave --apply out \
                 (`ss -xap | grep {CLAIM}` finds it)"
            ),
        ),
        _ => error,
    })?;
    Ok(socket.into())
}

/// Runs such commands, if there are any.
fn run(commands: &str) -> io::Result<()> {
    if commands.is_empty() {
        return Ok(());
    }
    let mut shell = Command::new("sh").args(["-e"]).stdin(Stdio::piped()).spawn()?;
    if let Some(input) = &mut shell.stdin {
        input.write_all(commands.as_bytes())?;
    }
    drop(shell.stdin.take());
    let status = shell.wait()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("the rules could not be added or removed: {status}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    #[test]
    fn a_transparent_listener_gets_its_rules_and_a_plain_one_none() {
        let text = r#"
[[listen]]
address = "0.0.0.0:9000"
mode = "transparent"
interfaces = ["p0"]
ports = ["80", "8000-8080"]
destinations = ["10.0.0.0/8"]
"#;
        let (add, remove) = commands(&parse("a.toml", text).unwrap());
        // as nft(8) and the kernel's Documentation/networking/tproxy.rst have them
        let rule = "meta nfproto ipv4 iifname { \"p0\" } ip daddr { 10.0.0.0/8 } tcp dport { 80, 8000-8080 } \
                    fib daddr type != local tproxy ip to :9000 meta mark set 0x6163 accept";
        assert!(add.contains(rule), "{add}");
        assert!(add.contains("ip route replace local default dev lo table 24931"));
        // ip-rule(8): adding a rule that is there fails, so one that was left is taken away before.
        let (del, again) = (add.find("ip rule del fwmark").unwrap(), add.find("ip rule add fwmark").unwrap());
        assert!(del < again, "{add}");
        assert!(remove.contains("nft delete table inet ackclock_proxy") && remove.contains("ip rule del"));
        assert!(add.contains("net.ipv4.ip_forward=1 net.ipv4.conf.all.src_valid_mark=0") && !add.contains("net.ipv6"));
        // ip-sysctl.rst: IPv6 forwards by a switch of its own.
        let (add, _) =
            commands(&parse("a.toml", "[[listen]]\naddress = \"[::]:9000\"\nmode = \"transparent\"\n").unwrap());
        assert!(add.contains("net.ipv6.conf.all.forwarding=1") && !add.contains("net.ipv4"), "{add}");
        let plain = "[[listen]]\naddress = \"127.0.0.1:18080\"\nupstream = [\"127.0.0.1:80\"]\n";
        assert_eq!(commands(&parse("a.toml", plain).unwrap()), Default::default());
    }
}
