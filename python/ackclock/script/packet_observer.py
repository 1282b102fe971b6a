"""Values of TCP_INFO that follow from the packets of a connection alone.

Source: RFC 7323 and RFC 2018 on the options agreed by SYN and SYN-ACK; Linux's segment counters.
"""

from ackclock.script import syntax
from ackclock.script.constants import STATES
from ackclock.script.packets import ACK, CWR, ECE, SYN, Packet

_MS = 1_000_000

_FLAG_OF = {
    syntax.TIMESTAMPS: STATES["TCPI_OPT_TIMESTAMPS"],
    syntax.SACK_OK: STATES["TCPI_OPT_SACK"],
    syntax.WSCALE: STATES["TCPI_OPT_WSCALE"],
}


class Observed:
    """Counters of a connection's packets, its SYNs, and the times of its last packets."""

    def __init__(self) -> None:
        """Begin without packets."""
        self._counts = {"segs_out": 0, "segs_in": 0, "data_segs_in": 0}
        self._own: Packet | None = None
        self._peer: Packet | None = None
        self._last_ns: dict[str, int] = {}
        self._sees_ecn = False

    def sent(self, packet: Packet, now_ns: int) -> None:
        """Count a sent packet; a SYN-ACK leaves before Linux has a connection to count it for."""
        self._counts["segs_out"] += packet.flags & (SYN | ACK) != SYN | ACK
        if packet.flags & SYN:
            self._own = packet
        if packet.payload:
            self._last_ns["last_data_sent"] = now_ns

    def arrived(self, packet: Packet, now_ns: int, *, in_order: bool) -> None:
        """Count an arrived packet; `in_order` tells whether its data was the next expected."""
        self._counts["segs_in"] += 1
        self._counts["data_segs_in"] += packet.payload > 0
        if packet.flags & SYN and self._peer is None:
            self._peer = packet
        if packet.flags & ACK:
            if not self._last_ns:  # what completes the handshake: all times count from there
                self._last_ns = dict.fromkeys(("last_data_sent", "last_data_recv"), now_ns)
            self._last_ns["last_ack_recv"] = now_ns
        if in_order:
            self._last_ns["last_data_recv"] = now_ns
        self._sees_ecn |= packet.payload > 0 and bool(packet.tos & 3)

    def info(self, now_ns: int) -> dict[str, int]:
        """Return fields of TCP_INFO, names without `tcpi_`."""
        times = {name: (now_ns - since_ns) // _MS for name, since_ns in self._last_ns.items()}
        return self._counts | {"last_ack_sent": 0} | times | self._agreed()

    def _agreed(self) -> dict[str, int]:
        own, peer = self._own, self._peer
        if own is None or peer is None:
            return {"options": 0, "snd_wscale": 0, "rcv_wscale": 0}
        agreed = [kind for kind in _FLAG_OF if own.option(kind) and peer.option(kind)]
        flags = sum(_FLAG_OF[kind] for kind in agreed)
        answer = own if own.flags & ACK else peer
        if answer.flags & (ECE | CWR) == ECE:
            flags |= STATES["TCPI_OPT_ECN"] | STATES["TCPI_OPT_ECN_SEEN"] * self._sees_ecn
        scales = [packet.option(syntax.WSCALE) if syntax.WSCALE in agreed else None for packet in (peer, own)]
        snd_wscale, rcv_wscale = (scale.numbers[0] if scale else 0 for scale in scales)
        mss = own.option(syntax.MSS)
        options = {"options": flags, "snd_wscale": snd_wscale, "rcv_wscale": rcv_wscale}
        return options | {"advmss": mss.numbers[0] - 12 * bool(flags & 1) if mss else 536}
