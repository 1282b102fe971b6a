//! The engine's controllers on the connections of a kernel: reports by hand, and what arithmetic makes of them.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use ackclock_agent::policy::policy_file;
use ackclock_cc::{AckEvent, CongestionController, CongestionEvent, Demands, ExternalConfig, SegmentReport};
use ackclock_env::{FIRST_KERNEL_PORT, KERNEL_REPORT_LEN, KernelControllers};
use ackclock_scenario::{Extensions, Scenario};
use ackclock_units::Bytes;

const ACK: u32 = 0;
const TIMER: u32 = 1;
const START: u32 = 2;
const RECOVERY: u32 = 3;
const LOSS: u32 = 4;
const MSS: u32 = 1_000;
/// The kernel's time of the first report, ms.
const BOOT_MS: u64 = 1_000;

/// A report of a connection of the first flow with a round trip of 40 ms.
#[derive(Clone, Copy)]
struct Report {
    kind: u32,
    connection: u32,
    port: u32,
    ms: u64,
    rtt_us: u32,
    inflight: u32,
    acked: u32,
    lost: u32,
    state: u32,
    /// Totals of delivered and lost segments.
    totals: [u32; 2],
    bytes_acked: u64,
    prior_delivered: u32,
}

const REPORT: Report = Report {
    kind: ACK,
    connection: 1,
    port: FIRST_KERNEL_PORT as u32,
    ms: 0,
    rtt_us: 40_000,
    inflight: 9,
    acked: 1,
    lost: 0,
    state: 0,
    totals: [1, 0],
    bytes_acked: 1_000,
    prior_delivered: 0,
};
const FIRST: Report =
    Report { kind: START, inflight: 0, acked: 0, rtt_us: 0, totals: [0, 0], bytes_acked: 0, ..REPORT };

impl Report {
    /// The octets of the C structure, each field at its place.
    fn octets(&self) -> [u8; KERNEL_REPORT_LEN] {
        let mut octets = [0; KERNEL_REPORT_LEN];
        let words = [
            (16, self.connection),
            (20, 40_000),
            (24, 10),
            (32, 40_000),
            (36, 40_000),
            (40, self.rtt_us),
            (44, self.inflight),
            (48, self.acked),
            (52, self.lost),
            (56, self.state),
            (60, self.totals[0] - self.prior_delivered),
            (64, 40_000),
            (68, MSS),
            (80, self.kind),
            (84, self.port),
            (96, MSS * self.inflight),
            (100, self.totals[0]),
            (104, self.totals[1]),
            (108, self.prior_delivered),
            (112, self.inflight + self.acked),
        ];
        for (place, word) in words {
            octets[place..place + 4].copy_from_slice(&word.to_ne_bytes());
        }
        octets[..8].copy_from_slice(&((BOOT_MS + self.ms) * 1_000_000).to_ne_bytes());
        octets[88..96].copy_from_slice(&self.bytes_acked.to_ne_bytes());
        octets[122] = 1; // the window was in use
        octets
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Decision {
    connection: u32,
    cwnd: u32,
    /// Octets a second.
    rate: u64,
    /// Time by the scenario's clock, ms; `None` without a timer.
    wake_ms: Option<u64>,
}

fn asked(controllers: &mut KernelControllers, report: Report) -> Decision {
    let octets = controllers.answer(&report.octets()).expect("a flow of the scenario");
    let word = |place: usize| u32::from_ne_bytes(octets[place..place + 4].try_into().expect("four"));
    let long = |place: usize| u64::from_ne_bytes(octets[place..place + 8].try_into().expect("eight"));
    assert_eq!(word(12), 1, "the kernel leaves losses to the controller");
    let wake_ms = (long(32) > 0).then(|| long(32).div_ceil(1_000_000) - BOOT_MS);
    Decision { connection: word(4), cwnd: word(8), rate: long(16), wake_ms }
}

fn scenario(flows: &[&str], extensions: &Extensions) -> KernelControllers {
    let flows = flows.iter().map(|flow| format!("[[flow]]\ncontroller = {flow}\n")).collect::<Vec<_>>().concat();
    let text = format!(
        "duration = \"10 s\"\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
         bottleneck = {{ rate = \"10 Mbit/s\", delay = \"19 ms\" }}\n{flows}"
    );
    let read = Scenario::parse_with(&text, "test.toml", &[], extensions);
    KernelControllers::new(&read.unwrap_or_else(|error| panic!("{error}")))
}

/// RFC 5681: a segment more with each ACK in slow start; FlightSize / 2 after a loss; the loss window after a timeout.
#[test]
fn reno_does_what_its_rfc_says() {
    let mut controllers = scenario(&["\"newreno\""], &Extensions::default());
    assert_eq!(
        asked(&mut controllers, FIRST),
        Decision { connection: 1, cwnd: 10, rate: 0, wake_ms: None },
        "the kernel's own initial window"
    );
    assert_eq!(asked(&mut controllers, Report { ms: 40, ..REPORT }).cwnd, 11);
    // Ten segments were outstanding when the ACK came: one of them is delivered, one lost.
    let loss = Report { ms: 80, inflight: 8, lost: 1, state: RECOVERY, totals: [2, 1], bytes_acked: 2_000, ..REPORT };
    assert_eq!(asked(&mut controllers, loss).cwnd, 5);
    let timeout = Report { kind: TIMER, ms: 400, inflight: 0, acked: 0, rtt_us: 0, state: LOSS, ..loss };
    assert_eq!(asked(&mut controllers, timeout).cwnd, 1);
}

#[test]
fn each_connection_has_a_controller_of_its_own() {
    let mut controllers =
        scenario(&["\"newreno\"", r#"{ kind = "fixed", window = "7 segments" }"#], &Extensions::default());
    let second = Report { connection: 2, port: u32::from(FIRST_KERNEL_PORT) + 1, ..FIRST };
    assert_eq!(asked(&mut controllers, FIRST).cwnd, 10);
    assert_eq!(asked(&mut controllers, second).cwnd, 7);
    let third = Report { connection: 3, ..FIRST };
    let later = |count: u32| Report { bytes_acked: u64::from(MSS * count), totals: [count, 0], ..REPORT };
    assert_eq!([1, 2, 3].map(|count| asked(&mut controllers, later(count)).cwnd), [11, 12, 13]);
    assert_eq!(asked(&mut controllers, third).cwnd, 10);
    let error = controllers.answer(&Report { connection: 4, port: 80, ..FIRST }.octets()).expect_err("no flow");
    assert!(error.to_string().contains("port 40000 to 80"), "{error}");
}

/// A policy that always takes the last choice, ten segments more, each 20 ms from its first ACK on. Its slow start adds one with that ACK.
#[test]
fn a_policy_with_a_clock_decides_without_acks() {
    let agent = r#"{"observations": ["cwnd_segments"], "decide": "20 ms", "action": "deltas", "slow_start": "agent"}"#;
    let biases = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
    let path = std::env::temp_dir().join(format!("ackclock-kernel-policy-{}.onnx", std::process::id()));
    std::fs::write(&path, policy_file(agent, None, [(&[0.0; 7][..], &biases[..])].into_iter())).expect("written");
    let policy = format!("{{ kind = \"policy\", file = '{}', controller = \"newreno\" }}", path.display());
    let mut controllers = scenario(&[&policy], &Extensions::default());
    std::fs::remove_file(path).expect("it was written");
    assert_eq!(asked(&mut controllers, FIRST), Decision { connection: 1, cwnd: 10, rate: 0, wake_ms: None });
    let first = asked(&mut controllers, Report { ms: 40, ..REPORT });
    assert_eq!((first.cwnd, first.wake_ms), (21, Some(60)));
    let early = asked(&mut controllers, Report { ms: 50, totals: [2, 0], bytes_acked: 2_000, ..REPORT });
    assert_eq!((early.cwnd, early.wake_ms), (21, Some(60)), "no decision is due");
    // The kernel's timer is a tick late.
    let timer = Report { kind: TIMER, ms: 61, acked: 0, rtt_us: 0, totals: [2, 0], bytes_acked: 2_000, ..REPORT };
    let second = asked(&mut controllers, timer);
    assert_eq!((second.cwnd, second.wake_ms), (31, Some(81)));
}

/// A controller that keeps what it is told.
#[derive(Clone, Debug)]
struct Recorder(Arc<Mutex<Vec<String>>>);

impl Recorder {
    fn note(&self, what: &impl Debug) {
        self.0.lock().expect("no test panics with it").push(format!("{what:?}"));
    }
}

impl CongestionController for Recorder {
    fn on_ack(&mut self, ack: &AckEvent) {
        let sample = ack.delivery.and_then(|delivery| delivery.sample).expect("it asks for samples");
        let rate = sample.rate().expect("an interval").0;
        self.note(&("ack", ack.newly_acked.0, ack.newly_lost.0, ack.lost_before.0, ack.snd_una, ack.snd_nxt, rate));
    }
    fn on_delivered(&mut self, segment: &SegmentReport) {
        let SegmentReport { now, sent_at, start, delivered, prior_delivered, .. } = *segment;
        self.note(&("delivered", start, (now - sent_at).0 / 1_000_000, delivered.0, prior_delivered.0));
    }
    fn on_lost(&mut self, segment: &SegmentReport) {
        self.note(&("lost", segment.start));
    }
    fn on_congestion(&mut self, _event: &CongestionEvent) {}
    fn cwnd(&self) -> Bytes {
        Bytes(10_000)
    }
    fn demands(&self) -> Demands {
        Demands { samples: true, ..Demands::default() }
    }
}

/// An ACK of two segments with 3,000 octets acknowledged then, two lost: one by a timer before it, one by the ACK. Of 3 segments of 1,000
/// octets in 40 ms the rate is 600 kbit/s.
#[test]
fn a_report_becomes_the_fates_of_segments_and_a_sample() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&told);
    let extensions = Extensions::new(move |_| {
        Ok(ExternalConfig::new("recorder", {
            let kept = Arc::clone(&kept);
            move |_| Recorder(Arc::clone(&kept))
        }))
    });
    let mut controllers = scenario(&[r#"{ kind = "external", name = "recorder" }"#], &extensions);
    asked(&mut controllers, FIRST);
    let ack = Report { ms: 80, acked: 2, lost: 1, totals: [3, 2], bytes_acked: 3_000, inflight: 5, ..REPORT };
    asked(&mut controllers, ack);
    // A window update delivers nothing.
    asked(&mut controllers, Report { ms: 81, acked: 0, lost: 0, rtt_us: 0, ..ack });
    let expected = [
        r#"("delivered", 1000, 40, 2000, 0)"#,
        r#"("delivered", 2000, 40, 3000, 0)"#,
        r#"("lost", 3000)"#,
        r#"("lost", 4000)"#,
        r#"("ack", 2000, 2000, 1000, 3000, 8000, 600000)"#,
    ];
    assert_eq!(*told.lock().expect("no test panics with it"), expected);
}
