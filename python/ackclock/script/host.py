"""What the commands of a script set of the host: sysctls and routes, as options of the endpoint."""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field

from ackclock.script.model import ScriptError


@dataclass(slots=True)
class Host:
    """Overrides of an endpoint's options, in a scenario's words."""

    profile: str = "linux-6.x"
    overrides: dict[str, str] = field(default_factory=dict)

    def as_list(self) -> list[str]:
        """Overrides as `path=value`, the profile first."""
        return [f"tcp.profile={self.profile}", *(f"{key}={value}" for key, value in self.overrides.items())]

    def run(self, command: str, place: str) -> None:
        """Take in a shell command, one or several lines of it.

        Raises:
            ScriptError: If it sets what the endpoint has not.
        """
        for line in re.split(r"\n|;|&&", command.replace("\\\n", " ")):
            try:
                words = shlex.split(line, comments=True)
            except ValueError as error:
                raise ScriptError(place, f"{line.strip()!r} is no shell command ({error})", "quote it") from None
            if words:
                self._run_words(words, line.strip(), place)

    def _run_words(self, words: list[str], line: str, place: str) -> None:
        program = words[0].rsplit("/", 1)[-1]
        if program in _IGNORED_PROGRAMS or program.startswith("sysctl_restore"):
            return
        if program in ("defaults.sh", "set_sysctls.py", "sysctl"):
            if program == "defaults.sh":
                self.overrides.update(_DEFAULTS)
            for setting in words[1:]:
                if "=" in setting:
                    self._set(setting, place)
            return
        if program in ("ip", "tc"):
            return self._run_ip_or_tc(words, line, place)
        raise ScriptError(place, f"runs {line!r}", f"use sysctl, ip, tc, or one of {', '.join(_IGNORED_PROGRAMS)}")

    def _run_ip_or_tc(self, words: list[str], line: str, place: str) -> None:
        if "initcwnd" in words:
            self.overrides["tcp.initial_window"] = f"{int(words[words.index('initcwnd') + 1])} segments"
        if "rto_min" in words:
            self.overrides["tcp.rto.min"] = _time(words[words.index("rto_min") + 1])
        if words[0] == "tc":
            if "netem" in words or "tbf" in words:
                raise ScriptError(place, f"runs {line!r}", "a script has no link; only fq, which paces, has a meaning")
            self.overrides["tcp.pacing"] = "true" if "fq" in words else "false"

    def _set(self, setting: str, place: str) -> None:
        name, value = setting.split("=", 1)
        name = name.removeprefix("/proc/sys/").replace("/", ".").rsplit(".", 1)[-1]
        if name in _IGNORED_SYSCTLS:
            return
        if name not in _SYSCTLS:
            known = ", ".join(sorted(_SYSCTLS))
            raise ScriptError(place, f"sets {name}, which the endpoint has not", f"use one of {known}")
        for key, rule in _SYSCTLS[name].items():
            try:
                text = rule(value)
            except (ValueError, KeyError, IndexError):
                raise ScriptError(place, f"sets {name} to {value!r}", "give it a value that Linux takes") from None
            if text is not None:
                self.overrides[key] = text


def _switch(value: str) -> str:
    return "true" if int(value) else "false"


def _number(value: str) -> str:
    return str(int(value))


def _time(value: str) -> str:
    match = re.fullmatch(r"([0-9]+)(us|ms|s)?", value)
    if match is None:
        raise ValueError(value)
    return f"{match[1]} {match[2] or 'ms'}"


def _receive_memory(value: str) -> str:
    _, start, most = (int(number) for number in value.split())
    return f'{{ initial = "{min(start // 2, 65535)} B", max = "{max(most, start // 2)} B" }}'


_ECN = {"0": "off", "1": "request", "2": "accept", "3": "request", "4": "accept", "5": "request"}
_SYSCTLS: dict[str, dict[str, Callable[[str], str | None]]] = {
    "tcp_sack": {"tcp.sack": _switch},
    "tcp_dsack": {"tcp.dsack": _switch},
    "tcp_timestamps": {"tcp.timestamps": _switch},
    "tcp_window_scaling": {"tcp.window_scaling": _switch},
    "tcp_ecn": {"tcp.ecn": _ECN.__getitem__, "tcp.accurate_ecn": lambda value: _switch("1" if int(value) > 2 else "0")},
    "tcp_recovery": {"tcp.loss_detection": lambda value: "rack" if int(value) & 1 else "dup_acks"},
    "tcp_early_retrans": {"tcp.tlp": lambda value: _switch("1" if int(value) >= 3 else "0")},
    "tcp_frto": {"tcp.frto": _switch},
    "tcp_reordering": {"tcp.dup_thresh": _number},
    "tcp_max_reordering": {"tcp.max_dup_thresh": _number},
    "tcp_congestion_control": {"controller": lambda value: f'"{value.strip()}"'},
    "tcp_slow_start_after_idle": {"tcp.idle_restart": lambda value: "linux" if int(value) else "off"},
    "tcp_min_tso_segs": {"tcp.tso": lambda value: f"{{ min_segments = {int(value)} }}"},
    "tcp_rmem": {"tcp.receive_autotuning": _receive_memory},
    "tcp_moderate_rcvbuf": {"tcp.receive_autotuning": lambda value: None if int(value) else "false"},
    "tcp_retries2": {"tcp.max_retries": _number},
    "tcp_syn_retries": {"tcp.syn_retries": _number},
    "tcp_synack_retries": {"tcp.syn_retries": _number},
    "tcp_syn_linear_timeouts": {"tcp.syn_linear_timeouts": _number},
    "tcp_notsent_lowat": {"tcp.notsent_lowat": lambda value: f"{min(int(value), 1 << 40)} B"},
    "tcp_rto_min_us": {"tcp.rto.min": lambda value: f"{int(value)} us"},
    "tcp_rto_max_ms": {"tcp.rto.max": lambda value: f"{int(value)} ms"},
    "tcp_pacing_ss_ratio": {},
    "tcp_pacing_ca_ratio": {},
}

# They change nothing that a script can see of an endpoint.
_IGNORED_SYSCTLS = {
    "default_qdisc",
    "flush",
    "ip_local_port_range",
    "ip_no_pmtu_disc",
    "min_pmtu",
    "mtu_expires",
    "netdev_max_backlog",
    "optmem_max",
    "rmem_default",
    "rmem_max",
    "somaxconn",
    "tcp_abort_on_overflow",
    "tcp_adv_win_scale",
    "tcp_allowed_congestion_control",
    "tcp_app_win",
    "tcp_autocorking",
    "tcp_available_congestion_control",
    "tcp_backlog_ack_defer",
    "tcp_base_mss",
    "tcp_challenge_ack_limit",
    "tcp_comp_sack_delay_ns",
    "tcp_comp_sack_nr",
    "tcp_comp_sack_slack_ns",
    "tcp_cookie_size",
    "tcp_early_demux",
    "tcp_ecn_fallback",
    "tcp_ecn_option",
    "tcp_ecn_option_beacon",
    "tcp_fack",
    "tcp_fastopen",
    "tcp_fastopen_blackhole_timeout_sec",
    "tcp_fastopen_key",
    "tcp_fin_timeout",
    "tcp_invalid_ratelimit",
    "tcp_keepalive_intvl",
    "tcp_keepalive_probes",
    "tcp_keepalive_time",
    "tcp_limit_output_bytes",
    "tcp_max_syn_backlog",
    "tcp_min_rtt_wlen",
    "tcp_min_snd_mss",
    "tcp_mtu_probing",
    "tcp_no_metrics_save",
    "tcp_no_ssthresh_metrics_save",
    "tcp_orphan_retries",
    "tcp_pingpong_thresh",
    "tcp_plb_enabled",
    "tcp_probe_interval",
    "tcp_reflect_tos",
    "tcp_retrans_collapse",
    "tcp_retries1",
    "tcp_shrink_window",
    "tcp_stdurg",
    "tcp_syncookies",
    "tcp_thin_linear_timeouts",
    "tcp_tso_rtt_log",
    "tcp_tso_win_divisor",
    "tcp_tw_reuse",
    "tcp_wmem",
    "tcp_workaround_signed_windows",
    "wmem_default",
    "wmem_max",
}
_IGNORED_PROGRAMS = ("true", "sleep", "echo", "cat", "nstat", "ethtool", "modprobe", "rm", "ls", "test", "ss", "set")
# What defaults.sh of the published scripts says: buffers that make a window scale of 8.
_DEFAULTS = {"tcp.receive_autotuning": '{ initial = "65535 B", max = "15728640 B" }'}
