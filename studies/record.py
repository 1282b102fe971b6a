"""Put a run of claims on record: `python studies/record.py STUDY RUN`.

A run with `--full` renews the entries of the claims that it has simulated; others stay as they are. `recorded.json` has
of each claim what the run's `claims.json` has, a line each. A study with `regions.json` says there which of its many
cells hold together, and its record leaves the single cells out. A run of all claims, such as `ackclock claims STUDY
-o RUN`, which draws from the record, renews the figures of the documentation.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from ackclock.claims.adoption import line_each
from ackclock.claims.folder import Claim, Folder, load_folder, load_module
from ackclock.plotting.pages import written_picture

HERE = Path(__file__).parent
IMAGES = HERE.parent / "docs" / "images"
LARGE = "vegas"
"""The study whose grid is too large for a record of single cells."""


def record(folder: Folder, content: dict[str, Any], run: Path) -> int:
    """Write the record, and return the number of renewed claims; those that the run did not simulate stay."""
    known = {claim.id: claim for claim in folder.claims}
    file, regions = folder.path / "recorded.json", folder.path / "regions.json"
    old = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"claims": []}
    entries = {entry["id"]: entry for entry in old["claims"]}
    anew = {entry["id"]: entry for entry in content["claims"] if entry["simulated"] and entry["id"] in known}
    if regions.exists():
        anew = {id: _slim(known[id], entry) for id, entry in anew.items()}
        if (run / regions.name).exists():
            shutil.copyfile(run / regions.name, regions)
    entries |= anew
    ordered = [entries[each] for each in known if each in entries]
    file.write_text(line_each(content | {"claims": ordered}), encoding="utf-8")
    return len(anew)


def _slim(claim: Claim, entry: dict[str, Any]) -> dict[str, Any]:
    others = [] if claim.study.name == LARGE else [_other(claim, other) for other in entry["other_choices"]]
    return entry | {"other_choices": others}


def _other(claim: Claim, other: dict[str, Any]) -> dict[str, Any]:
    """Return an entry of other choices; further measurements stay where a page shows them: `--full` alone, and V15."""
    return other if claim.study.costly or claim.study.name == "starts" else other | {"also": {}}


def copy_figures(folder: Folder, run: Path) -> list[str]:
    """Copy the figures that pages show, and return their names: `claims-STUDY-NAME.png` is the study's figure NAME."""
    study = folder.path.name.split("-")[0]
    if (folder.path / "regions.json").exists():  # from the records, which the run may have renewed
        picture = next(each for each in load_module(folder.path / "pictures.py").PICTURES if each.name == "region")
        written_picture(picture.name, picture.title, picture.draw(None, None), run / "figures")
    prefix = f"claims-{study}-"
    shown = {image: run / "figures" / image.name.removeprefix(prefix) for image in IMAGES.glob(f"{prefix}*.png")}
    drawn = {image: figure for image, figure in shown.items() if figure.exists()}
    for image, figure in drawn.items():
        shutil.copyfile(figure, image)
    for image in sorted(shown.keys() - drawn.keys()):
        print(f"{image.name} stays as it is: the run has not drawn it")
    return sorted(image.name for image in drawn)


def main(study: str, folder_of_run: str) -> None:
    """Put the run on record, and say what that was."""
    folder, run = load_folder(HERE / study), Path(folder_of_run)
    content: dict[str, Any] = json.loads((run / "claims.json").read_text(encoding="utf-8"))
    if content["full"]:
        print(f"{folder.path / 'recorded.json'}: {record(folder, content, run)} claims anew")
    is_whole = {entry["id"] for entry in content["claims"]} >= {claim.id for claim in folder.claims}
    if is_whole:
        print("figures:", *copy_figures(folder, run))
    if not content["full"] and not is_whole:
        raise SystemExit(f"{run} is a run of some claims without --full: nothing is renewed; add --full")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
