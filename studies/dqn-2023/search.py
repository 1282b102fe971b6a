"""A search over the settings that the papers leave unsaid: under which do most of their statements hold at once?

    python studies/dqn-2023/search.py [--draws N] [-o FILE]

Each draw takes a level of every factor, all levels of a factor equally often, and is simulated with seed 1. The best
draws are then judged with other seeds. A learning step comes with each action: one with each tuple takes ten times as
long. What is in FILE already is not simulated again. A draw takes half a minute of CPU for each seed.
"""

import argparse
import json
import random
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ackclock.claims.folder import Choice, Claim, Option, load_folder
from ackclock.claims.ledger import Laboratory, judge
from ackclock.claims.origin import now
from ackclock.claims.subjects import scenario_subjects

FOLDER = Path(__file__).resolve().parent
STUDIES = ("one classic", "one", "pairs", "rtts", "changing")

CHOSEN_ON = range(1, 2)
JUDGED_ON = range(2, 8)
JUDGED = 3
"""Draws that are judged with seeds of their own, the best first."""

Level = tuple[str, ...]
"""The overrides of a level."""


def _agents(field: str, value: str) -> Level:
    return (f"flow[0].controller.{field}={value}", f"?flow.2.controller.{field}={value}")


def _fifo(limit: str) -> Level:
    # Nothing is random in a FIFO between equal rates: up to 0.24 ms are added to each packet before it.
    jitter = '{ kind = "uniform", max = "0.24 ms" }'
    return (
        f'topology.link[*].queue={{ kind = "drop_tail", limit = "{limit}" }}',
        f"topology.link[1].jitter={jitter}",
        f"topology.link[2].jitter={jitter}",
    )


FACTORS: dict[str, dict[str, Level]] = {
    "segment": {"536": (), "340": ("tcp.mss=340",), "1448": ("tcp.mss=1448",)},
    "queue": {
        "FQ-CoDel over device": ("topology.link[*].device_queue=100",),
        "FQ-CoDel": (),
        "CoDel": ('topology.link[*].queue={ kind = "codel", inverse_sqrt = "newton" }',),
        "FIFO 1 BDP": _fifo("1 bdp"),
        "DropTail 100": _fifo("100 packets"),
    },
    "buffers": {"unlimited": (), "2 MiB": ('tcp.send_buffer="2 MiB"', 'tcp.receive_buffer="2 MiB"')},
    "flow 2": {
        "within 0.1 s": (),
        "after 0.1 s": ('?flow.2.start="100 ms"',),
        "5 s later": ('?flow.2.start="5 s"',),
        "5 s earlier": ('?flow.2.start="0 s"', '?flow.1.start="5 s"'),
    },
    "below ssthresh": {
        "slow start": _agents("below_ssthresh", '"slow_start"'),
        "avoidance": _agents("below_ssthresh", '"avoidance"'),
    },
    "discount": {value: _agents("discount", value) for value in ("0.5", "0.9", "0.99", "0.999")},
    "learning rate": {value: _agents("learning_rate", value) for value in ("0.0001", "0.001", "0.01")},
    "normalisation": {value: _agents("normalisation", f'"{value}"') for value in ("running", "fixed", "raw")},
    "dropout": {value: _agents("dropout", value) for value in ("0.0", "0.1", "0.5")},
}

Draw = dict[str, str]
"""A level of each factor, by their names."""


def draws(count: int) -> list[Draw]:
    """Return draws, the first that of the record; each factor has each of its levels equally often."""
    chance = random.Random(1)
    columns = {}
    for factor, levels in FACTORS.items():
        column = [list(levels)[at % len(levels)] for at in range(count)]
        chance.shuffle(column)
        columns[factor] = column
    first = {factor: next(iter(levels)) for factor, levels in FACTORS.items()} | {"discount": "0.9"}
    first |= {"learning rate": "0.001", "dropout": "0.1"}
    return [first, *({factor: columns[factor][at] for factor in FACTORS} for at in range(count))]


def _claims() -> list[Claim]:
    return [each for each in load_folder(FOLDER).claims if each.origin == "source" and each.study.name in STUDIES]


def _under(claim: Claim, draw: Draw, seeds: Sequence[int]) -> Claim:
    overrides = [*_agents("learn_on", '"action"'), *(text for name in FACTORS for text in FACTORS[name][draw[name]])]
    settings = Choice("settings", "settings", "", 1, (Option("drawn", tuple(overrides)),))
    repeats = claim.study.choices[1]
    repeated = replace(repeats, options=tuple(repeats.options[seed - 1] for seed in seeds))
    study = replace(claim.study, choices=(settings, repeated), costly=False)
    return replace(claim, study=study, on_record=None, subject=None, cites=(), beside=(), reason="")


def subjects() -> dict[str, str]:
    """Return the hash of each scenario that is searched."""
    return scenario_subjects(FOLDER, ("single.toml", "pair.toml", "changing.toml"))


def held(draw: Draw, seeds: range) -> dict[str, bool]:
    """Return for each statement whether the mean over the seeds lies in its range."""
    claims = [_under(claim, draw, seeds) for claim in _claims()]
    findings = judge(claims, Laboratory(full=True), {})
    return {each.claim.id: each.claim.verdict(each.measured.value) == "agrees" for each in findings}


def search(count: int, file: Path) -> None:
    """Simulate what the file has not yet, and write it after each draw."""
    made = {"results": now().as_dict()["results"], "subjects": subjects()}
    there: dict[str, Any] = {"made": made, "chosen": [], "judged": []}
    if file.exists():
        there = json.loads(file.read_text(encoding="utf-8"))
    if there["made"] != made:
        sys.exit(f"{file}: made by another engine or of other scenarios; delete it, and search anew")
    known = [entry["draw"] for entry in there["chosen"]]
    for draw in draws(count):
        if draw not in known:
            _add(there, "chosen", draw, CHOSEN_ON, file)
    best = sorted(there["chosen"], key=lambda entry: -sum(entry["held"].values()))[:JUDGED]
    judged = [entry["draw"] for entry in there["judged"]]
    for draw in [draws(count)[0], *(entry["draw"] for entry in best)]:
        if draw not in judged:
            judged.append(draw)
            _add(there, "judged", draw, JUDGED_ON, file)


def _add(there: dict[str, Any], kind: str, draw: Draw, seeds: range, file: Path) -> None:
    entry: dict[str, Any] = {"draw": draw, "seeds": list(seeds), "held": held(draw, seeds)}
    there[kind].append(entry)
    file.write_text(json.dumps(there) + "\n", encoding="utf-8")
    print(kind, sum(entry["held"].values()), "of", len(entry["held"]), draw, file=sys.stderr, flush=True)


def main(arguments: Iterable[str] | None = None) -> int:
    """Search as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=40, metavar="N", help="combinations that are tried (40)")
    parser.add_argument("-o", dest="file", type=Path, default=FOLDER / "search.json", metavar="FILE", help="JSON")
    options = parser.parse_args(arguments)
    search(options.draws, options.file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
