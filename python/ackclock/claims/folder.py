"""Reader of a folder of claims."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Literal, Self

from ackclock.base import input_files, user_code
from ackclock.base.checked_files import mismatch
from ackclock.base.printable import meant, plain, unknown
from ackclock.claims import file_checks, locations, own_code, reasons, records
from ackclock.claims.file_types import Verdict
from ackclock.claims.intervals import Interval
from ackclock.claims.measured import Measured, Runs
from ackclock.claims.origin import Made
from ackclock.scenario import named_modules
from ackclock.scenario.overrides import listed_in, places

Origin = Literal["source", "reading", "ours"]
"""Origin of a statement: the source; the source, with one of our choices fixed otherwise; or ourselves."""

Key = tuple[Path, str]
"""Key of a study among several folders: its folder, and its name there."""


Place = Literal["simulator", "kernel"]
"""Place where a case runs: the simulator, or this machine's kernel, in real time."""


@dataclass(frozen=True, slots=True)
class Option:
    """Option of a choice: a name, the overrides that implement it, and its largest number of repetitions."""

    name: str
    overrides: tuple[str, ...]
    seeds: int | None = None

    @classmethod
    def of(cls, table: dict[str, Any]) -> Self:
        """Read a table of `claims.toml`."""
        return cls(table["name"], tuple(table.get("set", ())), table.get("seeds"))

    def on(self, scenario: Path) -> list[str]:
        """Return the overrides for a scenario: `?flow.B.controller=...` applies only if it has a flow B.

        So does `?appliance.box.far.controller=...` for an appliance "box". `topology.link[*].queue=...` expands to each
        link that the scenario lists.
        """
        wanted = [text.removeprefix("?") for text in self.overrides if not text.startswith("?") or _has(scenario, text)]
        return [each for text in wanted for each in places(scenario, text)]


def _has(scenario: Path, override: str) -> bool:
    kind, name = override.removeprefix("?").split(".")[:2]
    return any(entry.get("name") == name for entry in listed_in(scenario, kind) if isinstance(entry, dict))


@dataclass(frozen=True, slots=True)
class Choice:
    """Setting that the source leaves open; verdicts rest on the first option.

    Attributes:
        name: Name in studies.
        title: Description of the setting.
        why: Reason for the first option.
        quick: Number of options tried without `--full`, from the first on.
        options: All options.
        repeats: Whether the options are repetitions, such as seeds; verdicts then rest on the mean.
    """

    name: str
    title: str
    why: str
    quick: int
    options: tuple[Option, ...]
    repeats: bool = False

    @classmethod
    def of(cls, table: dict[str, Any]) -> Self:
        """Read a table of `claims.toml`; `seeds = 10` is short for ten repetitions with different seeds."""
        if "seeds" in table:
            seeds = [{"name": str(seed), "set": [f"seed={seed}"]} for seed in range(1, table["seeds"] + 1)]
            table = {"quick": 3, **table, "options": seeds, "repeats": True}
        options = tuple(Option.of(option) for option in table["options"])
        quick = table.get("quick", 1)
        tried = len(options) if quick is True else int(quick)
        return cls(table["name"], table["title"], table["why"], tried, options, table.get("repeats", False))

    def option(self, name: str | None) -> Option:
        """Return the option with a name, or the first if there is none."""
        return next((option for option in self.options if option.name == name), self.options[0])


@dataclass(frozen=True, slots=True)
class Case:
    """Run of a study."""

    name: str
    scenario: Path
    overrides: tuple[str, ...]
    on: Place = "simulator"


@dataclass(frozen=True, slots=True)
class Study:
    """Cases that are simulated together under every combination of choices.

    Attributes:
        name: Name, unique in its folder.
        title: Description of the setup.
        cases: The simulations.
        choices: Open settings, and repetitions.
        costly: Whether it is simulated with `--full` only; otherwise its claims show recorded measurements.
        needs: Environment variables that its cases use, such as the folder of recorded traces; if one is not set, the
            claims show recorded measurements.
        folder: Folder of the study.
    """

    name: str
    title: str
    cases: tuple[Case, ...]
    choices: tuple[Choice, ...]
    costly: bool = False
    needs: tuple[str, ...] = ()
    folder: Path = Path()

    @property
    def key(self) -> Key:
        """Key that distinguishes it from studies of the same name in other folders."""
        return self.folder, self.name

    @property
    def open_choices(self) -> tuple[Choice, ...]:
        """Choices that the source leaves open, without repetitions."""
        return tuple(choice for choice in self.choices if not choice.repeats)

    def combination(self, names: Mapping[str, str]) -> tuple[Option, ...]:
        """Return the options of the open choices: those that a record names, else the first."""
        return tuple(choice.option(names.get(choice.name)) for choice in self.open_choices)

    def has(self, names: Mapping[str, str]) -> bool:
        """Return whether its open choices have these options.

        Args:
            names: Options by the names of their choices, as in a record.
        """
        known = {choice.name: {option.name for option in choice.options} for choice in self.open_choices}
        return all(option in known.get(choice, ()) for choice, option in names.items())

    def leaves_out(self, options: Sequence[Option]) -> bool:
        """Return whether a combination is skipped, as one of its options has fewer repetitions than seeds are listed.

        Args:
            options: One of each choice.
        """
        most = min((option.seeds for option in options if option.seeds is not None), default=None)
        chosen = zip(self.choices, options, strict=True)
        return most is not None and any(c.options.index(option) >= most for c, option in chosen if c.repeats)

    @property
    def is_on_kernel(self) -> bool:
        """Whether any of its cases runs on the kernel of this machine."""
        return any(case.on == "kernel" for case in self.cases)

    @property
    def repeats(self) -> bool:
        """Whether it is simulated with several seeds, whose mean is judged."""
        return any(choice.repeats for choice in self.choices)


@dataclass(frozen=True, slots=True)
class Claim:
    """Published statement with the criterion of agreement.

    Attributes:
        id: Id, unique among all folders.
        section: Section of the source.
        study: Study of its cases.
        statement: Statement of the source.
        quantity: Measured quantity.
        unit: Unit of all its numbers; empty for a ratio.
        published: Number of the source, or its word.
        low: Least value that agrees; None for no limit.
        high: Greatest value that agrees; None for no limit.
        why: Reason for this range.
        settings: Origin of the settings.
        reason: Explanation of a difference, or of what decides the numbers, with recorded numbers filled in.
        wording: Reason as written in `claims.toml`.
        measure: Function from the cases' results to the number.
        share: If the source's settings are lost: the share of all choices that must agree for the claim to agree. None
            if the verdict rests on the first option of each.
        region: If they are lost and its statements are judged together: the name of the region in which all hold.
        on_record: Measurement of a `--full` run, for a costly study: its entry of `claims.json`.
        made: Software and date of the recorded measurement.
        sign: Sign of the source's number, if the statement is that one thing is above (1) or below (-1) another; else
            0. A mean on the other side of 0 does not agree, however near it is.
        origin: Origin of the statement.
        beside: The claims of its region, including itself.
        cites: The claims whose recorded numbers its reason gives.
        subject: Subject (`ackclock.claims.subjects`) of its record, recorded verdict and reason; empty if a record
            does not state it, None without a record if `verdicts.toml` does not state it either.
    """

    id: str
    section: str
    study: Study
    statement: str
    quantity: str
    unit: str
    published: str
    low: float | None
    high: float | None
    why: str
    settings: str
    reason: str
    wording: str
    measure: Callable[[Runs], Measured]
    share: float | None = None
    on_record: Mapping[str, Any] | None = None
    made: Made | None = None
    sign: int = 0
    origin: Origin = "source"
    region: str = ""
    beside: tuple["Claim", ...] = ()
    cites: tuple["Claim", ...] = ()
    subject: str | None = None

    @property
    def limits(self) -> tuple[float, float]:
        """Return the limits of agreement, including the source's sign; infinite where there is none."""
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        return (max(low, 0.0) if self.sign > 0 else low, min(high, 0.0) if self.sign < 0 else high)

    @property
    def tolerance(self) -> float:
        """Tolerance of agreement: half the range, or the distance of a single limit from 0."""
        low, high = self.limits
        if math.isfinite(low) and math.isfinite(high):
            return (high - low) / 2
        return abs(low) if math.isfinite(low) else abs(high)

    def verdict(self, value: float | None, interval: Interval | None = None) -> Verdict:
        """Judge a measured value; a claim without a measurement is open.

        Args:
            value: Measured value.
            interval: Interval of its mean, all of which must give the same verdict; without it only the value counts.
        """
        if value is None:
            return "open"
        low, high = self.limits
        least, greatest = (value, value) if interval is None else (interval.low, interval.high)
        if low <= least and greatest <= high:
            return "agrees"
        return "differs" if greatest < low or least > high else "undecided"


@dataclass(frozen=True, slots=True)
class Folder:
    """Claims of one source.

    Attributes:
        path: The folder.
        title: Title of the source.
        source: Reference of the source.
        about: Description of the reproduction, for the head of the page.
        claims: Claims in order.
        recorded: Recorded verdicts.
        pictures: Pictures of the folder's `pictures.py`, if it has one.
    """

    path: Path
    title: str
    source: str
    about: str
    claims: tuple[Claim, ...]
    recorded: dict[str, Verdict]
    pictures: ModuleType | None = None


def load_folders() -> list[Folder]:
    """Read all folders of claims (`ackclock.claims.locations`)."""
    return [load_folder(path) for path in locations.found()]


def load_folder(path: Path) -> Folder:
    """Read one folder of claims.

    Raises:
        ackclock.ScenarioError: If its `claims.toml` has mistakes; it reports all of them.
    """
    listed_in.cache_clear()
    table, mistakes = file_checks.read(path)
    choices = {entry["name"]: Choice.of(entry) for entry in table.get("choice", ())}
    studies = {entry["name"]: _study(path, entry, choices) for entry in table["study"]}
    measures = _listed(load_module(path / "measure.py"), "MEASURES", dict)
    file_checks.check_measures(table, measures, mistakes)
    measured, made = records.read(path)
    entries = file_checks.with_reasons(table, measured, mistakes)
    recorded, subjects = _verdicts(path / VERDICTS, [entry["id"] for entry in table["claim"]])
    subjects |= {name: entry.get("subject") or "" for name, entry in measured.items()}
    claims = tuple(_claim(entry, studies, measures, measured, made, subjects) for entry in entries)
    cited = {entry["id"]: reasons.cited(entry.get("reason", ""), entry["id"]) for entry in table["claim"]}
    claims = tuple(_beside(claim, claims, cited[claim.id]) for claim in claims)
    pictures = load_module(path / "pictures.py") if (path / "pictures.py").exists() else None
    if pictures is not None:
        _check_pictures(_listed(pictures, "PICTURES", (list, tuple)), path / "pictures.py", studies)
    return Folder(path, table["title"], table["source"], table["about"], claims, recorded, pictures)


VERDICTS: Final = "verdicts.toml"


def _verdicts(path: Path, ids: Sequence[str]) -> tuple[dict[str, Verdict], dict[str, str]]:
    """Return the recorded verdict of each claim, and the subjects from the table `subject`."""
    if not path.exists():
        return {}, {}
    found = dict(input_files.toml(path, remedy='write a line for each claim, such as A1 = "agrees"'))
    subjects = found.pop("subject", {})
    if wrong := mismatch(dict[str, Verdict], found) or mismatch(dict[str, str], subjects):
        raise input_files.InputFileError(f'{path}: {wrong}; write a line for each claim, such as A1 = "agrees"')
    if strange := next((name for name in (*found, *subjects) if name not in ids), None):
        said = unknown("claim", strange, ids, lists=False)
        raise input_files.InputFileError(f"{path}: {said}; remove it, or add the claim to claims.toml")
    return found, subjects


def _listed(module: ModuleType, name: str, kind: type | tuple[type, ...]) -> Any:  # noqa: ANN401
    """Return a list from a folder's module, by name."""
    found = getattr(module, name, None)
    if not isinstance(found, kind):
        wanted = "a dictionary by id" if kind is dict else "a list"
        raise input_files.InputFileError(f"{module.__file__}: {name} must be {wanted}; `ackclock claims new` shows one")
    return found


_PICTURE: Final = ("name", "claims", "study", "title")
"""Text attributes of every picture."""


def _check_pictures(pictures: Sequence[Any], file: Path, studies: Collection[str]) -> None:
    """Refuse a wrong picture, and a picture of an unknown study, which would never be seen."""
    for place, picture in enumerate(pictures):
        at = f"{file}: PICTURES[{place}]"
        texts = [getattr(picture, name, None) for name in _PICTURE]
        if not all(isinstance(text, str) for text in texts) or not callable(getattr(picture, "draw", None)):
            raise input_files.InputFileError(f"{at} must be an ackclock.claims.figures.Picture, and is {picture!r:.60}")
        if Path(picture.name).name != picture.name:
            raise input_files.InputFileError(f"{at}: name {picture.name!r} must be that of a file, without a folder")
        if picture.study not in studies:
            there = ", ".join(studies)
            raise input_files.InputFileError(f"{at}: study {picture.study!r} must be one of claims.toml: {there}")


def _study(path: Path, table: dict[str, Any], choices: dict[str, Choice]) -> Study:
    cases = tuple(run for case in table["case"] for run in _runs(path, table, case))
    chosen = tuple(choices[name] for name in table.get("choices", ()))
    return Study(
        name=table["name"],
        title=table["title"],
        cases=cases,
        choices=chosen,
        costly=table.get("costly", False),
        needs=tuple(table.get("needs", ())),
        folder=path.resolve(),
    )


def _runs(path: Path, study: dict[str, Any], case: dict[str, Any]) -> list[Case]:
    """Return the runs of a case: one run, one on each of two places, or several with a seed each."""
    on, count = case.get("on", study.get("on", "simulator")), case.get("runs", study.get("runs", 0))
    places = _PLACES[on]
    scenario, simulated = path / case.get("scenario", study["scenario"]), study.get("set_simulated", ())
    runs = []
    for place in places:
        overrides = (*case.get("set", ()), *(simulated if place == "simulator" else ()))
        settings = tuple(Option(case["name"], overrides).on(scenario))
        name = case["name"] if len(places) == 1 else f"{case['name']}, {place}"
        if count == 0:
            runs.append(Case(name, scenario, settings, place))
        seeds = range(1, count + 1)
        runs += [Case(f"{name}, {seed}", scenario, (*settings, f"seed={seed}"), place) for seed in seeds]
    return runs


_PLACES: dict[str, tuple[Place, ...]] = {
    "simulator": ("simulator",),
    "kernel": ("kernel",),
    "both": ("simulator", "kernel"),
}


def _claim(
    table: dict[str, Any],
    studies: dict[str, Study],
    measures: Mapping[str, Callable[[Runs], Measured]],
    measured: Mapping[str, Mapping[str, Any]],
    made: Mapping[str, Made],
    subjects: Mapping[str, str],
) -> Claim:
    name = table["id"]
    given = {key: value for key, value in table.items() if key != "elsewhere"}
    given |= {"on_record": measured.get(name), "made": made.get(name), "subject": subjects.get(name)}
    return Claim(**{"low": None, "high": None, **given, "study": studies[table["study"]], "measure": measures[name]})


def _beside(claim: Claim, claims: Sequence[Claim], cited: Collection[str]) -> Claim:
    beside = tuple(other for other in claims if claim.region and other.region == claim.region)
    return replace(claim, beside=beside, cites=tuple(other for other in claims if other.id in cited))


def load_module(path: Path) -> ModuleType:
    """Import a file of a folder, whose name need not be a package's.

    Raises:
        InputFileError: If it cannot be imported; the message has the line.
    """
    input_files.octets(path, remedy="write it, as `ackclock claims new` does")  # a pipe would be waited for
    try:
        with user_code.blamed(path):
            return named_modules.executed(f"{own_code.ALIAS}{path.resolve()}", str(path))
    except user_code.UserCodeError as error:
        raise input_files.InputFileError(str(error)) from error


def select(folders: Sequence[Folder], prefixes: Sequence[str]) -> list[Claim]:
    """Return the claims whose id begins with one of the prefixes, or all if there are none.

    Args:
        folders: Folders to search.
        prefixes: Prefixes such as "O" or "O2", in upper or lower case, or the name of a folder such as "rfc".

    Raises:
        LookupError: If a prefix matches nothing; the message has the nearest id, and the folders.
    """
    claims = [claim for folder in folders for claim in folder.claims]
    whole = {claim.id for folder in folders if folder.path.name in prefixes for claim in folder.claims}
    named = {folder.path.name for folder in folders}
    ids = [prefix for prefix in prefixes if prefix not in named]
    wanted = [prefix.lower() for prefix in ids]
    strange = [prefix for prefix in ids if not any(_names(prefix.lower(), claim.id) for claim in claims)]
    if strange:
        # A folder first: "O1" abbreviates any mistyped "opnet-17".
        hint = meant(strange[0], named) or meant(strange[0], [claim.id for claim in claims])
        folders_known = ", ".join(folder.path.name for folder in folders)
        remedy = f"{hint} name an id, such as {claims[0].id}, or a folder: {folders_known}".strip()
        raise LookupError(f'unknown claim "{plain(strange[0])}"; {remedy}')
    if not prefixes:
        return claims
    return [claim for claim in claims if claim.id in whole or any(_names(prefix, claim.id) for prefix in wanted)]


def _names(prefix: str, claim_id: str) -> bool:
    """Return whether a prefix matches an id: `O2` matches O2a and O2b but not O20.

    Examples:
        >>> _names("o2", "O2a"), _names("o2", "O20"), _names("o", "O20")
        (True, False, True)
    """
    rest = claim_id.lower().removeprefix(prefix) if claim_id.lower().startswith(prefix) else None
    return bool(prefix) and rest is not None and not (prefix[-1].isdigit() and rest[:1].isdigit())
