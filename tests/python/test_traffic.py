"""Short flows, requests, video and datagrams as a user meets them, and the flows of captures."""

from pathlib import Path

import dpkt
import numpy as np
import pytest

import ackclock
from ackclock.plotting import completion_times, plots
from ackclock.plotting.report import write_report
from ackclock.plotting.report.run_comparison import tables
from ackclock.recording.flow_arrivals import CaptureError, ListedFlow, csv_text, flows_of_capture
from ackclock.scenario.example_files import FOLDER as SCENARIOS

ALL = """
duration = "3 s"
[topology]
kind = "dumbbell"
access = { rate = "1 Gbit/s", delay = "1 ms" }
bottleneck = { rate = "20 Mbit/s", delay = "8 ms", capture = true }
[[flow]]
name = "web"
arrivals = { rate = "100 /s", size = { exponential = "5 kB" }, reply = "2 kB" }
[[flow]]
name = "asks"
app = { kind = "request_response", response = "10 kB", think = "50 ms" }
[[flow]]
name = "video"
app = { kind = "video", ladder = ["1 Mbit/s", "2 Mbit/s"], segment = "1 s", buffer = "10 s" }
[[flow]]
name = "udp"
protocol = "udp"
app = { kind = "cbr", rate = "960 kbit/s" }
"""


@pytest.fixture(scope="module")
def everything() -> ackclock.Results:
    return ackclock.run(ackclock.Scenario.parse(ALL))


def test_each_kind_of_traffic_is_in_the_results(everything: ackclock.Results) -> None:
    group = everything.group("web")
    assert group["completed"] > 200  # 300 on average, with a standard deviation of 17
    assert group["slowdown"]["min"] >= 0.999
    assert everything.flow("asks")["exchanges"]["completed"] > 10
    assert everything.flow("video")["video"]["segments"] >= 3
    # 1200 bytes at 960 kbit/s: 100 a second.
    assert everything.datagrams("udp")["sent"] == 300
    with pytest.raises(KeyError, match="known: web"):
        everything.group("none")
    rows = everything.completions.group_by("flow").len().to_dict(as_series=False)
    counts = dict(zip(rows["flow"], rows["len"], strict=True))
    assert counts["web"] == group["completed"]


def test_a_call_is_in_the_results_and_in_the_report(everything: ackclock.Results, tmp_path: Path) -> None:
    scenario = ackclock.Scenario.load(SCENARIOS / "media.toml", ["duration=20 s", "flow.download.start=15 s"])
    call = ackclock.run(scenario)
    media = call.datagrams("call")["media"]
    # 30 frames a second, from 10 s on, each with Laplacian noise of 0.15 in its time: 300 with a deviation of 3.7.
    assert 280 < media["frames_received"] <= media["frames"] < 320
    assert media["controller"] == "gcc"
    # 8 % a second from 300 kbit/s on: 1.08^10 and 1.08^20 times that at 10 and 20 s.
    assert 0.6e6 < media["target_bps"] < 1.4e6
    loaded = ackclock.Results.load(call.save(tmp_path / "call"))
    assert loaded.media.equals(call.media)
    assert loaded.media.columns[:4] == ["time_s", "flow", "target_bps", "encoder_bps"]
    assert everything.media.is_empty()
    assert not (everything.save(tmp_path / "without") / "media.parquet").exists()
    drawn = call.plot("media_rate").axes[0].get_lines()
    assert [line.get_label() for line in drawn] == ["call received", "call target", "capacity"]
    assert any(table.title == "media" for table in tables([call, everything]))
    report = tmp_path / "call.html"
    write_report([call], report)
    assert "Rate of media" in report.read_text(encoding="utf-8")


def test_completions_are_kept_in_a_folder(everything: ackclock.Results, tmp_path: Path) -> None:
    loaded = ackclock.Results.load(everything.save(tmp_path / "out"))
    assert loaded.completions.equals(everything.completions)
    assert loaded.summary == everything.summary


def test_a_run_without_short_flows_has_no_such_file(results: ackclock.Results, tmp_path: Path) -> None:
    folder = results.save(tmp_path / "out")
    assert not (folder / "completions.parquet").exists()
    loaded = ackclock.Results.load(folder)
    assert loaded.completions.is_empty()
    assert "groups" not in loaded.summary
    with pytest.raises(ValueError, match="no short flow"):
        plots.figure(loaded, "slowdown")


def test_a_report_shows_traffic_and_slowdowns(everything: ackclock.Results, tmp_path: Path) -> None:
    write_report([everything], tmp_path / "report.html", tmp_path / "figures")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    for words in ("Slowdown", "requests", "videos", "datagrams", "up to 10 kB"):
        assert words in text, words
    assert (tmp_path / "figures" / "slowdown.svg").is_file()
    assert everything.plot("slowdown").axes[0].get_lines()[0].get_label() == "asks p50"


def test_runs_are_compared_by_their_traffic(everything: ackclock.Results) -> None:
    found = tables([everything, everything])
    titles, things = {table.title for table in found}, {row.get("thing") for table in found for row in table.rows}
    assert {"requests", "videos", "datagrams"} <= titles
    assert {"web, all", "web, up to 10 kB"} <= things


def test_percentiles_are_of_classes_with_equally_many_flows() -> None:
    # 60 flows of sizes 1 to 60, slowdown = size: three classes of 20, whose medians are 10.5, 30.5 and 50.5.
    sizes, found = completion_times.slowdown_by_size(np.arange(1, 61), np.arange(1.0, 61.0))
    assert sizes.tolist() == [10.5, 30.5, 50.5]
    assert found[50].tolist() == [10.5, 30.5, 50.5]
    # The 99th percentile of 1 ... 20 lies 0.99 * 19 steps above 1.
    assert found[99][0] == pytest.approx(19.81)


ENDS = (bytes([10, 0, 0, 1]), 40_000), (bytes([10, 0, 0, 2]), 80)


def _frame(*, back: bool, seq: int, payload: int, flags: int) -> bytes:
    (source, sport), (destination, dport) = ENDS[::-1] if back else ENDS
    tcp = dpkt.tcp.TCP(sport=sport, dport=dport, seq=seq % 2**32, flags=flags, data=bytes(payload))
    packet = dpkt.ip.IP(src=source, dst=destination, p=dpkt.ip.IP_PROTO_TCP, data=tcp)
    packet.len = len(packet)
    return bytes(dpkt.ethernet.Ethernet(data=packet))


S, A, F = dpkt.tcp.TH_SYN, dpkt.tcp.TH_ACK, dpkt.tcp.TH_FIN


def _capture(path: Path, packets: list[tuple[float, bytes]]) -> Path:
    with path.open("wb") as file:
        writer = dpkt.pcap.Writer(file)
        for time_s, frame in packets:
            writer.writepkt(frame, ts=time_s)
    return path


def test_flows_of_a_capture_have_their_bytes_once(tmp_path: Path) -> None:
    last = 2**32 - 50  # sequence numbers wrap within the request
    packets = [
        (100.0, _frame(back=False, seq=last, payload=0, flags=S)),
        (100.1, _frame(back=True, seq=7, payload=0, flags=S | A)),
        (100.2, _frame(back=False, seq=last + 1, payload=100, flags=A)),
        (100.3, _frame(back=False, seq=last + 1, payload=100, flags=A)),  # sent again
        (100.4, _frame(back=True, seq=8 + 1_000, payload=500, flags=A)),  # out of order
        (100.5, _frame(back=True, seq=8, payload=1_000, flags=A)),
        (100.6, _frame(back=False, seq=last + 101, payload=0, flags=F | A)),
        (100.7, _frame(back=True, seq=1_508, payload=0, flags=F | A)),
        # The same ends again: another flow.
        (102.5, _frame(back=False, seq=1, payload=0, flags=S)),
        (102.6, _frame(back=False, seq=2, payload=10, flags=A)),
        # And one that carries nothing.
        (103.0, _frame(back=False, seq=1, payload=0, flags=F)),
        (103.1, _frame(back=False, seq=9, payload=0, flags=S)),
    ]
    flows = flows_of_capture(_capture(tmp_path / "a.pcap", packets))
    assert [(flow.size_bytes, flow.reply_bytes) for flow in flows] == [(100, 1_500), (10, 0)]
    assert [flow.start_s for flow in flows] == pytest.approx([0.0, 2.5])


def test_a_capture_of_short_flows_gives_them_back(everything: ackclock.Results, tmp_path: Path) -> None:
    folder = everything.save(tmp_path / "out")
    flows = flows_of_capture(folder / "bottleneck.pcapng")
    # Requests of 200 bytes of two connections, and the short flows' own bytes, with what was sent back.
    listed = sorted(flow.size_bytes for flow in flows)
    web = everything.completions.filter(flow="web")["size_bytes"].to_numpy().astype(int) - 2_000
    sent_in_full = {size for size in web if size > 0}
    assert len(sent_in_full - set(listed)) == 0
    assert any(flow.reply_bytes == 2_000 for flow in flows)
    file = tmp_path / "arrivals.csv"
    file.write_text(csv_text(flows))
    text = ALL.replace('rate = "100 /s", size = { exponential = "5 kB" }, reply = "2 kB"', f'file = "{file}"')
    again = ackclock.run(ackclock.Scenario.parse(text, overrides=["duration=5 s"]))
    assert again.group("web")["started"] == len(flows)


def test_what_is_no_capture_is_said_so(tmp_path: Path) -> None:
    file = tmp_path / "text.pcap"
    file.write_text("hello, this is text and no capture at all")
    with pytest.raises(CaptureError, match="tcpdump -w"):
        flows_of_capture(file)


def test_a_list_is_written_with_its_columns() -> None:
    assert csv_text([ListedFlow(0.25, 7, 9)]) == "start_s,size_bytes,reply_bytes\n0.250000000,7,9\n"
