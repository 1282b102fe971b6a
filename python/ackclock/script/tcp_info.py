"""Linux's `struct tcp_info` by field name.

Source: Linux's user-space header `linux/tcp.h`.
"""

import struct

_BYTES = "state ca_state retransmits probes backoff options wscales limits"
_WORDS = """
    rto ato snd_mss rcv_mss unacked sacked lost retrans fackets last_data_sent last_ack_sent last_data_recv
    last_ack_recv pmtu rcv_ssthresh rtt rttvar snd_ssthresh snd_cwnd advmss reordering rcv_rtt rcv_space total_retrans
"""
_REST = (
    ("Q", "pacing_rate max_pacing_rate bytes_acked bytes_received"),
    ("I", "segs_out segs_in notsent_bytes min_rtt data_segs_in data_segs_out"),
    ("Q", "delivery_rate busy_time rwnd_limited sndbuf_limited"),
    ("I", "delivered delivered_ce"),
    ("Q", "bytes_sent bytes_retrans"),
    ("I", "dsack_dups reord_seen rcv_ooopack snd_wnd rcv_wnd rehash"),
    ("H", "total_rto total_rto_recoveries"),
    ("I", "total_rto_time received_ce delivered_e1_bytes delivered_e0_bytes delivered_ce_bytes"),
    ("I", "received_e1_bytes received_e0_bytes received_ce_bytes"),
    ("H", "accecn_fail_mode accecn_opt_seen"),
)
_NAMES = " ".join([_BYTES, _WORDS, *(names for _, names in _REST)]).split()
_LAYOUT = struct.Struct("=8B24I" + "".join(f"{len(names.split())}{letter}" for letter, names in _REST))

SIZE = 256
"""Buffer size with room for all known fields, and more."""


def decode(data: bytes) -> dict[str, int]:
    """Return the fields of a `tcp_info`, with names without `tcpi_`.

    Args:
        data: Bytes from the kernel; fields that an older kernel lacks are zero.
    """
    info = dict(zip(_NAMES, _LAYOUT.unpack_from(data.ljust(_LAYOUT.size, b"\0")), strict=True))
    scales, limits = info.pop("wscales"), info.pop("limits")
    return info | {
        "snd_wscale": scales & 15,
        "rcv_wscale": scales >> 4,
        "delivery_rate_app_limited": limits & 1,
    }
