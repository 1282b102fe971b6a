"""Results in memory and as a folder."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import dpkt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ackclock
from ackclock.results import capture_file_names, parquet
from networks import dumbbell


def test_saved_results_load_as_they_were(results: ackclock.Results, tmp_path: Path) -> None:
    loaded = ackclock.Results.load(results.save(tmp_path / "out"))
    assert loaded.summary == results.summary
    assert loaded.manifest["scenario_hash"] == results.manifest["scenario_hash"]
    for table in ("flows", "links", "episodes"):
        assert getattr(loaded, table).equals(getattr(results, table)), table


def test_saving_what_was_loaded_gives_the_same_bytes(results: ackclock.Results, tmp_path: Path) -> None:
    first = results.save(tmp_path / "first")
    second = ackclock.Results.load(first).save(tmp_path / "second")
    for file in sorted(first.iterdir()):
        assert file.read_bytes() == (second / file.name).read_bytes(), file.name


def test_a_table_has_one_form_on_disk_however_it_is_held(results: ackclock.Results) -> None:
    half = results.flows.height // 2
    in_two_chunks = results.flows.head(half).vstack(results.flows.tail(results.flows.height - half))
    assert in_two_chunks.n_chunks() == 2
    assert parquet(in_two_chunks) == parquet(results.flows)


def test_a_flow_and_a_link_are_found_by_name(results: ackclock.Results) -> None:
    assert results.flow("old")["controller"] == "reno"
    assert results.link("bottleneck")["utilization"] > 0.5
    with pytest.raises(KeyError, match=r"known: new, old"):
        results.flow("none")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: (path / "flows.parquet").unlink(), "it has no flows.parquet"),
        (lambda path: (path / "flows.parquet").write_bytes(b"PAR1"), "damaged"),
        (lambda path: (path / "summary.json").write_text("{"), "damaged"),
    ],
)
def test_a_damaged_folder_is_named(results: ackclock.Results, tmp_path: Path, damage: object, said: str) -> None:
    folder = results.save(tmp_path / "out")
    assert callable(damage)
    damage(folder)
    with pytest.raises((FileNotFoundError, ValueError), match=said):
        ackclock.Results.load(folder)


def test_loading_nothing_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="ackclock run -o"):
        ackclock.Results.load(tmp_path / "none")


@given(st.lists(st.text(min_size=1), unique=True))
def test_capture_files_are_unique_and_stay_in_their_folder(links: list[str]) -> None:
    files = list(capture_file_names(links).values())
    assert len({file.lower() for file in files}) == len(links)
    assert all(Path(file).name == file and not file.startswith(".") and len(file) < 200 for file in files)


def test_importing_loads_nothing_heavy() -> None:
    code = "import sys, ackclock; print(sorted({'polars', 'matplotlib', 'scipy', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_an_appliance_kept_is_saved_and_named(tmp_path: Path) -> None:
    through = ackclock.run(ackclock.dumbbell(duration="2 s", overrides=['appliance=[{ node = "left", name = "box" }]']))
    ways = through.appliance("box")["flows"]
    assert ways[0]["forward"]["added_latency_ms"]["min"] >= 0
    assert through.appliances["direction"].unique().to_list() == ["forward"]
    loaded = ackclock.Results.load(through.save(tmp_path / "through"))
    assert loaded.appliances.equals(through.appliances)
    with pytest.raises(KeyError, match="box"):
        through.appliance("bos")
    without = ackclock.run(ackclock.dumbbell(duration="1 s"))
    assert without.appliances.is_empty()
    assert not (without.save(tmp_path / "without") / "appliances.parquet").exists()


THROUGH_A_BOX = f"""
duration = "4 s"
{dumbbell('rate = "20 Mbit/s", delay = "9 ms", capture = true', limit="20 packets")}
[[flow]]
name = "old"
controller = "reno"
[[flow]]
name = "web"
port = 443
arrivals = {{ rate = "50 /s", size = "5 kB", reply = "1 kB", until = "3 s" }}
[[appliance]]
name = "box"
node = "left"
"""


@pytest.fixture(scope="module")
def through_a_box() -> ackclock.Results:
    return ackclock.run(ackclock.Scenario.parse(THROUGH_A_BOX))


def test_a_group_at_an_appliance_is_one_entry(through_a_box: ackclock.Results) -> None:
    old, web = through_a_box.appliance("box")["flows"]
    assert (old["flow"], web["flow"]) == ("old", "web")
    assert "short_flows" not in old
    group = through_a_box.group("web")
    assert web["short_flows"] == {"started": group["started"], "reset": 0}
    assert group["completed"] == group["started"]
    assert web["forward"]["acknowledged_bytes"] == 5_000 * group["started"]
    assert web["backward"]["acknowledged_bytes"] == 1_000 * group["started"]
    assert through_a_box.appliances["flow"].unique().to_list() == ["old"]


def test_episodes_say_whose_end_they_are_of(through_a_box: ackclock.Results, tmp_path: Path) -> None:
    # The far side fills the bottleneck's queue; nothing is lost before the box.
    episodes = through_a_box.episodes
    assert episodes.columns[:4] == ["flow", "appliance", "direction", "cause"]
    old = through_a_box.appliance("box")["flows"][0]["forward"]
    assert episodes.filter(cause="loss").height == old["fast_recoveries"] > 0
    assert set(episodes.select("flow", "appliance", "direction").iter_rows()) == {("old", "box", "forward")}
    loaded = ackclock.Results.load(through_a_box.save(tmp_path / "out"))
    assert loaded.episodes.equals(episodes)
    alone = ackclock.run(ackclock.Scenario.parse(THROUGH_A_BOX, overrides=["appliance=[]"]))
    assert "appliance" not in alone.episodes.columns
    assert alone.episodes.height > 0


def test_captures_have_the_ports_of_flows(through_a_box: ackclock.Results, tmp_path: Path) -> None:
    folder = through_a_box.save(tmp_path / "out")
    with (folder / "bottleneck.pcapng").open("rb") as file:
        frames = [dpkt.ip.IP(frame) for _, frame in dpkt.pcapng.Reader(file)]
    to_acceptors = [frame for frame in frames if socket.inet_ntoa(frame.dst).startswith("172.")]
    assert 0 < len(to_acceptors) < len(frames)
    ports = {socket.inet_ntoa(frame.dst): frame.data.dport for frame in to_acceptors}
    assert ports.pop("172.16.0.1") == 5001
    assert len(ports) > 1
    assert set(ports.values()) == {443}


def test_a_manifest_names_what_wrote_it_then_and_not_what_reads_it_now(
    results: ackclock.Results, tmp_path: Path
) -> None:
    versions = results.manifest["versions"]
    assert list(versions) == ["ackclock", "python", "polars"]
    assert versions["polars"] == pl.__version__
    folder = results.save(tmp_path / "kept")
    file = folder / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["versions"]["polars"] = "0.0.1"
    del manifest["written"]  # with its hashes
    file.write_text(json.dumps(manifest))
    loaded = ackclock.Results.load(folder)
    assert loaded.manifest["versions"] == versions | {"polars": "0.0.1"}
    assert loaded.engine == results.engine == results.manifest["engine"]
    assert loaded.drawn == results.drawn == {}
