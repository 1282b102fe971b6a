"""Captures in pcapng, written octet by octet after draft-ietf-opsawg-pcapng: interfaces, sections, orders of octets."""

import struct
from collections.abc import Sequence
from decimal import Decimal
from io import BytesIO
from pathlib import Path

import pytest

from ackclock.recording import RecordingError, read
from ackclock.results.pcapng import packets
from test_captures import Timed, _connection, _ethernet, _pcap

BEGAN_NS = 1_700_000_000 * 10**9


def _block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", 12 + len(body))
    return struct.pack(order + "I", kind) + length + body + length


def _section(order: str = "<") -> bytes:
    return _block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def _interface(link: int, order: str = "<", *, resolution: int | None = None, offset_s: int | None = None) -> bytes:
    """Return an interface block whose options say the unit of its times, and the time from which they count."""
    options = b""
    if resolution is not None:
        options += struct.pack(order + "HHB3x", 9, 1, resolution)
    if offset_s is not None:
        options += struct.pack(order + "HHq", 14, 8, offset_s)
    return _block(1, struct.pack(order + "HHI", link, 0, 0) + options + (bytes(4) if options else b""), order)


def _packet(interface: int, units: int, frame: bytes, order: str = "<", *, is_old: bool = False) -> bytes:
    layout = "HHIIII" if is_old else "IIIII"
    numbers = (units >> 32, units & 0xFFFFFFFF, len(frame), len(frame))
    head = struct.pack(order + layout, interface, *([7] if is_old else []), *numbers)
    return _block(2 if is_old else 6, head + frame, order)


def _both_ways() -> tuple[list[Timed], list[Timed]]:
    """Return the packets that either end sends."""
    every = list(_connection(0, 99))
    ends = [packet[12:16] for _, packet in every]
    return [one for one, end in zip(every, ends, strict=True) if end == ends[0]], [
        one for one, end in zip(every, ends, strict=True) if end != ends[0]
    ]


def _merged(*blocks: Sequence[tuple[int, bytes]]) -> bytes:
    return b"".join(block for _, block in sorted(one for some in blocks for one in some))


def _delivered(path: Path, content: bytes) -> list[tuple[int | None, int | None]]:
    path.write_bytes(content)
    flows = read([path]).summary["flows"]
    return [(flow["delivered_bytes"], flow["retransmitted_segments"]) for flow in flows]


def test_each_packet_is_read_as_its_interface_has_it(tmp_path: Path) -> None:
    """Section 4.2: link type and units belong to an interface. Data are seen on Ethernet, ACKs on a tunnel."""
    data, acks = _both_ways()
    there = [(ns, _packet(0, (BEGAN_NS + ns) // 1000, _ethernet(packet))) for ns, packet in data]
    back = [(ns, _packet(1, BEGAN_NS + ns, packet)) for ns, packet in acks]
    content = _section() + _interface(1) + _interface(101, resolution=9) + _merged(there, back)
    assert _delivered(tmp_path / "a.pcapng", content) == [(10_000, 0)]


def test_packets_of_an_interface_that_is_not_known_are_passed_over(tmp_path: Path) -> None:
    data, acks = _both_ways()
    frames = [(ns, _packet(1, (BEGAN_NS + ns) // 1000, _ethernet(packet))) for ns, packet in data + acks]
    others = [(ns, _packet(0, (BEGAN_NS + ns) // 1000, b"usb")) for ns, _ in data]
    content = _section() + _interface(220) + _interface(1) + _merged(frames, others)
    assert _delivered(tmp_path / "a.pcapng", content) == [(10_000, 0)]
    with pytest.raises(RecordingError, match=r"link type 220 \(USB\)"):
        _delivered(tmp_path / "b.pcapng", _section() + _interface(220) + _merged(others))


def test_each_section_has_an_order_of_octets_and_interfaces_of_its_own(tmp_path: Path) -> None:
    """Section 4.1: files may be put one behind the other."""
    every = list(_connection(0, 99))
    halves = [every[:10], every[10:]]
    content = b""
    for order, link, half in zip("<>", (1, 101), halves, strict=True):
        content += _section(order) + _interface(link, order)
        for ns, packet in half:
            frame = _ethernet(packet) if link == 1 else packet
            content += _packet(0, (BEGAN_NS + ns) // 1000, frame, order, is_old=order == ">")
    assert _delivered(tmp_path / "a.pcapng", content) == [(10_000, 0)]


def _through_a_router(packet: bytes) -> bytes:
    """Return the packet with a time to live that is one less, and with the checksum to match."""
    return packet[:8] + bytes([packet[8] - 1]) + packet[9:10] + b"\0\0" + packet[12:]


def _routed() -> list[tuple[int, int, bytes]]:
    """Return time, interface and octets of each packet; the fourth segment is sent again, to the octet."""
    every = list(_connection(0, 99))
    data = [one for one in every if len(one[1]) > 1000]
    again = (every[-1][0] + 50_000_000, data[3][1])
    ends = [one[1][12:16] for one in every[:2]]
    found = []
    for ns, packet in [*every, again]:
        ways = (0, 1) if packet[12:16] == ends[0] else (1, 0)
        found += [(ns, ways[0], packet), (ns + 30_000_000, ways[1], _through_a_router(packet))]
    return sorted(found)


def test_a_packet_that_two_interfaces_saw_is_one(tmp_path: Path) -> None:
    """On its way through a router, 30 ms later; a retransmission is one, too, and not two."""
    frames = [_packet(at, (BEGAN_NS + ns) // 1000, packet) for ns, at, packet in _routed()]
    content = _section() + 2 * _interface(101) + b"".join(frames)
    assert _delivered(tmp_path / "a.pcapng", content) == [(10_000, 1)]


def test_round_trips_are_those_of_one_place(tmp_path: Path) -> None:
    """10 ms where the sender's packets are seen first, and not the 40 ms or the -20 ms between two interfaces."""
    frames = [_packet(at, (BEGAN_NS + ns) // 1000, packet) for ns, at, packet in _routed()]
    file = tmp_path / "a.pcapng"
    file.write_bytes(_section() + 2 * _interface(101) + b"".join(frames))
    [flow] = read([file]).summary["flows"]
    assert flow["rtt_ms"] is not None
    assert flow["rtt_ms"]["min"] == pytest.approx(40) == flow["rtt_ms"]["p50"]


def test_ways_that_no_interface_has_both_of_are_seen_at_one_each(tmp_path: Path) -> None:
    """Routing need not be symmetric: data go by two interfaces, ACKs by a third."""
    data, acks = _both_ways()
    frames = [
        *((ns, _packet(0, (BEGAN_NS + ns) // 1000, packet)) for ns, packet in data),
        *((ns + 1000, _packet(1, (BEGAN_NS + ns) // 1000, packet)) for ns, packet in data),
        *((ns, _packet(2, (BEGAN_NS + ns) // 1000, packet)) for ns, packet in acks),
    ]
    assert _delivered(tmp_path / "a.pcapng", _section() + 3 * _interface(101) + _merged(frames)) == [(10_000, 0)]


def test_a_capture_of_any_interface_has_each_packet_once(tmp_path: Path) -> None:
    """LINKTYPE_LINUX_SLL2: octets 4 to 8 are the interface's number."""
    cooked = [
        (ns, b"\x08\x00\0\0" + (7 + at).to_bytes(4) + b"\x00\x01\x04\x06" + bytes(8) + packet)
        for ns, at, packet in _routed()
    ]
    [flow] = read([_pcap(tmp_path / "any.pcap", cooked, 276, bytes)]).summary["flows"]
    assert (flow["delivered_bytes"], flow["sent_segments"], flow["retransmitted_segments"]) == (10_000, 11, 1)


@pytest.mark.parametrize(
    ("resolution", "offset_s", "units", "time_s"),
    [
        (None, None, 1_500_000, "1.5"),
        (9, None, 1_700_000_000_000_000_003, "1700000000.000000003"),
        (0x80 | 10, None, 1536, "1.5"),
        (3, 1_700_000_000, 250, "1700000000.25"),
        (0, -5, 7, "2"),
    ],
)
def test_times_are_in_units_of_the_interface(
    resolution: int | None, offset_s: int | None, units: int, time_s: str
) -> None:
    """Options if_tsresol (a power of ten, or of two with the highest bit set) and if_tsoffset (seconds)."""
    content = _section() + _interface(1, resolution=resolution, offset_s=offset_s) + _packet(0, units, b"frame")
    assert list(packets(BytesIO(content))) == [(Decimal(time_s), 1, 0, b"frame")]


@pytest.mark.parametrize(
    "damaged",
    [
        _packet(1, 0, b"frame"),
        _packet(0, 0, b"frame")[:-5],
        _packet(0, 0, b"frame")[:-4] + bytes(4),
        struct.pack("<II", 6, 0),
        struct.pack("<II", 6, 0xFFFFFFFC),
        _block(6, b"short"),
        _block(6, struct.pack("<IIIII", 0, 0, 0, 99, 99)),
        struct.pack("<IIII", 0x0A0D0D0A, 28, 0, 0),
        b"\x06",
    ],
)
def test_a_block_that_cannot_be_is_damage_behind_the_packet_before(tmp_path: Path, damaged: bytes) -> None:
    file = tmp_path / "a.pcapng"
    file.write_bytes(_section() + _interface(1) + _packet(0, 0, b"frame") + damaged)
    with pytest.raises(RecordingError, match="damaged after frame 1: "):
        read([file])


def test_an_option_longer_than_its_block_is_damage(tmp_path: Path) -> None:
    """Section 3.5: an option has as many octets as its length says, filled up to a multiple of four."""
    whole = struct.pack("<HHI", 101, 0, 0) + struct.pack("<HH", 9, 60_000) + bytes(4)
    file = tmp_path / "a.pcapng"
    file.write_bytes(_section() + _block(1, whole))
    with pytest.raises(RecordingError, match="an option must not have 60000 octets where 4 are left"):
        read([file])
