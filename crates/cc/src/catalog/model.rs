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
            default: "\"10 s\"",
            range: TIME,
            meaning: "how long the least round trip counts before it is measured anew, with half a path full in flight; 5 s in draft-ietf-ccwg-bbr-02",
        },
        PROBE_RTT_DURATION,
    ],
};
