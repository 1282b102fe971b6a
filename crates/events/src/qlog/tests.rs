//! Expected texts are written down from the drafts' definitions and the records of `sample.rs`.

use std::collections::BTreeSet;

use ackclock_units::{Bytes, SimDuration};
use serde_json::Value;

use super::*;
use crate::event::{ControllerState, DropCause, LossDetection, ProbeKind, SlowStartExit};
use crate::sample;

const VOCABULARY: &str = include_str!("../../../../docs/reference/qlog.md");

/// The log of each source, by number.
fn logs(records: &[Record]) -> Vec<String> {
    let mut logs = vec![Vec::new(); sample::sources().len()];
    for (number, log) in (0..).zip(&mut logs) {
        let mut writer = QlogWriter::new(SourceId(number), log);
        writer.begin(&sample::sources());
        for record in records {
            writer.on_event(record);
        }
        writer.finish().unwrap();
    }
    logs.into_iter().map(|log| String::from_utf8(log).unwrap()).collect()
}

/// The texts of a log without what RFC 7464 puts around them.
fn texts(log: &str) -> Vec<&str> {
    let texts: Vec<&str> = log.split('\x1e').skip(1).collect();
    assert!(log.starts_with('\x1e') && texts.iter().all(|text| text.ends_with('\n')));
    texts.into_iter().map(str::trim_end).collect()
}

fn written(event: Event) -> Vec<String> {
    let record = Record { time: SimTime(1_500_000), source: SourceId(0), event };
    let log = logs(&[record]).remove(0);
    texts(&log).into_iter().skip(1).map(str::to_owned).collect()
}

#[test]
fn a_log_begins_with_what_the_main_schema_asks() {
    let log = logs(&sample::records()).remove(0);
    let header = concat!(
        r#"{"file_schema":"urn:ietf:params:qlog:file:sequential","#,
        r#""serialization_format":"application/qlog+json-seq","title":"flow a (cubic)","#,
        r#""trace":{"vantage_point":{"name":"a","type":"client"},"#,
        r#""common_fields":{"group_id":"a","time_format":"relative_to_epoch","#,
        r#""reference_time":{"clock_type":"monotonic","epoch":"unknown"}},"#,
        r#""event_schemas":["urn:ackclock:qlog:events:ackclock-tcp"]}}"#,
    );
    assert_eq!(texts(&log)[0], header);
}

#[test]
fn what_lies_between_ends_is_a_network() {
    let log = logs(&sample::records()).remove(1);
    let header: Value = serde_json::from_str(texts(&log)[0]).unwrap();
    let point = serde_json::json!({ "name": "bottleneck", "type": "network", "flow": "unknown" });
    assert_eq!(header["trace"]["vantage_point"], point);
}

#[test]
fn each_source_has_a_log_of_its_own_events() {
    let counts: Vec<_> = logs(&sample::records()).iter().map(|log| texts(log).len()).collect();
    // A header each; 13 events of the flow, of which 6 change metrics (two segments in flight, two ACKs, the first reduction, the
    // timeout's RTO); 4 of the link; 2 of the appliance.
    assert_eq!(counts, [1 + 13 + 6, 1 + 4, 1 + 2]);
}

#[test]
fn a_source_without_events_has_no_log() {
    let records: Vec<Record> = sample::records().into_iter().filter(|record| record.source == SourceId(1)).collect();
    let mut opened = Vec::new();
    write_qlog(&sample::sources(), &records, |source| {
        opened.push(source.name.clone());
        Ok(Vec::new())
    })
    .unwrap();
    assert_eq!(opened, ["bottleneck"]);
}

#[test]
fn an_ack_is_followed_by_the_metrics_that_it_changed() {
    let ack =
        r#"{"time":1.500000,"name":"ackclock-tcp:ack_received","data":{"acknowledged":1449,"newly_delivered":1448}}"#;
    let metrics = concat!(
        r#"{"time":1.500000,"name":"ackclock-tcp:recovery_metrics_updated","data":{"smoothed_rtt":40.000001,"#,
        r#""latest_rtt":40.000001,"rtt_variance":20.0,"rto":240.0,"congestion_window":15928,"bytes_in_flight":14480}}"#,
    );
    assert_eq!(written(Event::AckArrived(sample::ACK)), [ack, metrics]);
}

#[test]
fn metrics_are_told_when_they_change_and_null_when_they_are_gone() {
    let limited = AckArrived { ssthresh: Some(Bytes(11_149)), ..sample::ACK };
    let mut metrics = Metrics::default();
    let mut update =
        |ack: &AckArrived| metrics.update(&Reading::of_ack(ack)).map(|changes| serde_json::to_value(&changes).unwrap());
    assert!(update(&sample::ACK).unwrap().get("ssthresh").is_none());
    assert_eq!(update(&sample::ACK), None);
    assert_eq!(update(&limited), Some(serde_json::json!({ "ssthresh": 11_149 })));
    assert_eq!(update(&sample::ACK), Some(serde_json::json!({ "ssthresh": null })));
}

#[test]
fn time_is_exact_beyond_what_a_float_holds() {
    // 2^53 + 1 ns, a hundred days, is no 64-bit float.
    let record = Record {
        time: SimTime((1 << 53) + 1),
        source: SourceId(0),
        event: Event::ProbeSent { kind: ProbeKind::ZeroWindow },
    };
    let log = logs(&[record]).remove(0);
    let expected = r#"{"time":9007199254.740993,"name":"ackclock-tcp:probe_sent","data":{"trigger":"zero_window"}}"#;
    assert_eq!(texts(&log)[1], expected);
}

#[test]
fn events_of_a_sender_have_the_fields_of_the_vocabulary() {
    let data = |event| {
        let text: Value = serde_json::from_str(&written(event)[0]).unwrap();
        format!("{} {}", text["name"].as_str().unwrap().trim_start_matches("ackclock-tcp:"), text["data"])
    };
    let lost = Event::MarkedLost { lost: Bytes(2_896), by: LossDetection::Time };
    assert_eq!(data(lost), r#"packets_lost {"length":2896,"trigger":"time_threshold"}"#);
    let timed_out = Event::TimedOut { in_a_row: 2, rto: SimDuration::from_millis(480) };
    let expected = r#"loss_timer_updated {"timer_type":"rto","event_type":"expired","expiries":2,"rto":480.0}"#;
    assert_eq!(data(timed_out), expected);
    assert_eq!(data(Event::Undone { cwnd: Bytes(10) }), r#"recovery_undone {"congestion_window":10}"#);
    let state = Event::ControllerState(ControllerState { from: "startup", to: "drain" });
    assert_eq!(data(state), r#"congestion_state_updated {"old":"startup","new":"drain"}"#);
    let exit = Event::SlowStartExited { cause: SlowStartExit::AckTrain, cwnd: Bytes(10) };
    assert_eq!(data(exit), r#"slow_start_exited {"congestion_window":10,"trigger":"ack_train"}"#);
    let released = Event::RelayReleased { buffered: Bytes(7), held: SimDuration::from_micros(1_500) };
    assert_eq!(data(released), r#"relay_released {"buffered":7,"held":1.5}"#);
}

#[test]
fn a_recovery_goes_from_state_to_state() {
    let log = logs(&sample::records()).remove(0);
    let states: Vec<&str> = texts(&log).into_iter().filter(|text| text.contains("recovery_state_updated")).collect();
    let name = r#""name":"ackclock-tcp:recovery_state_updated","data""#;
    let entered = r#""until":14481,"old_congestion_window":15928,"congestion_window":11149"#;
    let expected = [
        format!(r#"{{"time":8.000001,{name}:{{"old":"open","new":"fast_recovery",{entered}}}}}"#),
        format!(r#"{{"time":14.000001,{name}:{{"old":"fast_recovery","new":"timeout_recovery",{entered}}}}}"#),
        format!(r#"{{"time":17.000001,{name}:{{"old":"timeout_recovery","new":"open","congestion_window":15928}}}}"#),
    ];
    assert_eq!(states, expected);
}

#[test]
fn a_packet_has_its_header_and_why_it_was_dropped() {
    let packet = sample::PACKET;
    let dropped = Event::PacketDropped { packet, cause: DropCause::Discarder };
    let expected = concat!(
        r#"{"time":1.500000,"name":"ackclock-tcp:packet_dropped","data":{"flow":0,"direction":"forward","#,
        r#""header":{"sequence_number":1449,"acknowledgment_number":1,"flags":["PSH","ACK"]},"ecn":"ECT(0)","#,
        r#""raw":{"length":1500,"payload_length":1448},"trigger":"discarder"}}"#,
    );
    assert_eq!(written(dropped), [expected]);
    let sent = written(Event::PacketSent { packet, waited: SimDuration(1_500) });
    assert!(sent[0].ends_with(r#""payload_length":1448},"queueing_delay":0.0015}}"#), "{}", sent[0]);
}

#[test]
fn the_reference_has_every_event_and_every_field() {
    let mut words = BTreeSet::new();
    for log in logs(&sample::records()) {
        for text in texts(&log).into_iter().skip(1) {
            let text: Value = serde_json::from_str(text).unwrap();
            words.insert(text["name"].as_str().unwrap().trim_start_matches("ackclock-tcp:").to_owned());
            words.extend(text["data"].as_object().unwrap().keys().cloned());
        }
    }
    let missing: Vec<_> = words.iter().filter(|word| !VOCABULARY.contains(&format!("`{word}`"))).collect();
    assert!(missing.is_empty(), "docs/reference/qlog.md has no {missing:?}; describe them there");
}

#[test]
fn an_error_of_the_destination_is_told_at_the_end() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is full"))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let error = write_qlog(&sample::sources(), &sample::records(), |_| Ok(Full)).unwrap_err();
    assert_eq!(error.to_string(), "the disk is full");
}
