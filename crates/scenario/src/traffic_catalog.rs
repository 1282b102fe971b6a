//! The catalogue of traffic, as JSON for `ackclock list traffic`.

use ackclock_declare::{Entry, Part};
use ackclock_sim::{
    Choose, DATA_MINING, FileApp, FilesApp, LogNormalSizes, MediaApp, OnOffApp, POISSON, ParetoSizes, QuicConfig,
    RateApp, RateControl, SizeDistribution, UdpProtocol, VideoApp, WEB_SEARCH,
};
use serde_json::{Value, json};

use crate::catalog::{entry, parameter};

/// Applications, arrivals and distributions of sizes, with their parameters.
pub fn traffic() -> Value {
    let mut entries = applications();
    entries.extend(datagrams());
    entries.push(media());
    entries.extend(arrivals());
    entries.extend(sizes());
    json!(entries)
}

fn applications() -> Vec<Value> {
    vec![
        entry(
            "bulk",
            "app: data without end (ns-2's FTP, ns-3's BulkSend)",
            "every study of congestion control",
            "none",
            &[],
        ),
        FileApp::part().to_json(),
        FilesApp::part().to_json(),
        OnOffApp::part().to_json(),
        entry(
            "request_response",
            "app: requests on one connection, each answered by the receiving end (RPC, HTTP)",
            "RPC; HTTP/1.1 on a persistent connection",
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
    let mut entry = VideoApp::part().to_json();
    let parameters = entry["parameters"].as_array_mut().expect("a list");
    for (kind, fields) in Choose::kinds() {
        parameters.extend(fields.iter().map(|field| field.to_json(&format!("choose = {kind}: {}", field.name))));
    }
    entry
}

fn media() -> Value {
    let mut entry = MediaApp::part().to_json();
    let parameters = entry["parameters"].as_array_mut().expect("a list");
    for (kind, fields) in RateControl::kinds() {
        parameters.extend(fields.iter().map(|field| field.to_json(&format!("controller = {kind}: {}", field.name))));
    }
    entry
}

fn datagrams() -> [Value; 4] {
    let poisson = Part::new(POISSON, (), &[], |_| (), |rate: RateApp| rate);
    [QuicConfig::part().to_json(), UdpProtocol::part().to_json(), RateApp::part().to_json(), poisson.to_json()]
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
    let size = |name: &str, summary: &str, source: &str| entry(name, &format!("size: {summary}"), source, "none", &[]);
    let megabytes =
        |points: &[ackclock_sim::CdfPoint]| format!("mean {:.2} MB", SizeDistribution::Cdf(points.into()).mean() / 1e6);
    vec![
        size(
            "web_search",
            &format!("{{ cdf = \"web_search\" }}, {}", megabytes(&WEB_SEARCH)),
            "DCTCP (Alizadeh et al. 2010, figure 4), as tabled for pFabric's simulations (2013)",
        ),
        size(
            "data_mining",
            &format!("{{ cdf = \"data_mining\" }}, {}", megabytes(&DATA_MINING)),
            "VL2 (Greenberg et al. 2009, figure 2), as tabled for pFabric's simulations (2013)",
        ),
        size("uniform", "{ uniform = [\"1 kB\", \"3 kB\"] }", "textbooks"),
        size("exponential", "{ exponential = \"50 kB\" }", "textbooks"),
        ParetoSizes::part().to_json(),
        LogNormalSizes::part().to_json(),
        size("sizes of a file", "{ file = \"sizes.csv\" }: a list of sizes, or a distribution function", "yours"),
    ]
}
