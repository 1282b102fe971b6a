//! The simulation: the network, the hosts and applications on it, and the loop that moves time.
//!
//! [`Simulation`] is made from a [`SimulationConfig`], which is a checked one and cannot fail; `ackclock_scenario` reads one
//! from a file. [`Simulation::run_until`] is all that moves time, and [`Simulation::finish`] runs to the end and gives the
//! [`Outcome`]: a [`Summary`], [tables](Table) of columns, captures. [`ParallelSimulation`] does the same on several threads,
//! with the same bytes.
//!
//! A run that is inspected on the way, and then finished:
//!
//! ```
//! use ackclock_sim::{Simulation, SimulationConfig, Summary};
//! use ackclock_units::{SimDuration, SimTime};
//!
//! fn watch(config: &SimulationConfig) -> Summary {
//!     let mut simulation = Simulation::new(config);
//!     while !simulation.is_finished() {
//!         simulation.run_until(simulation.now() + SimDuration::from_secs(1));
//!         for flow in simulation.flows() {
//!             let info = simulation.sender(flow).tcp_info(simulation.now());
//!             println!("{flow:?} {} segments, srtt {}", info.snd_cwnd, info.rtt);
//!         }
//!     }
//!     simulation.finish().summary
//! }
//! ```

mod app;
mod appliance;
mod capture;
mod captures;
mod config;
mod connections;
mod end_view;
mod episodes;
mod event_queue;
mod events_table;
mod footprint;
mod hosts;
mod ids;
mod link_recorder;
mod network;
mod outcome;
mod partition;
mod phase_effects;
mod recorder;
mod recording;
mod simulation;
mod stream;
mod streams;
mod summary;
mod summary_json;
mod timer;
mod traffic;
mod watch;

pub use ackclock_quic::{AckFrequency, QuicConfig};
pub use ackclock_wire::Ecn;
pub use app::{Action, AfterRead, App, Outlet};
pub use appliance::{
    ApplianceConfig, ApplianceSummary, BlockingSummary, Copying, DirectionSummary, HandshakeOrder, ShortFlowCounts,
    SideConfig, SplitConfig, SplitSummary,
};
pub use capture::{Capture, DEFAULT_PORT, write_pcapng};
pub use config::{
    AppConfig, FlowConfig, FlowSeries, LinkSeries, MeasureWindow, Sampling, SimulationConfig, Span, TraceConfig,
};
pub use events_table::EventLog;
pub use ids::FlowId;
pub use link_recorder::LinkRecorder;
pub use outcome::{
    Column, ColumnData, Distribution, EngineCounters, FlowSummary, LimitShares, LinkSummary, NO_NAME, Outcome,
    QueueSummary, Summary, Table,
};
pub use recording::CapturedPacket;
pub use simulation::{ParallelSimulation, PartitionSummary, Simulation};
pub use summary::{distribution, jain_index, link_summary, takes_part};
pub use summary_json::write_summary;
pub use traffic::{
    Arrival, Arrivals, ArrivalsConfig, ByBuffer, ByRate, CdfPoint, Choose, Completion, CompletionLog, DATA_MINING,
    DatagramConfig, DatagramEcn, DatagramFlow, DatagramSummary, EmptyPath, ExchangeSummary, ExternalSource,
    ExternalSourceConfig, FileApp, FilesApp, FlowGroup, Gaps, GroupSummary, ListedFlow, LogNormalGaps, LogNormalSizes,
    MediaApp, MediaSummary, OnOffApp, POISSON, ParetoSizes, RateApp, RateControl, Sending, SizeBucket,
    SizeDistribution, SourceStart, Supply, Then, TrafficConfig, TrafficSource, UdpProtocol, VideoApp, VideoChoice,
    VideoConfig, VideoSummary, WEB_SEARCH, completion_table, own_sources,
};
pub use watch::EventSelection;
