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
    departures: "ours; assumes constant skew, and steps of more than three ticks of both clocks",
    parameters: &[VARIANT, ALPHA, BETA, GAMMA, ParameterInfo { default: "\"least\"", ..RTT }, RECEIVER_TICK],
};
