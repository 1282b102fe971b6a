//! Controllers that model their path.

use super::{ControllerInfo, ParameterInfo};

const GAIN: &str = "1.01 to 100";
const TIME: &str = "a time, more than zero";

const PROBE_RTT_DURATION: ParameterInfo = ParameterInfo {
    name: "probe_rtt_duration",
    default: "\"200 ms\"",
    range: TIME,
    meaning: "how long the window stays small to measure the round trip",
};

pub(super) const BBR: ControllerInfo = ControllerInfo {
    name: "bbr",
    summary: "paces at the greatest rate delivered of late, with twice the path's content in flight; losses change neither",
    source: "draft-cardwell-iccrg-bbr-congestion-control-00; Cardwell et al., ACM Queue 14(5), 2016",
    departures: "the first window is not paced, as in Linux; segments are paced singly; windowed maxima are exact",
    parameters: &[
        ParameterInfo {
            name: "high_gain",
            default: "2.885, 2/ln 2",
            range: GAIN,
            meaning: "gain of rate and window in Startup; Drain paces at its inverse",
        },
        ParameterInfo {
            name: "cwnd_gain",
            default: "2",
            range: "1 to 100",
            meaning: "window in ProbeBW, in estimated bandwidth-delay products",
        },
        ParameterInfo {
            name: "bandwidth_window",
            default: "10",
            range: "1 or more, round trips",
            meaning: "over which the greatest rate is taken",
        },
        ParameterInfo {
            name: "min_rtt_window",
            default: "\"10 s\"",
            range: TIME,
            meaning: "how long the least round trip counts before it is measured anew, with four segments in flight",
        },
        PROBE_RTT_DURATION,
    ],
};

pub(super) const BBR3: ControllerInfo = ControllerInfo {
    name: "bbr3",
    summary: "BBR with losses in its model, which bound what is in flight",
    source: "draft-ietf-ccwg-bbr, the working group's copy of 2025",
    departures: "the first window is not paced, as in Linux; segments are paced singly; windowed maxima are exact",
    parameters: &[
        ParameterInfo {
            name: "startup_gain",
            default: "2.773, 4 ln 2",
            range: GAIN,
            meaning: "gain of the rate in Startup",
        },
        ParameterInfo {
            name: "loss_threshold",
            default: "0.02",
            range: super::BETA_RANGE,
            meaning: "fraction of a round trip's data whose loss means that it was too much",
        },
        ParameterInfo {
            name: "beta",
            default: "0.7",
            range: super::BETA_RANGE,
            meaning: "fraction of rate and window that a round trip with losses keeps at least",
        },
        ParameterInfo {
            name: "headroom",
            default: "0.15",
            range: super::BETA_RANGE,
            meaning: "fraction of the long-term limit left free while cruising",
        },
        ParameterInfo {
            name: "probe_rtt_interval",
            default: "\"5 s\"",
            range: TIME,
            meaning: "time without a shorter round trip after which it is measured anew, with half a bandwidth-delay product in flight",
        },
        PROBE_RTT_DURATION,
    ],
};

const GAIN_OF_AVERAGE: ParameterInfo = ParameterInfo {
    name: "gain",
    default: "0.0625, 1/16",
    range: super::BETA_RANGE,
    meaning: "weight of the latest window in the moving average of the marked fraction, alpha",
};

const INITIAL_ALPHA: ParameterInfo = ParameterInfo {
    name: "initial_alpha",
    default: "1",
    range: "0 to 1",
    meaning: "alpha before the first window: 1 answers the first mark as Reno does",
};

pub(super) const DCTCP: ControllerInfo = ControllerInfo {
    name: "dctcp",
    summary: "Reno's window, reduced in proportion to how much is marked; sets tcp.ecn and dctcp_feedback at both ends",
    source: "RFC 8257; Alizadeh et al., SIGCOMM 2010",
    departures: "none; the reduction is at once, where Linux spreads it over a round trip",
    parameters: &[GAIN_OF_AVERAGE, INITIAL_ALPHA],
};

pub(super) const PRAGUE: ControllerInfo = ControllerInfo {
    name: "prague",
    summary: "DCTCP for the Internet's low-latency service (L4S); sets tcp.ecn, accurate_ecn and ect1 at both ends",
    source: "draft-briscoe-iccrg-prague-congestion-control-04; RFC 9331",
    departures: "a bottleneck that marks as RFC 3168 says is not detected; independence of the round trip begins at once",
    parameters: &[
        GAIN_OF_AVERAGE,
        INITIAL_ALPHA,
        ParameterInfo {
            name: "reference_rtt",
            default: "\"25 ms\"",
            range: TIME,
            meaning: "shorter round trips share a bottleneck as if they were this long",
        },
        ParameterInfo {
            name: "beta",
            default: "0.5",
            range: super::BETA_RANGE,
            meaning: "fraction of the window kept on a loss",
        },
    ],
};

const PRICE: &str = "0 to 1000000";
const STEP: &str = "0.000001 to 1000000";

pub(super) const ALLEGRO: ControllerInfo = ControllerInfo {
    name: "pcc_allegro",
    summary: "tries a little more and a little less in random order, and moves where throughput less loss is worth more",
    source: "Dong et al., PCC: Re-architecting Congestion Control for Consistent High Performance, NSDI 2015",
    departures: "the rate is at least two segments in a round trip; the first window leaves at once",
    parameters: &[
        ParameterInfo {
            name: "loss_threshold",
            default: "0.05",
            range: super::BETA_RANGE,
            meaning: "the loss beyond which throughput is worth nothing",
        },
        ParameterInfo {
            name: "steepness",
            default: "100",
            range: "1 to 1000000",
            meaning: "how sharply that sets in: alpha of the sigmoid",
        },
        ParameterInfo {
            name: "min_epsilon",
            default: "0.01",
            range: super::BETA_RANGE,
            meaning: "the least step of a trial, as a fraction of the rate",
        },
        ParameterInfo {
            name: "max_epsilon",
            default: "0.05",
            range: super::BETA_RANGE,
            meaning: "the greatest step of a trial",
        },
    ],
};

pub(super) const VIVACE: ControllerInfo = ControllerInfo {
    name: "pcc_vivace",
    summary: "follows the gradient of a utility in which a round trip that grows is dear: full links without queues",
    source: "Dong et al., PCC Vivace: Online-Learning Congestion Control, NSDI 2018",
    departures: "the delay's gradient is a regression's; the rate is at least two segments in a round trip; the first window leaves at once; trials whose outcome looks abnormal are not made again",
    parameters: &[
        ParameterInfo {
            name: "exponent",
            default: "0.9",
            range: super::BETA_RANGE,
            meaning: "t: a rate of x Mbit/s is worth x^t",
        },
        ParameterInfo {
            name: "latency_coefficient",
            default: "900",
            range: PRICE,
            meaning: "b: the price of a round trip that grows; 0 takes no notice of delay",
        },
        ParameterInfo { name: "loss_coefficient", default: "11.35", range: PRICE, meaning: "c: the price of loss" },
        ParameterInfo {
            name: "epsilon",
            default: "0.05",
            range: super::BETA_RANGE,
            meaning: "the step of a trial, as a fraction of the rate",
        },
        ParameterInfo {
            name: "conversion",
            default: "1",
            range: STEP,
            meaning: "theta_0: the step along the gradient, Mbit/s for each unit of it",
        },
        ParameterInfo {
            name: "bound",
            default: "0.05",
            range: super::BETA_RANGE,
            meaning: "omega: the bound of a change, as a fraction of the rate",
        },
        ParameterInfo {
            name: "bound_step",
            default: "0.1",
            range: STEP,
            meaning: "delta: what each change that meets the bound adds to it",
        },
        ParameterInfo {
            name: "latency_tolerance",
            default: "0.01",
            range: PRICE,
            meaning: "growth of the round trip, seconds a second, that is taken for noise",
        },
    ],
};

pub(super) const SIAD: ControllerInfo = ControllerInfo {
    name: "siad",
    summary: "a congestion event every so many round trips at any rate, and decreases that empty the queue and no more",
    source: "Kuehlewind, TCP SIAD, ETH TIK report 367, 2016, and its Linux module's constants",
    departures: "windows are octets and not whole segments; the round trip after a reduction is that of packets",
    parameters: &[
        ParameterInfo {
            name: "rounds",
            default: "20",
            range: "2 to 100000",
            meaning: "Num_RTT: round trips from one congestion event to the next",
        },
        ParameterInfo {
            name: "tick",
            default: "\"1 ms\"",
            range: TIME,
            meaning: "round trips are measured in whole ticks, so that less than one is no queue",
        },
    ],
};
