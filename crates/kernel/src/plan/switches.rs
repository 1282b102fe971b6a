//! The switches of TCP, one by one: what each is in the kernel.

use std::collections::BTreeMap;

use ackclock_declare::{Table, table_of};
use ackclock_sim::SimulationConfig;
use ackclock_tcp::{SackCompressionConfig, TcpConfig, WindowTuning};
use ackclock_units::SimDuration;
use serde_json::Value;

use super::Refusal;

/// Octets of the headers of an IPv4 packet with TCP.
const HEADERS: u32 = 40;
/// Octets of the timestamps option with its padding.
const TIMESTAMPS: u32 = 12;
/// The first number of `tcp_rmem` and of `tcp_wmem`.
const LEAST_MEMORY: u64 = 4_096;

/// Parameters of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPlan {
    /// Parameters of the namespace, by name.
    pub parameters: BTreeMap<&'static str, String>,
}

/// Options of a socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// `TCP_MAXSEG`: octets of payload and options.
    pub max_segment: u32,
    /// `SO_RCVBUF`, unless the kernel is to tune it.
    pub receive_buffer: Option<usize>,
    /// `SO_SNDBUF`, unless the kernel is to tune it.
    pub send_buffer: Option<usize>,
    /// Value of `TCP_NODELAY`.
    pub no_delay: bool,
    /// Value of `TCP_USER_TIMEOUT`.
    pub user_timeout: Option<SimDuration>,
}

impl HostPlan {
    /// Plan for hosts with the profile's own settings.
    pub(super) fn of_the_profile() -> Self {
        plan(&linux(), "", "", &mut Vec::new()).0
    }

    /// Refusal of two flows with different parameters on one side of the network.
    pub(super) fn differs(&self, other: &Self, place: &str) -> Refusal {
        let name = self.parameters.iter().find(|(name, value)| other.parameters.get(*name) != Some(value));
        let name = name.map_or("a parameter", |(name, _)| *name);
        Refusal {
            place: format!("{place}.tcp"),
            reason: format!(
                "{name} differs from that of an earlier flow, and must be the same for all hosts of a side"
            ),
            remedy: "give all flows of a direction the same tcp".to_owned(),
        }
    }
}

/// The kernel as it comes.
fn linux() -> TcpConfig {
    let (tcp, _) = ackclock_scenario::endpoint_config("{}", &[]).expect("an endpoint without options is right");
    tcp
}

/// The largest IP packet of the scenario.
pub(super) fn mtu(config: &SimulationConfig) -> u16 {
    let segments = super::flows(config).flat_map(|(_, flow)| [&flow.sender, &flow.receiver]);
    let tcp = segments.map(|tcp| HEADERS + max_segment(tcp)).max().unwrap_or(0);
    let datagrams = config.traffic.datagrams.iter().map(|flow| 28 + flow.payload).max().unwrap_or(0);
    tcp.max(datagrams).clamp(576, 65_535) as u16
}

fn max_segment(tcp: &TcpConfig) -> u32 {
    tcp.mss + if tcp.timestamps { TIMESTAMPS } else { 0 }
}

/// Plan for the switches of one end, whose sockets have this controller.
pub(super) fn plan(
    tcp: &TcpConfig,
    controller: &str,
    place: &str,
    refusals: &mut Vec<Refusal>,
) -> (HostPlan, SocketOptions) {
    let (asked, comes) = (table_of(tcp), table_of(&linux()));
    for name in differing(&asked, &comes) {
        let value = asked.get(name).unwrap_or(&Value::Null);
        if name == "dctcp_feedback" && controller == "dctcp" {
            continue; // the module's own
        }
        if let Some(reason) = reason_against(name, value, &asked).or_else(|| out_of_range(name, tcp)) {
            let known = comes.get(name).map_or("left out".to_owned(), Value::to_string);
            refusals.push(Refusal {
                place: format!("{place}.tcp.{name}"),
                reason: format!("{value}: {reason}"),
                remedy: format!("use what the profile linux-6.x has, {known}"),
            });
        }
    }
    if controller == "dctcp" && !tcp.ecn.dctcp_feedback {
        refusals.push(Refusal {
            place: format!("{place}.tcp.dctcp_feedback"),
            reason: "false: the kernel's dctcp has its receiver echo every mark".to_owned(),
            remedy: "leave it out".to_owned(),
        });
    }
    (HostPlan { parameters: parameters(tcp, &asked) }, socket_options(tcp, &asked))
}

fn differing<'a>(asked: &'a Table, comes: &'a Table) -> impl Iterator<Item = &'a str> {
    let changed = asked.iter().filter(|(name, value)| comes.get(*name) != Some(value)).map(|(name, _)| name.as_str());
    let left_out = comes.keys().filter(|name| !asked.contains_key(*name)).map(String::as_str);
    changed.chain(left_out)
}

/// Reason for which the kernel cannot set a switch to this value; `None` if it can, or if it makes no difference there.
fn reason_against(name: &str, value: &Value, asked: &Table) -> Option<String> {
    let because = |reason: &str| Some(reason.to_owned());
    match name {
        // Set by `parameters` or `socket_options`; the last four are of the simulated host alone: a real one has its own.
        "mss"
        | "sack"
        | "dsack"
        | "timestamps"
        | "window_scaling"
        | "dup_thresh"
        | "max_dup_thresh"
        | "tlp"
        | "max_retries"
        | "syn_retries"
        | "syn_linear_timeouts"
        | "receive_buffer"
        | "send_buffer"
        | "user_timeout"
        | "receive_autotuning"
        | "send_autotuning"
        | "frto"
        | "ecn"
        | "ecn_fallback"
        | "sack_compression"
        | "host_noise"
        | "initial_sequence"
        | "timestamp_offset"
        | "gro" => None,
        "small_queues" if value.is_object() => None,
        "idle_restart" if matches!(value.as_str(), Some("off" | "linux")) => None,
        "loss_detection" if matches!(value.as_str(), Some("rack" | "dup_acks")) => None,
        "nagle" if matches!(value.as_str(), Some("off" | "minshall")) => None,
        "loss_recovery" if value.as_str() == Some("newreno") && asked.get("sack") == Some(&Value::Bool(false)) => None,
        "loss_recovery" => because("the kernel recovers as it does: by SACK, or by NewReno's rules without it"),
        "rto" => because("the kernel has its own timer; only the profile's is known to match it"),
        "delayed_ack" => because("the kernel has no parameter for when it acknowledges"),
        "initial_window" => because("an initial window of a route is not set here"),
        "initial_ssthresh" => because("the kernel begins with an infinite threshold, unless it remembers one"),
        "notsent_lowat" => because("the applications here write as fast as the kernel takes it"),
        "tso" | "device_queue" | "pacing" => because("how the kernel forms bursts is not set here"),
        "ack_congestion_control" => because("the kernel has no ACK congestion control"),
        "paws" => because("the kernel checks timestamps wherever they are used"),
        _ => because("the kernel has no such switch"),
    }
}

/// Reason for which the kernel's setting does not take the number of a switch; `None` if it does.
///
/// Sources: the bounds of `net/ipv4/sysctl_net_ipv4.c`; for segments `TCP_MIN_MSS` and `MAX_TCP_WINDOW` of `include/net/tcp.h`; tcp(7) for
/// the user timeout, which counts milliseconds. A send buffer begins with what ten segments take, whatever `tcp_wmem` says.
fn out_of_range(name: &str, tcp: &TcpConfig) -> Option<String> {
    const INT: u64 = i32::MAX as u64;
    let (asked, range) = match name {
        "mss" => (max_segment(tcp).into(), 88..=32_767),
        "dup_thresh" => (tcp.dup_thresh.into(), 1..=INT),
        "max_dup_thresh" => (tcp.max_dup_thresh.into(), 0..=INT),
        "max_retries" => (tcp.max_retries.into(), 0..=255),
        "syn_retries" => (tcp.syn_retries.into(), 1..=127),
        "syn_linear_timeouts" => (tcp.syn_linear_timeouts.into(), 0..=127),
        "user_timeout" => {
            let timeout = tcp.user_timeout?.0;
            (if timeout.is_multiple_of(1_000_000) { timeout / 1_000_000 } else { 0 }, 1..=INT)
        }
        "receive_autotuning" => (receive_memory(tcp.receive_autotuning?, tcp.mss), LEAST_MEMORY..=INT),
        "send_autotuning"
            if tcp.send_autotuning?.initial != linux().send_autotuning?.initial.min(tcp.send_autotuning?.max) =>
        {
            return Some("the kernel has no parameter for the initial send buffer".to_owned());
        }
        "send_autotuning" => (tcp.send_autotuning?.max.0, LEAST_MEMORY..=INT),
        "sack_compression" => (tcp.sack_compression?.acks.into(), 1..=255),
        "small_queues" => (tcp.small_queues?.limit.0, 0..=INT),
        _ => return None,
    };
    let what = match name {
        "mss" => " octets of payload and options",
        "user_timeout" => " whole milliseconds",
        "receive_autotuning" | "send_autotuning" => " octets of memory at the end",
        "sack_compression" => " ACKs",
        "small_queues" => " octets",
        _ => "",
    };
    (!range.contains(&asked)).then(|| format!("the kernel takes {} to {}{what}", range.start(), range.end()))
}

/// Parameters of the namespace, all of them written, whatever the machine's defaults are.
fn parameters(tcp: &TcpConfig, asked: &Table) -> BTreeMap<&'static str, String> {
    let is = |name: &str, word: &str| asked.get(name).and_then(Value::as_str) == Some(word);
    let switch = |on: bool| u8::from(on).to_string();
    let receive = tcp.receive_autotuning.map_or(33_554_432, |tuning| receive_memory(tuning, tcp.mss));
    // Half of the memory that it begins with is window (`TCP_DEFAULT_SCALING_RATIO`).
    let opening = tcp.receive_autotuning.map_or(131_072, |tuning| 2 * tuning.initial.0.next_multiple_of(16));
    let send = tcp.send_autotuning.map_or(4_194_304, |tuning| tuning.max.0);
    let ecn = asked.get("ecn").and_then(Value::as_str);
    let mut parameters = BTreeMap::from([
        ("net.ipv4.tcp_sack", switch(tcp.sack)),
        ("net.ipv4.tcp_dsack", switch(tcp.dsack)),
        // The kernel's clock has a secret offset for each connection unless it is to have none.
        (
            "net.ipv4.tcp_timestamps",
            if tcp.timestamps && tcp.clock.offset == 0 { "2".to_owned() } else { switch(tcp.timestamps) },
        ),
        ("net.ipv4.tcp_window_scaling", switch(tcp.window_scaling)),
        ("net.ipv4.tcp_reordering", tcp.dup_thresh.to_string()),
        ("net.ipv4.tcp_max_reordering", tcp.max_dup_thresh.to_string()),
        ("net.ipv4.tcp_early_retrans", if tcp.tlp { "3" } else { "0" }.to_owned()),
        ("net.ipv4.tcp_recovery", switch(is("loss_detection", "rack"))),
        ("net.ipv4.tcp_frto", if asked.get("frto") == Some(&Value::Bool(true)) { "2" } else { "0" }.to_owned()),
        (
            "net.ipv4.tcp_ecn",
            if ecn == Some("request") {
                "1"
            } else if ecn == Some("off") {
                "0"
            } else {
                "2"
            }
            .to_owned(),
        ),
        ("net.ipv4.tcp_ecn_fallback", switch(tcp.ecn.fallback)),
        ("net.ipv4.tcp_slow_start_after_idle", switch(is("idle_restart", "linux"))),
        ("net.ipv4.tcp_retries2", tcp.max_retries.to_string()),
        ("net.ipv4.tcp_syn_retries", tcp.syn_retries.to_string()),
        ("net.ipv4.tcp_syn_linear_timeouts", tcp.syn_linear_timeouts.to_string()),
        ("net.ipv4.tcp_rmem", format!("{LEAST_MEMORY} {} {receive}", opening.min(receive))),
        ("net.ipv4.tcp_wmem", format!("{LEAST_MEMORY} {} {send}", send.min(16_384))),
        ("net.ipv4.tcp_moderate_rcvbuf", switch(tcp.receive_autotuning.is_some())),
        ("net.ipv4.tcp_no_metrics_save", "1".to_owned()),
        ("net.ipv4.conf.all.rp_filter", "0".to_owned()),
        ("net.ipv4.conf.default.rp_filter", "0".to_owned()),
    ]);
    if let Some(queues) = tcp.small_queues {
        parameters.insert("net.ipv4.tcp_limit_output_bytes", queues.limit.0.to_string());
    }
    // A kernel gathers no ACKs above a hole if it may gather none.
    parameters
        .insert("net.ipv4.tcp_comp_sack_nr", tcp.sack_compression.map_or(0, |gathered| gathered.acks).to_string());
    if let Some(compression) = tcp.sack_compression {
        parameters.insert("net.ipv4.tcp_comp_sack_delay_ns", compression.delay.0.to_string());
        parameters.insert("net.ipv4.tcp_comp_sack_slack_ns", compression.slack.0.to_string());
        // Kernels before 6.19 have the default's share, and no parameter for it.
        if compression.rtt_percent != SackCompressionConfig::default().rtt_percent {
            parameters.insert("net.ipv4.tcp_comp_sack_rtt_percent", compression.rtt_percent.to_string());
        }
    }
    parameters
}

/// Largest value in `tcp_rmem`: a window that opens with segments has its end as memory already.
fn receive_memory(tuning: WindowTuning, mss: u32) -> u64 {
    if tuning.opens_to > tuning.initial { tuning.max.0 } else { memory_for(tuning.max.0, mss) }
}

/// The memory of which `window` octets are window, as Linux 6.18 counts it for full segments from a TUN device: of 200 kB for
/// 536 octets a half is window, for 960 41 %, for 1,200 51 %, for 1,448 62 % (goodput times round trip): each of the latter takes
/// 2,304 octets, in whole 256ths. Larger ones were 48 % (4,000) and 63 % (8,948): for them half.
fn memory_for(window: u64, mss: u32) -> u64 {
    let share = if (537..=1_460).contains(&mss) { u64::from(mss) * 256 / 2_304 } else { 128 };
    (window * 256).div_ceil(share)
}

fn socket_options(tcp: &TcpConfig, asked: &Table) -> SocketOptions {
    let fixed = |is_tuned: bool, size: u64| (!is_tuned).then_some(size.min(i32::MAX as u64 / 2) as usize);
    // The kernel doubles a requested receive buffer, and takes memory.
    let receive = memory_for(tcp.receive_buffer.0, tcp.mss).div_ceil(2);
    SocketOptions {
        max_segment: max_segment(tcp),
        receive_buffer: fixed(tcp.receive_autotuning.is_some(), receive),
        send_buffer: fixed(tcp.send_autotuning.is_some(), tcp.send_buffer.0),
        no_delay: asked.get("nagle").and_then(Value::as_str) == Some("off"),
        user_timeout: tcp.user_timeout.filter(|timeout| !timeout.is_zero()),
    }
}
