//! Reno's relatives.

use super::{ControllerInfo, ParameterInfo};

pub(super) const AIMD: ControllerInfo = ControllerInfo {
    name: "aimd",
    summary: "additive increase, multiplicative decrease by given numbers; Reno is a = 1, b = 0.5",
    source: "Chiu, Jain 1989; Floyd, Handley, Padhye 2000 for its response",
    departures: "slow start is RFC 5681's, acknowledged segments are counted by octets",
    parameters: &[
        ParameterInfo { name: "a", default: "1", range: "> 0, segments", meaning: "added in a round trip" },
        ParameterInfo { name: "b", default: "0.5", range: "0 to 1, exclusive", meaning: "taken away on congestion" },
    ],
};

pub(super) const BIC: ControllerInfo = ControllerInfo {
    name: "bic",
    summary: "binary search between the window after the last loss and the one before it",
    source: "Xu, Harfoush, Rhee, INFOCOM 2004",
    departures: "fast convergence compares with the old maximum also where the window has passed it; slow start is RFC 5681's, acknowledged segments are counted by octets",
    parameters: &[
        ParameterInfo {
            name: "max_increment",
            default: "32",
            range: "at least min_increment, segments",
            meaning: "the most that a round trip adds (S_max)",
        },
        ParameterInfo { name: "min_increment", default: "0.01", range: "> 0, segments", meaning: "the least (S_min)" },
        ParameterInfo {
            name: "beta",
            default: "0.125",
            range: "0 to 1, exclusive",
            meaning: "taken away on congestion",
        },
        ParameterInfo {
            name: "low_window",
            default: "14",
            range: "0 or more, segments",
            meaning: "below it Reno's rules hold",
        },
        ParameterInfo {
            name: "fast_convergence",
            default: "true",
            range: "true or false",
            meaning: "aim lower when the window falls twice in a row",
        },
    ],
};

pub(super) const HIGHSPEED: ControllerInfo = ControllerInfo {
    name: "highspeed",
    summary: "HighSpeed TCP: increase and decrease depend on the window",
    source: "RFC 3649",
    departures: "slow start is RFC 5681's, acknowledged segments are counted by octets",
    parameters: &[
        ParameterInfo {
            name: "response",
            default: "\"formula\"",
            range: "\"formula\" or \"table\"",
            meaning: "a(w) and b(w) from the RFC's section 5, or the table of its appendix B",
        },
        ParameterInfo {
            name: "low_window",
            default: "38",
            range: "1 or more, segments",
            meaning: "up to it Reno's rules hold",
        },
        ParameterInfo {
            name: "high_window",
            default: "83000",
            range: "above low_window, segments",
            meaning: "the window to be reached at high_p",
        },
        ParameterInfo {
            name: "high_p",
            default: "1e-7",
            range: "1e-12 to 9e-4",
            meaning: "the loss rate at high_window",
        },
        ParameterInfo {
            name: "high_decrease",
            default: "0.1",
            range: "0.001 to 0.5",
            meaning: "the fraction taken away at high_window",
        },
    ],
};

pub(super) const HTCP: ControllerInfo = ControllerInfo {
    name: "htcp",
    summary: "grows by the time since the last congestion; keeps what the path's share of the round trip is",
    source: "Leith, Shorten, PFLDnet 2004; draft-leith-tcp-htcp",
    departures: "throughput is measured over the time of the least round trip, not smoothed; slow start is RFC 5681's, acknowledged segments are counted by octets",
    parameters: &[
        ParameterInfo {
            name: "adaptive_backoff",
            default: "true",
            range: "true or false",
            meaning: "keep RTT_min / RTT_max, 0.5 to 0.8, rather than 0.5",
        },
        ParameterInfo {
            name: "rtt_scaling",
            default: "true",
            range: "true or false",
            meaning: "growth in proportion to the round trip",
        },
    ],
};

pub(super) const HYBLA: ControllerInfo = ControllerInfo {
    name: "hybla",
    summary: "grows as fast in time as a connection of a short round trip",
    source: "Caini, Firrincieli, Int. J. Satellite Communications 22, 2004",
    departures: "the round trip is the least measured; rho is at most 40, in slow start 16; pacing and initial window are the stack's; acknowledged segments are counted by octets",
    parameters: &[ParameterInfo {
        name: "rtt0",
        default: "\"25 ms\"",
        range: "at least 1 ms",
        meaning: "the round trip whose growth to equal",
    }],
};

pub(super) const ILLINOIS: ControllerInfo = ControllerInfo {
    name: "illinois",
    summary: "fast while the queue is short, slow while it is long",
    source: "Liu, Basar, Srikant, Performance Evaluation 65, 2008",
    departures: "slow start is RFC 5681's, acknowledged segments are counted by octets",
    parameters: &[
        ParameterInfo {
            name: "alpha_max",
            default: "10",
            range: "above alpha_min, segments",
            meaning: "the most that a round trip adds",
        },
        ParameterInfo { name: "alpha_min", default: "0.3", range: "> 0, segments", meaning: "the least" },
        ParameterInfo {
            name: "beta_max",
            default: "0.5",
            range: "at least beta_min",
            meaning: "the most that congestion takes away",
        },
        ParameterInfo { name: "beta_min", default: "0.125", range: "0 to 1, exclusive", meaning: "the least" },
        ParameterInfo {
            name: "window_threshold",
            default: "15",
            range: "0 or more, segments",
            meaning: "below it Reno's rules hold",
        },
    ],
};

pub(super) const SCALABLE: ControllerInfo = ControllerInfo {
    name: "scalable",
    summary: "grows by a fraction of itself in a round trip, falls by a fraction",
    source: "Kelly, CCR 33(2), 2003",
    departures: "slow start is RFC 5681's, acknowledged segments are counted by octets",
    parameters: &[
        ParameterInfo {
            name: "a",
            default: "0.01",
            range: "0 to 1, exclusive, segments",
            meaning: "added for each acknowledged segment",
        },
        ParameterInfo { name: "b", default: "0.125", range: "0 to 1, exclusive", meaning: "taken away on congestion" },
        ParameterInfo {
            name: "legacy_window",
            default: "16",
            range: "0 or more, segments",
            meaning: "up to it Reno's rules hold",
        },
    ],
};

pub(super) const VENO: ControllerInfo = ControllerInfo {
    name: "veno",
    summary: "Reno that tells random loss from congestion by Vegas' estimate of the queue",
    source: "Fu, Liew, IEEE JSAC 21(2), 2003",
    departures: "growth every other round trip is half a segment in each; slow start is RFC 5681's, acknowledged segments are counted by octets",
    parameters: &[ParameterInfo {
        name: "beta",
        default: "3",
        range: "> 0, segments",
        meaning: "queued, from which the path counts as congested",
    }],
};

pub(super) const WESTWOOD: ControllerInfo = ControllerInfo {
    name: "westwood",
    summary: "Westwood+: falls to the bandwidth that it measured times the least round trip",
    source: "Grieco, Mascolo, CCR 34(2), 2004",
    departures: "ssthresh is at most the window; a sample spans at least 50 ms; slow start is RFC 5681's, acknowledged segments are counted by octets",
    parameters: &[ParameterInfo {
        name: "filter",
        default: "0.875",
        range: "0 to 1, exclusive",
        meaning: "share of the old bandwidth estimate in the new one",
    }],
};

pub(super) const YEAH: ControllerInfo = ControllerInfo {
    name: "yeah",
    summary: "Scalable TCP while the queue is short, Reno while it is long, and empties the queue in time",
    source: "Baiocchi, Castellani, Vacirca, PFLDnet 2007",
    departures: "Reno flows are taken to be there after 16 slow round trips in a row; slow start is RFC 5681's, acknowledged segments are counted by octets",
    parameters: &[
        ParameterInfo { name: "max_queue", default: "80", range: "> 0, segments", meaning: "queued at most" },
        ParameterInfo {
            name: "phi",
            default: "8",
            range: "1 or more",
            meaning: "a queueing delay beyond 1/phi of the least round trip is a long one",
        },
        ParameterInfo {
            name: "increase",
            default: "0.01",
            range: "0 to 1, exclusive, segments",
            meaning: "added for each acknowledged segment while fast",
        },
    ],
};
