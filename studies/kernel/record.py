"""Put a `--full` run of some claims on record: `python studies/kernel/record.py FOLDER`; others stay as they are."""

import json
import sys
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("recorded.json")


def main(run: Path) -> None:
    """Replace the claims that the run has."""
    made: dict[str, Any] = json.loads((run / "claims.json").read_text(encoding="utf-8"))
    if not made["full"]:
        raise SystemExit(f"{run} must be a run with --full")
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    anew = {entry["id"]: entry for entry in made["claims"] if entry["simulated"]}
    if unknown := sorted(anew.keys() - {entry["id"] for entry in record["claims"]}):
        raise SystemExit(f"{RECORD} has no {', '.join(unknown)}")
    record["claims"] = [anew.get(entry["id"], entry) for entry in record["claims"]]
    RECORD.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
