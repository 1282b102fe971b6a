//! The simulation: the network, the hosts and applications on it, and the loop that moves time.

mod capture;
mod config;
mod outcome;

pub use capture::write_pcapng;
pub use config::{
    AppConfig, FlowConfig, FlowSeries, LinkSeries, MeasureWindow, Sampling, SimulationConfig, Span, TraceConfig,
};
pub use outcome::{
    Capture, CapturedPacket, Column, ColumnData, Distribution, EngineCounters, FlowSummary, LinkSummary, Outcome,
    QueueSummary, Summary, Table,
};
