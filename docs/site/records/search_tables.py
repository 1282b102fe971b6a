"""Tables of a search over what a source leaves unsaid: a folder's `search.json`.

Between two lines of a page, `<!-- search: dqn-2023 factors -->` and `<!-- end of search -->`, stands a row for each
level of each factor: how many statements hold in the mean of the draws that have it, and how many more than in the mean
of the draws with the same queue. `<!-- search: dqn-2023 map -->` has the mean and the greatest number of statements for
each queue with each segment. `<!-- search: dqn-2023 best -->` has a row for each draw that was judged with seeds of
its own or learned by tuple, the record's settings first.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ackclock.claims.intervals import of_mean
from ackclock.claims.subjects import scenario_subjects
from ackclock.stats.estimates import mean_of

FILE = "search.json"

_MARKED = re.compile(r"<!-- search: (?P<folder>\S+) (?P<table>\S+) -->\n.*?<!-- end of search -->", re.DOTALL)


def renewed(text: str, folders: Sequence[Path]) -> str:
    """Return a page with its marked tables written anew.

    Raises:
        LookupError: If a mark names an unknown folder or table, or a record of other scenarios than its folder has.
    """

    def written(found: re.Match[str]) -> str:
        mark = found[0].split("\n", 1)[0]
        file = next((each / FILE for each in folders if each.name == found["folder"]), None)
        table = {"factors": _factors, "map": _map, "best": _best}.get(found["table"])
        if file is None or not file.exists() or table is None:
            raise LookupError(f"{mark} must name a folder with {FILE}, and one of the tables factors, map and best")
        record = json.loads(file.read_text(encoding="utf-8"))
        known = record["made"]["subjects"]
        if known != scenario_subjects(file.parent, known):
            raise LookupError(f"{file} is of other scenarios than its folder has; search again")
        rows = [" | ".join(row) for row in table(record)]
        return "\n".join([mark, *(f"| {row} |" for row in rows), "<!-- end of search -->"])

    return _MARKED.sub(written, text)


def _count(entry: Mapping[str, Any]) -> int:
    return sum(entry["held"].values())


def _drawn(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [entry for entry in found["chosen"][1:] if entry["draw"]["learning"] == "action"]


def _map(found: Mapping[str, Any]) -> list[list[str]]:
    queues, segments = ({entry["draw"][name]: None for entry in found["chosen"]} for name in ("queue", "segment"))
    cells: dict[tuple[str, str], list[int]] = {}
    for entry in _drawn(found):
        cells.setdefault((entry["draw"]["queue"], entry["draw"]["segment"]), []).append(_count(entry))
    rows = [["queue", *(f"segment {segment}" for segment in segments)], ["---"] * (len(segments) + 1)]
    for queue in queues:
        counts = [cells.get((queue, segment), []) for segment in segments]
        rows.append([queue, *(f"{mean_of(c):.1f}, at most {max(c)} ({len(c)})" if c else "" for c in counts)])
    return rows


def _factors(found: Mapping[str, Any]) -> list[list[str]]:
    drawn = _drawn(found)
    alike: dict[str, list[int]] = {}
    for entry in drawn:
        alike.setdefault(entry["draw"]["queue"], []).append(_count(entry))
    rows = [["factor", "level", "statements that hold", "beside the same queue's mean", "draws"], ["---"] * 5]
    for factor, first in found["chosen"][0]["draw"].items():
        if factor == "learning":
            continue
        levels = dict.fromkeys([first, *sorted(entry["draw"][factor] for entry in drawn)])
        for level in levels:
            having = [entry for entry in drawn if entry["draw"][factor] == level]
            beside = [_count(entry) - mean_of(alike[entry["draw"]["queue"]]) for entry in having]
            counts = _cell([float(_count(entry)) for entry in having])
            rows.append([factor, level, counts, "" if factor == "queue" else _cell(beside), str(len(having))])
    return rows


def _cell(counts: Sequence[float]) -> str:
    interval = of_mean(counts)
    return f"{interval.middle:.1f} ± {interval.half:.1f}"


def _best(found: Mapping[str, Any]) -> list[list[str]]:
    first = found["chosen"][0]["draw"]
    judged = found["judged"]
    rows = [["settings", "a step for each", "hold, seed 1", "hold, other seeds", "seeds", "statements"], ["---"] * 6]
    draws = [each["draw"] for each in judged]
    draws += [each["draw"] for each in found["chosen"] if each["draw"]["learning"] == "tuple"]
    for draw in (draw for at, draw in enumerate(draws) if draw not in draws[:at]):
        different = [factor for factor in draw if factor != "learning" and draw[factor] != first[factor]]
        said = "; ".join(f"{factor} {draw[factor]}" for factor in different)
        (before,) = (each for each in found["chosen"] if each["draw"] == draw)
        others = next((each for each in judged if each["draw"] == draw), None)
        after = [str(_count(others)), f"{others['seeds'][0]} to {others['seeds'][-1]}"] if others else ["", ""]
        total = str(len(before["held"]))
        rows.append([said or "as on record", draw["learning"], str(_count(before)), *after, total])
    return rows
