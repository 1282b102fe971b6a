//! What a link may do beside sending at a fixed rate, with its parameters.

use serde_json::{Value, json};

use super::{entry, parameter};

const TIME: &str = "a duration up to 24 h";
const PROBABILITY: &str = "0 to 1";

/// What a link may do, by the field of the scenario.
pub fn links() -> Value {
    json!([rate(), delay(), handover(), loss(), jitter(), reorder(), duplicate(), keep_order(), policer(), aggregate()])
}

fn rate() -> Value {
    entry(
        "rate",
        "a rate that changes: rate = { schedule = [...] } or { trace = \"FILE\" }",
        "traces: Netravali et al., Mahimahi, USENIX ATC 2015",
        "a packet caught by a change ends at the new rate; in a trace an opportunity counts IP and framing, not a tunnel's \
         four octets (framing = \"4 bytes\" and opportunity = \"1504 bytes\" are mahimahi's own)",
        &[
            parameter("schedule", "-", "[{ at, rate }, ...]", "rates from 0 s on; \"0 bit/s\" is an outage"),
            parameter("repeat", "never", "a duration", "the schedule begins again after this long"),
            parameter("trace", "-", "a path", "one time in whole ms a line: there one full packet can leave"),
            parameter("opportunity", "\"1500 bytes\"", "a size", "what a line of the trace carries"),
            parameter("once", "false", "true, false", "the trace does not begin again at its end"),
            parameter("instants", "-", "\"1 5 5 8\"", "the trace itself in place of a file"),
        ],
    )
}

fn delay() -> Value {
    entry(
        "delay",
        "a delay that changes: delay = { schedule = [...] }",
        "-",
        "a packet's delay is that of the instant at which its last bit leaves",
        &[
            parameter("schedule", "required", "[{ at, delay }, ...]", "delays from 0 s on"),
            parameter("repeat", "never", "a duration", "the schedule begins again after this long"),
        ],
    )
}

fn handover() -> Value {
    entry(
        "handover",
        "satellite after satellite: outages that come back, and a delay for each period",
        "-",
        "nothing is lost in an outage: packets wait in the queue, and those on their way arrive",
        &[
            parameter("period", "required", "a duration", "from one handover to the next; the first after one period"),
            parameter("outage", "\"0 s\"", "less than the period", "how long nothing is sent after a handover"),
            parameter("delay", "the link's", "[\"20 ms\", ...]", "the delay of each period by turns"),
        ],
    )
}

fn loss() -> Value {
    entry(
        "loss",
        "packets lost after they were sent: kind random, gilbert_elliott, bursts or bit_errors",
        "Gilbert 1960; Elliott 1963; Hasslinger and Hohlfeld, MMB 2008",
        "the channel begins in the good state; it decides in the state that it is in, and then moves",
        &[
            parameter("random: p", "required", PROBABILITY, "each packet, whatever became of the others"),
            parameter("gilbert_elliott: p, r", "required", PROBABILITY, "from good to bad, from bad to good"),
            parameter("gilbert_elliott: loss_good, loss_bad", "0, 1", PROBABILITY, "loss in each state: 1 - k, 1 - h"),
            parameter("bursts: share", "required", "0 to below 1", "share of packets lost in the long run"),
            parameter("bursts: length", "required", "at least 1", "mean number of packets in a burst"),
            parameter("bit_errors: rate", "required", PROBABILITY, "of each bit, framing included"),
        ],
    )
}

fn jitter() -> Value {
    entry(
        "jitter",
        "a random delay of each packet, besides the link's: kind uniform, normal or exponential",
        "-",
        "draws are independent; where order is kept, what would arrive too early waits",
        &[
            parameter("uniform: min, max", "\"0 s\", required", TIME, "any time between them is as likely"),
            parameter("normal: mean, deviation", "required", TIME, "zero where it would be negative"),
            parameter("exponential: mean", "required", TIME, "exponentially distributed"),
        ],
    )
}

fn reorder() -> Value {
    entry(
        "reorder",
        "packets held back, so that others pass them: kind probability or every",
        "RFC 4737 says what is reordered; summary.json counts it",
        "a packet held back is reordered only if another is sent before it goes on",
        &[
            parameter("probability: p", "required", PROBABILITY, "each packet"),
            parameter("every: k", "required", "at least 2", "every k-th packet"),
            parameter("extra", "required", TIME, "how long it is held back"),
        ],
    )
}

fn duplicate() -> Value {
    let p = parameter("duplicate", "0", PROBABILITY, "duplicate = 0.001: each packet, with this probability");
    entry("duplicate", "packets that arrive twice", "-", "the copy arrives right behind the packet", &[p])
}

fn keep_order() -> Value {
    let switch = parameter("keep_order", "true", "true, false", "false lets a later packet with less delay pass");
    entry("keep_order", "whether jitter and changing delays keep the order of packets", "-", "none", &[switch])
}

fn policer() -> Value {
    entry(
        "policer",
        "a token bucket that drops what exceeds it, without a queue",
        "RFC 2697 section 3, with one bucket and without colours",
        "tokens come continuously",
        &[
            parameter("rate", "required", "a rate", "octets of IP that pass in the long run"),
            parameter("burst", "required", "at least a packet", "size of the bucket, which is full at first"),
        ],
    )
}

fn aggregate() -> Value {
    entry(
        "aggregate",
        "packets that travel in bursts, as on Wi-Fi, cable and LTE",
        "-",
        "the effect of a medium that is taken by turns, not its rules; a burst arrives at one instant",
        &[
            parameter("every", "or wait", TIME, "a burst leaves at multiples of this interval"),
            parameter("wait", "or every", TIME, "a burst leaves when its first packet has waited this long"),
            parameter("packets", "no limit", "at least 2", "a burst of so many leaves at once"),
            parameter("of", "\"any\"", "\"any\", \"data\", \"acks\"", "which are gathered; the others pass them"),
        ],
    )
}
