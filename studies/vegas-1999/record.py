"""Put a `--full` run of all claims or some on record: `python record.py FOLDER`, as `record-vegas` does.

It draws the region anew. `recorded.json` has of each claim what the run's `claims.json` has. Of the claims over the 768
cells the single cells are left out: of those that are judged together, `regions.json` says which hold where.
Departures: none.
"""

import json
import sys
from pathlib import Path
from typing import Any

from ackclock.claims.adoption import line_each
from ackclock.claims.folder import Claim, load_folder, load_module
from ackclock.plotting.pages import written_picture

HERE = Path(__file__).parent
LARGE = "vegas"
"""The study whose grid is too large for a record of single cells."""


def slim(claim: Claim, entry: dict[str, Any]) -> dict[str, Any]:
    """Return what is kept of a claim's entry of `claims.json`."""
    others = [] if claim.study.name == LARGE else [_other(claim, other) for other in entry["other_choices"]]
    return entry | {"other_choices": others}


def _other(claim: Claim, other: dict[str, Any]) -> dict[str, Any]:
    """Return an entry of other choices; further measurements stay where a page shows them: `--full` alone, and V15."""
    return other if claim.study.costly or claim.study.name == "starts" else other | {"also": {}}


def main(run: Path) -> None:
    """Write both records and the picture that is drawn from them; what the run leaves out stays as it is."""
    claims = {claim.id: claim for claim in load_folder(HERE).claims}
    content = json.loads((run / "claims.json").read_text(encoding="utf-8"))
    if not content["full"]:
        raise SystemExit(f"{run} must be a run with --full")
    old = json.loads((HERE / "recorded.json").read_text(encoding="utf-8"))
    entries = {entry["id"]: entry for entry in old["claims"]}
    entries |= {entry["id"]: slim(claims[entry["id"]], entry) for entry in content["claims"]}
    ordered = [entries[each] for each in claims]
    (HERE / "recorded.json").write_text(line_each(content | {"claims": ordered}), encoding="utf-8")
    if (run / "regions.json").exists():
        (HERE / "regions.json").write_text((run / "regions.json").read_text(encoding="utf-8"), encoding="utf-8")
    picture = next(each for each in load_module(HERE / "pictures.py").PICTURES if each.name == "region")
    written_picture(picture.name, picture.title, picture.draw(None, None), run / "figures")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
