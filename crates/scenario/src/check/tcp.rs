//! TCP of the hosts: layers of tables over the defaults of the `tcp` crate.

use std::collections::BTreeMap;

use ackclock_cc::{Setting, Stack};
use ackclock_declare::Context;
use ackclock_net::NodeId;
use ackclock_tcp::{
    AckControlConfig, Autotuning, BurstConfig, ClockStep, DelayedAck, EcnConfig, LossRecovery, MAX_SCALED_WINDOW,
    MAX_UNSCALED_WINDOW, PacingConfig, RtoConfig, TcpConfig,
};
use ackclock_units::{Bytes, SimDuration, SimTime};

use super::controllers::table_of_switches;
use super::topology::BuiltTopology;
use super::{Checker, suggest};
use crate::file::{
    Amount, AutotuningTable, Buffer, ClockStepTable, Fields, Overlay, OwnTable, Ssthresh, SwitchOr, TcpTable, Word,
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
        config.loss_recovery = table.loss_recovery.map_or(config.loss_recovery, Word::value);
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
        let recovery = brought.and_then(|switch| table_of_switches(&switch).loss_recovery).map(Word::value);
        let said = layers.iter().rev().find_map(|layer| Some((layer, layer.table.loss_recovery?.value())));
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
        config.user_timeout_from = table.user_timeout_from.map_or(config.user_timeout_from, Word::value);
        config.zero_window_probe_from = table.zero_window_probe_from.map_or(config.zero_window_probe_from, Word::value);
        config.ecn = EcnConfig {
            mode: table.ecn.map_or(config.ecn.mode, Word::value),
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
        config.timeout_in_recovery = table.timeout_in_recovery.map_or(config.timeout_in_recovery, Word::value);
        set(table.eifel, &mut config.undo.eifel);
        set(table.dsack_undo, &mut config.undo.dsack);
        set(table.frto, &mut config.undo.frto);
        config.counting = table.counting.map_or(config.counting, Word::value);
        config.loss_detection = table.loss_detection.map_or(config.loss_detection, Word::value);
        config.decrease_from = table.decrease_from.map_or(config.decrease_from, Word::value);
        config.dup_thresh = table.dup_thresh.unwrap_or(config.dup_thresh);
        config.max_dup_thresh = table.max_dup_thresh.unwrap_or(config.max_dup_thresh).max(config.dup_thresh);
        if config.dup_thresh == 0 {
            let path = place("dup_thresh", &|table| table.dup_thresh.is_some());
            self.report(&path, "takes every ACK for a loss", "use at least 1; RFC 5681 says 3");
            config.dup_thresh = 3;
        }
    }

    fn set_acks(&mut self, config: &mut TcpConfig, table: &TcpTable, place: &Finder<'_>) {
        config.delayed_ack = match &table.delayed_ack {
            None | Some(SwitchOr::Switch(true)) => config.delayed_ack,
            Some(SwitchOr::Switch(false)) => DelayedAck { segments: 1, ..config.delayed_ack },
            Some(SwitchOr::Table(delayed_ack)) => {
                let path = place("delayed_ack", &|table| table.delayed_ack.is_some());
                self.fields(delayed_ack, &|field| path.key(field))
            }
        };
        config.delayed_ack.gro = table.gro.map_or(config.delayed_ack.gro, |gro| gro.0);
        config.ack_control = match &table.ack_congestion_control {
            None | Some(SwitchOr::Switch(false)) => None,
            Some(SwitchOr::Switch(true)) => Some(AckControlConfig::default()),
            Some(SwitchOr::Table(table)) => {
                let path = place("ack_congestion_control", &|table| table.ack_congestion_control.is_some());
                Some(self.fields(table, &|field| path.key(field)))
            }
        };
    }

    fn set_sending(&mut self, config: &mut TcpConfig, table: &TcpTable, place: &Finder<'_>) {
        config.cwnd_validation = table.cwnd_validation.map_or(config.cwnd_validation, Word::value);
        config.idle_restart = table.idle_restart.map_or(config.idle_restart, Word::value);
        config.nagle = table.nagle.map_or(config.nagle, Word::value);
        config.notsent_lowat = table.notsent_lowat.map(|size| size.0);
        match &table.pacing {
            None => {}
            Some(SwitchOr::Switch(on)) => config.pacing.enabled = *on,
            Some(SwitchOr::Table(ratios)) => {
                let path = place("pacing", &|table| table.pacing.is_some());
                config.pacing = PacingConfig { enabled: true, ..self.fields(ratios, &|field| path.key(field)) };
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

    fn rto(&mut self, table: &Fields<RtoConfig>, layers: &[Layer]) -> RtoConfig {
        let place = |field: &str| {
            let sets = |layer: &&Layer| layer.table.rto.as_ref().is_some_and(|rto| rto.says(field));
            let layer = layers.iter().rev().find(sets);
            layer.map_or_else(|| FieldPath::of("tcp"), |layer| layer.path.clone()).key("rto").key(field)
        };
        self.fields(table, &place)
    }

    /// What a declared table comes to, with each of its mistakes at its field.
    fn fields<K: OwnTable>(&mut self, table: &Fields<K>, place: &dyn Fn(&str) -> FieldPath) -> K {
        let reading = K::part().read(&table.0, &Context::default());
        for mistake in reading.mistakes {
            self.report(&place(&mistake.field), mistake.message, mistake.remedy);
        }
        reading.config
    }
}

pub(crate) fn amount(amount: Amount, mss: u32) -> Bytes {
    match amount {
        Amount::Bytes(bytes) => bytes,
        Amount::Segments(count) => Bytes(count.saturating_mul(u64::from(mss))),
    }
}
