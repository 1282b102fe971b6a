use std::time::Duration;

use super::*;

const GOOD: &str = r#"
[[listen]]
name = "web"
address = "127.0.0.1:18080"
upstream = ["127.0.0.1:80"]
near = { congestion = "reno" }
far = { congestion = "cubic", pacing_rate = "100 Mbit/s" }
buffer_policy = { kind = "credit", target = "5 ms" }

[[rule]]
from = ["10.0.0.0/8"]
ports = ["79-81"]
far = { congestion = "reno", dscp = 10 }

[[rule]]
near_rtt_from = "100 ms"
refuse = true
"#;

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn mistakes(text: &str) -> Vec<String> {
    let found = parse("proxy.toml", text).expect_err("there is a mistake in it");
    found.iter().map(|one| format!("{}: {}", one.field, one.message)).collect()
}

#[test]
fn a_rule_goes_before_the_listener_field_by_field() {
    let config = parse("proxy.toml", GOOD).unwrap();
    let listener = &config.listeners[0];
    let treatment = |client: &str, near_rtt| {
        let flow = Flow { client: address(client), near_rtt, sni: None };
        listener.treatment(&flow, address("127.0.0.1:80"), listener.pool(&flow))
    };
    let near = Duration::from_millis(1);
    let plain = treatment("192.0.2.1:999", near).unwrap();
    assert_eq!(plain.far.congestion.as_deref(), Some("cubic"));
    let ruled = treatment("10.1.2.3:999", near).unwrap();
    assert_eq!((ruled.far.congestion.as_deref(), ruled.far.dscp), (Some("reno"), Some(10)));
    assert_eq!(ruled.far.pacing_rate, plain.far.pacing_rate);
    assert_eq!(ruled.near.congestion.as_deref(), Some("reno"));
    assert_eq!(treatment("192.0.2.1:999", Duration::from_millis(100)), None);
}

#[test]
fn every_mistake_is_reported_at_once_in_the_order_of_the_text() {
    let text = r#"
workerz = 2
[[listen]]
address = "0.0.0.0:18080"
upstream = ["127.0.0.1:18080", "nowhere"]
near = { congestion = "reno2000", dscp = 64 }
buffer_policy = { kind = "credit", targett = "5 ms" }
[metrics]
address = "192.0.2.7:1"
"#;
    let found = mistakes(text);
    for wanted in [
        "workerz: is not a known field",
        "listen[0].upstream[1]: must be a host",
        "listen[0].near.dscp: must be at most 63",
        "listen[0].buffer_policy.targett: is not a parameter",
        "metrics.address: is not an address of the loopback",
    ] {
        assert!(found.iter().any(|one| one.starts_with(wanted)), "{wanted} is not among {found:#?}");
    }
    assert_eq!(found[0], "workerz: is not a known field");
}

#[test]
fn no_open_relay_no_loop_no_unknown_controller() {
    let text = r#"
[[listen]]
address = "0.0.0.0:18080"
upstream = ["127.0.0.1:18080"]
far = { congestion = "hurry" }
buffer_policy_back = "ece_red"
[[listen]]
address = "0.0.0.0:18080"
mode = "transparent"
upstream = ["192.0.2.1:80"]
"#;
    let found = mistakes(text);
    let wanted = [
        "listen[0].upstream[0]: leads back to this proxy",
        "listen[0].clients: is missing, which would make an open relay",
        "listen[0].far.congestion: is not a congestion controller that this kernel has",
        "listen[0].buffer_policy_back: raises ECE, ",
        "listen[1].upstream: is allowed only in mode forward",
        "listen[1].address: is that of another listener",
    ];
    // Whoever has given this kernel the means to raise ECE has one mistake less.
    let wanted: Vec<&str> =
        wanted.into_iter().filter(|one| !one.contains("raises ECE") || crate::ece::find().is_err()).collect();
    for wanted in &wanted {
        assert!(found.iter().any(|one| one.starts_with(wanted)), "{wanted} is not among {found:#?}");
    }
    assert_eq!(found.len(), wanted.len(), "{found:#?}");
}

#[test]
fn a_message_shows_the_line_the_mark_and_the_remedy() {
    let text = "[[listen]]\naddress = \"127.0.0.1:18080\"\nupstream = [\"127.0.0.1:80\"]\nfar = { dscp = 64 }\n";
    let found = parse("proxy.toml", text).expect_err("64 is not a code point");
    let wanted =
        "proxy.toml:4:16: listen[0].far.dscp must be at most 63\n    far = { dscp = 64 }\n                   ^^\n";
    assert!(found[0].to_string().starts_with(wanted), "{}", found[0]);
}

/// Each thing is said once, with what to write.
#[test]
fn a_value_of_another_type_is_told_what_to_be_and_how_it_is_written() {
    let start = "[[listen]]\naddress = \"127.0.0.1:18080\"\n";
    let told = |text: &str| {
        let found = parse("proxy.toml", &format!("{start}{text}\n")).expect_err("there is a mistake in it");
        (found[0].message.clone(), found[0].remedy.clone())
    };
    let (message, remedy) = told("upstream = \"127.0.0.1:80\"");
    assert!(message.starts_with("is a string, and must be a list") && !message.contains("write"), "{message}");
    assert_eq!(remedy, "write [\"127.0.0.1:80\"]");
    let (message, remedy) = told("upstream = [{ address = \"127.0.0.1:80\", weight = \"3\" }]");
    assert_eq!(message, "is a string, and must be a whole number, at least 1 and at most 256");
    assert_eq!(remedy, "write 3, without quotes");
    let (message, remedy) = told("upstream = [\"127.0.0.1:80\"]\n[log]\nformat = \"xml\"");
    assert_eq!((message.as_str(), remedy.as_str()), ("must be \"text\" or \"json\"", "the default is \"text\""));
}

#[test]
fn a_mistake_in_a_rule_hides_no_missing_upstream() {
    let start = "[[listen]]\naddress = \"127.0.0.1:18080\"\n[[rule]]\nrefuse = 7\n";
    let found = mistakes(start);
    assert!(found.iter().any(|one| one.starts_with("listen[0].upstream: is missing")), "{found:#?}");
    let found = mistakes(&format!("{start}[[rule]]\nupstream = [\"127.0.0.1:80\"]\n"));
    assert!(!found.iter().any(|one| one.contains("is missing")), "{found:#?}");
}

#[test]
fn what_is_no_toml_is_said_with_its_place() {
    let found = parse("proxy.toml", "workers = \n").expect_err("no value");
    assert_eq!(found[0].place.map(|(line, _)| line), Some(1));
}

#[test]
fn nesting_without_end_is_refused_with_a_remedy() {
    let lists = format!("workers = {}1{}\n", "[".repeat(300), "]".repeat(300));
    for text in [lists, format!("{} = 1\n", ["a"; 300].join("."))] {
        let found = parse("proxy.toml", &text).expect_err("it is too deep");
        assert!(found[0].remedy.starts_with("nest tables and lists less deeply"), "{}", found[0]);
    }
}

/// Listeners take connections of their own family only (`IPV6_V6ONLY`). ip(7): a connection to the unspecified address comes to the
/// loopback; RFC 4291 section 2.5.5.2: an IPv4-mapped address is an IPv4 one.
#[test]
fn what_leads_back_is_refused_and_nothing_else() {
    let leads_back = |address: &str, upstream: &str| {
        let text = format!(
            "[[listen]]\naddress = \"{address}\"\nupstream = [\"{upstream}\"]\nclients = [\"0.0.0.0/0\", \"::/0\"]\n"
        );
        parse("proxy.toml", &text).is_err_and(|found| found[0].message.starts_with("leads back"))
    };
    for (address, upstream) in [
        ("127.0.0.1:18080", "0.0.0.0:18080"),
        ("127.0.0.1:18080", "[::ffff:127.0.0.1]:18080"),
        ("0.0.0.0:18080", "[::ffff:127.0.0.1]:18080"),
        ("0.0.0.0:18080", "127.0.0.1:18080"),
        ("[::1]:18080", "[::]:18080"),
        ("[::]:18080", "[::1]:18080"),
    ] {
        assert!(leads_back(address, upstream), "{address} {upstream}");
    }
    for (address, upstream) in [
        ("0.0.0.0:18080", "[::1]:18080"),
        ("[::]:18080", "127.0.0.1:18080"),
        ("127.0.0.1:18080", "127.0.0.1:18081"),
        ("127.0.0.1:18080", "0.0.0.0:18081"),
    ] {
        assert!(!leads_back(address, upstream), "{address} {upstream}");
    }
}

#[test]
fn what_would_be_ignored_is_refused() {
    let forward = "[[listen]]\naddress = \"127.0.0.1:18080\"\nupstream = [\"127.0.0.1:80\"]\n";
    let text = format!("{forward}ports = [\"80\"]\ninterfaces = [\"eth0\"]\n[[rule]]\nnear = {{ mss = 500 }}\n");
    let found = mistakes(&text);
    assert_eq!(
        found,
        [
            "listen[0].ports: is allowed only in modes redirect and transparent",
            "listen[0].interfaces: is allowed only in modes redirect and transparent",
            "rule[0].near.mss: is fixed by the client's handshake, before a rule is chosen",
        ]
    );
    let redirect = "[[listen]]\naddress = \"127.0.0.1:18080\"\nmode = \"redirect\"\nhealth_interval = \"3 s\"\nbalance = \"first\"\n";
    assert!(mistakes(redirect).iter().all(|one| one.ends_with("is allowed only in mode forward")));
    assert_eq!(mistakes(redirect).len(), 2);
    let nowhere = format!("{forward}[metrics]\naddress = \"127.0.0.1:0\"\n");
    assert_eq!(mistakes(&nowhere), ["metrics.address: must have a port"]);
    for metrics in ["127.0.0.1:18080", "0.0.0.0:18080"] {
        let found = mistakes(&format!("{forward}[metrics]\naddress = \"{metrics}\"\npublic = true\n"));
        assert_eq!(found, ["metrics.address: is that of a listener"], "{metrics}");
    }
    for (field, needed) in
        [("proxy_protocol_version = 1", "send_proxy_protocol"), ("connection_burst = 1", "connection_rate")]
    {
        let name = field.split(' ').next().unwrap();
        let found = mistakes(&format!("{forward}{field}\n"));
        assert_eq!(found, [format!("listen[0].{name}: is allowed only with {needed}")]);
    }
    let mapped: kinds::Network = "::ffff:10.0.0.0/104".parse().unwrap();
    assert_eq!(mapped, "10.0.0.0/8".parse().unwrap()); // RFC 4291 section 2.5.5.2
}

/// Rules as an operator of several sites has them: clients that are refused, sites by their names, and a port apart.
const ROUTES: &str = r#"
[[listen]]
name = "web"
address = "127.0.0.1:18443"
upstream = ["192.0.2.1:443", "192.0.2.2:8443"]
[[listen]]
name = "mail"
address = "127.0.0.1:18025"
upstream = ["192.0.2.3:25"]

[[rule]]
from = ["10.66.0.0/16"]
refuse = true
[[rule]]
ports = ["8443"]
far = { dscp = 10 }
[[rule]]
listeners = ["web"]
sni = ["Example.org", "*.example.net"]
upstream = ["192.0.2.4:443"]
far = { dscp = 20 }
"#;

#[test]
fn a_rule_with_servers_routes_by_name_and_only_those_wait_for_theirs_whom_it_may_fit() {
    let config = parse("proxy.toml", ROUTES).unwrap();
    let [web, mail] = &config.listeners[..] else { panic!("two listeners") };
    let flow = |client: &str, sni| Flow { client: address(client), near_rtt: Duration::ZERO, sni };
    let client = |sni| flow("198.51.100.1:999", sni);
    assert!(web.awaits_name(&client(None), None));
    assert!(!mail.awaits_name(&client(None), None), "the rule is not meant for it");
    assert!(!web.awaits_name(&flow("10.66.1.2:999", None), None), "it is refused, whatever its name");
    let names = [
        ("example.org", 3),
        ("a.example.net", 3),
        ("a.b.example.net", 3),
        ("example.net", 0),
        (".example.net", 0),
        ("badexample.net", 0),
        ("www.example.org", 0),
    ];
    for (name, pool) in names {
        assert_eq!(web.pool(&client(Some(name))), pool, "{name}");
    }
    assert_eq!(web.pool(&client(None)), 0);
    assert_eq!(web.pools().iter().map(|pool| pool.len()).collect::<Vec<_>>(), [2, 0, 0, 1]);
    let dscp = |sni, server: &str, pool| web.treatment(&client(sni), address(server), pool).unwrap().far.dscp;
    assert_eq!(dscp(Some("example.org"), "192.0.2.4:443", 3), Some(20));
    assert_eq!([dscp(None, "192.0.2.2:8443", 0), dscp(None, "192.0.2.1:443", 0)], [Some(10), None]);
    assert_eq!(web.treatment(&flow("10.66.1.2:999", None), address("192.0.2.1:443"), 0), None);
}

/// The first rule that fits decides: whether an earlier one does may depend on the server.
#[test]
fn who_is_refused_whatever_the_server_is_known_before_one_is_chosen() {
    let refuses = |rules: &str, server: Option<&str>, sni| {
        let text = format!("[[listen]]\naddress = \"127.0.0.1:18080\"\nupstream = [\"192.0.2.1:80\"]\n{rules}");
        let config = parse("proxy.toml", &text).unwrap();
        let flow = Flow { client: address("198.51.100.1:999"), near_rtt: Duration::ZERO, sni };
        config.listeners[0].refuses(&flow, server.map(address))
    };
    let (all, by_port) = ("[[rule]]\nrefuse = true\n", "[[rule]]\nports = [\"80\"]\n");
    let named = "[[rule]]\nsni = [\"a.test\"]\nupstream = [\"192.0.2.2:80\"]\n";
    assert!(refuses(all, None, None));
    assert!(!refuses(&[by_port, all].concat(), None, None), "port 80 is carried");
    assert!(!refuses(&[by_port, all].concat(), Some("192.0.2.1:80"), None));
    assert!(refuses(&[by_port, all].concat(), Some("192.0.2.1:81"), None));
    assert!(!refuses(&format!("{by_port}refuse = true\n"), None, None), "the server decides");
    assert!(refuses(&format!("{by_port}refuse = true\n{all}"), None, None), "refused by the one or the other");
    assert!(refuses(&[named, all].concat(), None, None));
    assert!(!refuses(&[named, all].concat(), None, Some("a.test")));
    assert!(!refuses("", None, None));
}

/// RFC 8446 section 5.1: a record holds 16 KiB. tcp(7): the kernel keeps half of a receive buffer for its own structures by default.
#[test]
fn where_a_name_is_awaited_the_clients_side_has_room_for_a_hello() {
    let found = |near: &str, rule: &str| {
        let text = format!(
            "[[listen]]\nname = \"web\"\naddress = \"127.0.0.1:18443\"\nupstream = [\"192.0.2.1:443\"]\nnear = {{ {near} }}\n\
             [[rule]]\nrefuse = true\n{rule}\n"
        );
        parse("proxy.toml", &text).err().map_or_else(Vec::new, |_| mistakes(&text))
    };
    let sni = "sni = [\"a.test\"]";
    for (field, small, enough) in
        [("receive_buffer", "32.767 kB", "32.768 kB"), ("window_clamp", "16.383 kB", "16.384 kB")]
    {
        let wrong = found(&format!("{field} = \"{small}\""), sni);
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        assert!(wrong[0].starts_with(&format!("listen[0].near.{field}: must be at least {enough}")), "{wrong:?}");
        assert_eq!(found(&format!("{field} = \"{enough}\""), sni), [""; 0]);
        assert_eq!(found(&format!("{field} = \"{small}\""), ""), [""; 0], "no name is awaited");
    }
}

#[test]
fn with_modes_that_know_the_server_only_its_rules_wait_for_a_name() {
    let text = "[[listen]]\naddress = \"127.0.0.1:18080\"\nmode = \"redirect\"\n[[rule]]\nports = [\"443\"]\n\
                sni = [\"example.org\"]\nrefuse = true\n";
    let config = parse("proxy.toml", text).unwrap();
    let flow = Flow { client: address("198.51.100.1:999"), near_rtt: Duration::ZERO, sni: None };
    let awaits = |server: &str| config.listeners[0].awaits_name(&flow, Some(address(server)));
    assert!(awaits("192.0.2.1:443") && !awaits("192.0.2.1:22"));
}

#[test]
fn routes_that_cannot_be_are_refused() {
    let text = ROUTES
        .replace("name = \"mail\"", "name = \"mail\"\nmode = \"redirect\"")
        .replace("upstream = [\"192.0.2.3:25\"]", "");
    let rule = "[[rule]]\nlisteners = [\"wep\"]\n[[rule]]\nupstream = [\"127.0.0.1:18443\"]\nto = [\"192.0.2.0/24\"]\nrefuse = true\n";
    assert_eq!(
        mistakes(&(text + rule)),
        [
            "rule[3].listeners[0]: is not the name of a listener",
            "rule[4].upstream: is allowed only for listeners in mode forward, which mail is not",
            "rule[4].upstream: is not allowed with refuse",
            "rule[4].upstream: is not allowed with to",
            "rule[4].upstream[0]: leads back to this proxy",
        ]
    );
    let only = "[[listen]]\naddress = \"127.0.0.1:18443\"\n[[rule]]\nsni = [\"é.org\", \"a..b\", \"*\"]\n";
    let mut found = mistakes(only);
    assert_eq!(found.remove(0), "listen[0].upstream: is missing");
    assert_eq!(found.len(), 3, "{found:#?}");
    for (index, found) in found.iter().enumerate() {
        assert!(found.starts_with(&format!("rule[0].sni[{index}]: must be a server name in ASCII")), "{found}");
    }
    let only = "[[listen]]\naddress = \"127.0.0.1:18443\"\n[[rule]]\nsni = [\"a.org\"]\n";
    assert_eq!(mistakes(only), ["listen[0].upstream: is missing"]);
    parse("proxy.toml", &(only.to_owned() + "upstream = [\"192.0.2.1:443\"]\n")).expect("rules may have all servers");
    let first = "[[listen]]\naddress = \"127.0.0.1:18443\"\nbalance = \"first\"\nupstream = [{ address = \"192.0.2.1:443\", weight = 3 }]\n";
    assert_eq!(mistakes(first), ["listen[0].upstream[0].weight: is not allowed with balance = \"first\""]);
    let odd =
        "[[listen]]\naddress = \"127.0.0.1:18443\"\nupstream = [{ weight = 0 }, { address = \"a:1\", wait = 3 }, 7]\n";
    let found = mistakes(odd);
    for wanted in [
        "listen[0].upstream[0].address: is missing",
        "listen[0].upstream[0].weight: must be",
        "listen[0].upstream[1].wait: is not a known field",
        "listen[0].upstream[2]: must be a host",
    ] {
        assert!(found.iter().any(|one| one.starts_with(wanted)), "{wanted} is not among {found:#?}");
    }
}
