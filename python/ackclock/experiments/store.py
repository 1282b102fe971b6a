"""Folder of an experiment. Each finished point is a separate file, so that a kill loses only the points being run."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NotRequired, TypedDict

from ackclock.base import storage
from ackclock.base.checked_files import DamagedError, content, document, inside
from ackclock.base.version import __version__
from ackclock.experiments.grid import GridError, Point, all_values
from ackclock.results.manifests import VirtualTime
from ackclock.results.summaries import RunSummary
from ackclock.scenario.setting_values import value_key

_GRID = "sweep.json"
TABLES: Final = ("sweep", "links", "means", "groups")
"""Names of a sweep's tables; the last exists only with short flows."""

_POINTS = "points"
_LOCK = ".lock"


class Grid(TypedDict):
    """Content of `sweep.json`."""

    version: str
    parameters: dict[str, list[Any]]
    scenario_hashes: list[str]
    on: NotRequired[VirtualTime]


class Record(TypedDict):
    """Content of a point's file."""

    version: str
    scenario_hash: str
    summary: RunSummary
    parameters: NotRequired[dict[str, Any]]
    on: NotRequired[VirtualTime]
    sha256: NotRequired[str]


class SweepFolder:
    """Folder of a sweep, finished or not."""

    def __init__(self, path: Path) -> None:
        """Set the path; nothing is touched yet."""
        self.path = path
        self._keys: dict[str, str] = {}

    @contextmanager
    def opened(self, points: Sequence[Point]) -> Iterator[None]:
        """Hold the folder for one sweep: created if missing, cleared of leftovers, locked against other processes.

        Args:
            points: The grid; it must equal or extend the one that the folder was made for.

        Raises:
            GridError: If the folder belongs to another grid, or is not a sweep's.
            OutputExistsError: If another process holds it.
        """
        self._check(points)
        (self.path / _POINTS).mkdir(parents=True, exist_ok=True)
        held = f"another sweep is running in {self.path}; wait for it, or choose another folder"
        with storage.locked(self.path / _LOCK, held):
            self._remove_leftovers()
            self._remove_tables_of_others(points)
            grid = {
                "version": __version__,
                "parameters": all_values(point.parameters for point in points),
                "scenario_hashes": _hashes(points),
            } | _place(points[0])
            text = json.dumps(grid, indent=1, ensure_ascii=False, default=str) + "\n"
            storage.write_file(self.path / _GRID, text.encode())
            yield

    def _check(self, points: Sequence[Point]) -> None:
        if not self.path.exists():
            return
        if not self.path.is_dir():
            raise GridError(f"{self.path} is not a folder; choose another place with -o")
        file = self.path / _GRID
        if not file.is_file():
            if any(entry.name not in (_LOCK, _POINTS) for entry in self.path.iterdir()):
                raise GridError(f"{self.path} holds other things than a sweep; choose another folder with -o")
            return
        self._check_extends(self.grid(), points)

    def grid(self) -> Grid:
        """Return the grid that the folder records.

        Raises:
            DamagedError: If the record is damaged.
        """
        file = inside(self.path, _GRID, _REMEDY)
        remedy = f"restore it, or move it away: the points in {self.path / _POINTS} are found without it"
        found = document(content(file, None, remedy), file, Grid, remedy)
        if empty := next((name for name, values in found["parameters"].items() if not values), None):
            raise DamagedError(file, f"parameters.{empty} must have values", remedy)
        return found

    def records(self) -> list[Record]:
        """Return every point of a finished grid, in the grid's order.

        Raises:
            DamagedError: If one is missing or damaged.
        """
        found: dict[str, list[Record]] = {}
        for file in sorted((self.path / _POINTS).glob("*.json")):
            record = _record(inside(file.parent, file.name, _REMEDY))
            found.setdefault(record["scenario_hash"], []).append(record)
        grid = self.grid()
        hashes = grid["scenario_hashes"]
        if missing := len(set(hashes) - found.keys()):
            what = f"{missing} of its {len(set(hashes))} points are missing or replaced by others"
            raise DamagedError(self.path / _POINTS, what, "run the same command again to simulate these points")
        # Of code that has changed there are several with one hash, and parameters of none of them are told.
        latest = {one: of[-1] for one, of in found.items() if of[1:]}
        anonymous = {
            one: Record(version=last["version"], scenario_hash=one, summary=last["summary"])
            for one, last in latest.items()
        }
        records = [anonymous.get(one, found[one][-1]) for one in hashes]
        told = [record["parameters"] for record in records if "parameters" in record]
        are_all = len(told) == len(set(hashes)) == len(records)  # else some share a file, which has parameters of one
        if any(not _is_within(parameters, grid["parameters"]) for parameters in told) or (
            told and are_all and not _are_taken(grid["parameters"], told)
        ):
            what = "its parameters are not those of its points"
            raise DamagedError(self.path / _GRID, what, "restore it, or run the same command again")
        return records

    def _check_extends(self, before: Grid, points: Sequence[Point]) -> None:
        there, here = before.get("on"), _place(points[0]).get("on")
        if there != here:
            is_rebuilt = there is not None and here is not None and there["version"] == here["version"]
            raise GridError(
                f"{self.path} has runs {said_place(there)}, and this command runs {said_place(here)}"
                f"{', another build of it' if is_rebuilt else ''}; choose another folder with -o"
            )
        lost = set(before["scenario_hashes"]) - {point.scenario_hash for point in points}
        if lost:
            mine = _describe(all_values(point.parameters for point in points))
            raise GridError(
                f"{self.path} holds another sweep, over {_describe(before['parameters'])}; this one, over "
                f"{mine}, lacks {len(lost)} of its {len(before['scenario_hashes'])} points "
                "(or the scenario file has changed). A sweep may only be extended: choose another folder with -o"
            )

    def _remove_leftovers(self) -> None:
        """Remove partial files of a killed process."""
        for folder in (self.path, self.path / _POINTS):
            for leftover in folder.glob(".*.partial"):
                leftover.unlink()

    def _remove_tables_of_others(self, points: Sequence[Point]) -> None:
        """Remove the tables of a smaller grid, or of other code; until this sweep ends, it has none."""
        file = self.path / _GRID
        is_same = file.is_file() and self.grid()["scenario_hashes"] == _hashes(points)
        if is_same and all(map(self.is_done, points)):
            return
        for name in TABLES:
            self.table(name).unlink(missing_ok=True)

    def table(self, name: str) -> Path:
        """Return the path of a table."""
        return self.path / f"{name}.parquet"

    def is_done(self, point: Point) -> bool:
        """Return whether a point has finished, in this or an earlier process."""
        return self._file(point).is_file()

    def save(self, point: Point, summary_json: str) -> None:
        """Save the result of a point atomically."""
        known = {"version": __version__, "scenario_hash": point.scenario_hash, "parameters": point.parameters}
        known |= _place(point)
        text = json.dumps(known, ensure_ascii=False, default=str).removesuffix("}")
        storage.write_file(self._file(point), _signed(f'{text}, "summary": {summary_json.strip()}}}\n'.encode()))

    def renew_parameters(self, points: Sequence[Point]) -> None:
        """Update the parameters of finished points that an earlier grid with other axes has left.

        Args:
            points: All points of the grid; some share a file.

        Raises:
            DamagedError: If the file of one is damaged.
        """
        sharing: dict[str, list[Point]] = {}
        for point in points:
            sharing.setdefault(point.key, []).append(point)
        for group in sharing.values():
            if self.is_done(group[0]):
                record = self._own(group[0])
                if record.get("parameters") not in [_as_read(point.parameters) for point in group]:
                    self.save(group[0], json.dumps(record["summary"], ensure_ascii=False))

    def summary(self, point: Point) -> RunSummary:
        """Return the summary of a finished point.

        Raises:
            DamagedError: If its file was not written for this point.
        """
        return self._own(point)["summary"]

    def _own(self, point: Point) -> Record:
        file = self._file(point)
        record = _record(file)
        if record["scenario_hash"] != point.scenario_hash or record.get("on") != _place(point).get("on"):
            raise DamagedError(file, f"it belongs to another point than {point.said}", _REMEDY)
        return record

    def summary_of(self, key: str) -> RunSummary:
        """Return the summary of a finished point by its key alone.

        Raises:
            DamagedError: If its file is damaged or missing.
        """
        file = inside(self.path / _POINTS, f"{key}.json", _REMEDY)
        if not file.is_file():
            raise DamagedError(file, "it is missing", "run the same command again to simulate this point")
        record = _record(file)
        if self._keys.setdefault(record["scenario_hash"], key) != key:
            raise DamagedError(file, "it belongs to another point than its name says", _REMEDY)
        return record["summary"]

    def _file(self, point: Point) -> Path:
        return self.path / _POINTS / f"{point.key}.json"


_REMEDY = "remove it, and run the same command again"


def _record(file: Path) -> Record:
    written = content(file, None, _REMEDY)
    record = document(written, file, Record, _REMEDY)
    if "sha256" in record and _signed(b"{" + written[_SIGNATURE_LENGTH:]) != written:
        raise DamagedError(file, "its SHA-256 differs: it was changed", _REMEDY)
    return record


def _signed(text: bytes) -> bytes:
    """Insert the SHA-256 of a JSON object's text, without its first brace, as the object's first key."""
    signature = f'{{"sha256": "{hashlib.sha256(text[1:]).hexdigest()}", '
    return signature.encode() + text[1:]


_SIGNATURE_LENGTH = len(_signed(b"{}")) - 1


def _hashes(points: Sequence[Point]) -> list[str]:
    return [point.scenario_hash for point in points]


def _place(point: Point) -> dict[str, VirtualTime]:
    """Return the entry of a record that tells on which kernel a point runs; empty for the simulator."""
    return {} if point.on is None else {"on": point.on.identity}


def said_place(on: VirtualTime | None) -> str:
    """Return where runs were made, such as "on Linux 6.12.117"."""
    return "in the simulator" if on is None else f"on Linux {on['version']}"


def _is_within(parameters: dict[str, Any], grid: dict[str, list[Any]]) -> bool:
    """Return whether a grid has all the values of a point."""
    known = _as_read(parameters)
    return known.keys() == grid.keys() and all(value in grid[name] for name, value in known.items())


def _as_read(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters as they would be after writing and reading."""
    known: dict[str, Any] = json.loads(json.dumps(parameters, default=str))
    return known


def _are_taken(grid: dict[str, list[Any]], told: Sequence[dict[str, Any]]) -> bool:
    """Return whether each value of a grid belongs to some point."""
    taken = {(name, value_key(value)) for parameters in told for name, value in parameters.items()}
    return all((name, value_key(value)) in taken for name, values in grid.items() for value in values)


def _describe(parameters: dict[str, list[Any]]) -> str:
    return ", ".join(f"{path} = {_some(values)}" for path, values in parameters.items())


def _some(values: list[Any]) -> str:
    texts = [str(value) for value in values]
    return f"[{', '.join(texts)}]" if len(texts) <= 6 else f"[{', '.join(texts[:3])}, ... {texts[-1]}]"
