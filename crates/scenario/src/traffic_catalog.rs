//! The kinds of traffic, as JSON for `ackclock traffic`.

use ackclock_sim::{DATA_MINING, SizeDistribution, WEB_SEARCH};
use serde_json::{Value, json};

use crate::catalog::{entry, parameter};

/// Applications, arrivals and distributions of sizes, with their parameters.
pub fn traffic() -> Value {
    let mut entries = applications();
    entries.extend(datagrams());
    entries.extend(arrivals());
    entries.extend(sizes());
    json!(entries)
}

fn applications() -> Vec<Value> {
    vec![
        entry("bulk", "app: data without end", "every study of congestion control", "none", &[]),
        entry(
            "file",
            "app: one file; the connection closes after it",
            "file transfer",
            "none",
            &[parameter("size", "required", "1 byte to 1 PiB", "the file's size")],
        ),
        entry(
            "files",
            "app: files in turn, each begun when the receiver has read the last",
            "file transfer",
            "none",
            &[
                parameter("sizes", "or size and count", "a list of sizes", "of the files"),
                parameter("gap", "\"0 s\"", "a duration", "between the end of one and the beginning of the next"),
            ],
        ),
        entry(
            "on_off",
            "app: writes during on periods, is silent during off periods; also for UDP, with a rate",
            "the on/off sources of ns-2",
            "none",
            &[
                parameter("on, off", "required", "a duration, or { exponential = \"1 s\" }", "length of the periods"),
                parameter("rate", "as fast as the connection takes it", "a rate", "while on"),
            ],
        ),
        entry(
            "request_response",
            "app: requests on one connection, each answered by the receiving end",
            "RPC; HTTP/1.1 on a connection that persists",
            "one request at a time: no pipelining",
            &[
                parameter("request", "\"200 B\"", "a size or a distribution", "what is asked"),
                parameter("response", "required", "a size or a distribution", "what is answered"),
                parameter("think", "\"0 s\"", "a duration, or { exponential = \"1 s\" }", "before the next request"),
                parameter("count", "without end", "at least 1", "how many; the connection closes after the last"),
            ],
        ),
        video(),
    ]
}

fn video() -> Value {
    entry(
        "video",
        "app: a video client that chooses the bitrate of each segment",
        "BBA-0: Huang et al. 2014; rate-based: Yin et al. 2015; ladder: Mao et al. 2017",
        "constant bitrate: a segment has exactly its bitrate times its playing time",
        &[
            parameter(
                "choose",
                "\"buffer\"",
                "\"buffer\" { reservoir, cushion }, \"rate\" { window, safety }",
                "the rule",
            ),
            parameter("ladder", "0.3, 0.75, 1.2, 1.85, 2.85, 4.3 Mbit/s", "bitrates in rising order", "to choose from"),
            parameter("segment", "\"4 s\"", "a duration", "playing time of a segment"),
            parameter("length", "without end", "a duration", "playing time of the video"),
            parameter("buffer", "\"240 s\"", "a duration", "playing time buffered at most"),
            parameter("playback", "a segment", "a duration", "playing time buffered before playback begins"),
            parameter("request", "\"200 B\"", "a size", "of the request for a segment"),
        ],
    )
}

fn datagrams() -> Vec<Value> {
    let rate = || [parameter("rate", "required", "a rate", "of payload")];
    vec![
        entry(
            "udp",
            "protocol: datagrams without congestion control; loss, one-way delay and jitter are reported",
            "RFC 768; loss and jitter as RFC 3550 counts them",
            "none",
            &[
                parameter("payload", "\"1200 B\"", "1 to 65507 bytes", "of each datagram"),
                parameter("until", "the end of the run", "a duration", "none leaves from then on"),
                parameter("ecn", "\"not_ect\"", "\"not_ect\", \"ect0\", \"ect1\"", "field of their packets"),
            ],
        ),
        entry("cbr", "app of UDP: evenly spaced datagrams", "cross traffic at a constant rate", "none", &rate()),
        entry("poisson", "app of UDP: datagrams with exponential gaps", "Poisson cross traffic", "none", &rate()),
    ]
}

fn arrivals() -> Vec<Value> {
    vec![entry(
        "arrivals",
        "short flows that arrive during the run, each on a connection of its own",
        "the flow-level experiments of DCTCP (2010) and pFabric (2013)",
        "only the opener closes its direction, unless there is a reply",
        &[
            parameter("rate", "or load", "\"1000 /s\"", "flows in a time"),
            parameter("load", "or rate", "a fraction", "payload over the slowest link's rate; headers come on top"),
            parameter(
                "process",
                "\"poisson\"",
                "\"poisson\", \"periodic\", \"log_normal\" { sigma }",
                "gaps between them",
            ),
            parameter("size", "required", "a size or a distribution", "what the opener sends"),
            parameter("reply", "none", "a size or a distribution", "what the acceptor sends back"),
            parameter("until, count", "the end of the run", "a duration; a number", "when arrivals end"),
            parameter("file", "in place of these", "CSV: start_s,size_bytes,reply_bytes", "arrivals one by one"),
            parameter("buckets", "10 kB, 100 kB, 1 MB, 10 MB", "sizes in rising order", "classes of the summary"),
        ],
    )]
}

fn sizes() -> Vec<Value> {
    let size = |name: &str, summary: &str, source: &str, parameters: &[Value]| {
        entry(name, &format!("size: {summary}"), source, "none", parameters)
    };
    let megabytes =
        |points: &[ackclock_sim::CdfPoint]| format!("mean {:.2} MB", SizeDistribution::Cdf(points.into()).mean() / 1e6);
    vec![
        size(
            "web_search",
            &format!("{{ cdf = \"web_search\" }}, {}", megabytes(&WEB_SEARCH)),
            "DCTCP (Alizadeh et al. 2010, figure 4), as tabled for pFabric's simulations (2013)",
            &[],
        ),
        size(
            "data_mining",
            &format!("{{ cdf = \"data_mining\" }}, {}", megabytes(&DATA_MINING)),
            "VL2 (Greenberg et al. 2009, figure 2), as tabled for pFabric's simulations (2013)",
            &[],
        ),
        size("uniform", "{ uniform = [\"1 kB\", \"3 kB\"] }", "textbooks", &[]),
        size("exponential", "{ exponential = \"50 kB\" }", "textbooks", &[]),
        size(
            "pareto",
            "{ pareto = { min or mean, shape, max } }: a heavy tail",
            "Crovella and Bestavros 1997",
            &[
                parameter("shape", "required", "more than 1, or more than 0 with a max", "tail index"),
                parameter("min, mean", "one of them", "a size", "least size, or mean"),
                parameter("max", "none", "a size", "cuts the tail off"),
            ],
        ),
        size(
            "log_normal",
            "{ log_normal = { median or mean, sigma } }",
            "textbooks",
            &[
                parameter("sigma", "required", "0 to 5", "standard deviation of the logarithm"),
                parameter("median, mean", "one of them", "a size", "where the distribution lies"),
            ],
        ),
        size("sizes of a file", "{ file = \"sizes.csv\" }: a list of sizes, or a distribution function", "yours", &[]),
    ]
}
