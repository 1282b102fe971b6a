//! RED, and disciplines that decide who goes next: parameters in range.

use ackclock_net::queue::{
    BandConfig, DrrConfig, FqConfig, PriorityConfig, RedConfig, SfqConfig, SharedBufferConfig,
    Sharing as SharingConfig, TbfConfig,
};
use ackclock_net::{PacketClass, QueueConfig, QueueLimit};
use ackclock_sim::FlowConfig;
use ackclock_units::{Bandwidth, Bytes, SimDuration};

use super::queues::{Limits, PendingFlows, place};
use super::{Checker, suggest};
use crate::file::{Band, Drr, Fq, Limit, Priority, Red, Sfq, SharedBuffer, Sharing, Size, Tbf};
use crate::tree::FieldPath;

const FULL_PACKET: Bytes = Bytes(1_500);

/// The least that a turn may bring, and the most: below, turns outnumber packets; above, nobody shares.
const QUANTUM: (Bytes, Bytes) = (Bytes(64), Bytes(1_000_000_000));

const MAX_BUCKETS: u32 = 65_536;
const MAX_BANDS: usize = 64;
const MAX_ALPHA: f64 = 1e6;

/// The least that Adaptive RED's lower threshold is, in packets, and the delay that it aims at (Floyd, Gummadi and
/// Shenker 2001, section 4.3).
const ADAPTIVE_LEAST: f64 = 5.0;
const ADAPTIVE_TARGET_S: f64 = 0.005;

/// The upper threshold over the lower (Floyd 1997).
const THRESHOLDS: u64 = 3;

impl Checker<'_, '_> {
    pub(super) fn red(
        &mut self,
        table: &Red,
        default_limit: Limit,
        rate: Bandwidth,
        limits: &mut Limits<'_>,
    ) -> QueueConfig {
        let default = RedConfig::default();
        let path = limits.path;
        let adaptive = table.adaptive.unwrap_or(default.adaptive);
        let mean_packet = table.mean_packet.map_or(default.mean_packet, |size| size.0);
        if mean_packet == Bytes::ZERO {
            self.report(&path.key("mean_packet"), "is smaller than any packet", "use \"1500 bytes\"");
        }
        if table.max_threshold.is_some() && table.min_threshold.is_none() {
            self.missing(&path.key("min_threshold"), "min_threshold = \"5 packets\", as there is a max_threshold");
        }
        let lower = if adaptive { adaptive_threshold(rate, mean_packet) } else { 5 };
        let min = table.min_threshold.unwrap_or(Limit::Packets(lower));
        let max = table.max_threshold.unwrap_or(times(min, THRESHOLDS));
        QueueConfig::Red(RedConfig {
            min_threshold: limits.note_threshold("min_threshold", min, place!(Red.min_threshold)),
            max_threshold: limits.note_threshold("max_threshold", max, place!(Red.max_threshold)),
            max_p: self.share(table.max_p, default.max_p, &path.key("max_p")),
            weight: match table.weight {
                None if adaptive => None,
                weight => Some(self.share(weight, 0.002, &path.key("weight"))),
            },
            gentle: table.gentle.unwrap_or(default.gentle),
            adaptive,
            ecn: table.ecn.unwrap_or(default.ecn),
            mean_packet,
            limit: limits.note("limit", table.limit.unwrap_or(default_limit), place!(Red.limit)),
        })
    }

    /// More than 0 and at most 1.
    fn share(&mut self, value: Option<f64>, default: f64, path: &FieldPath) -> f64 {
        match value {
            None => default,
            Some(value) if value > 0.0 && value <= 1.0 => value,
            Some(_) => {
                self.report(path, "is out of range", format!("use more than 0 and at most 1, such as {default}"));
                default
            }
        }
    }

    pub(super) fn tbf(&mut self, table: &Tbf, default_limit: Limit, limits: &mut Limits<'_>) -> QueueConfig {
        let path = limits.path;
        let rate = match table.rate.map(|rate| rate.0) {
            None => {
                self.missing(&path.key("rate"), "rate = \"10 Mbit/s\"");
                Bandwidth(1_000_000)
            }
            Some(Bandwidth(0)) => {
                self.report(&path.key("rate"), "is a rate at which nothing moves", "use at least 1 bit/s");
                Bandwidth(1_000_000)
            }
            Some(rate) => rate,
        };
        let burst = table.burst.map_or(Bytes::ZERO, |burst| burst.0);
        if table.burst.is_none() {
            self.missing(&path.key("burst"), "burst = \"15 kB\"");
        }
        let limit = limits.note("limit", table.limit.unwrap_or(default_limit), place!(Tbf.limit));
        QueueConfig::Tbf(TbfConfig { rate, burst, limit })
    }

    pub(super) fn priority(&mut self, table: &Priority, default_limit: Limit, limits: &mut Limits<'_>) -> QueueConfig {
        let path = limits.path.key("bands");
        let bands = table.bands.clone().unwrap_or_default();
        let count = bands.0.len();
        if count == 0 {
            self.missing(&path, "bands = [{ of = \"acks\" }, {}]");
        } else if count > MAX_BANDS {
            self.report(
                &path,
                "holds more bands than packets could be told apart by",
                format!("use at most {MAX_BANDS}"),
            );
        }
        let bands = bands.iter().enumerate();
        let bands =
            bands.map(|(place, (index, band))| self.band(band, place, &path.index(index), default_limit, limits));
        QueueConfig::Priority(PriorityConfig { bands: bands.collect() })
    }

    fn band(
        &mut self,
        band: &Band,
        place: usize,
        path: &FieldPath,
        default_limit: Limit,
        limits: &mut Limits<'_>,
    ) -> BandConfig {
        if let Some(names) = &band.flows {
            limits.note_flows(PendingFlows { band: place, path: path.key("flows"), names: names.clone() });
        }
        if band.max_size.is_some_and(|size| size.0 == Bytes::ZERO) {
            self.report(&path.key("max_size"), "is smaller than any packet", "use at least \"40 bytes\"");
        }
        BandConfig {
            class: band.of.map_or(PacketClass::Any, Into::into),
            flows: None,
            largest: band.max_size.map(|size| size.0),
            limit: limits.note_band(place, &path.key("limit"), band.limit.unwrap_or(default_limit)),
        }
    }

    pub(super) fn drr(&mut self, table: &Drr, default_limit: Limit, limits: &mut Limits<'_>) -> QueueConfig {
        let quantum = self.quantum(table.quantum, FULL_PACKET, limits);
        let limit = limits.note("limit", table.limit.unwrap_or(default_limit), place!(Drr.limit));
        QueueConfig::Drr(DrrConfig { quantum, limit })
    }

    pub(super) fn sfq(&mut self, table: &Sfq, limits: &mut Limits<'_>) -> QueueConfig {
        let default = SfqConfig::default();
        let buckets = match table.buckets.map(u32::try_from) {
            None => default.buckets,
            Some(Ok(buckets)) if (1..=MAX_BUCKETS).contains(&buckets) => buckets,
            Some(_) => {
                let remedy = format!("use 1 to {MAX_BUCKETS}");
                self.report(&limits.path.key("buckets"), "is no number of queues", remedy);
                default.buckets
            }
        };
        let quantum = self.quantum(table.quantum, default.quantum, limits);
        let perturb = table.perturb.map_or(default.perturb, |period| period.0);
        if perturb > SimDuration::ZERO && perturb < SimDuration::from_millis(1) {
            self.report(&limits.path.key("perturb"), "is shorter than 1 ms", "use \"10 s\", or \"0 s\" for never");
        }
        let limit = limits.note("limit", table.limit.unwrap_or(Limit::Packets(127)), place!(Sfq.limit));
        QueueConfig::Sfq(SfqConfig { buckets, quantum, perturb, limit })
    }

    pub(super) fn shared_buffer(
        &mut self,
        table: &SharedBuffer,
        default_limit: Limit,
        limits: &mut Limits<'_>,
    ) -> QueueConfig {
        let quantum = self.quantum(table.quantum, FULL_PACKET, limits);
        let sharing = match &table.sharing {
            None | Some(Sharing::LongestQueueDrop(_)) => SharingConfig::LongestQueueDrop,
            Some(Sharing::DynamicThreshold(table)) => {
                let alpha = table.alpha.unwrap_or(1.0);
                if !(alpha > 0.0 && alpha <= MAX_ALPHA) {
                    let place = limits.path.key("sharing").key("alpha");
                    self.report(&place, "is out of range", "use more than 0, such as 1");
                }
                SharingConfig::DynamicThreshold { alpha }
            }
        };
        let limit = limits.note("limit", table.limit.unwrap_or(default_limit), place!(SharedBuffer.limit));
        QueueConfig::SharedBuffer(SharedBufferConfig { sharing, quantum, limit })
    }

    pub(super) fn quantum(&mut self, quantum: Option<Size>, default: Bytes, limits: &Limits<'_>) -> Bytes {
        let quantum = quantum.map_or(default, |size| size.0);
        if !(QUANTUM.0..=QUANTUM.1).contains(&quantum) {
            let remedy = format!("use {} to {}, best at least the largest packet", QUANTUM.0, QUANTUM.1);
            self.report(&limits.path.key("quantum"), "is out of range", remedy);
        }
        quantum
    }

    /// What could only be looked at when every flow was known: `largest` is the largest packet of those that cross.
    pub(super) fn check_settled(&mut self, link: usize, largest: Bytes, path: &FieldPath) {
        let rate = self.network.links[link].rate;
        match &mut self.network.links[link].queue {
            QueueConfig::Red(red) => {
                red.min_threshold = in_octets(red.min_threshold, rate);
                red.max_threshold = in_octets(red.max_threshold, rate);
                let (min, max) = (red.min_threshold, red.max_threshold);
                self.check_thresholds(min, max, path);
            }
            QueueConfig::Tbf(tbf) if tbf.burst < largest => {
                let what = format!("is {}, less than one packet of {largest}, so none could ever leave", tbf.burst);
                self.report(&path.key("burst"), what, format!("use at least {largest}"));
            }
            QueueConfig::SharedBuffer(SharedBufferConfig { sharing, limit, .. }) => {
                *limit = in_octets(*limit, rate);
                if *limit == QueueLimit::Unlimited && *sharing != SharingConfig::LongestQueueDrop {
                    let remedy = "give the buffer a size, such as limit = \"1 MB\"";
                    self.report(&path.key("limit"), "leaves dynamic thresholds nothing to be a part of", remedy);
                }
            }
            _ => {}
        }
    }

    fn check_thresholds(&mut self, min: QueueLimit, max: QueueLimit, path: &FieldPath) {
        let max_path = path.key("max_threshold");
        let (lower, upper) = match (min, max) {
            (QueueLimit::Packets(min), QueueLimit::Packets(max)) => (min, max),
            (QueueLimit::Bytes(min), QueueLimit::Bytes(max)) => (min.0, max.0),
            (QueueLimit::Unlimited, _) => {
                return self.report(&path.key("min_threshold"), "is no threshold", "use \"5 packets\" or \"7.5 kB\"");
            }
            (_, QueueLimit::Unlimited) => {
                return self.report(&max_path, "is no threshold", "use \"15 packets\" or \"22.5 kB\"");
            }
            _ => {
                let remedy = "give both in packets, or both as an amount of data, a time or a part of the bdp";
                return self.report(&max_path, "is not in the unit of min_threshold", remedy);
            }
        };
        if upper <= lower {
            self.report(&max_path, "is not above min_threshold", "use two to three times min_threshold");
        }
    }

    /// Finds the flows that bands name.
    pub(super) fn settle_bands(&mut self, link: usize, pending: &[PendingFlows], flows: &[FlowConfig]) {
        for wanted in pending {
            let found = self.flows_named(wanted, flows);
            if let QueueConfig::Priority(priority) = &mut self.network.links[link].queue {
                priority.bands[wanted.band].flows = Some(found);
            }
        }
    }

    fn flows_named(&mut self, wanted: &PendingFlows, flows: &[FlowConfig]) -> Vec<usize> {
        let mut found = Vec::new();
        for (index, name) in wanted.names.each() {
            let position = flows.iter().position(|flow| flow.name == name);
            if position.is_none() {
                let names: Vec<&str> = flows.iter().map(|flow| flow.name.as_str()).collect();
                let path = index.map_or_else(|| wanted.path.clone(), |index| wanted.path.index(index));
                self.report(&path, "names no flow", suggest(name, &names));
            }
            found.extend(position);
        }
        found
    }
}

pub(super) fn fq(table: &Fq, default_limit: Limit, limits: &mut Limits<'_>) -> QueueConfig {
    QueueConfig::Fq(FqConfig { limit: limits.note("limit", table.limit.unwrap_or(default_limit), place!(Fq.limit)) })
}

/// Adaptive RED's lower threshold, in packets.
fn adaptive_threshold(rate: Bandwidth, mean_packet: Bytes) -> u64 {
    let packets_per_second = rate.0 as f64 / (8 * mean_packet.0.max(1)) as f64;
    (ADAPTIVE_TARGET_S * packets_per_second / 2.0).max(ADAPTIVE_LEAST).round() as u64
}

/// A multiple of a threshold.
fn times(limit: Limit, factor: u64) -> Limit {
    match limit {
        Limit::Unlimited => Limit::Unlimited,
        Limit::Packets(count) => Limit::Packets(count.saturating_mul(factor)),
        Limit::Bytes(bytes) => Limit::Bytes(Bytes(bytes.0.saturating_mul(factor))),
        Limit::Time(time) => Limit::Time(SimDuration(time.0.saturating_mul(factor))),
        Limit::Bdp(millionths) => Limit::Bdp(millionths.saturating_mul(factor)),
    }
}

/// A limit in time as what the link sends in it.
fn in_octets(limit: QueueLimit, rate: Bandwidth) -> QueueLimit {
    match limit {
        QueueLimit::Time(time) => QueueLimit::Bytes(rate.bytes_in(time)),
        limit => limit,
    }
}
