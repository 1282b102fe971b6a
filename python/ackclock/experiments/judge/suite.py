"""A suite of criteria: its files, their hash, and the scenario of each run.

Source: RFC 9743 (BCP 133), sections 5 to 7. Departures: it sets no thresholds. Where neither it nor a paper has one,
the bound is what CUBIC or Reno does on the same path with the same seed. Paths are a Latin hypercube sample (McKay,
Beckman and Conover, Technometrics 21(2), 1979): of each range, every seed draws from another stratum.
"""

import copy
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from ackclock._core import Scenario
from ackclock.base import input_files
from ackclock.base.decoding import decoded, decoded_toml
from ackclock.base.input_files import InputError
from ackclock.scenario.dumbbells import scenario_text
from ackclock.scenario.setting_values import value_text

CURRENT: Final = "2027.1"
"""Name of the current suite."""

JUDGED: Final = "judged"
"""Beginning of the names of the flows whose controller is judged."""

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """Scenario of a criterion, without the judged controller.

    Attributes:
        criterion: Id of the criterion.
        name: Name, unique in the criterion.
        document: Keys of the scenario.
        capacity_bps: Mean capacity of the bottleneck within the window; None for that of its constant rate.
        yardsticks: Controllers whose result is the bound; empty with an absolute limit.
        starts: Start of flows that have none of their own, and that of repetitions; `{ first, spacing }`.
    """

    criterion: str
    name: str
    document: Document
    capacity_bps: float | None
    yardsticks: tuple[str, ...]
    starts: tuple[Document, Document]

    def scenario(
        self,
        controller: Any,  # noqa: ANN401  a name or a table
        draw: "Draw",
        folder: str = ".",
        *,
        again: bool = False,
    ) -> Scenario:
        """Return the scenario of a run.

        Args:
            controller: Controller of the judged flows, as a scenario takes it; None leaves these flows out.
            draw: Draw of the path, and seed of the run.
            folder: Folder that is searched first for the controller's files.
            again: Whether to start flows at other moments.

        Raises:
            ScenarioError: If the controller is wrong.
        """
        document = copy.deepcopy(dict(self.document))
        use = controller.get("use") if isinstance(controller, Mapping) else None
        if use is not None:
            document["use"] = use
            controller = {key: value for key, value in controller.items() if key != "use"}
        flows = [flow for flow in document["flow"] if controller is not None or not is_judged(flow["name"])]
        for flow in flows:
            start = self.starts[again]
            flow.setdefault("start", start if "count" in flow else start["first"])
            if is_judged(flow["name"]):
                flow["controller"] = controller
        document |= {"flow": flows, "seed": draw.seed}
        document["topology"]["bottleneck"] = _stratified(document["topology"]["bottleneck"], draw, self.criterion)
        return Scenario.from_json(scenario_text(document), (), folder)


@dataclass(frozen=True, slots=True)
class Criterion:
    """Criterion of RFC 9743, or a part of one.

    Attributes:
        id: Short name, unique in the suite.
        section: Section of RFC 9743.
        title: Title in a table.
        against: Victim of a bad result; "its own user" for a result that is no harm to others.
        metric: Name of a function of `criterion_metrics`.
        of: Beginning of the names of the measured flows.
        unit: Unit of the metric.
        limit: Largest value, for an absolute bound.
        least: Difference from the yardstick, in the metric's unit, that does not matter.
        source: Source of the bound.
        meaning: Description of the measurement, as sentences.
        cases: Scenarios.
    """

    id: str
    section: str
    title: str
    against: str
    metric: str
    unit: str
    source: str
    meaning: str
    cases: tuple[Case, ...]
    of: str = JUDGED
    limit: float | None = None
    least: float = 0.0

    @property
    def is_harm(self) -> bool:
        """Whether a bad result harms others: the network, or flows of others or of its own kind."""
        return self.against != "its own user"


@dataclass(frozen=True, slots=True)
class Suite:
    """Frozen set of criteria.

    Attributes:
        name: Name, such as 2027.1.
        year: Year whose draw is the suite's own.
        seeds: Number of seeds of each case.
        criteria: Criteria in the order of the RFC.
        unanswered: Sections that no run answers: `section`, `title` and `why`.
        sha256: Hash of the suite's files.
    """

    name: str
    year: int
    seeds: int
    criteria: tuple[Criterion, ...]
    unanswered: tuple[Mapping[str, str], ...]
    sha256: str = field(repr=False)

    def draws_of(self, year: int) -> list["Draw"]:
        """Return the draws of a year, one for each seed."""
        return [Draw(self.name, year, index, self.seeds) for index in range(1, self.seeds + 1)]


@dataclass(frozen=True, slots=True)
class Draw:
    """One of a year's draws, by the published rule.

    Attributes:
        suite: Name of the suite.
        year: Year of the draws.
        index: Number of the draw, from 1 on.
        count: Number of draws of the year, and of strata of each range.
    """

    suite: str
    year: int
    index: int
    count: int

    @property
    def seed(self) -> int:
        """Seed of the run: the first four octets of a SHA-256, as an unsigned big-endian number.

        Examples:
            >>> Draw("2027.1", 2027, 1, 6).seed  # printf 'ackclock suite 2027.1, year 2027, seed 1' | sha256sum
            2901177017
        """
        return int.from_bytes(_digest(self.suite, self.year, self.index)[:4], "big")

    def stratum(self, place: str) -> int:
        """Return the stratum of a range, from 0 on: the rank of this draw's SHA-256 among those of the year.

        Args:
            place: Id of the criterion and place of the range in the bottleneck's table, such as `loss.queue.limit`. The
                hashed text ends with it.

        Examples:
            >>> [Draw("2027.1", 2027, index, 6).stratum("loss.rate") for index in range(1, 7)]
            [5, 1, 2, 4, 0, 3]
        """
        ranked = sorted(range(1, self.count + 1), key=lambda index: _digest(self.suite, self.year, index, place))
        return ranked.index(self.index)


def _digest(suite: str, year: int, index: int, *place: str) -> bytes:
    text = ", ".join((f"ackclock suite {suite}", f"year {year}", f"seed {index}", *place))
    return hashlib.sha256(text.encode()).digest()


def _stratified(value: Any, draw: Draw, place: str) -> Any:  # noqa: ANN401  a value of a scenario
    """Return a value of the bottleneck, each of whose ranges is narrowed to the draw's stratum."""
    if not isinstance(value, Mapping):
        return value
    law, ends = next(iter(value.items()))
    if len(value) != 1 or law not in ("uniform", "log_uniform", "choice"):
        return {key: _stratified(of, draw, f"{place}.{key}") for key, of in value.items()}
    index = draw.stratum(place)
    if law == "choice":
        first = index * len(ends) // draw.count
        return {law: ends[first : max(first + 1, (index + 1) * len(ends) // draw.count)]}
    (low, unit), (high, other) = (end.split(" ", 1) for end in ends)
    assert unit == other, ends
    return {law: [_between(law, float(low), float(high), (index + i) / draw.count, unit) for i in (0, 1)]}


def _between(law: str, low: float, high: float, share: float, unit: str) -> str:
    """Return the value at a share of a range, 0 to 1."""
    value = low + (high - low) * share if law == "uniform" else low * (high / low) ** share
    return f"{value:.{0 if unit == 'packets' else 3}f} {unit}"


def is_judged(flow: str) -> bool:
    """Return whether a flow is one whose controller is judged."""
    return flow.startswith(JUDGED)


@cache
def load(name: str = CURRENT) -> Suite:
    """Read a suite.

    Raises:
        InputError: If there is none of this name.
    """
    folder = Path(__file__).parent / f"suite-{name}"
    if not folder.is_dir():
        known = ", ".join(sorted(path.name.removeprefix("suite-") for path in folder.parent.glob("suite-*")))
        raise InputError(f"--suite {name}: unknown suite; write one of {known}")
    return read(folder)


def read(folder: Path) -> Suite:
    """Read the suite of a folder: `suite.toml`, and criteria in all other TOML files, in the order of their names."""
    files = sorted(folder.glob("*.toml"))
    texts = {file.name: input_files.text(file, remedy="install ackclock again") for file in files}
    head = decoded_toml(texts["suite.toml"])
    tables = [table for name in texts if name != "suite.toml" for table in decoded_toml(texts[name])["criterion"]]
    criteria = tuple(_criterion(table, head) for table in tables)
    return Suite(
        head["name"],
        head["year"],
        head["seeds"],
        criteria,
        tuple(head["unanswered"]),
        sha256=_sha256(texts),
    )


def _sha256(texts: Mapping[str, str]) -> str:
    """Return the hash of files' names and texts, which does not depend on how a checkout ends its lines."""
    return hashlib.sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()


def _criterion(table: Document, head: Document) -> Criterion:
    values = dict(table)
    yardsticks = tuple(values.pop("yardsticks", ()))
    cases = tuple(_case(case, head, yardsticks, values["id"]) for case in values.pop("case"))
    return Criterion(**values, cases=cases)


def _case(table: Document, head: Document, yardsticks: tuple[str, ...], criterion: str) -> Case:
    keys = dict(table)
    name, bottleneck = keys.pop("name"), keys.pop("bottleneck", {})
    capacity, own = keys.pop("capacity_bps", None), keys.pop("yardsticks", yardsticks)
    starts = keys.pop("start", head["start"]), keys.pop("again", head["again"])
    document: dict[str, Any] = copy.deepcopy(head["base"]) | {"name": f"{criterion}: {name}"} | keys
    document["topology"]["bottleneck"] |= bottleneck
    return Case(criterion, name, document, capacity, tuple(own), starts)


def controller_of(text: str) -> Any:  # noqa: ANN401  a name or a table
    """Return a controller from the command line, as a scenario takes it.

    Args:
        text: A name, or a table in TOML, such as `{ kind = "cubic", beta = 0.8 }`, or in JSON, as rows have it.

    Raises:
        InputError: If it is neither.
    """
    if not text.strip().startswith("{"):
        if not text.strip():
            raise InputError("CONTROLLER is empty; name one, such as cubic: ackclock list controllers")
        return text.strip()
    try:
        return decoded(text)
    except ValueError:
        pass
    try:
        return decoded_toml(f"controller = {text}")["controller"]
    except ValueError as error:
        example = '{ kind = "cubic", beta = 0.8 }'
        raise InputError(f"{text}: must be a name or a TOML table such as {example}: {error}") from error


def label_of(controller: Any) -> str:  # noqa: ANN401  a name or a table
    """Return a controller as one line of text: its name, or its table.

    Examples:
        >>> label_of("cubic"), label_of({"kind": "cubic", "beta": 0.8})
        ('cubic', '{"kind": "cubic", "beta": 0.8}')
    """
    return controller if isinstance(controller, str) else json.dumps(controller, ensure_ascii=False)


def shown(label: str) -> str:
    """Return the text for people of a controller's label.

    Examples:
        >>> shown("cubic"), shown('{"kind": "policy", "file": "learnt/policy.onnx"}')
        ('cubic', 'learnt/policy.onnx')
    """
    return value_text(controller_of(label))
