//! Controllers that a scenario's reader provides.

use std::sync::{Arc, Mutex};

use ackclock_cc::{AckEvent, CongestionController, CongestionEvent, ControllerConfig, Demands, ExternalConfig};
use ackclock_scenario::{BlamedField, Diagnostic, Extensions, Origin, Refusal, Scenario};
use ackclock_sim::Simulation;
use ackclock_units::Bytes;

/// A controller with a fixed window.
#[derive(Clone, Debug)]
struct Steady {
    cwnd: Bytes,
}

impl CongestionController for Steady {
    fn on_ack(&mut self, _ack: &AckEvent) {}
    fn on_congestion(&mut self, _event: &CongestionEvent) {}
    fn cwnd(&self) -> Bytes {
        self.cwnd
    }
}

/// Extensions that know "steady" and Python's "mine:Steady", with a parameter `segments`.
fn extensions() -> Extensions {
    let refuse = |field, message: &str, remedy: &str| {
        Err(Refusal { field, message: message.to_owned(), remedy: remedy.to_owned() })
    };
    Extensions::new(move |request| {
        let known = match request.origin {
            Origin::Program => "steady",
            Origin::Python => "mine:Steady",
        };
        if request.name != known {
            return refuse(BlamedField::Name, "is not a controller of this test", "use \"steady\"");
        }
        let Some(segments) = request.parameters.get("segments").and_then(serde_json::Value::as_u64) else {
            return refuse(BlamedField::Parameters, "lack segments", "add segments = 10");
        };
        Ok(ExternalConfig::new(known, move |start| Steady { cwnd: Bytes(segments * start.mss.0) }))
    })
}

fn dumbbell(controller: &str) -> String {
    format!(
        "duration = \"10 s\"\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
         bottleneck = {{ rate = \"10 Mbit/s\", delay = \"8 ms\" }}\n[[flow]]\ncontroller = {controller}\n"
    )
}

fn read(controller: &str, overrides: &[&str]) -> Result<Scenario, Vec<Diagnostic>> {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    Scenario::parse_with(&dumbbell(controller), "test.toml", &overrides, &extensions())
        .map_err(|error| error.diagnostics)
}

fn mistake(controller: &str) -> Diagnostic {
    let [mistake] = &read(controller, &[]).expect_err("a mistake")[..] else { panic!("one mistake") };
    mistake.clone()
}

#[test]
fn a_controller_of_the_program_is_found_by_its_name() {
    let scenario =
        read(r#"{ kind = "external", name = "steady", parameters = { segments = 7 } }"#, &[]).expect("valid");
    let flow = &scenario.config().flows[0];
    assert!(matches!(&flow.controller, ControllerConfig::External(config) if config.name() == "steady"));
    assert_eq!(flow.controller_name, "steady");
}

#[test]
fn the_short_form_is_a_table_whose_parameters_an_override_reaches() {
    let short = read("\"python:mine:Steady\"", &["flow[0].controller.parameters.segments=7"]).expect("valid");
    let long = r#"{ kind = "python", class = "mine:Steady", parameters = { segments = 7 } }"#;
    assert_eq!(short.to_json(), read(long, &[]).expect("valid").to_json());
    assert_eq!(short.config().flows[0].controller_name, "python:mine:Steady");
    let overridden = read("\"cubic\"", &["flow[0].controller=python:mine:Steady"]).expect_err("no segments");
    assert_eq!(overridden[0].field, "flow[0].controller.parameters");
}

#[test]
fn what_was_read_once_is_read_again_from_its_json_and_under_another_seed() {
    let long = r#"{ kind = "external", name = "steady", parameters = { segments = 7, deep = { list = [1, "two"] } } }"#;
    let scenario = read(long, &[]).expect("valid");
    let again = Scenario::from_json_with(&scenario.to_json(), &[], &extensions()).expect("valid");
    assert_eq!(again.to_json(), scenario.to_json());
    assert!(matches!(
        scenario.with_seed(5).expect("a scenario").config().flows[0].controller,
        ControllerConfig::External(_)
    ));
}

#[test]
fn a_refusal_is_blamed_on_its_place() {
    let unknown = mistake(r#"{ kind = "external", name = "gentle" }"#);
    assert_eq!((unknown.line, unknown.field.as_str()), (Some(7), "flow[0].controller.name"));
    assert_eq!(unknown.value.as_deref(), Some("\"gentle\""));
    assert_eq!(unknown.remedy, "use \"steady\"");
    let short = mistake("\"python:other:Steady\"");
    assert_eq!((short.line, short.field.as_str()), (Some(7), "flow[0].controller.class"));
    assert_eq!(mistake(r#"{ kind = "external" }"#).field, "flow[0].controller.name");
    assert_eq!(mistake("\"python\"").field, "flow[0].controller.class");
}

#[test]
fn without_extensions_every_request_is_a_mistake() {
    let text = dumbbell(r#"{ kind = "external", name = "steady", parameters = { segments = 7 } }"#);
    let error = Scenario::parse(&text, "test.toml", &[]).expect_err("nobody brings it");
    assert!(error.to_string().contains("this program does not provide"), "{error}");
}

/// A controller that holds 20 segments and keeps the events of ACKs.
#[derive(Clone, Debug)]
struct Recorder {
    cwnd: Bytes,
    acks: Arc<Mutex<Vec<AckEvent>>>,
}

impl CongestionController for Recorder {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.acks.lock().expect("no thread has failed").push(*ack);
    }
    fn on_congestion(&mut self, _event: &CongestionEvent) {}
    fn cwnd(&self) -> Bytes {
        self.cwnd
    }
    fn ssthresh(&self) -> Option<Bytes> {
        Some(self.cwnd)
    }
}

/// The ACK that ends a recovery is a part of it, whatever the stack permits: `growth_at_recovery_end` is on in Linux's
/// profile and off in that of the RFCs (docs/dev/tcp-switches.md).
#[test]
fn an_ack_tells_facts_and_what_the_stack_permits_apart() {
    for (profile, permitted) in [("linux-6.x", true), ("rfc", false)] {
        let acks: Arc<Mutex<Vec<AckEvent>>> = Arc::default();
        let kept = Arc::clone(&acks);
        let extensions = Extensions::new(move |_| {
            let acks = Arc::clone(&kept);
            Ok(ExternalConfig::new("recorder", move |start| Recorder {
                cwnd: Bytes(20 * start.mss.0),
                acks: Arc::clone(&acks),
            }))
        });
        let text = dumbbell(r#"{ kind = "external", name = "recorder" }"#);
        let overrides = [
            format!("tcp.profile=\"{profile}\""),
            "topology.bottleneck.discard=[{ kind = \"range\", first = 200, last = 200, of = \"data\" }]".to_owned(),
        ];
        let scenario = Scenario::parse_with(&text, "test.toml", &overrides, &extensions).expect("valid");
        let recoveries = Simulation::new(scenario.config()).finish().summary.flows[0].fast_recoveries;
        let acks = acks.lock().expect("no thread has failed");
        let in_recovery: Vec<_> = acks.iter().filter(|ack| ack.in_recovery).collect();
        assert!(recoveries > 0 && in_recovery.len() as u64 > recoveries);
        let due = in_recovery.iter().filter(|ack| ack.growth.is_due).count() as u64;
        assert_eq!(due, if permitted { recoveries } else { 0 }, "{profile}");
        assert!(in_recovery.last().is_some_and(|ack| ack.is_cumulative));
    }
}

/// A controller that counts the reported losses, with a constant window.
#[derive(Clone, Debug)]
struct Counting {
    cwnd: Bytes,
    told: Arc<Mutex<Bytes>>,
}

impl CongestionController for Counting {
    fn on_ack(&mut self, ack: &AckEvent) {
        *self.told.lock().expect("no test panics with it") += ack.newly_lost;
    }
    fn on_congestion(&mut self, event: &CongestionEvent) {
        if event.is_timeout() {
            *self.told.lock().expect("no test panics with it") += event.newly_lost;
        }
    }
    fn cwnd(&self) -> Bytes {
        self.cwnd
    }
}

#[test]
fn every_loss_is_told_whoever_found_it() {
    // In a window of four segments three later ones do not always arrive: losses are found by ACKs, and by the timers of RFC 8985
    // section 6.2 and RFC 9002 section 6.1.2. What is told adds up to what the sender has counted.
    for (protocol, octets) in [("{ kind = \"tcp\" }", 1_448), ("{ kind = \"quic\" }", 1_472)] {
        let told = Arc::new(Mutex::new(Bytes(0)));
        let kept = Arc::clone(&told);
        let extensions = Extensions::new(move |_| {
            let kept = Arc::clone(&kept);
            Ok(ExternalConfig::new("counting", move |start| Counting {
                cwnd: Bytes(4 * start.mss.0),
                told: Arc::clone(&kept),
            }))
        });
        let text = dumbbell("{ kind = \"external\", name = \"counting\" }")
            .replace("delay = \"8 ms\"", "delay = \"8 ms\", loss = { kind = \"random\", p = 0.02 }")
            + &format!("protocol = {protocol}\napp = {{ kind = \"files\", sizes = [\"1 MB\"], gap = \"1 s\" }}\n");
        let scenario = Scenario::parse_with(&text, "test.toml", &[], &extensions).expect("valid");
        let flow = &Simulation::new(scenario.config()).finish().summary.flows[0];
        let told = told.lock().expect("no test panics with it").0;
        assert_eq!(told.div_ceil(octets), flow.lost_segments, "{protocol}: {told} octets");
    }
}

/// A controller of twenty segments, which it sends at once or not.
#[derive(Clone, Debug)]
struct Twenty {
    cwnd: Bytes,
    at_once: bool,
}

impl CongestionController for Twenty {
    fn on_ack(&mut self, _ack: &AckEvent) {}
    fn on_congestion(&mut self, _event: &CongestionEvent) {}
    fn cwnd(&self) -> Bytes {
        self.cwnd
    }
    fn demands(&self) -> Demands {
        Demands { at_once: self.at_once, ..Demands::default() }
    }
}

#[test]
fn what_is_to_leave_at_once_is_not_paced_over_quic() {
    let waits_ms = |at_once| {
        let extensions = Extensions::new(move |_| {
            Ok(ExternalConfig::new("twenty", move |start| Twenty { cwnd: Bytes(20 * start.mss.0), at_once }))
        });
        // The path holds 15 of 20 packets. Files of 20 packets, each of which finds it empty.
        let text = dumbbell("{ kind = \"external\", name = \"twenty\" }")
            + "protocol = { kind = \"quic\" }\napp = { kind = \"files\", \
               sizes = [\"25 kB\", \"25 kB\", \"25 kB\", \"25 kB\", \"25 kB\"], gap = \"100 ms\" }\n";
        let scenario = Scenario::parse_with(&text, "test.toml", &[], &extensions).expect("valid");
        let links = Simulation::new(scenario.config()).finish().summary.links;
        links.iter().map(|link| link.queueing_delay_ms.max).fold(0.0, f64::max)
    };
    // 17 packets of 1.2 ms arrive at once: the last waits for 16 of them, 19 ms. Paced, ten leave at once all the same, and the others by
    // 1.25 windows of 20 in 18 ms, one in 0.9 ms: 9 x 1.2 + 7 (1.2 - 0.9) = 13 ms.
    assert!(waits_ms(true) > 17.0, "{}", waits_ms(true));
    assert!(waits_ms(false) < 15.0, "{}", waits_ms(false));
}
