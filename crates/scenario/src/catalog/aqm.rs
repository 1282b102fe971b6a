//! Disciplines that manage delay, with their parameters.

use serde_json::Value;

use super::queues::LIMIT;
use super::{entry, parameter};

const TIME: &str = "a duration";
const SIZE: &str = "a size";
const SWITCH: &str = "true or false";

/// What this file describes.
pub(super) fn entries() -> Vec<Value> {
    vec![codel(), fq_codel(), pie(), fq_pie(), cake(), dualpi2()]
}

fn codel() -> Value {
    let own = [parameter("limit", "\"1000 packets\"", LIMIT, "how much may wait at most")];
    entry(
        "codel",
        "CoDel: once packets have waited longer than target for an interval, drops at the head, ever closer",
        "RFC 8289; ce_threshold: Linux",
        "the square root of the control law is exact",
        &[own.as_slice(), &codel_control()].concat(),
    )
}

fn codel_control() -> Vec<Value> {
    vec![
        parameter("target", "\"5 ms\"", TIME, "waiting that is acceptable for good"),
        parameter("interval", "\"100 ms\"", TIME, "how long waiting may be longer; of the order of a round trip"),
        parameter("ecn", "true", SWITCH, "mark ECN-capable packets instead of dropping them"),
        parameter("ce_threshold", "none", TIME, "mark every ECN-capable packet that waited longer than this"),
    ]
}

fn flow_queues() -> Vec<Value> {
    vec![
        parameter("limit", "\"10240 packets\"", LIMIT, "how much may wait in all queues"),
        parameter("memory_limit", "\"32 MiB\"", "a size, at least 64 KiB", "how many octets may wait in all queues"),
        parameter("flows", "1024", "1 to 65536", "queues that flows are hashed into"),
        parameter("quantum", "\"1514 bytes\"", SIZE, "what a queue may send each round"),
    ]
}

fn fq_codel() -> Value {
    let own = [parameter("drop_batch", "64", "a number", "how many packets the fattest queue loses at once, at most")];
    entry(
        "fq_codel",
        "FQ-CoDel: flows take turns by octets, sparse ones first, each under CoDel",
        "RFC 8290",
        "memory_limit counts octets of packets; CoDel's last packet is that of the flow's own queue",
        &[flow_queues().as_slice(), &own, &codel_control()].concat(),
    )
}

fn pie() -> Value {
    let own = [parameter("limit", "\"1000 packets\"", LIMIT, "how much may wait at most")];
    entry(
        "pie",
        "PIE: drops at arrival with a probability that a PI controller moves by the delay",
        "RFC 8033",
        "the probability decays where there was no delay twice (section 4.2), not below half the target (appendix); a \
         measured departure rate counts the octets that left",
        &[own.as_slice(), &pie_control()].concat(),
    )
}

fn pie_control() -> Vec<Value> {
    const DELAY: &str = "how the delay is estimated: of the last packet, or queue length over departure rate";
    vec![
        parameter("target", "\"15 ms\"", TIME, "queueing delay to hold"),
        parameter("t_update", "\"15 ms\"", TIME, "time between updates of the drop probability"),
        parameter("alpha", "0.125", "Hz", "gain for the distance from the target"),
        parameter("beta", "1.25", "Hz", "gain for the change since the last update"),
        parameter("max_burst", "\"150 ms\"", TIME, "how long a queue may build up before anything is dropped"),
        parameter("ecn", "true", SWITCH, "mark ECN-capable packets instead of dropping them"),
        parameter("mark_threshold", "0.1", "0 to 1", "drop probability from which on they are dropped too"),
        parameter("delay", "\"timestamps\"", "\"timestamps\" or \"departure_rate\"", DELAY),
        parameter("derandomize", "true", SWITCH, "spread drops evenly"),
        parameter("byte_mode", "false", SWITCH, "drop small packets less"),
        parameter("mean_packet", "\"1500 bytes\"", SIZE, "what counts as a packet: a queue of two drops nothing"),
        parameter("activation", "none", SIZE, "do nothing until so much waits"),
    ]
}

fn fq_pie() -> Value {
    entry(
        "fq_pie",
        "FQ-PIE: flows take turns by octets, sparse ones first, each under PIE",
        "draft-tahiliani-tsvwg-fq-pie",
        "as pie; marks are on by default, which the draft leaves open",
        &[flow_queues(), pie_control()].concat(),
    )
}

fn cake() -> Value {
    const ISOLATION: &str = "\"flows\", \"dual_srchost\", \"dual_dsthost\" or \"triple\"";
    const MEMORY: &str = "4 x rate x rtt, 4 MiB at least";
    entry(
        "cake",
        "CAKE: fair between hosts, then flows; COBALT on each queue, a shaper, an ACK filter",
        "Høiland-Jørgensen, Täht and Morton 2018; Linux",
        "one priority tin; no dithering of a host's shares; a host's sparse flows count as its bulk flows do; a new flow that \
         is empty waits a round among the old ones; without a shaper the link's rate sets the target",
        &[
            parameter("bandwidth", "none", "a rate", "rate of the shaper"),
            parameter("overhead", "0", "octets, may be negative", "what the shaper adds to each IP packet"),
            parameter("minimum", "\"0 bytes\"", SIZE, "what a packet counts at least"),
            parameter("cells", "\"none\"", "\"none\", \"atm\" or \"ptm\"", "cells that the shaper reckons with"),
            parameter("isolation", "\"triple\"", ISOLATION, "between whom it is fair"),
            parameter("ack_filter", "\"off\"", "\"off\", \"conservative\" or \"aggressive\"", "drops superfluous ACKs"),
            parameter("rtt", "\"100 ms\"", TIME, "round trip of the control law; its target is a twentieth"),
            parameter("ecn", "true", SWITCH, "mark ECN-capable packets instead of dropping them"),
            parameter("memory_limit", MEMORY, "a size, at least 64 KiB", "how many octets may wait"),
            parameter("flows", "1024", "a multiple of 8", "queues that flows are hashed into"),
        ],
    )
}

fn dualpi2() -> Value {
    entry(
        "dualpi2",
        "DualPI2: a queue for L4S (ECT(1), CE) and one for the others, under one controller, coupled by k",
        "RFC 9332",
        "the L4S queue marks from a step at 1 ms, as Linux; the RFC's ramp is threshold 800 us, ramp 400 us",
        &[
            parameter("limit", "\"10000 packets\"", LIMIT, "how much may wait in both queues"),
            parameter("target", "\"15 ms\"", TIME, "classic queueing delay to hold"),
            parameter("rtt_max", "\"100 ms\"", TIME, "the longest round trip to be stable with"),
            parameter("coupling", "2", "1 to 100", "k: L4S packets are marked with k p', classic ones with p' squared"),
            parameter("threshold", "\"1 ms\"", TIME, "L4S packets that waited longer are marked"),
            parameter("ramp", "\"0 ms\"", TIME, "from nothing to everything marked within so much more"),
            parameter("threshold_packets", "1", "a number", "of an L4S queue no longer than this nothing is marked"),
            parameter("scheduler", "\"weighted\"", "\"weighted\" or \"time_shifted\"", "who sends when both could"),
            parameter("classic_share", "0.0625", "0.001 to 0.999", "the least that the classic queue gets (weighted)"),
            parameter("shift", "\"30 ms\"", TIME, "by how much L4S packets count as earlier (time_shifted)"),
        ],
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_field_of_a_queue_is_described_once() {
        let schema = crate::catalog::schema();
        let queues = serde_json::Value::from(super::entries());
        let described = |kind: &str| {
            let entry = queues.as_array()?.iter().find(|entry| entry["name"] == kind)?.clone();
            let mut names: Vec<String> =
                entry["parameters"].as_array()?.iter().filter_map(|p| Some(p["name"].as_str()?.to_owned())).collect();
            names.sort();
            Some(names)
        };
        let variants = schema.pointer("/$defs/Queue/anyOf").and_then(|variants| variants.as_array()).expect("a choice");
        let mut seen = 0;
        for variant in variants {
            let Some(kind) = variant.pointer("/properties/kind/const").and_then(|kind| kind.as_str()) else { continue };
            let Some(described) = described(kind) else { continue };
            let fields = variant["properties"].as_object().expect("a table");
            let mut names: Vec<String> = fields.keys().filter(|name| *name != "kind").cloned().collect();
            names.sort();
            assert_eq!(described, names, "{kind}");
            seen += 1;
        }
        assert_eq!(seen, super::entries().len());
    }
}
