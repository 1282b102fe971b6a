//! What there is, for `ackclock disciplines`: names, sources, parameters.

/// One parameter of a discipline.
#[derive(Clone, Copy, Debug)]
pub struct ParameterInfo {
    /// As in a scenario.
    pub name: &'static str,
    /// Default, as written in a scenario.
    pub default: &'static str,
    /// Allowed values and unit.
    pub range: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

/// One discipline.
#[derive(Clone, Copy, Debug)]
pub struct DisciplineInfo {
    /// As in a scenario.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Paper or RFC.
    pub source: &'static str,
    /// Where it leaves its source, or what the source leaves open.
    pub departures: &'static str,
    /// Its parameters.
    pub parameters: &'static [ParameterInfo],
}

const THESIS: &str = "J. Isogaki, JAIST master's thesis, 2005";
const TIME: &str = "a duration above zero";
const WAIT: &str = "a duration";
const SIZE: &str = "a size above zero";
const SEGMENTS: &str = "1 or more, segments";

const fn parameter(
    name: &'static str,
    default: &'static str,
    range: &'static str,
    meaning: &'static str,
) -> ParameterInfo {
    ParameterInfo { name, default, range, meaning }
}

/// Every discipline that a scenario can name.
pub const DISCIPLINES: &[DisciplineInfo] =
    &[SOCKET, ECE_INTERVAL, ECE_DROPTAIL, ECE_RED, DRAIN_RATE, CODEL_WINDOW, NOT_SENT, CREDIT];

const SOCKET: DisciplineInfo = DisciplineInfo {
    name: "socket",
    summary: "none: both sockets' buffers fill up",
    source: THESIS,
    departures: "none",
    parameters: &[],
};

const ECE_INTERVAL: DisciplineInfo = DisciplineInfo {
    name: "ece_interval",
    summary: "raises ECE towards the sender at intervals during a burst",
    source: THESIS,
    departures: "interval and burst are not given: a burst lasts while something is not acknowledged by the far end, and a signal waits until something waits to be sent",
    parameters: &[parameter("interval", "\"20 ms\"", TIME, "from the burst's beginning and from signal to signal")],
};

const ECE_DROPTAIL: DisciplineInfo = DisciplineInfo {
    name: "ece_droptail",
    summary: "raises ECE towards the sender when octets arrive over a limit of in-socket data",
    source: THESIS,
    departures: "the limit is not given; in-socket data is what arrived and the far end has not acknowledged",
    parameters: &[
        parameter("limit", "\"500 kB\"", SIZE, "in-socket data over which it signals: what is under way counts"),
        parameter("every_rtt", "false", "true or false", "no more than one signal in a near-side round trip"),
    ],
};

const ECE_RED: DisciplineInfo = DisciplineInfo {
    name: "ece_red",
    summary: "raises ECE towards the sender by chance, the likelier the fuller the sockets are above a threshold",
    source: THESIS,
    departures: "threshold, limit and probability are not given; the in-socket data counts as it is, without RED's average",
    parameters: &[
        parameter("threshold", "\"320 kB\"", "a size", "in-socket data up to which it is silent"),
        parameter(
            "limit",
            "\"680 kB\"",
            "a size above the threshold",
            "where max_probability is reached, and 1 beyond",
        ),
        parameter("max_probability", "0.1", "above 0 to 1", "of a signal for an arriving segment, at the limit"),
    ],
};

const DRAIN_RATE: DisciplineInfo = DisciplineInfo {
    name: "drain_rate",
    summary: "a window of what the far side sends in a near round trip and a target, by its measured rate",
    source: "ours",
    departures: "none",
    parameters: &[
        parameter("target", "\"5 ms\"", WAIT, "how long an octet may wait"),
        parameter(
            "measure",
            "\"10 ms\"",
            TIME,
            "over how long the rate is measured; a far round trip if that is longer",
        ),
        parameter("min_segments", "10", SEGMENTS, "the least window"),
    ],
};

const CODEL_WINDOW: DisciplineInfo = DisciplineInfo {
    name: "codel_window",
    summary: "a window that shrinks while octets wait longer than a target for an interval, and grows else",
    source: "ours, after RFC 8289",
    departures: "a cut takes an eighth of the window instead of dropping a packet; a sixteenth of what is sent makes it grow, all of it before the first cut",
    parameters: &[
        parameter("target", "\"5 ms\"", TIME, "waiting that is acceptable for good"),
        parameter("interval", "\"10 ms\"", TIME, "how long waiting may be longer; of the order of the near round trip"),
        parameter("min_segments", "2", SEGMENTS, "the least window"),
    ],
};

const NOT_SENT: DisciplineInfo = DisciplineInfo {
    name: "not_sent",
    summary: "little that is not sent in the far socket (TCP_NOTSENT_LOWAT), a small window before it",
    source: "ours, of what systems have",
    departures: "none",
    parameters: &[
        parameter("low_water", "\"16 kB\"", SIZE, "octets not sent with which the far socket is content"),
        parameter("window", "\"64 kB\"", SIZE, "what may have arrived and not been handed on; the near side's window"),
    ],
};

const CREDIT: DisciplineInfo = DisciplineInfo {
    name: "credit",
    summary: "lets the near side send what the far side will be able to pass on when it has come, foretold from its ACK clock",
    source: "ours",
    departures: "none",
    parameters: &[
        parameter(
            "margin",
            "\"3 ms\"",
            WAIT,
            "how long before they can leave octets should arrive: about what they wait",
        ),
        parameter("slow_start_growth", "2", "1 or more", "what an ACK frees in slow start, times what it acknowledges"),
        parameter("min_window_segments", "4", SEGMENTS, "for a smaller far window nothing is fetched in advance"),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{
        CodelWindowConfig, CreditConfig, DrainRateConfig, EceDropTailConfig, EceIntervalConfig, EceRedConfig,
        NotSentConfig,
    };

    fn defaults(name: &str) -> Vec<&'static str> {
        let info = DISCIPLINES.iter().find(|info| info.name == name).unwrap();
        info.parameters.iter().map(|parameter| parameter.default.trim_matches('"')).collect()
    }

    #[test]
    fn the_defaults_told_are_those_that_hold() {
        let EceIntervalConfig { interval } = EceIntervalConfig::default();
        assert_eq!(defaults("ece_interval"), [interval.to_string()]);
        let EceDropTailConfig { limit, every_rtt } = EceDropTailConfig::default();
        assert_eq!(defaults("ece_droptail"), [limit.to_string(), every_rtt.to_string()]);
        let EceRedConfig { threshold, limit, max_probability } = EceRedConfig::default();
        assert_eq!(defaults("ece_red"), [threshold.to_string(), limit.to_string(), max_probability.to_string()]);
        let DrainRateConfig { target, measure, min_segments } = DrainRateConfig::default();
        assert_eq!(defaults("drain_rate"), [target.to_string(), measure.to_string(), min_segments.to_string()]);
        let CodelWindowConfig { target, interval, min_segments } = CodelWindowConfig::default();
        assert_eq!(defaults("codel_window"), [target.to_string(), interval.to_string(), min_segments.to_string()]);
        let NotSentConfig { low_water, window } = NotSentConfig::default();
        assert_eq!(defaults("not_sent"), [low_water.to_string(), window.to_string()]);
        let CreditConfig { margin, slow_start_growth, min_window_segments } = CreditConfig::default();
        let credit = [margin.to_string(), slow_start_growth.to_string(), min_window_segments.to_string()];
        assert_eq!(defaults("credit"), credit);
    }
}
