//! Disciplines that manage delay: parameters in range, each by default what the discipline says.

use std::collections::BTreeMap;

use ackclock_net::QueueConfig;
use ackclock_net::queue::{
    CakeConfig, CodelConfig, CodelParameters, DualPi2Config, DualScheduler, FqCodelConfig, FqPieConfig, PieConfig,
    PieParameters, ShaperConfig,
};
use ackclock_sim::FlowConfig;
use ackclock_units::{Bandwidth, Bytes, SimDuration};

use super::Checker;
use super::links::MAX_DELAY;
use super::queues::{Limits, place};
use crate::file::{Cake, Codel, DualPi2, DualScheduling, Duration, FqCodel, FqPie, Limit, Pie, PieControl, Size};
use crate::tree::FieldPath;

/// Queues of a discipline: each takes some memory.
const MIN_QUANTUM: Bytes = Bytes(40);
const MAX_QUANTUM: Bytes = Bytes(1 << 30);
const MAX_FLOWS: u32 = 65_536;

/// Room for the largest packet there is.
const MIN_MEMORY: Bytes = Bytes(65_536);

/// Updates that were due are made up for one by one.
const MIN_T_UPDATE: SimDuration = SimDuration::from_micros(100);

const MAX_GAIN: f64 = 1e6;
const MAX_OVERHEAD: i64 = 65_535;

/// The L4S queue's head start under time-shifted FIFO: twice the classic target, a choice of ours.
const SHIFT: SimDuration = SimDuration::from_millis(30);

impl Checker<'_, '_> {
    pub(super) fn codel(&mut self, table: &Codel, limits: &mut Limits<'_>) -> QueueConfig {
        let default = CodelConfig::default();
        let control = CodelParameters {
            target: self.some_time(table.target, default.control.target, limits.path, "target"),
            interval: self.some_time(table.interval, default.control.interval, limits.path, "interval"),
            ecn: table.ecn.unwrap_or(default.control.ecn),
            ce_threshold: table.ce_threshold.map(|threshold| threshold.0),
        };
        let limit = limits.note("limit", table.limit.unwrap_or(Limit::Packets(1_000)), place!(Codel.limit));
        QueueConfig::Codel(CodelConfig { limit, control })
    }

    pub(super) fn fq_codel(&mut self, table: &FqCodel, limits: &mut Limits<'_>) -> QueueConfig {
        let default = FqCodelConfig::default();
        let path = limits.path;
        let control = CodelParameters {
            target: self.some_time(table.target, default.control.target, path, "target"),
            interval: self.some_time(table.interval, default.control.interval, path, "interval"),
            ecn: table.ecn.unwrap_or(default.control.ecn),
            ce_threshold: table.ce_threshold.map(|threshold| threshold.0),
        };
        let drop_batch = table.drop_batch.unwrap_or(default.drop_batch);
        if drop_batch == 0 {
            self.report(&path.key("drop_batch"), "makes no room in a full queue", "use at least 1");
        }
        QueueConfig::FqCodel(FqCodelConfig {
            limit: limits.note("limit", table.limit.unwrap_or(Limit::Packets(10_240)), place!(FqCodel.limit)),
            memory_limit: self.memory(table.memory_limit, path).unwrap_or(default.memory_limit),
            flows: self.flow_queues(table.flows, default.flows, path),
            quantum: self.flow_quantum(table.quantum, default.quantum, limits.path),
            drop_batch: drop_batch.max(1),
            control,
        })
    }

    pub(super) fn pie(&mut self, table: &Pie, limits: &mut Limits<'_>) -> QueueConfig {
        let control = self.pie_control(&table.into(), limits.path);
        let limit = limits.note("limit", table.limit.unwrap_or(Limit::Packets(1_000)), place!(Pie.limit));
        QueueConfig::Pie(PieConfig { limit, control })
    }

    pub(super) fn fq_pie(&mut self, table: &FqPie, limits: &mut Limits<'_>) -> QueueConfig {
        let default = FqPieConfig::default();
        let path = limits.path;
        QueueConfig::FqPie(FqPieConfig {
            limit: limits.note("limit", table.limit.unwrap_or(Limit::Packets(10_240)), place!(FqPie.limit)),
            memory_limit: self.memory(table.memory_limit, path).unwrap_or(default.memory_limit),
            flows: self.flow_queues(table.flows, default.flows, path),
            quantum: self.flow_quantum(table.quantum, default.quantum, limits.path),
            control: self.pie_control(&table.into(), path),
        })
    }

    fn pie_control(&mut self, table: &PieControl, path: &FieldPath) -> PieParameters {
        let default = PieParameters::default();
        let mean_packet = table.mean_packet.map_or(default.mean_packet, |size| size.0);
        if mean_packet == Bytes::ZERO {
            self.report(&path.key("mean_packet"), "is no packet", "use the size of a full packet, \"1500 bytes\"");
        }
        PieParameters {
            target: self.some_time(table.target, default.target, path, "target"),
            t_update: self.update_time(table.t_update, default.t_update, path),
            alpha: self.number(table.alpha, default.alpha, 0.0..=MAX_GAIN, path, "alpha"),
            beta: self.number(table.beta, default.beta, 0.0..=MAX_GAIN, path, "beta"),
            max_burst: table.max_burst.map_or(default.max_burst, |burst| burst.0),
            ecn: table.ecn.unwrap_or(default.ecn),
            mark_threshold: self.number(
                table.mark_threshold,
                default.mark_threshold,
                0.0..=1.0,
                path,
                "mark_threshold",
            ),
            delay: table.delay.map_or(default.delay, Into::into),
            derandomize: table.derandomize.unwrap_or(default.derandomize),
            byte_mode: table.byte_mode.unwrap_or(default.byte_mode),
            mean_packet,
            activation: table.activation.map(|size| size.0),
        }
    }

    pub(super) fn cake(&mut self, table: &Cake, path: &FieldPath) -> QueueConfig {
        let default = CakeConfig::default();
        let mut bandwidth = table.bandwidth.map(|rate| rate.0);
        if bandwidth.take_if(|rate| *rate == Bandwidth(0)).is_some() {
            self.report(&path.key("bandwidth"), "lets nothing pass", "use at least 1 bit/s, or leave it out");
        }
        let overhead = table.overhead.unwrap_or(0);
        if !(-MAX_OVERHEAD..=MAX_OVERHEAD).contains(&overhead) {
            self.report(&path.key("overhead"), "is more than any link layer adds", "use -65535 to 65535 octets");
        }
        let flows = self.flow_queues(table.flows, default.flows, path);
        if !flows.is_multiple_of(8) {
            self.report(&path.key("flows"), "does not divide into sets of 8", "use a multiple of 8, such as 1024");
        }
        QueueConfig::Cake(CakeConfig {
            shaper: ShaperConfig {
                rate: bandwidth,
                overhead,
                minimum: table.minimum.map_or(Bytes::ZERO, |size| size.0),
                framing: table.cells.map(Into::into).unwrap_or_default(),
            },
            isolation: table.isolation.map_or(default.isolation, Into::into),
            hosts: default.hosts,
            ack_filter: table.ack_filter.map_or(default.ack_filter, Into::into),
            rtt: self.some_time(table.rtt, default.rtt, path, "rtt"),
            ecn: table.ecn.unwrap_or(default.ecn),
            memory_limit: self.memory(table.memory_limit, path),
            flows,
        })
    }

    /// Tells each CAKE which host an endpoint is on, now that the flows are known.
    pub(crate) fn resolve_hosts(&mut self, flows: &[FlowConfig]) {
        // By the numbers of their packets; those of short flows change, and each is a host of its own.
        let numbered = flows.iter().zip(&self.flow_traits).filter_map(|(flow, traits)| Some((traits.number?, flow)));
        let by_number: BTreeMap<usize, &FlowConfig> = numbered.collect();
        let hosts =
            || by_number.values().flat_map(|flow| [flow.from, flow.to].map(|node| node.index() as u32)).collect();
        for link in &mut self.network.links {
            if let QueueConfig::Cake(config) = &mut link.queue {
                config.hosts = hosts();
            }
        }
    }

    pub(super) fn dualpi2(&mut self, table: &DualPi2, limits: &mut Limits<'_>) -> QueueConfig {
        let default = DualPi2Config::default();
        let path = limits.path;
        QueueConfig::DualPi2(DualPi2Config {
            limit: limits.note("limit", table.limit.unwrap_or(Limit::Packets(10_000)), place!(DualPi2.limit)),
            target: self.update_time_of(table.target, default.target, path, "target"),
            rtt_max: self.update_time_of(table.rtt_max, default.rtt_max, path, "rtt_max"),
            coupling: self.number(table.coupling, default.coupling, 1.0..=100.0, path, "coupling"),
            threshold: table.threshold.map_or(default.threshold, |threshold| threshold.0),
            ramp: table.ramp.map_or(default.ramp, |ramp| ramp.0),
            threshold_packets: table.threshold_packets.unwrap_or(default.threshold_packets),
            scheduler: self.dual_scheduler(table, path),
        })
    }

    fn dual_scheduler(&mut self, table: &DualPi2, path: &FieldPath) -> DualScheduler {
        let time_shifted = table.scheduler == Some(DualScheduling::TimeShifted);
        let (stray, of) = if time_shifted {
            (table.classic_share.is_some(), "classic_share")
        } else {
            (table.shift.is_some(), "shift")
        };
        if stray {
            let remedy = "leave it out, or choose the other of \"weighted\" and \"time_shifted\" as scheduler";
            self.report(&path.key(of), "means nothing to this scheduler", remedy);
        }
        if time_shifted {
            return DualScheduler::TimeShifted { shift: table.shift.map_or(SHIFT, |shift| shift.0) };
        }
        let classic_share = self.number(table.classic_share, 1.0 / 16.0, 0.001..=0.999, path, "classic_share");
        DualScheduler::Weighted { classic_share }
    }

    /// A span that must not be empty.
    fn some_time(
        &mut self,
        given: Option<Duration>,
        default: SimDuration,
        path: &FieldPath,
        field: &str,
    ) -> SimDuration {
        let Some(Duration(time)) = given else { return default };
        if time.is_zero() || time > MAX_DELAY {
            let remedy = format!("use more than nothing and at most {MAX_DELAY}; {default} is the default");
            self.report(&path.key(field), "is no time that packets could be held to", remedy);
            return default;
        }
        time
    }

    fn update_time(&mut self, given: Option<Duration>, default: SimDuration, path: &FieldPath) -> SimDuration {
        self.update_time_of(given, default, path, "t_update")
    }

    /// A span after which a controller acts, or from which that follows.
    fn update_time_of(
        &mut self,
        given: Option<Duration>,
        default: SimDuration,
        path: &FieldPath,
        field: &str,
    ) -> SimDuration {
        let time = self.some_time(given, default, path, field);
        if time < MIN_T_UPDATE {
            self.report(&path.key(field), "is too short to act on", format!("use at least {MIN_T_UPDATE}"));
            return default;
        }
        time
    }

    fn number(
        &mut self,
        given: Option<f64>,
        default: f64,
        range: std::ops::RangeInclusive<f64>,
        path: &FieldPath,
        field: &str,
    ) -> f64 {
        let value = given.unwrap_or(default);
        if range.contains(&value) {
            return value;
        }
        let remedy = format!("use {} to {}; {default} is the default", range.start(), range.end());
        self.report(&path.key(field), "is out of range", remedy);
        default
    }

    fn flow_queues(&mut self, given: Option<u32>, default: u32, path: &FieldPath) -> u32 {
        let flows = given.unwrap_or(default);
        if (1..=MAX_FLOWS).contains(&flows) {
            return flows;
        }
        self.report(&path.key("flows"), "is no number of queues", format!("use 1 to {MAX_FLOWS}"));
        default
    }

    pub(super) fn flow_quantum(&mut self, given: Option<Size>, default: Bytes, path: &FieldPath) -> Bytes {
        let quantum = given.map_or(default, |size| size.0);
        if (MIN_QUANTUM..=MAX_QUANTUM).contains(&quantum) {
            return quantum;
        }
        let remedy = format!("use {MIN_QUANTUM} to {MAX_QUANTUM}; {default} is a full Ethernet frame");
        self.report(&path.key("quantum"), "is no turn to send in", remedy);
        default
    }

    fn memory(&mut self, given: Option<Size>, path: &FieldPath) -> Option<Bytes> {
        let Size(memory) = given?;
        if memory < MIN_MEMORY {
            let remedy = format!("use at least {MIN_MEMORY}, or limit packets by `limit`");
            self.report(&path.key("memory_limit"), "may be less than one packet", remedy);
        }
        Some(memory)
    }
}
