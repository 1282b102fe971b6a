"""Captures, logs and reports as people have them: link types, ports used again, clocks set back, cut options.

Expected values are arithmetic on what is written here: ten segments of 1000 octets, each acknowledged after 10 ms.
"""

import json
import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dpkt
import pytest

from ackclock.recording import RecordingError, read
from ackclock.recording.captured_segments import CaptureError, segments
from ackclock.recording.flow_arrivals import flows_of_capture

HERE, THERE = ("10.0.0.1", 1000), ("10.0.0.2", 80)
SYN, ACK = dpkt.tcp.TH_SYN, dpkt.tcp.TH_ACK
MSS = b"\x02\x04\x03\xe8"

Timed = tuple[int, bytes]
"""Nanoseconds, and a packet of IP."""


def packet(source: tuple[str, int], target: tuple[str, int], payload: int = 0, **fields: Any) -> bytes:
    options = fields.pop("options", b"")
    header = dpkt.tcp.TCP(sport=source[1], dport=target[1], off=5 + len(options) // 4, opts=options, **fields)
    header.data = bytes(payload)
    addresses = {"src": socket.inet_aton(source[0]), "dst": socket.inet_aton(target[0])}
    return bytes(dpkt.ip.IP(p=6, len=20 + len(header), data=header, **addresses))


def _connection(begin_s: float, number: int, options: bytes = MSS) -> Iterator[Timed]:
    """A handshake and ten segments; nobody says that it ends."""
    base = round(begin_s * 1e9)
    yield base, packet(HERE, THERE, seq=number, flags=SYN, options=options)
    yield base + 10_000_000, packet(THERE, HERE, seq=7, ack=number + 1, flags=SYN | ACK, options=options)
    for place in range(10):
        sent = base + (20 + 20 * place) * 1_000_000
        yield sent, packet(HERE, THERE, 1000, seq=number + 1 + 1000 * place, ack=8, flags=ACK)
        yield sent + 10_000_000, packet(THERE, HERE, seq=8, ack=number + 1001 + 1000 * place, flags=ACK)


def _ethernet(packet: bytes) -> bytes:
    return bytes(12) + b"\x08\x00" + packet


def _pcap(path: Path, packets: list[Timed], link: int = 1, frame: Callable[[bytes], bytes] = _ethernet) -> Path:
    """A file of nanoseconds."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, link))
        for time_ns, packet in packets:
            content = frame(packet)
            seconds, rest = divmod(1_700_000_000 * 10**9 + time_ns, 10**9)
            file.write(struct.pack("<IIII", seconds, rest, len(content), len(content)) + content)
    return path


_SLL2 = b"\x08\x00\x00\x00\x00\x00\x00\x01\x00\x01\x04\x06" + bytes(8)
FRAMES: dict[str, tuple[int, bytes]] = {
    "Ethernet with bits of an FCS": (0x24000001, bytes(12) + b"\x08\x00"),
    "PPP as ns-3 writes it": (9, b"\x00\x21"),
    "PPP in HDLC-like framing": (50, b"\xff\x03\x00\x21"),
    "raw IP": (101, b""),
    "raw IPv4": (228, b""),
    "Linux cooked, version 2": (276, _SLL2),
    "Linux cooked, in a VLAN": (113, bytes(14) + b"\x81\x00\x00\x05\x08\x00"),
    "Linux cooked, version 2, in a VLAN": (276, b"\x81\x00" + _SLL2[2:] + b"\x00\x05\x08\x00"),
    "Ethernet in two VLANs": (1, bytes(12) + b"\x88\xa8\x00\x05\x81\x00\x00\x06\x08\x00"),
    "LLC with SNAP": (1, bytes(12) + b"\x05\xdc\xaa\xaa\x03\x00\x00\x00\x08\x00"),
    "PPPoE": (1, bytes(12) + b"\x88\x64\x11\x00\x00\x01\x05\xd4\x00\x21"),
}
"""Link type and header: tcpdump.org's registry: RFC 1661 and 1662 for PPP, 2516 for PPPoE, 1042 for SNAP; 802.1Q."""


@pytest.mark.parametrize(("link", "head"), FRAMES.values(), ids=FRAMES)
def test_every_link_type_gives_the_same_flow(tmp_path: Path, link: int, head: bytes) -> None:
    file = _pcap(tmp_path / "a.pcap", list(_connection(0, 99)), link, lambda packet: head + packet)
    [flow] = read([file]).summary["flows"]
    assert (flow["delivered_bytes"], flow["sent_segments"], flow["retransmitted_segments"]) == (10_000, 10, 0)
    assert [listed.size_bytes for listed in flows_of_capture(file)] == [10_000]


def test_a_length_of_zero_in_ipv6_is_that_of_a_large_packet(tmp_path: Path) -> None:
    """RFC 2675 section 2; Linux hands packets of up to 512 kB to a card (BIG TCP)."""
    large, ends = 70_000, {"fe80::1": HERE[1], "fe80::2": THERE[1]}

    def packet(source: str, target: str, payload: int = 0, **fields: Any) -> bytes:
        header = bytes(dpkt.tcp.TCP(sport=ends[source], dport=ends[target], **fields))
        size = len(header) + payload if payload < 1 << 16 else 0
        addresses = b"".join(socket.inet_pton(socket.AF_INET6, end) for end in (source, target))
        return struct.pack(">IHBB", 6 << 28, size, 6, 64) + addresses + header + bytes(payload)

    packets = [
        (0, packet("fe80::1", "fe80::2", seq=99, flags=SYN)),
        (10_000_000, packet("fe80::2", "fe80::1", seq=7, ack=100, flags=SYN | ACK)),
        (20_000_000, packet("fe80::1", "fe80::2", large, seq=100, ack=8, flags=ACK)),
        (30_000_000, packet("fe80::2", "fe80::1", seq=8, ack=100 + large, flags=ACK)),
    ]
    file = _pcap(tmp_path / "a.pcap", packets, 101, bytes)
    [flow] = read([file]).summary["flows"]
    assert flow["delivered_bytes"] == large
    assert [listed.size_bytes for listed in flows_of_capture(file)] == [large]


def _numbered(packets: Iterator[Timed]) -> list[Timed]:
    """Each with an identification of its own, as a source gives it."""
    return [(at, ip[:4] + struct.pack(">H", number) + ip[6:]) for number, (at, ip) in enumerate(packets, 1)]


def test_a_copy_of_a_packet_is_no_retransmission_and_a_retransmission_is(tmp_path: Path) -> None:
    """RFC 6864 section 4.2: a source repeats no identification so soon. A mirror port gives each packet twice."""
    sent = _numbered(_connection(0, 99))
    twice = [one for at, ip in sent for one in ((at, ip), (at + 2_000, ip))]
    at, ip = sent[2]
    again = (at + 500_000, ip[:4] + struct.pack(">H", 999) + ip[6:])
    for packets, retransmitted in ((twice, 0), (sorted([*twice, again]), 1)):
        [flow] = read([_pcap(tmp_path / "a.pcap", packets)]).summary["flows"]
        assert (flow["sent_segments"], flow["retransmitted_segments"]) == (10 + retransmitted, retransmitted)
        assert flow["rtt_ms"]["mean"] == pytest.approx(10.0)


def test_a_link_type_that_is_not_known_is_named(tmp_path: Path) -> None:
    file = _pcap(tmp_path / "a.pcap", list(_connection(0, 99)), 105)
    with pytest.raises(RecordingError, match=r"IEEE 802\.11"):
        read([file])


def test_a_syn_with_another_number_begins_another_connection(tmp_path: Path) -> None:
    """RFC 9293 section 3.10.7.4; the end of the first was not captured."""
    file = _pcap(tmp_path / "a.pcap", [*_connection(0, 99), *_connection(5, 3_000_000_000)])
    flows = read([file]).summary["flows"]
    assert [flow["delivered_bytes"] for flow in flows] == [10_000, 10_000]
    assert [flow["retransmitted_segments"] for flow in flows] == [0, 0]
    assert [listed.size_bytes for listed in flows_of_capture(file)] == [10_000, 10_000]


def test_a_syn_that_is_tried_again_with_another_number_carried_nothing(tmp_path: Path) -> None:
    tries = [(round(at * 1e9), packet(HERE, THERE, seq=1_145_000_000, flags=SYN, options=MSS)) for at in (0, 1, 3)]
    file = _pcap(tmp_path / "a.pcap", [*tries, *_connection(100, 99)])
    [flow] = read([file]).summary["flows"]
    assert flow["delivered_bytes"] == 10_000 and flow["start_s"] == 100.0
    assert [listed.size_bytes for listed in flows_of_capture(file)] == [10_000]


def test_a_syn_that_is_sent_again_is_the_same_connection(tmp_path: Path) -> None:
    again = (5_000_000, packet(HERE, THERE, seq=99, flags=SYN, options=MSS))
    first, *rest = _connection(0, 99)
    file = _pcap(tmp_path / "a.pcap", [first, again, *rest])
    [flow] = read([file]).summary["flows"]
    assert flow["delivered_bytes"] == 10_000
    assert len(flows_of_capture(file)) == 1


def test_a_clock_that_was_set_back_is_refused_with_its_frame(tmp_path: Path) -> None:
    first, second, *rest = _connection(0, 99)
    file = _pcap(tmp_path / "a.pcap", [first, second, *((time_ns - 5 * 10**8, packet) for time_ns, packet in rest)])
    for reader in (lambda path: read([path]), flows_of_capture):
        with pytest.raises(ValueError, match=r"frame 3: .*clock was set back"):
            reader(file)


def test_frames_of_several_queues_give_no_negative_time(tmp_path: Path) -> None:
    packets = list(_connection(0, 99))
    packets[5], packets[6] = (packets[6][0], packets[5][1]), (packets[6][0] - 1_000_000, packets[6][1])
    file = _pcap(tmp_path / "a.pcap", packets)
    [flow] = read([file]).summary["flows"]
    assert flow["delivered_bytes"] == 10_000
    assert flow["rtt_ms"] is not None and flow["rtt_ms"]["min"] >= 0


def test_times_are_exact_to_the_nanosecond(tmp_path: Path) -> None:
    """A float of seconds since 1970 has steps of 0.24 microseconds."""
    file = _pcap(tmp_path / "a.pcap", [(3, next(_connection(0, 99))[1]), (4, next(_connection(0, 99))[1])])
    first, second = (captured.time_s for captured in segments(file))
    assert (second - first) * 10**9 == 1


def test_an_option_that_is_cut_costs_itself_alone(tmp_path: Path) -> None:
    cut = MSS + b"\x01\x01\x01\xfe"
    file = _pcap(tmp_path / "a.pcap", list(_connection(0, 99, cut)))
    results = read([file])
    assert results.summary["flows"][0]["delivered_bytes"] == 10_000


def test_a_frame_of_at_most_the_mss_is_one_segment(tmp_path: Path) -> None:
    """Data of 1000 octets with timestamps, after a SYN with an MSS of 1000."""
    stamps = b"\x01\x01\x08\x0a" + bytes(8)
    packets = [
        *list(_connection(0, 99, MSS + stamps))[:2],
        (20_000_000, packet(HERE, THERE, 1000, seq=100, ack=8, flags=ACK, options=stamps)),
        (30_000_000, packet(HERE, THERE, 1000, seq=1100, ack=8, flags=ACK, options=stamps)),
        (40_000_000, packet(THERE, HERE, seq=8, ack=2100, flags=ACK, options=stamps)),
    ]
    [flow] = read([_pcap(tmp_path / "a.pcap", packets)]).summary["flows"]
    assert flow["sent_segments"] == 2


FIN, MS = dpkt.tcp.TH_FIN, 1_000_000


def test_a_keep_alive_with_an_octet_is_no_retransmission(tmp_path: Path) -> None:
    """RFC 9293 section 3.8.4: SEG.SEQ = SND.NXT - 1, with one octet or none."""
    probes = [
        frame
        for second in (2, 3, 4)
        for frame in (
            (second * 1000 * MS, packet(HERE, THERE, 1, seq=99 + 10_000, ack=8, flags=ACK)),
            (second * 1000 * MS + 10 * MS, packet(THERE, HERE, seq=8, ack=99 + 10_001, flags=ACK)),
        )
    ]
    results = read([_pcap(tmp_path / "a.pcap", [*_connection(0, 99), *probes])])
    [flow] = results.summary["flows"]
    assert (flow["delivered_bytes"], flow["sent_segments"], flow["retransmitted_segments"]) == (10_000, 10, 0)
    assert results.episodes.is_empty()


def _one_of_two_ways() -> Iterator[Timed]:
    """Ten segments and a FIN; a second later the other end begins to answer, until 5 s."""
    yield from _connection(0, 99)
    yield 220 * MS, packet(HERE, THERE, seq=10_100, ack=8, flags=ACK | FIN)
    yield 230 * MS, packet(THERE, HERE, seq=8, ack=10_101, flags=ACK)
    for place in range(5):
        sent = (1 + place) * 1000 * MS
        yield sent, packet(THERE, HERE, 1000, seq=8 + 1000 * place, ack=10_101, flags=ACK)
        yield sent + 10 * MS, packet(HERE, THERE, seq=10_101, ack=1008 + 1000 * place, flags=ACK)


def test_a_stream_is_complete_when_its_payload_is_acknowledged(tmp_path: Path) -> None:
    """At 0.21 s: neither its FIN nor what comes back after it changes that."""
    first, second = read([_pcap(tmp_path / "a.pcap", list(_one_of_two_ways()))]).summary["flows"]
    assert first["completion_s"] == pytest.approx(0.21)
    assert first["goodput_bps"] == pytest.approx(8 * 10_000 / 0.21)
    assert second["completion_s"] is None


@pytest.mark.parametrize("flags", [FIN | ACK, dpkt.tcp.TH_RST])
def test_a_stream_with_data_that_nobody_acknowledged_is_not_complete(tmp_path: Path, flags: int) -> None:
    rest = [
        (2000 * MS, packet(HERE, THERE, 1000, seq=10_100, ack=8, flags=ACK)),
        (2001 * MS, packet(HERE, THERE, seq=11_100, ack=8, flags=flags)),
    ]
    [flow] = read([_pcap(tmp_path / "a.pcap", [*_connection(0, 99), *rest])]).summary["flows"]
    assert (flow["completion_s"], flow["delivered_bytes"]) == (None, 10_000)


def test_goodput_is_over_the_time_until_the_last_acknowledgement(tmp_path: Path) -> None:
    """10 kB are sent at 20 ms and acknowledged at 100 ms: 0.8 Mbit/s, and not 4."""
    opening = list(_connection(0, 99))[:2]
    data = [(20 * MS, packet(HERE, THERE, 1000, seq=100 + 1000 * n, ack=8, flags=ACK)) for n in range(10)]
    file = _pcap(tmp_path / "a.pcap", [*opening, *data, (100 * MS, packet(THERE, HERE, seq=8, ack=10_100, flags=ACK))])
    [flow] = read([file]).summary["flows"]
    assert flow["goodput_bps"] == pytest.approx(8 * 10_000 / 0.1)


def test_segments_are_no_longer_than_the_shorter_mss(tmp_path: Path) -> None:
    """RFC 9293 section 3.7.1: a host of Ethernet sends 1460 octets to one of jumbo frames that announces 8960."""
    packets = [
        (0, packet(HERE, THERE, seq=99, flags=SYN, options=b"\x02\x04\x05\xb4")),
        (10 * MS, packet(THERE, HERE, seq=7, ack=100, flags=SYN | ACK, options=b"\x02\x04\x23\x00")),
        (20 * MS, packet(HERE, THERE, 14_600, seq=100, ack=8, flags=ACK)),
        (30 * MS, packet(THERE, HERE, seq=8, ack=14_700, flags=ACK)),
    ]
    [flow] = read([_pcap(tmp_path / "a.pcap", packets)]).summary["flows"]
    assert flow["sent_segments"] == 10


def test_what_a_capture_lost_is_not_counted_as_sent(tmp_path: Path) -> None:
    """Two segments of ten are in no frame, and all were acknowledged: goodput above what was sent is never shown."""
    packets = [packet for place, packet in enumerate(_connection(0, 99)) if place not in (6, 10)]
    results = read([_pcap(tmp_path / "a.pcap", packets)])
    [flow] = results.summary["flows"]
    assert (flow["delivered_bytes"], flow["throughput_bps"], flow["sent_segments"]) == (10_000, None, None)
    assert any("2,000 octets" in note for note in results.manifest["recording"]["notes"])  # type: ignore[typeddict-item]


# ---- ss and iperf3 --------------------------------------------------------------------------------------------------

ROW = "ESTAB 0 0 10.0.0.1:40000 10.0.0.2:5201\n"


def _numbers(sent: int, before: str = "") -> str:
    return f"\t {before}cubic wscale:7,7 rto:204 rtt:40/1 mss:1000 cwnd:10 bytes_sent:{sent} bytes_acked:{sent}\n"


def _log(path: Path, *samples: str) -> Path:
    path.write_text("".join(f"{1_700_000_000 + place}.0\n{sample}" for place, sample in enumerate(samples)))
    return path


SOCKETS = {
    "memory": [ROW + _numbers(sent, "skmem:(r0,rb1,t0) ") for sent in (1000, 2000, 3000)],
    "listening": [
        f"LISTEN 0 128 0.0.0.0:22 0.0.0.0:*\n\t cubic cwnd:10\n{ROW}{_numbers(sent)}" for sent in (1000, 2000, 3000)
    ],
    "after the end": [
        ROW + _numbers(1000),
        ROW + _numbers(2000),
        ROW + _numbers(3000),
        ROW.replace("ESTAB", "FIN-WAIT-2"),
    ],
    "in the middle": [ROW + _numbers(1000), ROW, ROW + _numbers(3000)],
    "no window scaling": [ROW + _numbers(sent).replace(" wscale:7,7", "") for sent in (1000, 2000, 3000)],
}


@pytest.mark.parametrize("samples", SOCKETS.values(), ids=SOCKETS)
def test_a_log_of_ss_as_people_have_it(tmp_path: Path, samples: list[str]) -> None:
    """Two kilobytes in two seconds, whatever stands beside the numbers."""
    results = read([_log(tmp_path / "ss.log", *samples)])
    [flow] = results.summary["flows"]
    assert (flow["controller"], flow["delivered_bytes"], flow["goodput_bps"]) == ("cubic", 2000, 8000)
    assert (results.flows["goodput_bps"].drop_nulls() >= 0).all()


def test_counts_that_become_less_are_another_connection(tmp_path: Path) -> None:
    samples = [ROW + _numbers(sent) for sent in (1000, 3000, 500, 700)]
    flows = read([_log(tmp_path / "ss.log", *samples)]).summary["flows"]
    assert [flow["delivered_bytes"] for flow in flows] == [2000, 200]


REPORT: dict[str, Any] = {
    "start": {"connected": [], "test_start": {"protocol": "TCP"}},
    "intervals": [{"streams": [{"socket": 5, "start": 0, "end": 1, "bytes": 1000, "sender": True}]}],
    "end": {"streams": [{"sender": {"socket": 5, "bits_per_second": 8000}, "receiver": {"bytes": 900}}]},
}


def _streamed() -> str:
    lines: list[tuple[str, Any]] = [("start", REPORT["start"]), ("interval", REPORT["intervals"][0])]
    lines.append(("end", REPORT["end"]))
    return "".join(json.dumps({"event": name, "data": data}) + "\n" for name, data in lines)


@pytest.mark.parametrize(
    "text",
    [json.dumps(REPORT), f"warning: UDP block size 2048 exceeds\n{json.dumps(REPORT, indent=1)}", _streamed()],
    ids=["whole", "behind a warning", "--json-stream"],
)
def test_a_report_of_iperf3_in_each_of_its_forms(tmp_path: Path, text: str) -> None:
    file = tmp_path / "i.json"
    file.write_text(text)
    [flow] = read([file]).summary["flows"]
    assert (flow["delivered_bytes"], flow["throughput_bps"]) == (900, 8000)


@pytest.mark.parametrize(("key", "value"), [("bytes", -5), ("rtt", -1), ("snd_cwnd", -3), ("end", -1), ("start", 2)])
def test_a_number_that_cannot_be_is_named(tmp_path: Path, key: str, value: int) -> None:
    file = tmp_path / "i.json"
    row = REPORT["intervals"][0]["streams"][0] | {key: value}
    file.write_text(json.dumps(REPORT | {"intervals": [{"streams": [row]}]}))
    with pytest.raises(RecordingError, match=r"intervals\[0\]\.streams\[0\]\."):
        read([file])


def test_what_a_capture_lost_is_missing_whatever_was_sent_twice(tmp_path: Path) -> None:
    """One segment is in no frame, another in two; tshark says "ACKed unseen segment" of the first."""
    packets = [packet for place, packet in enumerate(_connection(0, 99)) if place != 6]
    packets.append((300 * MS, packet(HERE, THERE, 1000, seq=4100, ack=8, flags=ACK)))
    results = read([_pcap(tmp_path / "a.pcap", packets)])
    [flow] = results.summary["flows"]
    assert (flow["delivered_bytes"], flow["sent_segments"], flow["retransmitted_segments"]) == (10_000, None, None)
    assert any("1,000 octets" in note for note in results.manifest["recording"]["notes"])  # type: ignore[typeddict-item]


def test_what_is_acknowledged_was_delivered_though_it_was_not_captured(tmp_path: Path) -> None:
    """The last three segments are in no frame, their ACKs are (RFC 9293 section 3.4)."""
    packets = [packet for place, packet in enumerate(_connection(0, 99)) if place not in (16, 18, 20)]
    results = read([_pcap(tmp_path / "a.pcap", packets)])
    [flow] = results.summary["flows"]
    assert (flow["delivered_bytes"], flow["throughput_bps"], flow["sent_segments"]) == (10_000, None, None)
    assert any("3,000 octets" in note for note in results.manifest["recording"]["notes"])  # type: ignore[typeddict-item]


def test_data_behind_their_acknowledgement_are_no_retransmission(tmp_path: Path) -> None:
    """Frames of two queues stand in a file out of order: an ACK comes 1 ms before the last segment."""
    *packets, data, ack = _connection(0, 99)
    file = _pcap(tmp_path / "a.pcap", [*packets, ack, (ack[0] + MS, data[1])])
    [flow] = read([file]).summary["flows"]
    counts = flow["delivered_bytes"], flow["sent_segments"], flow["retransmitted_segments"]
    assert counts == (10_000, 10, 0)


@pytest.mark.parametrize(
    ("first", "second", "window"),
    [
        (b"\x01\x03\x03\x07", b"\x01\x03\x03\x02", 500 << 7),
        (b"\x01\x03\x03\x07", b"", 500),
        (b"", b"\x01\x03\x03\x02", 500),
        (b"\x00\x03\x03\x07", b"\x01\x03\x03\x02", 500),
    ],
)
def test_windows_are_scaled_if_both_ends_say_so(tmp_path: Path, first: bytes, second: bytes, window: int) -> None:
    """RFC 7323 section 2.2: both sides must send the option; RFC 9293 section 3.1: none stands behind kind 0."""
    packets = [
        (0, packet(HERE, THERE, seq=99, flags=SYN, options=MSS + first)),
        (10 * MS, packet(THERE, HERE, seq=7, ack=100, flags=SYN | ACK, options=MSS + second)),
        (20 * MS, packet(THERE, HERE, 1000, seq=8, ack=100, flags=ACK)),
        (30 * MS, packet(HERE, THERE, seq=100, ack=1008, flags=ACK, win=500)),
    ]
    assert read([_pcap(tmp_path / "a.pcap", packets)]).flows["rwnd_bytes"].to_list()[-1] == window


@pytest.mark.parametrize("size", [1040, 16 << 20, 0xFFFFFFF0])
def test_a_packet_that_is_not_whole_is_damage(tmp_path: Path, size: int) -> None:
    """tshark: "cut short in the middle of a packet", and of a size of 4 GB "bigger than maximum"."""
    file = _pcap(tmp_path / "a.pcap", list(_connection(0, 99)))
    content = file.read_bytes()
    head = struct.pack("<IIII", 1_700_000_001, 0, size, size)
    file.write_bytes(content + head + bytes(1000))
    with pytest.raises(RecordingError, match=r"damaged after frame 22: .*; capture anew, or cut it with editcap"):
        read([file])
    with pytest.raises(CaptureError, match="damaged after frame 22"):
        flows_of_capture(file)
