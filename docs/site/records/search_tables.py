"""Tables of a search over what a source leaves unsaid: a folder's `search.json`.

Between two lines of a page, `<!-- search: dqn-2023 factors -->` and `<!-- end of search -->`, stands a row for each
level of each factor: how many statements hold in the mean of the draws that have it. `<!-- search: dqn-2023 best -->`
has a row for each draw that was judged with seeds of its own, the record's settings first.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ackclock.claims.intervals import of_mean
from ackclock.claims.subjects import scenario_subjects

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
        table = {"factors": _factors, "best": _best}.get(found["table"])
        if file is None or not file.exists() or table is None:
            raise LookupError(f"{mark} must name a folder with {FILE}, and one of the tables factors and best")
        record = json.loads(file.read_text(encoding="utf-8"))
        known = record["made"]["subjects"]
        if known != scenario_subjects(file.parent, known):
            raise LookupError(f"{file} is of other scenarios than its folder has; search again")
        rows = [" | ".join(row) for row in table(record)]
        return "\n".join([mark, *(f"| {row} |" for row in rows), "<!-- end of search -->"])

    return _MARKED.sub(written, text)


def _count(entry: Mapping[str, Any]) -> int:
    return sum(entry["held"].values())


def _factors(found: Mapping[str, Any]) -> list[list[str]]:
    drawn = found["chosen"][1:]
    rows = [["factor", "level", "statements that hold", "draws"], ["---"] * 4]
    for factor, first in found["chosen"][0]["draw"].items():
        levels = dict.fromkeys([first, *sorted(entry["draw"][factor] for entry in drawn)])
        for level in levels:
            counts = [float(_count(entry)) for entry in drawn if entry["draw"][factor] == level]
            interval = of_mean(counts)
            rows.append([factor, level, f"{interval.middle:.1f} ± {interval.half:.1f}", str(len(counts))])
    return rows


def _best(found: Mapping[str, Any]) -> list[list[str]]:
    chosen = {json.dumps(entry["draw"]): entry for entry in found["chosen"]}
    first = found["chosen"][0]["draw"]
    total = len(found["judged"][0]["held"])
    seeds = found["judged"][0]["seeds"]
    rows = [["settings", "hold, seed 1", f"hold, seeds {seeds[0]} to {seeds[-1]}", "statements"], ["---"] * 4]
    for entry in found["judged"]:
        others = [f"{factor} {level}" for factor, level in entry["draw"].items() if level != first[factor]]
        before = _count(chosen[json.dumps(entry["draw"])])
        rows.append(["; ".join(others) or "as on record, by action", str(before), str(_count(entry)), str(total)])
    return rows
