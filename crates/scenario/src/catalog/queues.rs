//! Queue disciplines with their parameters.

use serde_json::{Value, json};

use super::schedulers::{drr, fq, priority, red, sfq, shared_buffer, tbf};
use super::{entry, parameter};

pub(super) const LIMIT: &str = "\"100 packets\", \"150 kB\", \"20 ms\", \"1 bdp\" or \"unlimited\"";
pub(super) const DEFAULT_LIMIT: &str = "\"1 bdp\" at the bottleneck of a dumbbell or parking lot, else \"unlimited\"";

/// Queue disciplines with their parameters.
pub fn queues() -> Value {
    let mut queues = vec![drop_tail(), sgpq(), red(), tbf(), priority(), drr(), sfq(), fq(), shared_buffer()];
    queues.extend(super::aqm::entries());
    json!(queues)
}

fn drop_tail() -> Value {
    entry(
        "drop_tail",
        "first in, first out; what does not fit is dropped",
        "the queue of every simple router",
        "none; the packet in service does not count, framing does",
        &[parameter(
            "limit",
            DEFAULT_LIMIT,
            LIMIT,
            "how much may wait; a bdp is the link's rate times the largest round trip of the flows that cross it",
        )],
    )
}

fn sgpq() -> Value {
    entry(
        "sgpq",
        "Small Get Priority Queue: small packets (ACKs) before all others, without preemption",
        "a remedy for TCP Vegas where ACKs queue behind data",
        "each class has a limit of its own; an ACK that rides on data is not recognised, and any small packet gains",
        &[
            parameter("threshold", "\"80 bytes\"", "a size", "packets of at most this size of IP are small"),
            parameter("small_limit", "\"unlimited\"", LIMIT, "how many small packets may wait"),
            parameter("limit", DEFAULT_LIMIT, LIMIT, "how many of the others may wait"),
        ],
    )
}
