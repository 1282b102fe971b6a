"""What the packets of a connection alone tell of it, in the terms of TCP_INFO.

Source: RFC 7323 and RFC 2018 on what a SYN and its answer agree on; Linux's counters of segments.
"""

from ackclock.script import syntax
from ackclock.script.constants import STATES
from ackclock.script.packets import ACK, CWR, ECE, SYN, Packet

_FLAG_OF = {
    syntax.TIMESTAMPS: STATES["TCPI_OPT_TIMESTAMPS"],
    syntax.SACK_OK: STATES["TCPI_OPT_SACK"],
    syntax.WSCALE: STATES["TCPI_OPT_WSCALE"],
}


class Observed:
    """Counts the packets of one connection, and keeps its SYNs."""

    def __init__(self) -> None:
        """See the class."""
        self._counts = {"segs_out": 0, "segs_in": 0, "data_segs_in": 0}
        self._own: Packet | None = None
        self._peer: Packet | None = None

    def sent(self, packet: Packet) -> None:
        """Count a packet that was sent; a SYN-ACK leaves before Linux has a connection to count it for."""
        self._counts["segs_out"] += packet.flags & (SYN | ACK) != SYN | ACK
        if packet.flags & SYN:
            self._own = packet

    def arrived(self, packet: Packet) -> None:
        """Count a packet that arrived."""
        self._counts["segs_in"] += 1
        self._counts["data_segs_in"] += packet.payload > 0
        if packet.flags & SYN and self._peer is None:
            self._peer = packet

    def info(self) -> dict[str, int]:
        """Return fields of TCP_INFO, names without `tcpi_`."""
        own, peer = self._own, self._peer
        if own is None or peer is None:
            return self._counts | {"options": 0, "snd_wscale": 0, "rcv_wscale": 0}
        agreed = [kind for kind in _FLAG_OF if own.option(kind) and peer.option(kind)]
        flags = sum(_FLAG_OF[kind] for kind in agreed)
        answer = own if own.flags & ACK else peer
        if answer.flags & (ECE | CWR) == ECE:
            flags |= STATES["TCPI_OPT_ECN"]
        scales = [packet.option(syntax.WSCALE) if syntax.WSCALE in agreed else None for packet in (peer, own)]
        snd_wscale, rcv_wscale = (scale.numbers[0] if scale else 0 for scale in scales)
        mss = own.option(syntax.MSS)
        options = {"options": flags, "snd_wscale": snd_wscale, "rcv_wscale": rcv_wscale}
        return self._counts | options | {"advmss": mss.numbers[0] - 12 * bool(flags & 1) if mss else 536}
