//! Trace of the records of `sample.rs`, and one packet octet by octet; `tests/perfetto_python.rs` has the published
//! messages read it.

use ackclock_units::Bytes;
use prost::Message;

use super::proto::{CounterDescriptor, EventType, TracePacket, TrackDescriptor, TrackEvent, Value};
use super::*;
use crate::sample;
use crate::source::SourceId;

/// `Trace`: the file as a whole.
#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

fn trace(records: &[Record]) -> Vec<TracePacket> {
    let file = write_perfetto(&sample::sources(), records, Vec::new()).unwrap();
    Trace::decode(file.as_slice()).unwrap().packet
}

fn tracks(packets: &[TracePacket]) -> Vec<&TrackDescriptor> {
    packets.iter().filter_map(|packet| packet.track_descriptor.as_ref()).collect()
}

fn events(packets: &[TracePacket]) -> impl Iterator<Item = (u64, &TrackEvent)> {
    packets.iter().filter_map(|packet| Some((packet.timestamp?, packet.track_event.as_ref()?)))
}

/// The name of an event, from what was interned up to then.
fn name_of(packets: &[TracePacket], event: &TrackEvent) -> Option<String> {
    let names = packets.iter().filter_map(|packet| packet.interned_data.as_ref()).flat_map(|data| &data.event_names);
    names.filter(|name| name.iid == event.name_iid).find_map(|name| name.name.clone())
}

/// Slices and instants on a track: when in whole milliseconds, `+`, `-` or `.`, and the name.
fn line(packets: &[TracePacket], track: u64) -> Vec<String> {
    let marks = [(EventType::SliceBegin, '+'), (EventType::SliceEnd, '-'), (EventType::Instant, '.')];
    let mark =
        |event: &TrackEvent| marks.iter().find(|(kind, _)| event.r#type == Some(*kind as i32)).map(|(_, mark)| *mark);
    events(packets)
        .filter(|(_, event)| event.track_uuid == Some(track))
        .filter_map(|(time, event)| {
            Some(format!("{} {}{}", time / 1_000_000, mark(event)?, name_of(packets, event).unwrap_or_default()))
        })
        .collect()
}

#[test]
fn a_packet_is_laid_out_as_protobuf_says() {
    let left = Record { time: SimTime(300), source: SourceId(0), event: Event::RecoveryLeft { cwnd: Bytes(5) } };
    let file = write_perfetto(&sample::sources()[..1], &[left], Vec::new()).unwrap();
    #[rustfmt::skip]
    let begin = [
        0x0a, 20,
        0x32, 8,  0x0a, 4, 0x08, 6, 0x10, 0,  0x10, 6,  // 6: the clock 6 shows 0, and is the trace's
        0x50, 1,                                        // 10: sequence 1
        0x68, 1,                                        // 13: nothing is interned yet
        0xda, 3, 3, 0xd0, 3, 6,                         // 59: 58: timestamps are of clock 6
    ];
    assert_eq!(file[..begin.len()], begin);
    #[rustfmt::skip]
    let counter = [
        0x0a, 16,
        0x40, 0xac, 2,                                  // 8: 300 = 2 * 128 + 44
        0x50, 1,                                        // 10: sequence 1
        0x5a, 7,  0x48, 4, 0x58, 3, 0xf0, 1, 5,         // 11: 9: a counter, 11: track 3, 30: 5
        0x68, 2,                                        // 13: needs what is interned
    ];
    assert_eq!(file[file.len() - counter.len()..], counter);
}

#[test]
fn a_source_is_a_track_and_its_values_are_below() {
    let packets = trace(&sample::records());
    let described: Vec<_> = tracks(&packets)
        .into_iter()
        .map(|track| (track.uuid.unwrap(), track.name.as_deref().unwrap(), track.parent_uuid))
        .collect();
    // Sixteen numbers a source, from 1 on; the source's own, its controller's, its counters'.
    let expected = [
        (1, "flow a (cubic)", None),
        (17, "link bottleneck", None),
        (33, "appliance box/a/forward (reno)", None),
        (5, "flight_size", Some(1)),
        (24, "queue wait", Some(17)),
        (3, "cwnd", Some(1)),
        (6, "srtt", Some(1)),
        (4, "ssthresh", Some(1)),
        (2, "controller", Some(1)),
        (7, "pacing_rate", Some(1)),
        (41, "buffered", Some(33)),
    ];
    assert_eq!(described, expected);
}

#[test]
fn counters_have_units_and_values_that_change() {
    let packets = trace(&sample::records());
    let unit =
        |uuid| tracks(&packets).into_iter().find(|track| track.uuid == Some(uuid)).unwrap().counter.clone().unwrap();
    let counter = |unit, name: Option<&str>| CounterDescriptor { unit: Some(unit), unit_name: name.map(str::to_owned) };
    // CounterDescriptor.Unit: 1 is nanoseconds, 3 is bytes.
    assert_eq!((unit(3), unit(6), unit(7)), (counter(3, None), counter(1, None), counter(0, Some("bit/s"))));
    let values = |track| -> Vec<(u64, i64)> {
        let of_track = events(&packets).filter(|(_, event)| event.track_uuid == Some(track));
        of_track.map(|(time, event)| (time, event.counter_value.unwrap())).collect()
    };
    // cwnd: the first ACK, the reduction, the second ACK, the undo does not differ from it.
    assert_eq!(values(3), [(6_000_001, 15_928), (8_000_001, 11_149), (15_000_001, 15_928)]);
    assert_eq!(values(4), [(8_000_001, 11_149)]); // no threshold at first
    assert_eq!(values(24), [(2_000_001, 1_500)]);
    assert_eq!(values(7), [(15_000_001, 2_400_000)]);
}

#[test]
fn recoveries_are_slices_one_within_the_other() {
    let packets = trace(&sample::records());
    let expected = [
        "7 .loss",
        "8 +fast_recovery",
        "9 .slow start exit",
        "11 .retransmission",
        "12 .probe",
        "13 .timeout",
        "14 +timeout_recovery",
        "16 .undo",
        "17 -",
        "17 -",
    ];
    assert_eq!(line(&packets, 1), expected);
    assert_eq!(line(&packets, 17), ["3 .drop", "4 .mark"]);
    assert_eq!(line(&packets, 33), ["18 .held", "19 .released"]);
}

#[test]
fn a_controller_is_in_its_first_state_from_the_first_event_on() {
    let packets = trace(&sample::records());
    assert_eq!(line(&packets, 2), ["1 +slow_start", "10 -", "10 +congestion_avoidance"]);
}

#[test]
fn a_second_timeout_takes_the_place_of_the_first() {
    let entered = |time: u64, cause| {
        let event = Event::RecoveryEntered { cause, until: 9, cwnd_before: Bytes(8), cwnd: Bytes(1), ssthresh: None };
        Record { time: SimTime(time * 1_000_000), source: SourceId(0), event }
    };
    let packets = trace(&[1, 2, 3].map(|time| entered(time, RecoveryCause::Timeout)));
    let slice = ["1 +timeout_recovery", "2 -", "2 +timeout_recovery", "3 -", "3 +timeout_recovery"];
    assert_eq!(line(&packets, 1), slice);
}

#[test]
fn names_are_interned_once_and_values_shown() {
    let dropped = sample::records()[2];
    let packets = trace(&[dropped, dropped]);
    let interned: Vec<_> = packets.iter().map(|packet| packet.interned_data.clone()).collect();
    assert_eq!(interned.iter().flatten().count(), 1);
    let names: Vec<_> =
        interned[4].iter().flat_map(|data| &data.debug_annotation_names).flat_map(|name| &name.name).collect();
    assert_eq!(names, ["cause", "flow", "sequence", "size_bytes"]);
    let (_, last) = events(&packets).last().unwrap();
    let values: Vec<_> = last.debug_annotations.iter().map(|shown| (shown.name_iid, shown.value.clone())).collect();
    let expected = [Value::Text("queue".to_owned()), Value::Number(0), Value::Number(1_449), Value::Number(1_500)];
    let expected: Vec<_> = (1..).zip(expected).map(|(number, value)| (Some(number), Some(value))).collect();
    assert_eq!(values, expected);
}
