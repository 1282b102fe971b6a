//! Buffer policies of appliances with their parameters.

use serde_json::{Value, json};

use super::{entry, parameter};

const TIME: &str = "a duration";
const SIZE: &str = "a size";
const LEAST_WINDOW: &str = "the least window, in segments, so that a flow that rests can begin";
const ISOGAKI: &str = "Isogaki 2005";

/// Buffer policies of appliances with their parameters.
pub fn buffer_policies() -> Value {
    json!([socket(), ece_interval(), ece_drop_tail(), ece_red(), drain_rate(), codel_window(), not_sent(), credit()])
}

fn socket() -> Value {
    entry(
        "socket",
        "none: as much is kept as both socket buffers hold",
        "what an operating system does by itself",
        "none",
        &[],
    )
}

fn ece_interval() -> Value {
    entry(
        "ece_interval",
        "raises ECE towards the near sender at intervals while data keeps coming",
        ISOGAKI,
        "the interval is not given there",
        &[parameter("interval", "\"20 ms\"", "more than 0", "time between signals")],
    )
}

fn ece_drop_tail() -> Value {
    entry(
        "ece_droptail",
        "raises ECE while more than a limit is kept",
        ISOGAKI,
        "the limit is not given there",
        &[
            parameter("limit", "\"500 kB\"", SIZE, "octets arrived and not acknowledged by the far end"),
            parameter("every_rtt", "false", "true or false", "at most one signal in a near-side round trip"),
        ],
    )
}

fn ece_red() -> Value {
    entry(
        "ece_red",
        "raises ECE with a probability that grows with what is kept",
        ISOGAKI,
        "threshold, limit and probability are not given there",
        &[
            parameter("threshold", "\"320 kB\"", "a size below limit", "octets kept up to which it is silent"),
            parameter("limit", "\"680 kB\"", SIZE, "where the probability is max_probability; beyond it is 1"),
            parameter("max_probability", "0.1", "0 < p <= 1", "of a signal for a segment that arrives at limit"),
        ],
    )
}

fn drain_rate() -> Value {
    entry(
        "drain_rate",
        "advertises what the far side drains in a near-side round trip and a target",
        "ours",
        "none",
        &[
            parameter("target", "\"5 ms\"", TIME, "how long an octet may wait"),
            parameter("measure", "\"10 ms\"", "more than 0", "over how long the rate is measured, at least"),
            parameter("min_segments", "10", "1 or more", LEAST_WINDOW),
        ],
    )
}

fn codel_window() -> Value {
    entry(
        "codel_window",
        "shrinks the advertised window once octets have stayed longer than target for an interval, else lets it grow",
        "ours, after RFC 8289",
        "no drop and no mark: the window is the signal",
        &[
            parameter("target", "\"5 ms\"", TIME, "stay that is acceptable for good"),
            parameter("interval", "\"10 ms\"", "more than 0", "how long every stay must be longer"),
            parameter("min_segments", "2", "1 or more", LEAST_WINDOW),
        ],
    )
}

fn not_sent() -> Value {
    entry(
        "not_sent",
        "hands on while little is unsent, and advertises what is left of a small window",
        "ours, on the socket option TCP_NOTSENT_LOWAT",
        "none",
        &[
            parameter("low_water", "\"16 kB\"", SIZE, "octets not yet sent with which the far socket is content"),
            parameter("window", "\"64 kB\"", SIZE, "octets that may have arrived and not yet been handed on"),
        ],
    )
}

fn credit() -> Value {
    entry(
        "credit",
        "advertises what the far side will be able to send by the time that it arrives",
        "ours",
        "none",
        &[
            parameter("target", "\"10 ms\"", TIME, "how long an octet may wait, but for one in a hundred"),
            parameter("margin", "\"3 ms\"", TIME, "how long before they can leave octets should arrive"),
            parameter(
                "slow_start_growth",
                "2",
                "1 to 100",
                "what an ACK frees in slow start, over what it acknowledges",
            ),
        ],
    )
}
