//! The controllers that go by delay.

use super::{ControllerInfo, ParameterInfo};

const VARIANT: ParameterInfo = ParameterInfo {
    name: "variant",
    default: "\"brakmo\"",
    range: "\"brakmo\", \"ns2\" or \"linux\"",
    meaning: "whose rules: how Diff is rounded, slow start grows and ends, the window grows, and what a loss leaves (3/4, 3/4, 1/2)",
};

const ALPHA: ParameterInfo = ParameterInfo {
    name: "alpha",
    default: "2; ns2 1",
    range: "0 or more, segments",
    meaning: "with fewer segments queued the window grows by one in a round trip",
};

const BETA: ParameterInfo = ParameterInfo {
    name: "beta",
    default: "4; ns2 3",
    range: "at least alpha, segments",
    meaning: "with more it shrinks by one",
};

const GAMMA: ParameterInfo =
    ParameterInfo { name: "gamma", default: "1", range: "0 or more, segments", meaning: "with more slow start ends" };

const RTT: ParameterInfo = ParameterInfo {
    name: "rtt",
    default: "\"latest\"; ns2 \"mean\", linux \"least\"",
    range: "\"latest\", \"least\" or \"mean\"",
    meaning: "which of the delays measured in a round trip stands for it",
};

const RECEIVER_TICK: ParameterInfo = ParameterInfo {
    name: "receiver_tick",
    default: "estimated from the receiver's timestamps",
    range: "1 ns to 10 s",
    meaning: "length of a tick of the receiver's timestamp clock, which the sender is not told",
};

pub(super) const VEGAS: ControllerInfo = ControllerInfo {
    name: "vegas",
    summary: "keeps between alpha and beta segments queued, by the delay of the round trip",
    source: "Brakmo and Peterson, IEEE JSAC 13(8), 1995; ns-2; Linux",
    departures: "losses are found and repaired by the stack, without Vegas' finer retransmission clock; ns-2's raising of BaseRTT with one segment in flight is left out",
    parameters: &[VARIANT, ALPHA, BETA, GAMMA, RTT],
};

pub(super) const VEGAS_MODIFIED: ControllerInfo = ControllerInfo {
    name: "vegas_modified",
    summary: "Vegas on the delay of the forward path, from the timestamps option: a queue on the way back counts for nothing",
    source: "J.-D. Kim and C.-K. Kim, 1999",
    departures: "until the receiver's tick is known the round trip counts; the wait of a delayed ACK is taken off; clock skew and clock steps are not withstood",
    parameters: &[VARIANT, ALPHA, BETA, GAMMA, RTT, RECEIVER_TICK],
};

pub(super) const VEGAS_SKEW_TOLERANT: ControllerInfo = ControllerInfo {
    name: "vegas_skew_tolerant",
    summary: "vegas_modified on clocks that drift apart (up to 1000 ppm) or are set now and then",
    source: "none; after Kim and Kim 1999; skew as in Moon, Skelly, Towsley, INFOCOM 1999",
    departures: "ours; assumes constant skew, and steps of more than two ticks of both clocks and 1 ms",
    parameters: &[VARIANT, ALPHA, BETA, GAMMA, ParameterInfo { default: "\"least\"", ..RTT }, RECEIVER_TICK],
};

pub(super) const FAST: ControllerInfo = ControllerInfo {
    name: "fast",
    summary: "keeps alpha packets of the flow queued, by an equation on the RTT",
    source: "Wei, Jin, Low, Hegde, IEEE/ACM ToN 14(6), 2006; threshold of ns-2's",
    departures: "alpha is constant; no slow start but the equation's own doubling; losses halve",
    parameters: &[
        ParameterInfo {
            name: "alpha",
            default: "100",
            range: "0.001 to 1000000 packets",
            meaning: "packets of the flow to keep in queues",
        },
        ParameterInfo { name: "gamma", default: "0.5", range: "0.001 to 1", meaning: "weight of the new window" },
        ParameterInfo {
            name: "threshold",
            default: "750 us",
            range: "up to 10 s",
            meaning: "queueing delay below which the window doubles",
        },
    ],
};

pub(super) const LEDBAT: ControllerInfo = ControllerInfo {
    name: "ledbat",
    summary: "holds the queueing delay at a target and gives way to every other flow",
    source: "RFC 6817",
    departures: "slow start is an option; one-way delays from the timestamps option, of the round trip without it",
    parameters: &[
        ParameterInfo {
            name: "target",
            default: "100 ms",
            range: "up to 100 ms",
            meaning: "the queueing delay to hold",
        },
        ParameterInfo {
            name: "gain",
            default: "1",
            range: "0.001 to 1",
            meaning: "segments per round trip that the window grows by on an empty queue",
        },
        ParameterInfo {
            name: "allowed_increase",
            default: "1",
            range: "1 to 1000 segments",
            meaning: "by which the window may exceed what is in flight",
        },
        ParameterInfo {
            name: "base_history",
            default: "10",
            range: "1 to 1000 minutes",
            meaning: "after which a base delay is forgotten",
        },
        ParameterInfo {
            name: "current_filter",
            default: "4",
            range: "1 to 1000 samples",
            meaning: "of which the current delay is the least",
        },
        ParameterInfo {
            name: "delay",
            default: "\"forward\"",
            range: "\"forward\" or \"round_trip\"",
            meaning: "which delay counts",
        },
        ParameterInfo { name: "slow_start", default: "false", range: "true or false", meaning: "begin as Reno does" },
    ],
};

pub(super) const LEDBAT_PLUS_PLUS: ControllerInfo = ControllerInfo {
    name: "ledbat_plus_plus",
    summary: "LEDBAT that is fair to itself: multiplicative decrease, slowdowns now and then, round trips",
    source: "draft-irtf-iccrg-ledbat-plus-plus-01",
    departures: "none known; the ramp after a slowdown is scaled by the gain as slow start is",
    parameters: &[
        ParameterInfo {
            name: "target",
            default: "60 ms",
            range: "up to 10 s",
            meaning: "the queueing delay to stay below",
        },
        ParameterInfo {
            name: "constant",
            default: "1",
            range: "0.001 to 1000",
            meaning: "weight of the multiplicative decrease",
        },
        ParameterInfo {
            name: "base_history",
            default: "10",
            range: "1 to 1000 minutes",
            meaning: "after which a base delay is forgotten",
        },
        ParameterInfo {
            name: "current_filter",
            default: "4",
            range: "1 to 1000 samples",
            meaning: "of which the current delay is the least",
        },
        ParameterInfo {
            name: "slowdown",
            default: "true",
            range: "true or false",
            meaning: "slow down now and then, so that every flow sees the empty path",
        },
    ],
};

pub(super) const COPA: ControllerInfo = ControllerInfo {
    name: "copa",
    summary: "a target rate of 1 / (delta dq), approached at a speed that doubles",
    source: "Arun and Balakrishnan, NSDI 2018",
    departures: "a timeout begins slow start anew",
    parameters: &[
        ParameterInfo {
            name: "delta",
            default: "0.5",
            range: "0.0001 to 1000",
            meaning: "weight of delay against throughput: 1/delta packets wait",
        },
        ParameterInfo {
            name: "mode_switch",
            default: "true",
            range: "true or false",
            meaning: "compete with flows that fill the queue",
        },
        ParameterInfo {
            name: "empty_round_trips",
            default: "5",
            range: "1 to 1000",
            meaning: "round trips in which the queue must have been nearly empty for the flow to be alone",
        },
        ParameterInfo {
            name: "nearly_empty",
            default: "0.1",
            range: "0.001 to 0.999",
            meaning: "share of the range of the RTT below which the queue is nearly empty",
        },
    ],
};

pub(super) const SWIFT: ControllerInfo = ControllerInfo {
    name: "swift",
    summary: "holds the RTT at a target, down to windows below one segment by pacing",
    source: "Kumar et al., SIGCOMM 2020",
    departures: "the delay is the RTT, without the hosts' part; hops belong into base_target",
    parameters: &[
        ParameterInfo {
            name: "base_target",
            default: "required",
            range: "up to 10 s",
            meaning: "target of the RTT, propagation included, for flows with a large window",
        },
        ParameterInfo {
            name: "flow_scaling_range",
            default: "0 s",
            range: "a duration",
            meaning: "what flow scaling adds at most, for small windows",
        },
        ParameterInfo {
            name: "flow_scaling_min_window",
            default: "0.1",
            range: "segments",
            meaning: "window from which on it adds less",
        },
        ParameterInfo {
            name: "flow_scaling_max_window",
            default: "100",
            range: "segments",
            meaning: "window from which on it adds nothing",
        },
        ParameterInfo {
            name: "additive_increase",
            default: "1",
            range: "0.000001 to 1000 segments",
            meaning: "growth of the window in a round trip",
        },
        ParameterInfo { name: "beta", default: "0.8", range: "0.001 to 1", meaning: "weight of the decrease" },
        ParameterInfo {
            name: "max_decrease",
            default: "0.5",
            range: "0.001 to 0.999",
            meaning: "largest share that the window loses at once",
        },
        ParameterInfo {
            name: "min_window",
            default: "0.001",
            range: "0.000001 to 1 segment",
            meaning: "the smallest window",
        },
    ],
};
