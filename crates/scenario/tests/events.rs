//! A run that is watched: it goes as it would otherwise, and what it tells of adds up to what is counted.

use std::path::PathBuf;

use ackclock_events::{DropCause, Event, Observer, Record, RecoveryCause, Source, SourceKind};
use ackclock_scenario::Scenario;
use ackclock_sim::{LinkSummary, Outcome, Simulation, Summary};
use ackclock_units::SimTime;

/// Long enough for losses, timeouts and whole recoveries.
const UNTIL: SimTime = SimTime(6_000_000_000);

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Every example that needs nothing from outside.
fn examples() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = std::fs::read_dir(folder).expect("the examples").map(|entry| entry.expect("a file").path());
    let is_plain = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "toml") && !path.ends_with("own-controller.toml")
    };
    let mut examples: Vec<PathBuf> = files.filter(is_plain).collect();
    examples.sort();
    examples
}

fn load(path: &PathBuf, overrides: &[String]) -> Scenario {
    Scenario::load(path, overrides).unwrap_or_else(|error| panic!("{error}"))
}

fn everything(outcome: &Outcome) -> String {
    let Outcome { summary, flows, links, episodes, completions, appliances, engine, .. } = outcome;
    format!("{summary:?} {flows:?} {links:?} {episodes:?} {completions:?} {appliances:?} {engine:?}")
}

/// What is told of a run up to [`UNTIL`], by whom, and what came of it.
fn watch(scenario: &Scenario) -> (Told, Outcome) {
    let (mut simulation, mut told) = (Simulation::new(scenario.config()), Told::default());
    simulation.run_observed(UNTIL, &mut told);
    (told, simulation.stop())
}

/// Keeps what it is told, and sees to it that time does not go back.
#[derive(Default)]
struct Told {
    sources: Vec<Source>,
    records: Vec<Record>,
}

impl Observer for Told {
    fn begin(&mut self, sources: &[Source]) {
        assert!(self.records.is_empty(), "the sources come first");
        self.sources = sources.to_vec();
    }

    fn on_event(&mut self, record: &Record) {
        assert!(self.records.last().is_none_or(|last| last.time <= record.time), "time goes back to {record:?}");
        self.records.push(*record);
    }
}

impl Told {
    /// The events of the source of this kind and name.
    fn of(&self, kind: SourceKind, name: &str) -> impl Iterator<Item = &Event> {
        let place = self.sources.iter().position(|source| source.kind == kind && source.name == name);
        let place = place.unwrap_or_else(|| panic!("no {kind:?} {name}")) as u32;
        self.records.iter().filter(move |record| record.source.0 == place).map(|record| &record.event)
    }

    fn count(&self, kind: SourceKind, name: &str, is_meant: impl Fn(&Event) -> bool) -> u64 {
        self.of(kind, name).filter(|event| is_meant(event)).count() as u64
    }
}

/// Of the size of the largest that was sent.
fn lost_segments(told: &Told, flow: &str) -> u64 {
    let (mut lost, mut largest) = (0, 1);
    for event in told.of(SourceKind::Flow, flow) {
        match event {
            Event::MarkedLost { lost: octets, .. } => lost += octets.0,
            Event::SegmentSent(sent) => largest = sent.size.0.max(largest),
            _ => {}
        }
    }
    lost.div_ceil(largest)
}

fn check_flows(told: &Told, summary: &Summary, name: &str) {
    for flow in &summary.flows {
        let count = |is_meant: &dyn Fn(&Event) -> bool| told.count(SourceKind::Flow, &flow.name, is_meant);
        let who = format!("{name}, {}", flow.name);
        assert_eq!(count(&|event| matches!(event, Event::SegmentSent(_))), flow.sent_segments, "{who}: sent");
        let again = |event: &Event| matches!(event, Event::SegmentSent(sent) if sent.is_retransmission);
        assert_eq!(count(&again), flow.retransmitted_segments, "{who}: retransmitted");
        assert_eq!(count(&|event| matches!(event, Event::TimedOut { .. })), flow.timeouts, "{who}: timeouts");
        let fast = |event: &Event| matches!(event, Event::RecoveryEntered { cause: RecoveryCause::Loss, .. });
        assert_eq!(count(&fast), flow.fast_recoveries, "{who}: fast recoveries");
        assert_eq!(lost_segments(told, &flow.name), flow.lost_segments, "{who}: lost");
    }
}

fn check_link(told: &Told, link: &LinkSummary, name: &str) {
    let count = |is_meant: &dyn Fn(&Event) -> bool| told.count(SourceKind::Link, &link.name, is_meant);
    let who = format!("{name}, {}", link.name);
    let dropped =
        |event: &Event| matches!(event, Event::PacketDropped { cause: DropCause::Queue | DropCause::Discarder, .. });
    assert_eq!(count(&dropped), link.drops, "{who}: drops");
    let lost = |event: &Event| matches!(event, Event::PacketDropped { cause: DropCause::Loss, .. });
    assert_eq!(count(&lost), link.losses, "{who}: losses");
    assert_eq!(count(&|event| matches!(event, Event::PacketMarked { .. })), link.marks, "{who}: marks");
    let delivered = count(&|event| matches!(event, Event::PacketDelivered { .. }));
    assert_eq!(delivered, link.delivered_packets, "{who}: delivered");
    let sent = count(&|event| matches!(event, Event::PacketSent { .. }));
    assert!(sent + link.duplicates >= delivered + link.losses, "{who}: {sent} sent, {delivered} delivered");
}

#[test]
fn events_add_up_to_what_is_counted_and_change_nothing() {
    for path in examples() {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let mut plain = Simulation::new(load(&path, &[]).config());
        plain.run_until(UNTIL);
        let watched = load(&path, &["trace.events=all".to_owned()]);
        let (told, outcome) = watch(&watched);
        assert_eq!(everything(&outcome), everything(&plain.stop()), "{name}");
        check_flows(&told, &outcome.summary, &name);
        let measure = watched.config().measure;
        if measure.from.is_none() && measure.until.is_none() {
            outcome.summary.links.iter().for_each(|link| check_link(&told, link, &name));
        }
    }
}
