//! What there is, for `ackclock controllers`: names, sources, parameters.

mod classic;
mod delay;
mod learned;
mod model;

/// One parameter of a controller.
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

/// One controller.
#[derive(Clone, Copy, Debug)]
pub struct ControllerInfo {
    /// As in a scenario.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// RFC or paper.
    pub source: &'static str,
    /// Where it leaves its source.
    pub departures: &'static str,
    /// Its parameters.
    pub parameters: &'static [ParameterInfo],
}

const RENO_PARAMETERS: &[ParameterInfo] = &[
    ParameterInfo {
        name: "increase",
        default: "\"bytes\"",
        range: "\"bytes\", \"acks\" or \"segments\"",
        meaning: "what the window counts: bytes (RFC 3465), ACKs (RFC 5681, the square-root law) or whole segments, as Linux does",
    },
    ParameterInfo {
        name: "beta",
        default: "0.5",
        range: BETA_RANGE,
        meaning: "fraction of the flight size kept on congestion",
    },
    ParameterInfo {
        name: "beta_ecn",
        default: "as beta",
        range: BETA_RANGE,
        meaning: "the same where the network marked a packet (RFC 8511: 0.8)",
    },
    HYSTART,
];

const BETA_RANGE: &str = "0 to 1, exclusive";

const HYSTART: ParameterInfo = ParameterInfo {
    name: "hystart",
    default: "\"off\"",
    range: "\"off\", \"linux\" or \"rfc9406\"",
    meaning: "what ends slow start before the first loss: ACK trains and rising delay as Linux measures them, or HyStart++",
};

const RENO_CHOICES: &str = "none; congestion avoidance adds a fraction of a segment on every ACK (RFC 5681 equation 3), slow start counts bytes with L = 2; with increase = \"segments\" Linux's rules: slow start without L, a whole segment for a window of them, ssthresh in whole segments";

/// Every controller that a scenario can name.
pub const CONTROLLERS: &[ControllerInfo] = &[
    ControllerInfo {
        name: "tahoe",
        summary: "Reno's window rules with Tahoe's recovery: one segment after every loss, no fast recovery",
        source: "Jacobson, Congestion Avoidance and Control, SIGCOMM 1988",
        departures: "retransmits from the first missing byte on, as after a timeout (ns-2 does too)",
        parameters: RENO_PARAMETERS,
    },
    ControllerInfo {
        name: "reno",
        summary: "additive increase, halving; the recovery is the stack's unless tcp.loss_recovery says otherwise",
        source: "RFC 5681, RFC 3465",
        departures: RENO_CHOICES,
        parameters: RENO_PARAMETERS,
    },
    ControllerInfo {
        name: "newreno",
        summary: "Reno's window rules with NewReno's recovery: stays in recovery over partial ACKs, without SACK",
        source: "RFC 5681, RFC 6582",
        departures: RENO_CHOICES,
        parameters: RENO_PARAMETERS,
    },
    ControllerInfo {
        name: "cubic",
        summary: "window as a cubic function of the time since the last congestion, never slower than Reno",
        source: "RFC 9438; the behaviour of Linux 6.18",
        departures: "none; the decrease works on the flight size, slow start is RFC 5681's with byte counting (L = 2); variant \"linux\": the cube root is exact, the clock ticks at 250 Hz",
        parameters: &[
            ParameterInfo {
                name: "variant",
                default: "\"rfc9438\"",
                range: "\"rfc9438\" or \"linux\"",
                meaning: "whose rules: the RFC's, or Linux's in whole segments and integers",
            },
            ParameterInfo {
                name: "c",
                default: "0.4; linux 410/1024",
                range: "> 0, segments/s^3; linux from 1/1024",
                meaning: "steepness of the curve",
            },
            ParameterInfo {
                name: "beta",
                default: "0.7; linux 717/1024",
                range: BETA_RANGE,
                meaning: "fraction of the flight size kept on congestion",
            },
            ParameterInfo {
                name: "beta_ecn",
                default: "as beta",
                range: BETA_RANGE,
                meaning: "the same where the network marked a packet (RFC 8511: 0.85)",
            },
            ParameterInfo {
                name: "fast_convergence",
                default: "true",
                range: "true or false",
                meaning: "lower W_max when the window falls twice in a row (section 4.7)",
            },
            ParameterInfo {
                name: "reno_friendly",
                default: "true",
                range: "true or false",
                meaning: "never be slower than Reno would be (section 4.3)",
            },
            HYSTART,
        ],
    },
    classic::AIMD,
    classic::BIC,
    classic::HIGHSPEED,
    classic::HTCP,
    classic::HYBLA,
    classic::ILLINOIS,
    classic::SCALABLE,
    classic::VENO,
    classic::WESTWOOD,
    classic::YEAH,
    delay::VEGAS,
    delay::VEGAS_MODIFIED,
    delay::VEGAS_SKEW_TOLERANT,
    delay::FAST,
    delay::LEDBAT,
    delay::LEDBAT_PLUS_PLUS,
    delay::COPA,
    delay::SWIFT,
    ControllerInfo {
        name: "fixed",
        summary: "holds a given window whatever happens: an instrument for measuring paths and the simulator",
        source: "none",
        departures: "answers no congestion signal",
        parameters: &[ParameterInfo {
            name: "window",
            default: "required",
            range: "an amount of data, or segments as in \"100 segments\"",
            meaning: "the window to hold",
        }],
    },
    model::BBR,
    model::BBR3,
    model::DCTCP,
    model::PRAGUE,
    model::ALLEGRO,
    model::VIVACE,
    model::SIAD,
    learned::DQN_NEWRENO,
    learned::DQN_CUBIC,
    learned::POLICY,
    ControllerInfo {
        name: "python",
        summary: "a class of your own: \"python:module:Class\", or a table; see docs/how-to/own-controller-python.md",
        source: "yours",
        departures: "its class is looked for beside the scenario, then wherever Python looks",
        parameters: &[
            ParameterInfo {
                name: "class",
                default: "required",
                range: "\"module:Class\"",
                meaning: "a subclass of ackclock.CongestionController",
            },
            ParameterInfo {
                name: "parameters",
                default: "{}",
                range: "a table",
                meaning: "keyword arguments of its constructor",
            },
        ],
    },
    ControllerInfo {
        name: "external",
        summary: "one that a Rust program brings along; see docs/how-to/own-controller-rust.md",
        source: "the program's",
        departures: "the program's; the ackclock command itself brings none",
        parameters: &[
            ParameterInfo {
                name: "name",
                default: "required",
                range: "a name that the program knows",
                meaning: "which one",
            },
            ParameterInfo {
                name: "parameters",
                default: "{}",
                range: "a table",
                meaning: "what the program makes of them is its own affair",
            },
        ],
    },
];
