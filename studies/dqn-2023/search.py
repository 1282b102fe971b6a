"""A search over the settings that the papers leave unsaid: under which do most of their statements hold at once?

    python studies/dqn-2023/search.py [--draws N] [--keep DIR] [-o FILE]

Each draw takes a level of every factor, all levels of a factor equally often, and is simulated with seed 1. In these a
learning step comes with each action, as one with each tuple takes up to ten times as long. The best draws are then
judged with other seeds. The one that holds most is simulated with a step for each tuple, too; for the settings of the
study that is on record. What is in FILE already is not simulated again. By action a draw takes some 50 s of CPU for
each seed.
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
from ackclock.stats.estimates import mean_of

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
LEARNING = {value: _agents("learn_on", f'"{value}"') for value in ("action", "tuple")}
BY_ACTION, BY_TUPLE = ({"learning": value} for value in LEARNING)

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
    drawn = [first, *({factor: columns[factor][at] for factor in FACTORS} for at in range(count))]
    return [BY_ACTION | draw for draw in drawn]


def _claims() -> list[Claim]:
    return [each for each in load_folder(FOLDER).claims if each.origin == "source" and each.study.name in STUDIES]


def _under(claim: Claim, draw: Draw, seeds: Sequence[int]) -> Claim:
    levels = {"learning": LEARNING, **FACTORS}
    overrides = [text for name in levels for text in levels[name][draw[name]]]
    settings = Choice("settings", "settings", "", 1, (Option("drawn", tuple(overrides)),))
    repeats = claim.study.choices[1]
    repeated = replace(repeats, options=tuple(repeats.options[seed - 1] for seed in seeds))
    study = replace(claim.study, choices=(settings, repeated), costly=False)
    return replace(claim, study=study, on_record=None, subject=None, cites=(), beside=(), reason="")


def subjects() -> dict[str, str]:
    """Return the hash of each scenario that is searched."""
    return scenario_subjects(FOLDER, ("single.toml", "pair.toml", "changing.toml"))


def held(draw: Draw, seeds: range, kept: Path | None) -> dict[str, bool]:
    """Return for each statement whether the mean over the seeds lies in its range."""
    claims = [_under(claim, draw, seeds) for claim in _claims()]
    findings = judge(claims, Laboratory(full=True, kept=kept), {})
    return {each.claim.id: each.claim.verdict(each.measured.value) == "agrees" for each in findings}


def held_on_record(seeds: range) -> dict[str, bool]:
    """Return the same for the settings of the study, by tuple, from its record."""
    of_seeds = [(claim, (claim.on_record or {})["values"]) for claim in _claims()]
    means = [(claim, mean_of([values[seed - 1] for seed in seeds])) for claim, values in of_seeds]
    return {claim.id: claim.verdict(mean) == "agrees" for claim, mean in means}


def _taken_up(file: Path, kept: Path | None) -> dict[str, Any]:
    """Return what the file has; another engine may add to it if its first draw gives the same again."""
    there: dict[str, Any] = {"made": {"results": [now().results], "subjects": subjects()}, "chosen": [], "judged": []}
    if file.exists():
        there = json.loads(file.read_text(encoding="utf-8"))
    made = there["made"]
    if made["subjects"] != subjects():
        sys.exit(f"{file}: made of other scenarios; delete it, and search anew")
    if now().results not in made["results"]:
        first = there["chosen"][0]
        if held(first["draw"], CHOSEN_ON, kept) != first["held"]:
            sys.exit(f"{file}: made by an engine with other results; delete it, and search anew")
        made["results"].append(now().results)
    return there


def _count(entry: dict[str, Any]) -> int:
    return sum(entry["held"].values())


def search(count: int, file: Path, kept: Path | None) -> None:
    """Simulate what the file has not yet, and write it after each draw."""
    there = _taken_up(file, kept)
    first, *others = draws(count)

    def add(kind: str, draw: Draw, seeds: range) -> None:
        if any(entry["draw"] == draw for entry in there[kind]):
            return
        holds = held_on_record(seeds) if draw == first | BY_TUPLE else held(draw, seeds, kept)
        there[kind].append({"draw": draw, "seeds": list(seeds), "held": holds})
        file.write_text(json.dumps(there) + "\n", encoding="utf-8")
        print(kind, sum(holds.values()), "of", len(holds), draw, file=sys.stderr, flush=True)

    for draw in (first, *others):
        add("chosen", draw, CHOSEN_ON)
    by_action = [entry for entry in there["chosen"] if entry["draw"]["learning"] == "action"]
    best = [entry["draw"] for entry in sorted(by_action, key=_count, reverse=True)]
    for draw in (first, *best[:JUDGED]):
        add("judged", draw, JUDGED_ON)
    add("chosen", first | BY_TUPLE, CHOSEN_ON)
    add("judged", first | BY_TUPLE, JUDGED_ON)
    by_action = [entry for entry in there["judged"] if entry["draw"]["learning"] == "action"]
    add("chosen", max(by_action, key=_count)["draw"] | BY_TUPLE, CHOSEN_ON)


def main(arguments: Iterable[str] | None = None) -> int:
    """Search as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=40, metavar="N", help="combinations that are tried (40)")
    parser.add_argument("--keep", dest="kept", type=Path, metavar="DIR", help="folder that caches results")
    parser.add_argument("-o", dest="file", type=Path, default=FOLDER / "search.json", metavar="FILE", help="JSON")
    options = parser.parse_args(arguments)
    search(options.draws, options.file, options.kept)
    return 0


if __name__ == "__main__":
    sys.exit(main())
