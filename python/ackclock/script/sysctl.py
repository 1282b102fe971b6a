"""Linux parameters as switches of a simulated endpoint.

Source: the kernel's documentation of its IP parameters.

Departures: parameters in `WITHOUT_EFFECT` have no effect visible to a script, at any value. Those in `AT_LEAST` have
none from a value on. For those in `ONLY`, just the listed values match the endpoint, since others would be visible.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ackclock._core import window_of_memory

Changes = dict[str, Any]
"""Changes: paths into a scenario's `tcp` (or `controller`) with values; `pacing` is its table if pacing is on."""


def _switch(path: str) -> Callable[[str], Changes]:
    return lambda value: {path: int(value) != 0}


def _number(path: str) -> Callable[[str], Changes]:
    return lambda value: {path: int(value)}


def _words(path: str, words: Mapping[str, Any]) -> Callable[[str], Changes]:
    def change(value: str) -> Changes:
        if value not in words:
            raise ValueError(f"{value} is not simulated; use {' or '.join(words)}")
        return {path: words[value]}

    return change


def _receive_memory(value: str) -> Changes:
    """Return the changes for a receive buffer: half of it is the initial window, later the share left by segments."""
    _, initial, largest = value.split()
    tuning = {"initial": int(initial) // 2, "opens_to": window_of_memory(int(initial)), "max": int(largest)}
    switches = {name: f"{octets} B" for name, octets in tuning.items()}
    return {"tcp.receive_autotuning": switches, "unset.SO_RCVBUF": int(initial)}


def _send_memory(value: str) -> Changes:
    _, initial, largest = value.split()
    switches = {"initial": f"{initial} B", "max": f"{largest} B"}
    return {"tcp.send_autotuning": switches, "unset.SO_SNDBUF": int(initial)}


def _ecn(value: str) -> Changes:
    modes = {
        "0": ("off", False),
        "1": ("request", False),
        "2": ("accept", False),
        "3": ("request", True),
        "5": ("accept", True),
    }
    if value not in modes:
        raise ValueError(f"{value} is not simulated; use {' or '.join(modes)}")
    return {"tcp.ecn": modes[value][0], "tcp.accurate_ecn": modes[value][1]}


def _timestamps(value: str) -> Changes:
    """Return the changes for timestamps: without them, a full segment has twelve more octets of payload."""
    on = int(value) != 0
    return {"tcp.timestamps": on, "tcp.mss": 1448 if on else 1460}


def _pacing(path: str) -> Callable[[str], Changes]:
    return lambda value: {f"pacing.{path}": int(value) / 100}


def _fast_open(value: str) -> Changes:
    """Refuse Fast Open for listeners without a cookie, which would be visible to a script."""
    if int(value, 0) & 0x600:
        raise ValueError(f"{value} is not simulated; use 1, 2 or 3")
    return {}


def _gathered(value: str) -> Changes:
    return {"tcp.sack_compression.acks": int(value)} if int(value) > 0 else {"tcp.sack_compression": False}


def _notsent_lowat(value: str) -> Changes:
    return {"tcp.notsent_lowat": f"{value} B"} if 0 < int(value) < 0xFFFFFFFF else {}


SWITCHES: Mapping[str, Callable[[str], Changes]] = {
    "tcp_sack": _switch("tcp.sack"),
    "tcp_dsack": _switch("tcp.dsack"),
    "tcp_timestamps": _timestamps,
    "tcp_window_scaling": _switch("tcp.window_scaling"),
    "tcp_reordering": _number("tcp.dup_thresh"),
    "tcp_max_reordering": _number("tcp.max_dup_thresh"),
    "tcp_recovery": _words("tcp.loss_detection", {"0": "dup_acks", "1": "rack"}),
    "tcp_early_retrans": _words("tcp.tlp", {"0": False, "1": False, "2": False, "3": True, "4": True}),
    "tcp_frto": _words("tcp.frto", {"0": False, "1": True, "2": True}),
    "tcp_slow_start_after_idle": _words("tcp.idle_restart", {"0": "off", "1": "linux"}),
    "tcp_ecn": _ecn,
    "tcp_ecn_fallback": _switch("tcp.ecn_fallback"),
    "tcp_ecn_option": _words("tcp.accurate_ecn_option", {"0": False, "2": True, "3": True}),
    "tcp_fastopen": _fast_open,
    "tcp_retries2": _number("tcp.max_retries"),
    "tcp_syn_retries": _number("tcp.syn_retries"),
    "tcp_synack_retries": _number("passive.syn_retries"),
    "tcp_syn_linear_timeouts": _number("tcp.syn_linear_timeouts"),
    "tcp_rto_min_us": lambda value: {"tcp.rto.min": f"{int(value)} us", "tcp.tlp_max_ack_delay": f"{int(value)} us"},
    "tcp_rto_max_ms": lambda value: {"tcp.rto.max": f"{int(value)} ms"},
    "tcp_rmem": _receive_memory,
    "tcp_wmem": _send_memory,
    "tcp_notsent_lowat": _notsent_lowat,
    "tcp_comp_sack_nr": _gathered,
    "tcp_comp_sack_delay_ns": lambda value: {"tcp.sack_compression.delay": f"{int(value)} ns"},
    "tcp_comp_sack_slack_ns": lambda value: {"tcp.sack_compression.slack": f"{int(value)} ns"},
    "tcp_comp_sack_rtt_percent": _number("tcp.sack_compression.rtt_percent"),
    "tcp_min_tso_segs": lambda value: {"tcp.tso": {"min_segments": max(1, int(value))}},
    "tcp_tso_win_divisor": _number("tso.window_divisor"),
    "tcp_pacing_ss_ratio": _pacing("slow_start_ratio"),
    "tcp_pacing_ca_ratio": _pacing("avoidance_ratio"),
    "tcp_congestion_control": lambda value: {"controller": value},
    "tcp_cubic.hystart": _words("cubic.hystart", {"0": "off", "1": "linux"}),
    "tcp_cubic.hystart_detect": _words("cubic.hystart", {"0": "off", "3": "linux"}),
    "net.core.wmem_max": _number("largest.SO_SNDBUF"),
    "net.core.rmem_max": _number("largest.SO_RCVBUF"),
}

ONLY: Mapping[str, tuple[str, ...]] = {
    "tcp_moderate_rcvbuf": ("1",),
    "tcp_thin_linear_timeouts": ("0",),
    "tcp_mtu_probing": ("0",),
    "tcp_shrink_window": ("0",),
    "tcp_limit_output_bytes": ("4194304", "1048576", "262144"),
    "tcp_adv_win_scale": ("1",),
    "tcp_workaround_signed_windows": ("0",),
    "tcp_app_win": ("31",),
    "tcp_abort_on_overflow": ("0",),
    "tcp_autocorking": ("1",),
    "tcp_challenge_ack_limit": (
        "2147483647",
        "1000",
    ),
    "tcp_fin_timeout": ("60",),
    "tcp_invalid_ratelimit": ("500", "0"),
    "tcp_keepalive_intvl": ("75",),
    "tcp_keepalive_probes": ("9",),
    "tcp_keepalive_time": ("7200",),
    "tcp_min_rtt_wlen": ("300",),
    "tcp_min_snd_mss": ("48",),
    "tcp_orphan_retries": ("0",),
    "tcp_ecn_option_beacon": ("3",),
    "tcp_no_ssthresh_metrics_save": ("1",),
    "tcp_plb_enabled": ("0",),
    "tcp_reflect_tos": ("0",),
    "tcp_syncookies": ("1", "0"),
    "tcp_retrans_collapse": ("1",),
    "tcp_rfc1337": ("0",),
    "tcp_stdurg": ("0",),
    "tcp_tso_rtt_log": ("9",),
}

AT_LEAST: Mapping[str, int] = {
    "tcp_max_orphans": 16,
    "tcp_max_syn_backlog": 16,
    "tcp_max_tw_buckets": 16,
    "tcp_mem": 4_096,
    "net.core.somaxconn": 16,
    "net.core.netdev_max_backlog": 64,
    "net.core.netdev_budget": 64,
    "net.core.optmem_max": 4_096,
}
"""Smallest values without effect for parameters that bound more than one connection; the least of several numbers."""

WITHOUT_EFFECT = """
    tcp_abc tcp_allowed_congestion_control tcp_available_congestion_control tcp_backlog_ack_defer tcp_base_mss
    tcp_cookie_size tcp_fack tcp_fastopen_blackhole_timeout_sec tcp_fastopen_key tcp_fwmark_accept tcp_l3mdev_accept
    tcp_low_latency tcp_migrate_req tcp_no_metrics_save tcp_probe_interval tcp_probe_threshold tcp_retries1
    tcp_thin_dupack tcp_tw_recycle tcp_tw_reuse tcp_cwnd_reduction_policy ip_local_port_range ip_no_pmtu_disc
    net.core.bpf_jit_enable net.core.busy_poll net.core.busy_read net.core.default_qdisc net.core.dev_weight
    net.core.gro_normal_batch net.core.high_order_alloc_disable net.core.message_burst net.core.message_cost
    net.core.netdev_budget_usecs net.core.rmem_default net.core.rps_sock_flow_entries net.core.tstamp_allow_data
    net.core.warnings net.core.wmem_default
"""


def changes(name: str, value: str) -> Changes:
    """Return the changes of a simulated endpoint for a parameter.

    Args:
        name: Dotted name, such as `net.ipv4.tcp_sack`.
        value: Value as text.

    Returns:
        Switches by path. `cubic.` has parameters of that controller, `passive.` those of listening sockets alone,
        `largest.` the limit of an option, and `unset.` its default.

    Raises:
        ValueError: If the parameter or its value is not supported: "what; remedy".

    Examples:
        >>> changes("net.ipv4.tcp_sack", "0")
        {'tcp.sack': False}
    """
    short = name.removeprefix("net.ipv4.")
    if short in SWITCHES:
        try:
            return SWITCHES[short](value)
        except (ValueError, OverflowError) as error:
            what = str(error) if ";" in str(error) else f"{value!r} is not a value of it; see the kernel's manual"
            raise ValueError(f"sysctl {name}: {what}") from None
    if short in ONLY:
        if value not in ONLY[short]:
            raise ValueError(f"sysctl {name}={value} is not simulated; use {' or '.join(ONLY[short])}")
        return {}
    if short in AT_LEAST:
        return _bounds_nothing(name, short, value)
    if short in WITHOUT_EFFECT.split():
        return {}
    raise ValueError(f"sysctl {name} is unknown; leave it out, or run the script with --kernel")


def _bounds_nothing(name: str, short: str, value: str) -> Changes:
    least = AT_LEAST[short]
    if any(not word.isdigit() or int(word) < least for word in value.split()):
        raise ValueError(f"sysctl {name}={value} is not simulated; use {least} or more")
    return {}
