"""Recordings of real connections as results: what each form tells, what is not known, and where a file is wrong."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dpkt
import pytest

import ackclock
from ackclock import Results
from ackclock.base.input_files import InputFileError
from ackclock.recording import RecordingError, read
from ackclock.running import kernel
from conftest import Cli
from networks import dumbbell
from test_captures import packet

HERE, THERE = ("10.0.0.1", 40000), ("10.0.0.2", 5201)


# ---- traces of the kernel -------------------------------------------------------------------------------------------


def _record(kind: str, time_s: float, **changed: object) -> dict[str, object]:
    """A line as `ackclock-kernel record` writes it, of a connection with segments of 1000 octets."""
    return {
        "kind": kind, "time_s": time_s, "flow": 7, "local_port": 40000, "remote_port": 5201, "state": "open",
        "cwnd_segments": 10, "ssthresh_segments": None, "srtt_s": 0.0, "rttvar_s": 0.0, "min_rtt_s": 0.05,
        "inflight_segments": 0, "flight_bytes": 0, "sacked_segments": 0, "lost_segments": 0, "lost_total": 0,
        "retransmissions": 0, "delivery_rate_bps": 0, "pacing_rate_bps": None, "acked_bytes": 0, "sent_bytes": 0,
        "retransmitted_bytes": 0, "received_bytes": 0, "sent_segments": 0, "duplicates": 0, "rwnd_bytes": 65536,
        "mss_bytes": 1000,
    } | changed  # fmt: skip


TRACE = [
    {"kind": "begin", "time_s": 100.0, "unix_s": 1.7e9, "release": "6.18.0"},
    {"kind": "flow", "flow": 7, "local": "10.0.0.1:40000", "remote": "10.0.0.2:5201", "controller": "cubic"},
    _record("established", 101.0, acked_bytes=1, srtt_s=0.05),  # the handshake's sample
    _record("segment", 101.05, sent_bytes=10_000, sent_segments=10, acked_bytes=1, srtt_s=0.05),
    # The first sample is the smoothed round trip; 58 ms after 50 ms make 51 ms.
    _record("segment", 101.1, sent_bytes=20_000, sent_segments=20, acked_bytes=10_001, srtt_s=0.05),
    _record("segment", 101.2, sent_bytes=20_000, sent_segments=20, acked_bytes=10_001, srtt_s=0.051),
    _record("state", 101.25, state="recovery", ssthresh_segments=7, lost_total=1, srtt_s=0.051, acked_bytes=10_001,
            sent_bytes=20_000, sent_segments=20),
    _record("retransmission", 101.26, state="recovery", ssthresh_segments=7, lost_total=1, retransmissions=1,
            srtt_s=0.051, acked_bytes=10_001, sent_bytes=21_000, retransmitted_bytes=1_000, sent_segments=21),
    _record("state", 101.35, cwnd_segments=7, ssthresh_segments=7, lost_total=1, retransmissions=1, srtt_s=0.051,
            acked_bytes=20_001, sent_bytes=21_000, retransmitted_bytes=1_000, sent_segments=21),
    # The FIN counts as an octet that is acknowledged.
    _record("closed", 102.0, cwnd_segments=7, ssthresh_segments=7, lost_total=1, retransmissions=1, srtt_s=0.051,
            acked_bytes=20_002, sent_bytes=21_000, retransmitted_bytes=1_000, sent_segments=21),
    {"kind": "end", "time_s": 103.0, "records": 8, "missed": 2, "cpu_s": 0.25, "tracepoints_cpu_s": 0.125},
]  # fmt: skip


def _lines(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def test_a_trace_tells_counts_windows_samples_and_episodes(tmp_path: Path) -> None:
    results = read([_lines(tmp_path / "trace.jsonl", TRACE)])
    (flow,) = results.summary["flows"]
    assert flow["name"] == "10.0.0.1:40000 > 10.0.0.2:5201"
    assert (flow["controller"], flow["start_s"], flow["completion_s"]) == ("cubic", 1.0, 2.0)
    # 20 kB in the second between establishment and closing; SYN and FIN are no payload.
    assert flow["delivered_bytes"] == 20_000
    assert flow["goodput_bps"] == pytest.approx(160_000)
    assert flow["throughput_bps"] == pytest.approx(168_000)
    counts = [flow[key] for key in ("sent_segments", "retransmitted_segments", "lost_segments", "timeouts")]
    assert (counts, flow["fast_recoveries"]) == ([21, 1, 1, 0], 1)
    rtts = results.flows["rtt_sample_s"].drop_nulls().to_list()
    assert rtts == pytest.approx([0.05, 0.058])
    assert results.flows["cwnd_bytes"].to_list()[-1] == 7_000
    assert results.flows["ssthresh_bytes"].null_count() == 4
    (episode,) = results.episodes.to_dicts()
    assert (episode["cause"], episode["lost_segments"]) == ("loss", 1)
    assert (episode["cwnd_before_bytes"], episode["cwnd_after_bytes"]) == (10_000, 7_000)
    assert (episode["ssthresh_before_bytes"], episode["ssthresh_after_bytes"]) == (None, 7_000)
    assert episode["duration_s"] == pytest.approx(0.1)
    told = results.recording
    assert told is not None
    assert (told["release"], told["missed"], told["cpu_s"]) == ("6.18.0", 2, 0.25)


def test_what_was_received_is_a_flow_of_its_own(tmp_path: Path) -> None:
    lines = [TRACE[1], _record("segment", 1.0, received_bytes=0), _record("segment", 3.0, received_bytes=5_000)]
    (flow,) = read([_lines(tmp_path / "trace.jsonl", lines)]).summary["flows"]
    assert flow["name"] == "10.0.0.2:5201 > 10.0.0.1:40000"
    assert (flow["controller"], flow["delivered_bytes"], flow["goodput_bps"]) == (None, 5_000, 20_000)
    assert flow["sent_segments"] is None


def test_a_proxys_trace_names_what_belongs_together_and_its_folder_is_one_of_results(tmp_path: Path, cli: Cli) -> None:
    """A trace of `ackclock-proxy record`: a client's connection from 192.0.2.9 goes on to a server at 10.0.0.2."""
    near, far = {"flow": 8, "local_port": 80, "remote_port": 1234}, {"flow": 7}
    lines = [
        TRACE[0],
        {"kind": "flow", "flow": 8, "local": "10.0.0.1:80", "remote": "192.0.2.9:1234", "controller": "reno"},
        TRACE[1],
        _record("segment", 101.0, **near, received_bytes=0),
        _record("segment", 101.0, **far, acked_bytes=1),
        _record("segment", 102.0, **near, received_bytes=5_000),
        _record("segment", 102.0, **far, acked_bytes=5_001, sent_bytes=5_000, sent_segments=5),
        {"kind": "pair", "flow": 8, "with": 7, "number": 1, "listener": "web", "client": "192.0.2.9:1234",
         "server": "10.0.0.2:5201"},
        TRACE[-1],
    ]  # fmt: skip
    folder = tmp_path / "through"
    folder.mkdir()
    _lines(folder / "trace.jsonl", lines)
    results = Results.load(folder)
    names = ["web 1 near: 192.0.2.9:1234 > 10.0.0.1:80", "web 1 far: 10.0.0.1:40000 > 10.0.0.2:5201"]
    assert sorted(flow["name"] for flow in results.summary["flows"]) == sorted(names)
    assert results.recording is not None
    assert results.recording["pairs"] == [{"name": "web 1", "near": names[:1], "far": names[1:]}]
    assert [flow["delivered_bytes"] for flow in results.summary["flows"]] == [5_000, 5_000]
    assert results.flow(names[1])["controller"] == "cubic"
    done = cli("report", "through", "-o", "page.html")
    assert done.returncode == 0, done.stderr
    assert "web 1 near" in (tmp_path / "page.html").read_text()
    saved = Results.load(results.save(tmp_path / "saved"))
    assert saved.recording is not None
    assert saved.recording["pairs"] == results.recording["pairs"]


def test_a_trace_that_was_cut_short_says_so(tmp_path: Path) -> None:
    told = read([_lines(tmp_path / "trace.jsonl", TRACE[:-1])]).recording
    assert told is not None
    assert told["missed"] is None
    assert "was cut off" in told["notes"][0]


def test_lines_that_were_written_late_do_not_shorten_a_trace_that_was_cut_short(tmp_path: Path) -> None:
    head, *records = [line for line in TRACE[:-1] if line["kind"] != "begin"]
    in_order, late = ([head, *lines] for lines in (records, records[::-1]))
    found = [read([_lines(tmp_path / name, lines)]) for name, lines in (("a.jsonl", in_order), ("b.jsonl", late))]
    assert found[0].summary["duration_s"] == found[1].summary["duration_s"] > 0


def test_a_line_that_is_no_record_is_named(tmp_path: Path) -> None:
    file = _lines(tmp_path / "trace.jsonl", TRACE)
    file.write_text(file.read_text().replace('"kind": "state"', '"kind": state', 1))
    with pytest.raises(RecordingError, match=r"trace\.jsonl, line 7"):
        read([file])


# ---- captures -------------------------------------------------------------------------------------------------------


def _packet(source: tuple[str, int], target: tuple[str, int], payload: int, **fields: Any) -> bytes:
    return bytes(dpkt.ethernet.Ethernet(data=packet(source, target, payload, **fields)))


def _stamps(value: int, echo: int) -> bytes:
    return b"\x01\x01\x08\x0a" + value.to_bytes(4, "big") + echo.to_bytes(4, "big")


SYN_OPTIONS = b"\x02\x04\x05\xb4" + b"\x01\x03\x03\x07"
"""An MSS of 1460 octets, and windows in units of 128."""


def _capture(path: Path, packets: list[tuple[float, bytes]]) -> Path:
    with path.open("wb") as file:
        writer = dpkt.pcap.Writer(file)
        for time_s, packet in packets:
            writer.writepkt(packet, 1e9 + time_s)
    return path


def _at_the_sender() -> Iterator[tuple[float, bytes]]:
    """Segments of 1000 octets, 40 ms of round trip; the third is lost and sent again, which the ACK at 0.3 s covers."""
    syn, ack = dpkt.tcp.TH_SYN, dpkt.tcp.TH_ACK
    yield 0.0, _packet(HERE, THERE, 0, seq=999, flags=syn, options=SYN_OPTIONS)
    yield 0.04, _packet(THERE, HERE, 0, seq=4999, ack=1000, flags=syn | ack, win=1000, options=SYN_OPTIONS)
    for number, (sent, acked) in enumerate(((0.1, 0.14), (0.11, 0.15))):
        yield sent, _packet(HERE, THERE, 1000, seq=1000 + 1000 * number, ack=5000, flags=ack)
        yield acked, _packet(THERE, HERE, 0, seq=5000, ack=2000 + 1000 * number, flags=ack, win=500)
    yield 0.2, _packet(HERE, THERE, 1000, seq=3000, ack=5000, flags=ack)
    yield 0.21, _packet(HERE, THERE, 1000, seq=4000, ack=5000, flags=ack)
    yield 0.25, _packet(THERE, HERE, 0, seq=5000, ack=3000, flags=ack, win=500)
    yield 0.26, _packet(HERE, THERE, 1000, seq=3000, ack=5000, flags=ack)
    yield 0.3, _packet(THERE, HERE, 0, seq=5000, ack=5000, flags=ack, win=500)


def test_a_capture_at_the_sender(tmp_path: Path) -> None:
    results = read([_capture(tmp_path / "one.pcap", sorted(_at_the_sender()))])
    (flow,) = results.summary["flows"]
    assert flow["name"] == "10.0.0.1:40000 > 10.0.0.2:5201"
    assert (flow["delivered_bytes"], flow["sent_segments"], flow["retransmitted_segments"]) == (4_000, 5, 1)
    for key in ("controller", "lost_segments", "timeouts", "fast_recoveries"):
        assert flow[key] is None, key
    # The handshake and two segments; nothing of what was acknowledged with a segment that was sent twice.
    assert results.flows["rtt_sample_s"].drop_nulls().to_list() == pytest.approx([0.04, 0.04, 0.04], abs=1e-6)
    (episode,) = results.episodes.to_dicts()
    assert episode["time_s"] == pytest.approx(0.26, abs=1e-6)
    assert episode["duration_s"] == pytest.approx(0.04, abs=1e-6)
    assert episode["cwnd_before_bytes"] is None
    # 500 units of 128 octets, as both SYNs offer to scale.
    assert results.flows["rwnd_bytes"].to_list()[-1] == 64_000
    assert "cwnd_bytes" not in results.flows.columns


def test_a_capture_at_the_receiver_adds_the_way_to_the_sender_by_timestamps(tmp_path: Path) -> None:
    """Data is acknowledged within 1 ms there; 30 ms later come the segments that the ACKs let out."""
    ack = dpkt.tcp.TH_ACK
    packets = []
    for number in range(4):
        time_s = 0.031 * number
        stamps = _stamps(100 + number, 500 + number)
        packets.append((time_s, _packet(HERE, THERE, 1000, seq=1000 * number, ack=1, flags=ack, options=stamps)))
        back = _stamps(501 + number, 100 + number)
        packets.append(
            (time_s + 0.001, _packet(THERE, HERE, 0, seq=1, ack=1000 * (number + 1), flags=ack, options=back))
        )
    results = read([_capture(tmp_path / "far.pcap", packets)])
    assert results.flows["rtt_sample_s"].drop_nulls().to_list() == pytest.approx([0.031] * 4, abs=1e-6)
    # No SYN was seen, so that nobody knows the unit of windows.
    assert results.flows["rwnd_bytes"].is_null().all()


def _round_trips_at_the_receiver() -> list[tuple[float, float]]:
    """Return each segment's arrival and the round trip that it ends: from 30 to 60 ms; then a program is silent."""
    trips = [0.030, 0.040, 0.050, 0.060, 0.060, 0.060]
    arrivals = [(sum(trips[: number + 1]), trip) for number, trip in enumerate(trips)]
    return [(0.0, 0.030), *arrivals, (arrivals[-1][0] + 1.0, 0.060)]  # waits for the program, not for an ACK


def test_what_waits_before_a_capture_at_the_receiver_is_part_of_round_trips(tmp_path: Path) -> None:
    """By hand: data that an ACK lets out arrives a round trip later, which no segment's own acknowledgement shows."""
    ack = dpkt.tcp.TH_ACK
    packets = []
    arrivals = _round_trips_at_the_receiver()
    for number, (time_s, _) in enumerate(arrivals):
        stamps, back = _stamps(100 + number, 500 + number), _stamps(501 + number, 100 + number)
        packets.append((time_s, _packet(HERE, THERE, 1000, seq=1000 * number, ack=1, flags=ack, options=stamps)))
        answer = _packet(THERE, HERE, 0, seq=1, ack=1000 * (number + 1), flags=ack, options=back)
        packets.append((time_s + 0.000001, answer))
    results = read([_capture(tmp_path / "queue.pcap", packets)])
    found = results.flows["rtt_sample_s"].drop_nulls().to_list()
    assert found == pytest.approx([trip for _, trip in arrivals], abs=5e-6)


def test_a_capture_of_one_way_is_refused(tmp_path: Path) -> None:
    only = [
        (time_s, packet)
        for time_s, packet in sorted(_at_the_sender())
        if dpkt.ethernet.Ethernet(packet).data.data.sport == 40000
    ]
    with pytest.raises(RecordingError, match="capture both directions"):
        read([_capture(tmp_path / "one-way.pcap", only)])


def test_a_damaged_capture_says_after_which_frame(tmp_path: Path) -> None:
    whole = _capture(tmp_path / "whole.pcap", sorted(_at_the_sender())).read_bytes()
    broken = tmp_path / "cut.pcap"
    broken.write_bytes(whole[:-60])  # within the header of the last
    with pytest.raises(RecordingError, match="damaged after frame 10"):
        read([broken])


def test_the_capture_of_a_simulated_sender_has_the_simulators_counts(tmp_path: Path) -> None:
    text = f"""
    duration = "2 s"
    {dumbbell('rate = "10 Mbit/s", delay = "10 ms"', limit="40 packets")}
    [tcp]
    profile = "linux-6.x"
    [[flow]]
    name = "one"
    capture = true
    """
    run = ackclock.run(ackclock.Scenario.parse(text))
    run.save(tmp_path / "run")
    (flow,) = read([tmp_path / "run" / "flow_one.pcapng"]).summary["flows"]
    truth = run.flow("one")
    for key in ("sent_segments", "retransmitted_segments"):
        assert flow[key] == truth[key], key
    assert flow["goodput_bps"] == pytest.approx(truth["goodput_bps"], rel=0.01)
    mine, theirs = flow["rtt_ms"], truth["rtt_ms"]
    assert mine is not None
    assert theirs is not None
    assert mine["min"] == pytest.approx(theirs["min"], rel=0.01)
    assert mine["mean"] == pytest.approx(theirs["mean"], rel=0.03)


# ---- ss and iperf3 --------------------------------------------------------------------------------------------------

SS = """\
1795576783.0
Recv-Q Send-Q      Local Address:Port        Peer Address:Port Process
0      0               10.0.0.1:40000          10.0.0.2:5201
\t ts sack cubic wscale:10,10 rto:204 rtt:40/0.5 mss:1000 cwnd:10 bytes_sent:20000 bytes_acked:10001 data_segs_out:20 \
send 1.5Mbps pacing_rate 2.5Mbps delivery_rate 800Kbps unacked:10 retrans:0/0 minrtt:39.5 snd_wnd:65536
1795576784.0
0      0               10.0.0.1:40000          10.0.0.2:5201
\t ts sack cubic wscale:10,10 rto:204 rtt:44/1 mss:1000 cwnd:12 ssthresh:8 bytes_sent:121000 bytes_retrans:1000 \
bytes_acked:110001 data_segs_out:121 send 1.5Mbps delivery_rate 1Mbps unacked:10 retrans:0/1 minrtt:39.5 snd_wnd:65536
"""


def test_a_log_of_ss(tmp_path: Path) -> None:
    file = tmp_path / "ss.log"
    file.write_text(SS)
    results = read([file])
    (flow,) = results.summary["flows"]
    assert (flow["name"], flow["controller"]) == ("10.0.0.1:40000 > 10.0.0.2:5201", "cubic")
    assert (flow["delivered_bytes"], flow["goodput_bps"]) == (100_000, 800_000)
    assert (flow["sent_segments"], flow["retransmitted_segments"]) == (101, 1)
    assert (flow["rtt_ms"], flow["lost_segments"], flow["timeouts"], flow["limited_by"]) == (None, None, None, None)
    table = results.flows
    assert table["cwnd_bytes"].to_list() == [10_000, 12_000]
    assert table["ssthresh_bytes"].to_list() == [None, 8_000]
    assert table["srtt_s"].to_list() == pytest.approx([0.04, 0.044])
    assert table["delivery_rate_bps"].to_list() == [800_000, 1_000_000]
    assert table["min_rtt_s"].to_list() == pytest.approx([0.0395] * 2)


def test_what_limited_a_sender_is_what_its_socket_counted_between_the_samples(tmp_path: Path) -> None:
    """ss(8): busy for 900 of 1000 ms, 200 held back by the receiver's window; no count that is zero is printed."""
    first, second = "busy:100ms", "busy:1000ms rwnd_limited:200ms(20.0%)"
    file = tmp_path / "ss.log"
    file.write_text(
        SS.replace("unacked:10", f"{first} unacked:10", 1).replace(
            "unacked:10 retrans:0/1", f"{second} unacked:10 retrans:0/1"
        )
    )
    (flow,) = read([file]).summary["flows"]
    told = {"cwnd": None, "rwnd": 0.2, "send_buffer": 0.0, "application": None, "pacing": None, "host": None}
    assert flow["limited_by"] == pytest.approx(told | {"busy": 0.9})


@pytest.mark.parametrize(
    ("changed", "place", "said"),
    [
        (("1795576783.0\n", ""), "line 2", "a time must precede"),
        (("cwnd:12", "cwnd:x"), "line 7", "cwnd:x"),
        (("cwnd:12", "busy:xms"), "line 7", "busy:xms"),
        (("10.0.0.2:5201\n\t", "10.0.0.2:http\n\t"), "line 3", "-n"),
        (("1795576784.0", "1795576700.0"), "line 5", "before that of the sample above"),
        (("Recv-Q Send-Q", "what is this"), "line 2", "not a line of `ss"),
    ],
)
def test_a_line_of_ss_that_is_not_understood_is_named(
    tmp_path: Path, changed: tuple[str, str], place: str, said: str
) -> None:
    file = tmp_path / "ss.log"
    file.write_text(SS.replace(*changed, 1))
    with pytest.raises(RecordingError, match=place) as caught:
        read([file])
    assert said in str(caught.value)


def _iperf() -> dict[str, Any]:
    """Return a report of iperf 3.12, cut down."""
    stream = {"socket": 5, "retransmits": 0, "snd_cwnd": 20_000, "snd_wnd": 65_536, "rtt": 40_000, "rttvar": 500}
    intervals = [
        {"streams": [stream | {"start": begin, "end": begin + 0.5, "bytes": 62_500, "omitted": False, "sender": True}]}
        for begin in (0.0, 0.5)
    ]
    connected = {
        "socket": 5,
        "local_host": "10.0.0.1",
        "local_port": 40000,
        "remote_host": "10.0.0.2",
        "remote_port": 5201,
    }
    start = {
        "connected": [connected],
        "system_info": "Linux vm 6.18.44 #1 SMP x86_64",
        "test_start": {"protocol": "TCP"},
    }
    sender = {"socket": 5, "bytes": 125_000, "bits_per_second": 1e6, "retransmits": 3}
    receiver = {"socket": 5, "bytes": 120_000, "bits_per_second": 0.95e6}
    end = {"streams": [{"sender": sender, "receiver": receiver}], "sender_tcp_congestion": "bbr"}
    return {"start": start, "intervals": intervals, "end": end}


def test_a_report_of_iperf3(tmp_path: Path) -> None:
    file = tmp_path / "iperf.json"
    file.write_text(json.dumps(_iperf()))
    results = read([file])
    (flow,) = results.summary["flows"]
    assert (flow["name"], flow["controller"]) == ("10.0.0.1:40000 > 10.0.0.2:5201", "bbr")
    assert (flow["delivered_bytes"], flow["goodput_bps"], flow["retransmitted_segments"]) == (120_000, 0.95e6, 3)
    assert (flow["sent_segments"], flow["rtt_ms"]) == (None, None)
    assert results.flows["throughput_bps"].to_list() == [1e6, 1e6]
    assert results.flows["srtt_s"].to_list() == [0.04, 0.04]
    assert results.origin == "report of iperf3 on Linux 6.18.44"


def test_a_report_with_a_message_behind_it_and_one_that_was_ended_early(tmp_path: Path) -> None:
    """iperf3 writes `iperf3: error - ...` behind its JSON; ended by Ctrl-C it says so in `error`, and has no `end`."""
    file = tmp_path / "iperf.json"
    file.write_text(json.dumps(_iperf(), indent=1) + "\niperf3: error - unable to send control message: Broken pipe\n")
    whole = read([file])
    early = {**_iperf(), "end": {}, "error": "interrupt - the client has terminated"}
    file.write_text(json.dumps(early))
    found = read([file])
    assert found.flows.equals(whole.flows) and found.flows.height > 0
    assert found.summary["flows"][0]["delivered_bytes"] is None
    assert found.recording is not None
    assert "ended early: interrupt - the client has terminated" in found.recording["notes"][-1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"start": {}, "intervals": [\n}', "line 2"),
        (json.dumps({"start": {}, "error": "no route", "intervals": []}), "no route"),
        (json.dumps({"start": {"test_start": {"protocol": "UDP"}}, "intervals": [1]}), "UDP"),
        ('{"some": "thing"}', "neither a report of iperf3"),
        (r'{"start": {"system_info": "\ud800"}}', "it contains half of a surrogate pair"),
        ('{"start": {}, "intervals": [{"streams": [1]}]}', "intervals[0].streams[0] must be an object"),
        ('{"start": {}, "end": [1], "intervals": []}', "end must be an object"),
        ("", "is empty"),
        ("\0\1\2", "is not a known recording"),
    ],
)
def test_files_that_are_none_say_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "file"
    file.write_text(text)
    with pytest.raises(RecordingError) as caught:
        read([file])
    assert said in str(caught.value)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize("form", ["trace", "ss", "iperf"])
def test_a_byte_order_mark_is_passed_over(tmp_path: Path, form: str) -> None:
    """RFC 8259 section 8.1: a parser may ignore it. Editors of Windows write one."""
    text = {"trace": "".join(f"{json.dumps(line)}\n" for line in TRACE), "ss": SS, "iperf": json.dumps(_iperf())}[form]
    flows = []
    for mark in ("", "\ufeff"):
        file = tmp_path / "file"
        file.write_text(mark + text, encoding="utf-8")
        flows.append(read([file]).summary["flows"])
    assert flows[0] == flows[1]


def test_a_text_of_powershell_is_told_from_no_recording(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(("\ufeff" + SS).encode("utf-16-le"))
    with pytest.raises(InputFileError, match="is UTF-16 as PowerShell writes it; save it as UTF-8"):
        read([file])


def test_a_trace_may_have_any_name(tmp_path: Path) -> None:
    _lines(tmp_path / "a1.jsonl", TRACE[:-3])
    results = read([_lines(tmp_path / "a[1].jsonl", TRACE)])
    assert results.summary["flows"][0]["delivered_bytes"] == 20_000


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (_record("segment", 101.5, mss_bytes=-5), r"cwnd_bytes must not be -50; record anew"),
        (
            _record("segment", 101.5, srtt_s=1e400),
            r"line 11: this is not a record \(Infinity is not a number ",
        ),
        ({"kind": "pair", "flow": 7, "with": 8}, "its pair 1 has no listener"),
    ],
)
def test_a_record_that_cannot_be_is_named(tmp_path: Path, line: dict[str, Any], said: str) -> None:
    changes = {"acked_bytes": 20_001, "sent_bytes": 21_000, "sent_segments": 21} if line["kind"] == "segment" else {}
    with pytest.raises(RecordingError, match=said):
        read([_lines(tmp_path / "trace.jsonl", [*TRACE[:-1], line | changes])])


def test_a_count_of_more_than_64_bits_is_refused_and_not_written(tmp_path: Path) -> None:
    """The folder of results could not be read again: whole numbers in it have at most 64 bits, as a kernel's have."""
    file = tmp_path / "ss.log"
    at = "{}\nESTAB 0 0 192.0.2.1:1 192.0.2.2:2\n\t cubic wscale:7,7 mss:1448 cwnd:10 bytes_sent:{} bytes_acked:{}\n"
    file.write_text(at.format(1700000000, 1, 1) + at.format(1700000001, 10**20 - 1, 10**20 - 1))
    with pytest.raises(RecordingError, match=r"delivered_bytes must be less than 2\^64, and is 1\d{20}; record anew"):
        read([file])


def test_times_count_from_where_a_trace_begins_though_it_is_zero(tmp_path: Path) -> None:
    lines = [{**TRACE[0], "time_s": 0.0}, *TRACE[1:]]
    assert read([_lines(tmp_path / "trace.jsonl", lines)]).summary["flows"][0]["start_s"] == 101.0


def test_goodputs_too_small_to_be_squared_have_an_index(tmp_path: Path) -> None:
    """Jain's index of one flow is 1, at 4 octets in 10^300 s as well."""
    lines = [_record("segment", 0.0), _record("segment", 1e300, acked_bytes=4, sent_bytes=4, sent_segments=1)]
    assert read([_lines(tmp_path / "trace.jsonl", lines)]).summary["jain_index"] == 1.0


def test_names_that_are_no_utf8_are_spelled(tmp_path: Path, cli: Cli) -> None:
    """A name of a file may be any octets (POSIX, pathname), a text of JSON may not (RFC 8259 section 8.1)."""
    name = os.fsdecode(b"\xff.jsonl")
    _lines(tmp_path / name, TRACE)
    done = cli("import", name, "-o", "recorded", "--json")
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "recorded" / "manifest.json").read_text())
    assert manifest["recording"]["sources"][0]["file"] == "\ufffd.jsonl"
    assert json.loads(done.stdout)["summary"]["scenario"] == "\ufffd"


# ---- folders --------------------------------------------------------------------------------------------------------


def test_a_recording_is_a_folder_that_other_commands_take(cli: Cli, tmp_path: Path) -> None:
    _lines(tmp_path / "trace.jsonl", TRACE)
    done = cli("import", "trace.jsonl", "-o", "recorded")
    assert done.returncode == 0, done.stderr
    assert "2 lost" in done.stdout
    manifest = json.loads((tmp_path / "recorded" / "manifest.json").read_text())
    assert manifest["recording"]["by"] == "ackclock import"
    assert len(manifest["recording"]["sources"][0]["sha256"]) == 64
    assert "scenario" not in manifest
    loaded = Results.load(tmp_path / "recorded")
    assert loaded.is_recorded
    assert loaded.scenario == {}
    assert "recorded" in loaded._repr_html_()
    assert loaded.links.is_empty()
    compared = cli("compare", "recorded", "recorded", "--form", "csv")
    assert compared.returncode == 0, compared.stderr
    assert "10.0.0.1:40000 > 10.0.0.2:5201" in compared.stdout
    assert "# links" not in compared.stdout, "a recording has no links"
    cited = " ".join(cli("cite", "recorded").stdout.split())
    assert "We recorded 1 flow (trace on Linux " in cited and " as read by ackclock " in cited
    assert "simulator" not in cited and "RFC" not in cited, "no algorithm of this program was at work"
    assert cli("report", "recorded", "-o", "page.html").returncode == 0
    assert cli("import", "nowhere.pcap", "-o", "other").returncode == 2


def test_a_recording_that_fails_says_why_and_leaves_other_files_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho 'error: this kernel has no type information' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("ACKCLOCK_KERNEL", str(program))
    (tmp_path / "told").write_text("mine")
    with pytest.raises(kernel.KernelError, match=r"^this kernel has no type information$"):
        kernel.record(tmp_path / "trace.jsonl", port=443)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["program", "told"]
    assert (tmp_path / "told").read_text() == "mine"
