"""Every state of a connection by every kind of segment: the endpoint does as Linux did, or departs with a reason.

The record is a kernel's own; RFC 9293 section 3.10.7 and RFC 5961 decide where the endpoint does otherwise.
"""

import os
import platform
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from ackclock_studies.differential import reactions
from ackclock_studies.differential.reactions import DEPARTURES, departure_of, of_the_endpoint, on_this_kernel
from ackclock_studies.differential.states import Probe, draw_probe, every

RECORD = Path(__file__).parents[1] / "states" / "linux-6.18.txt"
_HEAD = """\
# What Linux {release} made of each segment, in namespaces of its own. Made by, as root:
# ACKCLOCK_RECORD_STATES=1 python -m pytest tests/python/test_states.py -k record
"""


@pytest.mark.skipif("ACKCLOCK_RECORD_STATES" not in os.environ, reason="writes the record of a kernel; needs root")
def test_the_record_is_of_a_kernel() -> None:
    probes = list(every())
    with ThreadPoolExecutor(8) as pool:
        asked = zip(probes, pool.map(on_this_kernel, probes), strict=True)
        told = {str(probe): reaction for probe, reaction in asked if reaction is not None}
    RECORD.write_text(_HEAD.format(release=platform.release().split("-")[0]) + reactions.record(told))


@pytest.fixture(scope="module")
def recorded() -> dict[str, str]:
    return dict(reactions.read(RECORD.read_text()))


@pytest.fixture(scope="module")
def differing(recorded: dict[str, str]) -> list[tuple[Probe, str]]:
    asked = [(probe, of_the_endpoint(probe)) for probe in every() if str(probe) in recorded]
    return [(probe, ours) for probe, ours in asked if ours != recorded[str(probe)]]


def test_the_endpoint_does_as_linux_or_departs_with_a_reason(
    recorded: dict[str, str], differing: list[tuple[Probe, str]]
) -> None:
    found = [f"{probe}: {ours} for {recorded[str(probe)]}" for probe, ours in differing if departure_of(probe) is None]
    assert not found, "\n".join(found)


def test_every_departure_is_one(differing: list[tuple[Probe, str]]) -> None:
    """A departure that no segment shows any more is to be struck."""
    shown = [departure_of(probe) for probe, _ in differing]
    assert [one.why for one in DEPARTURES if one not in shown] == []


def test_nearly_all_segments_are_recorded(recorded: dict[str, str]) -> None:
    """Those are missing for which a kernel draws a number of its own each time."""
    assert {str(probe) for probe in every()} >= recorded.keys()
    assert len(recorded) > 2_450


def test_a_seed_is_the_same_segment_each_time() -> None:
    assert [draw_probe(seed) for seed in range(50)] == [draw_probe(seed) for seed in range(50)]


def test_a_reaction_of_another_kind_is_found() -> None:
    """RFC 9293 section 3.10.7.4: a reset at RCV.NXT ends a connection; a kernel that ignored it would be found out."""
    reset = next(probe for probe in every() if str(probe) == "ESTABLISHED: R next(0)")
    found = reactions.compare(reset, lambda _: "- | ESTABLISHED no error 0 unread | . +0(0) ack +0")
    assert found.kind is reactions.Kind.DIFFERENT and "ECONNRESET" in found.ours
