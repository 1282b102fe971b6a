//! TCP of the hosts: layers of tables over the defaults of the `tcp` crate.

use std::collections::BTreeMap;

use ackclock_cc::{Setting, Stack};
use ackclock_net::NodeId;
use ackclock_tcp::{
    AckControlConfig, Autotuning, BurstConfig, ClockStep, DelayedAck, EcnConfig, LossRecovery, MAX_SCALED_WINDOW,
    MAX_UNSCALED_WINDOW, PacingConfig, RtoConfig, RtoEstimator, TcpConfig,
};
use ackclock_units::{Bytes, SimDuration, SimTime};

use super::controllers::table_of_switches;
use super::topology::BuiltTopology;
use super::{Checker, suggest};
use crate::file::{
    AckControlTable, Amount, AutotuningTable, Buffer, ClockStepTable, Overlay, RtoTable, Ssthresh, SwitchOr, TcpTable,
};
use crate::profiles::{Profile, profile, profiles};
use crate::tree::FieldPath;

/// One layer of options, and where it stands in the file.
#[derive(Clone)]
pub(crate) struct Layer {
    pub(crate) path: FieldPath,
    pub(crate) table: TcpTable,
}

/// Finds where a field was set last: its name, and whether a table sets it.
type Finder<'a> = dyn Fn(&str, &dyn Fn(&TcpTable) -> bool) -> FieldPath + 'a;

/// Tables of the hosts that have one of their own.
pub(crate) type HostTables = BTreeMap<NodeId, Vec<Layer>>;

const MAX_MSS: u32 = 65_495;

/// A thousand times what TCP's window field can say: no limit to a study, and far from the end of 64 bits.
pub(crate) const MAX_WINDOW: Bytes = Bytes(1 << 40);

impl Checker<'_, '_> {
    /// `[[host]]` tables, by node.
    pub(crate) fn host_tables(&mut self, topology: &BuiltTopology) -> HostTables {
        let mut tables = HostTables::new();
        let Some(hosts) = &self.file.host else { return tables };
        for (index, host) in hosts.iter() {
            let path = FieldPath::of("host").index(index);
            let Some(names) = &host.name else {
                self.missing(&path.key("name"), "name = \"Server\"");
                continue;
            };
            for (item, name) in names.each() {
                let name_path = item.map_or(path.key("name"), |item| path.key("name").index(item));
                if let Some(&node) = self.node_ids.get(name) {
                    let layer = Layer { path: path.key("tcp"), table: host.tcp.clone().unwrap_or_default() };
                    tables.entry(node).or_default().push(layer);
                } else {
                    let remedy = suggest(name, &topology.host_names(&self.network));
                    self.report_unknown(&name_path, "names no host", remedy);
                }
            }
        }
        tables
    }

    /// The last profile that the layers name, if it exists; the first of all without.
    pub(crate) fn profile(&mut self, layers: &[Layer]) -> &'static Profile {
        let named = layers.iter().rev().find_map(|layer| Some((layer, layer.table.profile.as_ref()?)));
        let Some((layer, name)) = named else { return &profiles()[0] };
        profile(name).unwrap_or_else(|| {
            let known: Vec<&str> = profiles().iter().map(|profile| profile.name).collect();
            self.report_unknown(&layer.path.key("profile"), "is no profile", suggest(name, &known));
            &profiles()[0]
        })
    }

    /// The configuration that the layers make on what the controllers of the connection bring, the last one winning. A profile begins anew.
    pub(crate) fn tcp(&mut self, layers: &[Layer], stacks: &[Stack]) -> TcpConfig {
        let profile = self.profile(layers).tcp.clone();
        let base = stacks.iter().fold(profile, |base, stack| base.overlaid_by(&table_of_switches(stack.sets)));
        let first = layers.iter().rposition(|layer| layer.table.profile.is_some()).unwrap_or(0);
        let layers = &layers[first.min(layers.len())..];
        let table = layers.iter().fold(base, |table, layer| table.overlaid_by(&layer.table));
        let mut config = TcpConfig::default();
        let place = |field: &str, is_set: &dyn Fn(&TcpTable) -> bool| {
            let layer = layers.iter().rev().find(|layer| is_set(&layer.table));
            layer.map_or_else(|| FieldPath::of("tcp"), |layer| layer.path.clone()).key(field)
        };
        self.set_segment_options(&mut config, &table, &place);
        self.set_clock(&mut config, &table, &place);
        self.set_buffers(&mut config, &table, &place);
        self.set_windows(&mut config, &table, &place);
        self.set_recovery(&mut config, &table, &place);
        config.loss_recovery = table.loss_recovery.map_or(config.loss_recovery, Into::into);
        config.loss_recovery = self.loss_recovery(layers, stacks).unwrap_or(config.loss_recovery);
        self.set_acks(&mut config, &table, &place);
        self.set_sending(&mut config, &table, &place);
        config.rto = self.rto(&table.rto.unwrap_or_default(), layers);
        config
    }

    /// A controller that is a name for a recovery outranks the scenario's and the host's options, but must not
    /// contradict what its own flow or appliance says.
    fn loss_recovery(&mut self, layers: &[Layer], stacks: &[Stack]) -> Option<LossRecovery> {
        let brought =
            stacks.iter().find_map(|stack| stack.loss_recovery).map(|word| [("loss_recovery", Setting::Word(word))]);
        let recovery = brought.and_then(|switch| table_of_switches(&switch).loss_recovery).map(LossRecovery::from);
        let said = layers.iter().rev().find_map(|layer| Some((layer, LossRecovery::from(layer.table.loss_recovery?))));
        let Some(recovery) = recovery else { return said.map(|(_, said)| said) };
        if let Some((layer, said)) = said
            && said != recovery
            && ["flow", "appliance"].iter().any(|table| layer.path.0.first() == FieldPath::of(table).0.first())
        {
            let remedy = "remove it, or write controller = \"reno\" for Reno's window with another recovery";
            self.report(&layer.path.key("loss_recovery"), "contradicts the controller of the same end", remedy);
        }
        Some(recovery)
    }

    fn set_segment_options(&mut self, config: &mut TcpConfig, table: &TcpTable, place: &Finder<'_>) {
        config.mss = table.mss.unwrap_or(config.mss);
        if !(1..=MAX_MSS).contains(&config.mss) {
            let path = place("mss", &|table| table.mss.is_some());
            self.report(&path, "is no payload that an IPv4 packet can carry", format!("use 1 to {MAX_MSS} bytes"));
            config.mss = 1448;
        }
        let set = |value: Option<bool>, field: &mut bool| *field = value.unwrap_or(*field);
        set(table.sack, &mut config.sack);
        set(table.dsack, &mut config.dsack);
        set(table.window_scaling, &mut config.window_scaling);
        config.initial_sequence = table.initial_sequence.unwrap_or(config.initial_sequence);
        config.max_retries = table.max_retries.unwrap_or(config.max_retries);
        config.syn_retries = table.syn_retries.unwrap_or(config.syn_retries);
        config.syn_linear_timeouts = table.syn_linear_timeouts.unwrap_or(config.syn_linear_timeouts);
        config.syn_losses_tolerated = table.syn_losses_tolerated.unwrap_or(config.syn_losses_tolerated);
        config.user_timeout = table.user_timeout.map(|timeout| timeout.0).filter(|timeout| !timeout.is_zero());
        config.user_timeout_from = table.user_timeout_from.map_or(config.user_timeout_from, Into::into);
        config.zero_window_probe_from = table.zero_window_probe_from.map_or(config.zero_window_probe_from, Into::into);
        config.ecn = EcnConfig {
            mode: table.ecn.map_or(config.ecn.mode, Into::into),
            accurate: table.accurate_ecn.unwrap_or(config.ecn.accurate),
            ect1: table.ect1.unwrap_or(config.ecn.ect1),
            dctcp_feedback: table.dctcp_feedback.unwrap_or(config.ecn.dctcp_feedback),
        };
    }

    fn set_clock(&mut self, config: &mut TcpConfig, table: &TcpTable, place: &Finder<'_>) {
        config.timestamps = table.timestamps.unwrap_or(config.timestamps);
        config.paws = table.paws.unwrap_or(config.paws);
        let clock = &mut config.clock;
        clock.granularity = table.timestamp_granularity.map_or(clock.granularity, |granularity| granularity.0);
        clock.offset = table.timestamp_offset.unwrap_or(clock.offset);
        clock.skew_ppm = table.timestamp_skew_ppm.unwrap_or(clock.skew_ppm);
        if clock.granularity.is_zero() {
            let path = place("timestamp_granularity", &|table| table.timestamp_granularity.is_some());
            self.report(&path, "is a clock that ticks without end", "use at least 1 ns; stacks use 1 ms");
            config.clock.granularity = SimDuration::from_millis(1);
        }
        if !(-100_000.0..=100_000.0).contains(&config.clock.skew_ppm) {
            let path = place("timestamp_skew_ppm", &|table| table.timestamp_skew_ppm.is_some());
            self.report(&path, "is no clock", "use -100000 to 100000; crystals are within 100 ppm");
            config.clock.skew_ppm = 0.0;
        }
        if let Some(step) = &table.timestamp_step {
            let path = place("timestamp_step", &|table| table.timestamp_step.is_some());
            config.clock.step = self.clock_step(step, &path);
        }
    }

    fn clock_step(&mut self, table: &ClockStepTable, path: &FieldPath) -> Option<ClockStep> {
        let Some(at) = table.at else {
            self.missing(&path.key("at"), "at = \"20 s\"");
            return None;
        };
        let (forward, by) = match (table.forward, table.back) {
            (Some(by), None) => (true, by.0),
            (None, Some(by)) => (false, by.0),
            _ => {
                let remedy = "give one of the two: forward = \"50 ms\", or back = \"50 ms\"";
                self.report(path, "sets a clock neither forward nor back, or both", remedy);
                return None;
            }
        };
        Some(ClockStep { at: SimTime::ZERO + at.0, forward, by })
    }

    fn set_recovery(&mut self, config: &mut TcpConfig, table: &TcpTable, place: &Finder<'_>) {
        let set = |value: Option<bool>, field: &mut bool| *field = value.unwrap_or(*field);
        set(table.prr, &mut config.prr);
        set(table.limited_transmit, &mut config.limited_transmit);
        set(table.dup_acks_as_sacks, &mut config.dup_acks_as_sacks);
        set(table.tlp, &mut config.tlp);
        set(table.growth_on_sack, &mut config.growth_on_sack);
        set(table.growth_at_recovery_end, &mut config.growth_at_recovery_end);
        set(table.rack_timestamp_check, &mut config.rack_timestamp_check);
        config.tlp_max_ack_delay = table.tlp_max_ack_delay.map_or(config.tlp_max_ack_delay, |delay| delay.0);
        config.rack_tlp_slack = table.rack_tlp_slack.map_or(config.rack_tlp_slack, |slack| slack.0);
        config.timeout_in_recovery = table.timeout_in_recovery.map_or(config.timeout_in_recovery, Into::into);
        set(table.eifel, &mut config.undo.eifel);
        set(table.dsack_undo, &mut config.undo.dsack);
        set(table.frto, &mut config.undo.frto);
        config.counting = table.counting.map_or(config.counting, Into::into);
        config.loss_detection = table.loss_detection.map_or(config.loss_detection, Into::into);
        config.decrease_from = table.decrease_from.map_or(config.decrease_from, Into::into);
        config.dup_thresh = table.dup_thresh.unwrap_or(config.dup_thresh);
        config.max_dup_thresh = table.max_dup_thresh.unwrap_or(config.max_dup_thresh).max(config.dup_thresh);
        if config.dup_thresh == 0 {
            let path = place("dup_thresh", &|table| table.dup_thresh.is_some());
            self.report(&path, "takes every ACK for a loss", "use at least 1; RFC 5681 says 3");
            config.dup_thresh = 3;
        }
    }

    fn set_acks(&mut self, config: &mut TcpConfig, table: &TcpTable, place: &Finder<'_>) {
        if let Some(delayed_ack) = &table.delayed_ack {
            config.delayed_ack = delayed_ack_of(delayed_ack, config.delayed_ack);
        }
        config.delayed_ack.gro = table.gro.map_or(config.delayed_ack.gro, |gro| gro.0);
        if config.delayed_ack.segments == 0 {
            let path = place("delayed_ack", &|table| table.delayed_ack.is_some()).key("segments");
            self.report(&path, "acknowledges nothing", "use at least 1, or delayed_ack = false for 1");
        }
        config.ack_control = match &table.ack_congestion_control {
            None | Some(SwitchOr::Switch(false)) => None,
            Some(SwitchOr::Switch(true)) => Some(AckControlConfig { max_ratio: u8::MAX }),
            Some(SwitchOr::Table(table)) => {
                let path = place("ack_congestion_control", &|table| table.ack_congestion_control.is_some());
                Some(self.ack_control(table, &path))
            }
        };
    }

    /// RFC 5690 sections 4.2 and 4.5: a ratio of at least 2, in an octet.
    fn ack_control(&mut self, table: &AckControlTable, path: &FieldPath) -> AckControlConfig {
        let wanted = table.max_ratio.unwrap_or(u32::from(u8::MAX));
        let max_ratio = u8::try_from(wanted).ok().filter(|ratio| *ratio >= 2);
        if max_ratio.is_none() {
            let remedy = "use 2 to 255, or ack_congestion_control = false";
            self.report(&path.key("max_ratio"), "is no ACK ratio that a sender can ask for", remedy);
        }
        AckControlConfig { max_ratio: max_ratio.unwrap_or(u8::MAX) }
    }

    fn set_sending(&mut self, config: &mut TcpConfig, table: &TcpTable, place: &Finder<'_>) {
        config.cwnd_validation = table.cwnd_validation.map_or(config.cwnd_validation, Into::into);
        config.idle_restart = table.idle_restart.map_or(config.idle_restart, Into::into);
        config.nagle = table.nagle.map_or(config.nagle, Into::into);
        config.notsent_lowat = table.notsent_lowat.map(|size| size.0);
        match &table.pacing {
            None => {}
            Some(SwitchOr::Switch(on)) => config.pacing.enabled = *on,
            Some(SwitchOr::Table(ratios)) => {
                let PacingConfig { slow_start_ratio, avoidance_ratio, .. } = config.pacing;
                config.pacing = PacingConfig {
                    enabled: true,
                    slow_start_ratio: ratios.slow_start_ratio.unwrap_or(slow_start_ratio),
                    avoidance_ratio: ratios.avoidance_ratio.unwrap_or(avoidance_ratio),
                };
            }
        }
        for (field, ratio) in
            [("slow_start_ratio", config.pacing.slow_start_ratio), ("avoidance_ratio", config.pacing.avoidance_ratio)]
        {
            if !(0.01..=1000.0).contains(&ratio) {
                let path = place("pacing", &|table| table.pacing.is_some()).key(field);
                self.report(&path, "is no multiple of cwnd / SRTT", "use 0.01 to 1000; Linux uses 2 and 1.2");
                config.pacing.enabled = false;
            }
        }
        match &table.tso {
            None => {}
            Some(SwitchOr::Switch(on)) => config.bursts.enabled = *on,
            Some(SwitchOr::Table(burst)) => {
                let octets = burst.max_size.map_or(u64::from(config.bursts.max_octets), |size| size.0.0);
                config.bursts = BurstConfig {
                    enabled: true,
                    min_segments: burst.min_segments.unwrap_or(config.bursts.min_segments),
                    max_octets: u32::try_from(octets).unwrap_or(u32::MAX),
                };
            }
        }
    }

    /// "unlimited" is what the window field can say: 65,535 bytes without scaling. A buffer of a given size does not grow.
    fn set_buffers(&mut self, config: &mut TcpConfig, table: &TcpTable, place: &Finder<'_>) {
        let largest = if config.window_scaling { MAX_SCALED_WINDOW } else { MAX_UNSCALED_WINDOW };
        let size = |buffer: Option<Buffer>| match buffer {
            None | Some(Buffer::Unlimited) => largest,
            Some(Buffer::Of(bytes)) => bytes,
        };
        config.receive_buffer = size(table.receive_buffer);
        config.send_buffer = size(table.send_buffer);
        let is_receive_set: fn(&TcpTable) -> bool = |table| table.receive_buffer.is_some();
        let is_send_set: fn(&TcpTable) -> bool = |table| table.send_buffer.is_some();
        let sides = [
            ("receive_buffer", config.receive_buffer, is_receive_set),
            ("send_buffer", config.send_buffer, is_send_set),
        ];
        for (field, size, is_set) in sides {
            if size == Bytes::ZERO || size > MAX_WINDOW {
                let remedy = format!("use 1 byte to {MAX_WINDOW}, or \"unlimited\"");
                self.report(&place(field, &is_set), "is no buffer", remedy);
            }
        }
        let receive = table.receive_autotuning.as_ref().filter(|_| table.receive_buffer.is_none());
        let path = place("receive_autotuning", &|table| table.receive_autotuning.is_some());
        config.receive_autotuning = self.autotuning(receive, largest, &path);
        let send = table.send_autotuning.as_ref().filter(|_| table.send_buffer.is_none());
        let path = place("send_autotuning", &|table| table.send_autotuning.is_some());
        config.send_autotuning = self.autotuning(send, MAX_SCALED_WINDOW, &path);
    }

    fn autotuning(
        &mut self,
        table: Option<&SwitchOr<AutotuningTable>>,
        largest: Bytes,
        path: &FieldPath,
    ) -> Option<Autotuning> {
        let table = match table? {
            SwitchOr::Switch(false) => return None,
            SwitchOr::Switch(true) => &AutotuningTable::default(),
            SwitchOr::Table(table) => table,
        };
        let max = table.max.map_or(largest, |size| size.0).min(largest);
        let initial = table.initial.map_or(Bytes(65_535), |size| size.0).min(max);
        if initial == Bytes::ZERO {
            self.report(&path.key("initial"), "is no buffer", "use at least a segment; Linux starts at 64 KiB");
            return None;
        }
        Some(Autotuning { initial, max })
    }

    fn set_windows(&mut self, config: &mut TcpConfig, table: &TcpTable, place: &Finder<'_>) {
        let mss = config.mss;
        config.initial_window = amount(table.initial_window.unwrap_or(Amount::Segments(10)), mss);
        if config.initial_window.0 < u64::from(mss) {
            let path = place("initial_window", &|table| table.initial_window.is_some());
            self.report(
                &path,
                "is less than one segment, so nothing could ever be sent",
                format!("use at least {mss} bytes"),
            );
        }
        if config.initial_window > MAX_WINDOW {
            let path = place("initial_window", &|table| table.initial_window.is_some());
            self.report(&path, "is more than any window", format!("use at most {MAX_WINDOW}"));
        }
        config.initial_ssthresh = match table.initial_ssthresh {
            None | Some(Ssthresh::Infinite) => None,
            Some(Ssthresh::Of(value)) => Some(amount(value, mss)),
        };
    }

    fn rto(&mut self, table: &RtoTable, layers: &[Layer]) -> RtoConfig {
        let place = |field: &str| rto_place(layers, field);
        let mut rto = RtoConfig::of(table.estimator.map_or(RtoEstimator::Rfc6298, Into::into));
        let set = |value: Option<crate::file::Duration>, default| value.map_or(default, |value| value.0);
        rto.initial = set(table.initial, rto.initial);
        rto.min = set(table.min, rto.min);
        rto.max = set(table.max, rto.max);
        rto.granularity = set(table.granularity, rto.granularity);
        rto.tick_offset = set(table.tick_offset, rto.tick_offset);
        rto.rtt_gain = table.rtt_gain.unwrap_or(rto.rtt_gain);
        rto.deviation_gain = table.deviation_gain.unwrap_or(rto.deviation_gain);
        rto.deviation_weight = table.deviation_weight.unwrap_or(rto.deviation_weight);
        rto.after_lost_syn = set(table.after_lost_syn, rto.after_lost_syn);
        rto.karn = table.karn.unwrap_or(rto.karn);
        rto.sample = table.sample.map_or(rto.sample, Into::into);
        rto.sack_samples = table.sack_samples.unwrap_or(rto.sack_samples);
        rto.restart_on_sack = table.restart_on_sack.unwrap_or(rto.restart_on_sack);
        rto.restart_on_retransmission = table.restart_on_retransmission.unwrap_or(rto.restart_on_retransmission);
        rto.resume_from = table.resume_from.map_or(rto.resume_from, Into::into);
        rto.rounding = table.rounding.map_or(rto.rounding, Into::into);
        rto.first_sample = table.first_sample.map_or(rto.first_sample, Into::into);
        for (field, gain) in [("rtt_gain", rto.rtt_gain), ("deviation_gain", rto.deviation_gain)] {
            if !(gain > 0.0 && gain <= 1.0) {
                self.report(&place(field), "is no gain of a running average", "use more than 0 and at most 1");
            }
        }
        if !(rto.deviation_weight >= 0.0 && rto.deviation_weight <= 1e6) {
            self.report(&place("deviation_weight"), "is no weight", "use 0 or more; RFC 6298 says 4");
        }
        for (field, span) in [("granularity", rto.granularity), ("initial", rto.initial), ("max", rto.max)] {
            if span.is_zero() {
                self.report(&place(field), "is no time at all", "use more than zero");
            }
        }
        if rto.min > rto.max {
            let remedy = format!("let min be at most max, which is {}", rto.max);
            self.report(&place(if table.min.is_some() { "min" } else { "max" }), "min is larger than max", remedy);
        }
        rto
    }
}

/// Where a field of the retransmission timer was set last.
fn rto_place(layers: &[Layer], field: &str) -> FieldPath {
    let sets = |rto: &RtoTable| match field {
        "initial" => rto.initial.is_some(),
        "min" => rto.min.is_some(),
        "max" => rto.max.is_some(),
        "granularity" => rto.granularity.is_some(),
        "rtt_gain" => rto.rtt_gain.is_some(),
        "deviation_gain" => rto.deviation_gain.is_some(),
        _ => rto.deviation_weight.is_some(),
    };
    let layer = layers.iter().rev().find(|layer| layer.table.rto.as_ref().is_some_and(sets));
    layer.map_or_else(|| FieldPath::of("tcp"), |layer| layer.path.clone()).key("rto").key(field)
}

fn delayed_ack_of(table: &SwitchOr<crate::file::DelayedAckTable>, default: DelayedAck) -> DelayedAck {
    match table {
        SwitchOr::Switch(true) => default,
        SwitchOr::Switch(false) => DelayedAck { segments: 1, quickacks: 0, adaptive: false, ..default },
        SwitchOr::Table(table) => DelayedAck {
            segments: table.segments.unwrap_or(default.segments),
            timeout: table.timeout.map_or(default.timeout, |timeout| timeout.0),
            quickacks: table.quickacks.unwrap_or(default.quickacks),
            adaptive: table.adaptive.unwrap_or(default.adaptive),
            count_octets: table.count_octets.unwrap_or(default.count_octets),
            interactive: table.interactive.unwrap_or(default.interactive),
            delay_fin: table.delay_fin.unwrap_or(default.delay_fin),
            ..default
        },
    }
}

pub(crate) fn amount(amount: Amount, mss: u32) -> Bytes {
    match amount {
        Amount::Bytes(bytes) => bytes,
        Amount::Segments(count) => Bytes(count.saturating_mul(u64::from(mss))),
    }
}
