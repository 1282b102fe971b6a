"""The content of the page of runs: columns, packets, capacity, totals; and that Chromium draws it."""

import base64
import json
import shutil
import struct
import subprocess
import zlib
from pathlib import Path
from typing import Any

import dpkt
import numpy as np
import pytest

import ackclock
from ackclock.base.checked_files import DamagedError
from ackclock.plotting.report import write_report
from ackclock.plotting.report.moments import Spans, joined
from ackclock.plotting.report.packed_columns import Columns
from ackclock.plotting.report.page_content import Window
from ackclock.plotting.report.page_content import content as content_of_runs
from ackclock.plotting.report.sender_capture import Marks, segments
from ackclock.plotting.report.time_sequence import TimeSequence, merged, time_sequence
from ackclock.results import Results
from ackclock.stats.capacity import constant_bps, over_time
from ackclock.stats.flow_groups import by_controller
from networks import dumbbell
from test_report import content_of

PAGES = Path(ackclock.__file__).parent / "plotting" / "pages" / "report"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Two flows that lose, with events, and a capture of the first."""
    overrides = [
        "flow[0].capture=true",
        "trace.events=['segment_sent','ack_arrived','packet_dropped','controller_state']",
    ]
    scenario = ackclock.dumbbell(bottleneck="10 Mbit/s", flows="cubic,reno", duration="4 s", overrides=overrides)
    return Results.load(ackclock.run(scenario).save(tmp_path_factory.mktemp("recorded") / "run"))


# ---- columns --------------------------------------------------------------------------------------------------------


def decoded(entry: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Decode a column, number by number, from the form that `Columns` describes."""
    planes = zlib.decompress(base64.b64decode(entry["z"]), -15)
    level, found = 0, []
    for place in range(entry["n"]):
        octets = bytes(planes[rank * entry["n"] + place] for rank in range(entry["w"]))
        level = (level + int.from_bytes(octets, "little")) % 256 ** entry["w"]
        found.append(float("nan") if entry["w"] == 2 and level == 65_535 else entry["low"] + level * entry["step"])
    return np.array(found)


def test_columns_keep_values_to_a_sixty_thousandth_of_their_range() -> None:
    values = np.array([5.0, np.nan, -3.25, 1e6, 0.1])
    columns = Columns()
    found = decoded(columns.entries[columns.values(values)])
    assert np.isnan(found[1])
    known = ~np.isnan(values)
    assert np.abs(found - values)[known].max() <= (1e6 + 3.25) / 65_534 / 2 * 1.001
    whole = np.array([14_480.0, 79_000.0, 14_481.0])
    assert (decoded(columns.entries[columns.values(whole)]) == whole).all()
    times = np.array([0.0, 0.000_000_1, 12.345_678_9])
    assert decoded(columns.entries[columns.times(times)]) == pytest.approx(times, abs=0.6e-7)
    assert columns.times(times) == columns.times(times.copy())  # kept once
    assert decoded(columns.entries[columns.times(np.empty(0))]).size == 0


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node, which runs the page's scripts")
def test_the_pages_script_reads_columns_as_they_are_written() -> None:
    columns = Columns()
    values = np.concatenate((np.linspace(-2.0, 7.0, 300), [np.nan]))
    times = np.arange(301) * 0.01
    content = {"columns": columns.entries, "places": [columns.values(values), columns.times(times)]}
    script = (
        f"const content = {json.dumps(content)};"
        f"{(PAGES / 'columns.js').read_text(encoding='utf-8')}"
        "Promise.all(content.places.map(column)).then(all => console.log(JSON.stringify(all.map(one => [...one]))));"
    )
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True, timeout=60)
    read_values, read_times = json.loads(done.stdout)
    assert read_values[:300] == pytest.approx(values[:300], abs=9 / 65_534) and read_values[300] is None
    assert read_times == pytest.approx(times, abs=1e-7)


# ---- packets --------------------------------------------------------------------------------------------------------


def packet(
    source: int, sequence: int, acknowledgment: int, flags: int, window: int, options: bytes, size: int
) -> bytes:
    """Headers of IPv4 and TCP (RFC 791, 9293)."""
    header = 20 + len(options)
    ip = struct.pack("!BBHHHBBHII", 0x45, 0, 20 + header + size, 0, 0, 64, 6, 0, source, 3 - source)
    return (
        ip + struct.pack("!HHIIHHHH", 1, 2, sequence, acknowledgment, header // 4 << 12 | flags, window, 0, 0) + options
    )


def capture(path: Path, frames: list[tuple[float, bytes]]) -> Path:
    with path.open("wb") as file:
        writer = dpkt.pcapng.Writer(file, linktype=dpkt.pcap.DLT_RAW)
        for at, frame in frames:
            writer.writepkt(frame, ts=at)
    return path


def test_a_capture_whose_numbers_wrap_and_whose_acks_are_selective(tmp_path: Path) -> None:
    """By hand: the SYN has 2**32 - 101, so that its octet is 0, data begins at 1, and the second segment wraps."""
    first = 2**32 - 101
    block = b"\x01\x01\x05\x0a" + struct.pack("!II", (first + 201) % 2**32, (first + 301) % 2**32)
    frames = [
        (1.0, packet(1, first, 0, 0x02, 100, b"", 0)),
        (1.1, packet(2, 7000, first + 1, 0x12, 100, b"\x03\x03\x04\x00", 0)),  # window scale 4 (RFC 7323)
        (1.2, packet(1, first + 1, 7001, 0x10, 100, b"", 100)),
        (1.3, packet(1, (first + 101) % 2**32, 7001, 0x10, 100, b"", 100)),
        (1.4, packet(1, (first + 201) % 2**32, 7001, 0x10, 100, b"", 100)),
        (1.5, packet(2, 7001, (first + 101) % 2**32, 0x10, 10, block, 0)),
        (1.6, packet(1, (first + 101) % 2**32, 7001, 0x10, 100, b"", 100)),
    ]
    data, acks, blocks = segments(capture(tmp_path / "flow.pcapng", frames))
    assert data.begin.tolist() == [1, 101, 201, 101] and data.end.tolist() == [101, 201, 301, 201]
    assert acks.begin.tolist() == [101] and acks.end.tolist() == [101 + (10 << 4)]
    assert blocks.begin.tolist() == [201] and blocks.end.tolist() == [301] and blocks.time_s == pytest.approx([1.5])
    (tmp_path / "cut.pcapng").write_bytes((tmp_path / "flow.pcapng").read_bytes()[:60])
    with pytest.raises(DamagedError, match=r"cut\.pcapng"):
        segments(tmp_path / "cut.pcapng")


def test_a_capture_and_the_senders_events_tell_the_same(recorded: Results) -> None:
    """Two recorders of one sender, the host's wire and its own log; they must agree on every segment."""
    seen = time_sequence(recorded, "cubic")
    assert seen is not None and seen.source == "capture"
    told = recorded.events.filter((recorded.events["source"] == "cubic") & (recorded.events["kind"] == "segment_sent"))
    assert seen.data.begin.tolist() == told["offset_bytes"].to_list()
    assert (seen.data.end - seen.data.begin).tolist() == told["size_bytes"].to_list()
    assert int(seen.is_again.sum()) == recorded.flow("cubic")["retransmitted_segments"] > 0
    assert seen.sacks.time_s.size > 0 and (seen.sacks.end > seen.sacks.begin).all()
    assert set(seen.drops.begin.tolist()) <= set(seen.data.begin.tolist()) and seen.drops.begin.size > 0
    other = time_sequence(recorded, "reno")
    assert other is not None and other.source == "events" and not other.sacks.time_s.size
    assert other.data.time_s.size == recorded.flow("reno")["sent_segments"]


def test_merging_keeps_every_octet_and_each_retransmission() -> None:
    begin = np.arange(0, 100_000, 100)
    time_s, again = np.arange(1000) * 1e-3, np.zeros(1000, dtype=np.int64)
    again[500] = 1
    one = TimeSequence("events", Marks(time_s, begin, begin + 100), again, Marks(time_s, begin))
    few = merged(one, 300)
    assert few.size <= 300 and few.merged_s > 0
    assert (
        (few.data.end - few.data.begin).sum() == 100_000 and few.is_again.sum() == 1 and few.acks.begin[-1] == begin[-1]
    )
    assert merged(one, 2000) is one


def test_states_are_joined_by_the_shortest_first_and_leave_no_gap() -> None:
    """By hand: of 8 s cut for four spans, what is shorter than 0.5 s goes: the two of 0.1 and 0.2 s."""
    begin, end = np.array([0.0, 3.0, 3.1, 6.0, 0.0, 0.2]), np.array([3.0, 3.1, 6.0, 8.0, 0.2, 8.0])
    spans = Spans(np.array([0.0, 0, 0, 0, 1, 1]), np.array([0.0, 1, 0, 2, 1, 0]), begin, end)
    few = joined(spans, 4)
    # The second flow's first span stays, however short; of the first flow two of the same state become one.
    assert [few.flow.tolist(), few.state.tolist()] == [[0, 0, 1, 1], [0, 2, 1, 0]]
    assert [few.begin_s.tolist(), few.end_s.tolist()] == [[0, 6, 0, 0.2], [6, 8, 0.2, 8]]
    assert 0.1 < few.joined_s <= 2.0
    assert joined(spans, 6) is spans


# ---- the page -------------------------------------------------------------------------------------------------------


def test_the_page_has_packets_states_episodes_and_distributions(recorded: Results, tmp_path: Path) -> None:
    write_report([recorded], tmp_path / "page.html")
    found = content_of(tmp_path / "page.html")
    assert [one["source"] for one in found["packets"]] == ["capture", "events"]
    states = found["states"]
    assert {"slow start", "congestion avoidance"} <= set(states["names"]) and states["joined"] == 0
    changes = recorded.events.filter(recorded.events["kind"] == "controller_state")
    assert states["count"] == changes.height + changes["source"].n_unique()
    at, until, flow = (decoded(found["columns"][states[key]]) for key in ("at", "until", "flow"))
    assert (at[1:] == until[:-1])[flow[1:] == flow[:-1]].all()
    assert found["moments"]["count"] == recorded.episodes.height > 0
    assert [one["key"] for one in found["distributions"]] == ["rtt-cdf", "queueing-cdf"]
    assert all(flow["mss"] == 1448 for flow in found["flows"])
    goodput = next(panel for panel in found["panels"] if panel["key"] == "goodput")
    assert goodput["capacity"] and any("spread" in line for line in goodput["lines"])
    assert (tmp_path / "page.html").stat().st_size < 1_500_000


def test_a_part_of_the_time_has_that_part_only(recorded: Results, tmp_path: Path) -> None:
    write_report([recorded], tmp_path / "page.html", window=Window(1.0, 2.0))
    found = content_of(tmp_path / "page.html")
    assert found["window"] == {"from": 1.0, "to": 2.0}
    times = decoded(found["columns"][found["panels"][0]["lines"][0]["x"]])
    assert times[0] >= 1.0 and times[-1] <= 2.0


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium, which opens the page")
def test_chromium_draws_the_page(recorded: Results, tmp_path: Path) -> None:
    write_report([recorded], tmp_path / "page.html")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000", "--dump-dom"]
    done = subprocess.run(
        ["chromium", *options, f"--user-data-dir={tmp_path / 'profile'}", f"file://{tmp_path / 'page.html'}"],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert "data-first-plot=" in done.stdout and done.stdout.count("<canvas") >= 2


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium, which opens the page")
def test_a_page_that_is_printed_has_every_plot(recorded: Results, tmp_path: Path) -> None:
    """Plots that nobody had scrolled to were blank on paper."""
    page = tmp_path / "page.html"
    write_report([recorded], page)
    text = page.read_text(encoding="utf-8")
    assert "break-inside: avoid" in text
    page.write_text(text + '<script>setTimeout(() => dispatchEvent(new Event("beforeprint")), 5000)</script>')
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom"]
    done = subprocess.run(
        ["chromium", *options, f"--user-data-dir={tmp_path / 'profile'}", f"file://{page}"],
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    assert done.stdout.count("<canvas") == done.stdout.count(" data-plot=") > 8


def test_the_capacity_of_a_trace_and_of_a_schedule_that_repeats() -> None:
    """By hand: ten opportunities of 1500 octets in a second are 120 kbit/s, wherever the bins are cut."""
    instants = " ".join(str(100 * (place + 1)) for place in range(10))
    at, rates = over_time({"topology": {"bottleneck": {"rate": {"trace": "x", "instants": instants}}}}, 4.0) or ((), ())
    assert np.dot(np.diff(at), rates[:-1]) == pytest.approx(4 * 120e3)
    schedule = {"schedule": [{"rate": "1 Mbit/s"}, {"at": "1 s", "rate": "0 bit/s"}], "repeat": "2 s"}
    at, rates = over_time({"topology": {"bottleneck": {"rate": schedule}}}, 3.5) or ((), ())
    assert at.tolist() == [0.0, 1.0, 2.0, 3.0, 3.5] and rates.tolist() == [1e6, 0.0, 1e6, 0.0, 0.0]


def test_the_capacity_of_a_link_that_is_changed() -> None:
    """Ten seconds of 20 Mbit/s, of which the last four have 5; the other direction's change is not the bottleneck's."""
    change = [
        {"at": "6 s", "link": "bottleneck", "rate": "5 Mbit/s"},
        {"at": "2 s", "link": "bottleneck", "limit": "9 packets"},
        {"at": "1 s", "link": "bottleneck.reverse", "rate": "1 Mbit/s"},
    ]
    plain = {"topology": {"bottleneck": {"rate": "20 Mbit/s"}}}
    at, rates = over_time(plain | {"change": change}, 10.0) or ((), ())
    assert at.tolist() == [0.0, 6.0, 10.0] and rates.tolist() == [20e6, 5e6, 5e6]
    assert constant_bps(plain) == constant_bps(plain | {"change": change[1:]}) == 20e6
    assert constant_bps(plain | {"change": change}) is None
    late = {"schedule": [{"rate": "2 Mbit/s"}, {"at": "3 s", "rate": "1 Mbit/s"}]}
    assert constant_bps({"topology": {"bottleneck": {"rate": late}}}) is None


SIZES = f"""
duration = "100 ms"
tcp = {{ profile = "ns2" }}
{dumbbell('rate = "20 Mbit/s", delay = "1 ms"', "0 ms")}
[[flow]]
name = "datagrams"
protocol = {{ kind = "quic", max_datagram_size = 1200 }}
[[flow]]
name = "small"
count = 2
tcp = {{ mss = 536 }}
[[flow]]
name = "profile"
"""


def test_windows_in_segments_have_each_flows_segment() -> None:
    """QUIC's datagram of 1200, a group's 536, and the 1000 of ns-2's packetSize_."""
    found = content_of_runs([ackclock.run(ackclock.Scenario.parse(SIZES, "sizes.toml", []))], Window())
    assert [(flow["label"], flow["mss"]) for flow in found["flows"]] == [
        ("datagrams", 1200), ("small.1", 536), ("small.2", 536), ("profile", 1000),
    ]  # fmt: skip


def test_totals_by_controller_by_hand() -> None:
    flow = {"sent_segments": 100, "retransmitted_segments": 5, "rtt_ms": {"mean": 20.0}}
    flows = [
        flow | {"controller": "cubic", "goodput_bps": 1e6},
        flow | {"controller": "bbr3", "goodput_bps": 6e6},
        flow | {"controller": "cubic", "goodput_bps": 3e6, "rtt_ms": None},
    ]
    cubic, bbr = by_controller(flows)
    assert (cubic["flows"], cubic["goodput_bps"], cubic["share"]) == (2, 4e6, 0.4)
    assert cubic["jain"] == pytest.approx(16 / (2 * 10)) and cubic["retransmitted"] == 0.05 and cubic["rtt_ms"] == 20.0
    assert (bbr["flows"], bbr["share"], bbr["jain"]) == (1, 0.6, 1.0)


def test_totals_of_a_recording_that_does_not_tell_all() -> None:
    """A controller that is not known has a name, and a sum of which a part is not known is none."""
    flow = {"controller": None, "sent_segments": None, "retransmitted_segments": 5, "rtt_ms": None}
    first, second = by_controller(
        [
            flow | {"goodput_bps": 1e6},
            flow | {"goodput_bps": None},
            flow | {"controller": "bbr", "sent_segments": 100, "goodput_bps": 3e6},
        ]
    )
    assert first == {
        "name": "unknown", "flows": 2, "goodput_bps": None, "share": None, "jain": None, "least_bps": None,
        "most_bps": None, "retransmitted": None, "rtt_ms": None,
    }  # fmt: skip
    assert (second["name"], second["goodput_bps"], second["share"], second["retransmitted"]) == ("bbr", 3e6, None, 0.05)
