//! Traffic beyond connections that exist from the beginning: short flows that come and go, datagrams, media, exchanges.
//!
//! Kinds of traffic that a scenario lacks cost nothing: no event is scheduled for them, and no state is read.

mod apps;
mod arrivals;
mod completions;
mod config;
mod datagrams;
mod empty_path;
mod exchange;
mod group;
mod media;
mod own;
mod short_flows;
mod sink;
mod sizes;
mod video;

pub use ackclock_media::{MediaApp, RateControl};
pub use apps::{DatagramEcn, FileApp, FilesApp, OnOffApp, POISSON, RateApp, UdpProtocol};
pub use arrivals::Arrival;
pub use completions::{Completion, CompletionLog, ExchangeSummary, GroupSummary, SizeBucket, completion_table};
pub use config::{
    Arrivals, ArrivalsConfig, DatagramConfig, Gaps, ListedFlow, LogNormalGaps, Sending, TrafficConfig, VideoChoice,
    VideoConfig,
};
pub use datagrams::DatagramFlow;
pub use empty_path::EmptyPath;
pub use group::FlowGroup;
pub use media::MediaSummary;
pub use own::{ExternalSource, ExternalSourceConfig, SourceStart, Supply, Then, TrafficSource, own_sources};
pub use sink::DatagramSummary;
pub use sizes::{CdfPoint, DATA_MINING, LogNormalSizes, ParetoSizes, SizeDistribution, WEB_SEARCH};
pub use video::{ByBuffer, ByRate, Choose, VideoApp, VideoSummary};

pub(crate) use datagrams::DatagramFlows;
pub(crate) use empty_path::{highest_rate, least_delay};
pub(crate) use exchange::Requester;
pub(crate) use short_flows::ShortFlows;

#[cfg(test)]
fn test_flow() -> crate::config::FlowConfig {
    use ackclock_net::NodeId;
    use ackclock_units::SimTime;

    crate::config::FlowConfig {
        name: "group".to_owned(),
        from: NodeId::new(0),
        to: NodeId::new(1),
        start: SimTime::ZERO,
        controller: ackclock_cc::ControllerConfig::Cubic(ackclock_cc::CubicConfig::default()),
        controller_name: "cubic".to_owned(),
        profile: "rfc",
        quic: None,
        sender: ackclock_tcp::TcpConfig::default().into(),
        receiver: ackclock_tcp::TcpConfig::default().into(),
        app: crate::config::AppConfig::Bulk,
        reply: None,
        read_rate: None,
        stops_reading: None,
        accepts: true,
        abort_at: None,
        port: crate::DEFAULT_PORT,
        capture: false,
    }
}

#[cfg(test)]
fn test_link(rate: u64, delay: ackclock_units::SimDuration) -> ackclock_net::LinkConfig {
    let ends = (ackclock_net::NodeId::new(0), ackclock_net::NodeId::new(1));
    ackclock_net::LinkConfig::plain("link", ends, ackclock_units::Bandwidth(rate), delay)
}
