//! RED, and disciplines that decide who goes next.

use serde_json::Value;

use super::queues::{DEFAULT_LIMIT, LIMIT};
use super::{entry, parameter};

const QUANTUM: &str = "\"64 bytes\" or more";
const QUANTUM_MEANING: &str = "what a flow may send in a turn; at least the largest packet, or turns come to nothing";
const ALL_FLOWS: &str = "how much may wait, all flows together";

pub(super) fn red() -> Value {
    let threshold = "packets, an amount of data, a time at the link's rate, or a part of the bdp; both alike";
    entry(
        "red",
        "Random Early Detection: drops or marks with a probability that grows with the average queue",
        "Floyd and Jacobson 1993; gentle: Floyd 2000; adaptive: Floyd, Gummadi and Shenker 2001; RFC 3168 section 7",
        "gaps between drops are uniform on 1 ... 1/p_b as the paper derives them, not as its pseudo-code counts; marks become \
         drops above the upper threshold (gentle: twice of it)",
        &[
            parameter(
                "min_threshold",
                "\"5 packets\"; if adaptive, half of what 5 ms bring, and no less",
                threshold,
                "below this average nothing is dropped; its unit says whether the average counts packets or octets",
            ),
            parameter("max_threshold", "3 * min_threshold", threshold, "where the probability reaches max_p"),
            parameter("max_p", "0.1", "0 < p <= 1", "probability at max_threshold; if adaptive, at the beginning"),
            parameter(
                "weight",
                "0.002; if adaptive, 1 - exp(-1/C), C packets/s",
                "0 < w <= 1",
                "of a sample in the average",
            ),
            parameter("gentle", "true", "true, false", "the probability grows on to 1 up to twice max_threshold"),
            parameter("adaptive", "false", "true, false", "max_p follows the average, every 0.5 s"),
            parameter("ecn", "false", "true, false", "mark packets that allow it"),
            parameter(
                "mean_packet",
                "\"1500 bytes\"",
                "a size",
                "decides how fast the average falls while the link is idle, and in octets how likely each size is dropped",
            ),
            parameter("limit", DEFAULT_LIMIT, LIMIT, "how much may wait"),
        ],
    )
}

pub(super) fn tbf() -> Value {
    entry(
        "tbf",
        "token bucket: what waits is held back to a rate, after a burst",
        "the token bucket in front of a queue, as Linux's tbf",
        "no peak rate; tokens are octets of the link, framing included",
        &[
            parameter("rate", "required", "a rate", "how fast tokens come"),
            parameter("burst", "required", "at least the largest packet", "how many octets may go at once"),
            parameter("limit", DEFAULT_LIMIT, LIMIT, "how much may wait"),
        ],
    )
}

pub(super) fn priority() -> Value {
    entry(
        "priority",
        "bands of packets, each served while nothing waits in those before it, without preemption",
        "head-of-line priority (Cobham 1954)",
        "none; a band that is always busy starves those after it",
        &[parameter(
            "bands",
            "required",
            "a list of { of = \"any\" | \"data\" | \"acks\", flows, max_size, limit }",
            "the most urgent first; a packet goes into the first that takes it, else into the last",
        )],
    )
}

pub(super) fn drr() -> Value {
    entry(
        "drr",
        "Deficit Round Robin: a queue for every flow, served in turn by octets; the longest gives way",
        "Shreedhar and Varghese 1995",
        "flows are told apart exactly, not by a hash",
        &[
            parameter("quantum", "\"1500 bytes\"", QUANTUM, QUANTUM_MEANING),
            parameter("limit", DEFAULT_LIMIT, LIMIT, ALL_FLOWS),
        ],
    )
}

pub(super) fn sfq() -> Value {
    entry(
        "sfq",
        "stochastic fairness queueing: flows hashed into queues that are served in turn; the longest gives way",
        "McKenney 1990; defaults and turns by octets as Linux's sfq",
        "turns are by octets, not by packets; a change of the hash reorders nothing",
        &[
            parameter("buckets", "1024", "1 to 65536", "queues"),
            parameter("quantum", "\"1514 bytes\"", QUANTUM, "what a queue may send in a turn"),
            parameter("perturb", "\"0 s\"", "a duration", "how often the hash changes; 0 is never"),
            parameter("limit", "\"127 packets\"", LIMIT, "how much may wait, all queues together"),
        ],
    )
}

pub(super) fn fq() -> Value {
    entry(
        "fq",
        "fair queueing: packets leave in the order in which a link that serves all flows bit by bit would end them",
        "Nagle 1987 (RFC 970); Demers, Keshav and Shenker 1989",
        "equal weights, delta = 0; not Linux's fq, which paces; the longest queue gives way",
        &[parameter("limit", DEFAULT_LIMIT, LIMIT, ALL_FLOWS)],
    )
}

pub(super) fn shared_buffer() -> Value {
    entry(
        "shared_buffer",
        "a queue for every flow in one memory, and a rule for who may fill it",
        "longest-queue drop: McKenney 1990; dynamic thresholds: Choudhury and Hahne 1998",
        "the queues share one link in turn, by octets, where a switch has an output for each",
        &[
            parameter(
                "sharing",
                "\"longest_queue_drop\"",
                "\"longest_queue_drop\", { kind = \"dynamic_threshold\", alpha = 1.0 }",
                "who may fill it; alpha: a queue may grow to so many times the room that is left",
            ),
            parameter("quantum", "\"1500 bytes\"", QUANTUM, QUANTUM_MEANING),
            parameter("limit", DEFAULT_LIMIT, LIMIT, "the memory, all flows together"),
        ],
    )
}
