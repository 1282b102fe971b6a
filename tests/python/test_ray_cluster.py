"""Sweeps and studies on a Ray cluster of two nodes on this machine: the same tables to the byte.

`make -f tests/Makefile test-ray` installs Ray and runs these; without it they are skipped.
"""

import os
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock._core import Scenario
from ackclock.experiments.backends import ray
from ackclock.experiments.grid import grid_of, parse_axis
from conftest import command
from networks import dumbbell

cluster_utils = pytest.importorskip("ray.cluster_utils", reason="needs Ray: make -f tests/Makefile test-ray")

# Ray leaves sockets and files to the end of the process, and warns of its own future.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200), pytest.mark.filterwarnings("default")]

TINY = f"""\
name = "tiny"
duration = "50 ms"

{dumbbell('rate = "10 Mbit/s", delay = "2 ms"', "10 us")}
[[flow]]
name = "new"
controller = "cubic"
"""

STUDY = """\
name = "two on a link"
controllers = ["cubic", "reno"]
line_ups = ["pairs"]
seeds = 3
duration = "2 s"

[path]
rate = "10 Mbit/s"
rtt = "20 ms"
buffer = ["0.5 bdp", "2 bdp"]
"""


_PORTS = ("metrics_agent_port", "metrics_export_port", "dashboard_agent_listen_port", "runtime_env_agent_port")


def _patient(find: Callable[..., Any]) -> Callable[..., Any]:
    """Look for a node that has begun for longer than the 30 s that Ray gives it, which a busy machine needs."""

    def get_node(*where: Any) -> Any:
        end = time.monotonic() + 240
        while True:
            try:
                return find(*where)
            except RuntimeError:
                if time.monotonic() > end:
                    raise
                time.sleep(1)

    return get_node


def _settings() -> dict[str, Any]:
    """Return options of a node: fixed ports, since waiting for random ones fails on a busy machine; no dashboard."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in _PORTS]
    ports = {name: it.getsockname()[1] for name, it in zip(_PORTS, sockets, strict=True)}
    for it in sockets:
        it.close()
    return {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 100_000_000, **ports}


@pytest.fixture(scope="module")
def two_nodes() -> Iterator[str]:
    """A cluster of two nodes with a processor each; its address."""
    import ray as client
    from ray._private import services

    services.get_node = _patient(services.get_node)
    before = os.environ.get("RAY_ADDRESS")
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=_settings())
    cluster.add_node(**_settings())
    cluster.wait_for_nodes()
    os.environ["RAY_ADDRESS"] = cluster.address
    yield cluster.address
    client.shutdown()
    cluster.shutdown()
    os.environ.pop("RAY_ADDRESS")
    if before is not None:
        os.environ["RAY_ADDRESS"] = before


def test_chunks_of_two_hundred_runs_on_both_nodes_come_to_the_same_table(two_nodes: str, tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    sweep = ("sweep", "tiny.toml", "--set", "seed=1..1600", "--jobs", "2", "--quiet")
    for backend in ("local", "ray"):
        whole = command(*sweep, "-o", backend, "--backend", backend)
        done = subprocess.run(whole, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    tables = [(tmp_path / backend / "sweep.parquet").read_bytes() for backend in ("local", "ray")]
    assert tables[0] == tables[1]


def test_tasks_hold_two_hundred_runs_and_each_node_has_some(two_nodes: str, tmp_path: Path) -> None:
    file = tmp_path / "tiny.toml"
    file.write_text(TINY)

    def where(_scenario: str, _folder: str) -> str:
        import ray as client

        context = client.get_runtime_context()
        return f"{context.get_node_id()} {context.get_task_id()}"

    points = grid_of([parse_axis("seed=1..1600")], lambda texts: Scenario.load(str(file), texts))
    found = [place.split() for _, place in ray(points, jobs=2, work=where)]
    assert set(Counter(task for _, task in found).values()) == {200}
    assert len({node for node, _ in found}) == 2


def test_a_study_ends_in_the_same_files(two_nodes: str, tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY)
    backends: tuple[Any, ...] = ("local", "ray")
    for backend in backends:
        ackclock.study(file, tmp_path / backend, backend=backend, forms=())
    for name in ("means.csv", "differences.csv", "runs.csv", "runs.json"):
        local, remote = ((tmp_path / backend / name).read_bytes() for backend in backends)
        assert local == remote, name
