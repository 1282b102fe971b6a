"""Reading a folder of claims."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Literal, Self

from ackclock.base import input_files, user_code
from ackclock.base.checked_files import mismatch
from ackclock.base.printable import unknown
from ackclock.claims import file_checks, locations, own_code, reasons, records
from ackclock.claims.file_types import Verdict
from ackclock.claims.intervals import Interval
from ackclock.claims.measured import Measured, Runs
from ackclock.claims.origin import Made
from ackclock.scenario import named_modules
from ackclock.scenario.overrides import listed_in, places

Origin = Literal["source", "reading", "ours"]
"""Whose statement it is: the source's; the source's once more, with a choice of ours fixed otherwise; our own."""

Key = tuple[Path, str]
"""What a study is known by among those of several folders: its folder and its name there."""


Place = Literal["simulator", "kernel"]
"""What runs a case: the kernel is this machine's, in real time."""


@dataclass(frozen=True, slots=True)
class Option:
    """One way to choose: a name, the overrides that make a scenario so, and how often it is repeated at most."""

    name: str
    overrides: tuple[str, ...]
    seeds: int | None = None

    @classmethod
    def of(cls, table: dict[str, Any]) -> Self:
        """Read a table of `claims.toml`."""
        return cls(table["name"], tuple(table.get("set", ())), table.get("seeds"))

    def on(self, scenario: Path) -> list[str]:
        """Return the overrides for a scenario: `?flow.B.controller=...` is one only where it has a flow B.

        So is `?appliance.box.far.controller=...` where it has an appliance "box". `topology.link[*].queue=...` is one
        for each link that the scenario lists.
        """
        wanted = [text.removeprefix("?") for text in self.overrides if text[0] != "?" or _has(scenario, text)]
        return [each for text in wanted for each in places(scenario, text)]


def _has(scenario: Path, override: str) -> bool:
    kind, name = override.removeprefix("?").split(".")[:2]
    return any(entry.get("name") == name for entry in listed_in(scenario, kind) if isinstance(entry, dict))


@dataclass(frozen=True, slots=True)
class Choice:
    """Something that the source leaves open; the first option is the one that verdicts rest on.

    Attributes:
        name: As studies refer to it.
        title: What is chosen.
        why: Why the first option is the first.
        quick: How many options are tried without `--full`, from the first on.
        options: All of them.
        repeats: Whether the options repeat one setting, as seeds do: verdicts rest on the mean of what is measured.
    """

    name: str
    title: str
    why: str
    quick: int
    options: tuple[Option, ...]
    repeats: bool = False

    @classmethod
    def of(cls, table: dict[str, Any]) -> Self:
        """Read a table of `claims.toml`; `seeds = 10` is short for ten options that set the seed, which repeat."""
        if "seeds" in table:
            seeds = [{"name": str(seed), "set": [f"seed={seed}"]} for seed in range(1, table["seeds"] + 1)]
            table = {"quick": 3, **table, "options": seeds, "repeats": True}
        options = tuple(Option.of(option) for option in table["options"])
        quick = table.get("quick", 1)
        tried = len(options) if quick is True else int(quick)
        return cls(table["name"], table["title"], table["why"], tried, options, table.get("repeats", False))

    def option(self, name: str | None) -> Option:
        """Return the option of a name, the first if there is none."""
        return next((option for option in self.options if option.name == name), self.options[0])


@dataclass(frozen=True, slots=True)
class Case:
    """One run of a study."""

    name: str
    scenario: Path
    overrides: tuple[str, ...]
    on: Place = "simulator"


@dataclass(frozen=True, slots=True)
class Study:
    """Cases that are simulated together under every combination of its choices.

    Attributes:
        name: Unique in its folder.
        title: What is simulated.
        cases: The simulations.
        choices: What is left open, and repetitions.
        costly: Whether it is simulated with `--full` only; otherwise its claims show the measurements on record.
        needs: Environment variables that its cases name, such as that of the folder of recorded traces; where one is
            not set, the claims show the measurements on record, too.
        folder: Where it was read.
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
        """What tells it from a study of the same name in another folder."""
        return self.folder, self.name

    @property
    def open_choices(self) -> tuple[Choice, ...]:
        """What the source leaves open: the choices that are no repetitions."""
        return tuple(choice for choice in self.choices if not choice.repeats)

    def combination(self, names: Mapping[str, str]) -> tuple[Option, ...]:
        """Return the options of the open choices that a record names, the first of each choice that it does not."""
        return tuple(choice.option(names.get(choice.name)) for choice in self.open_choices)

    def has(self, names: Mapping[str, str]) -> bool:
        """Whether its open choices have these options.

        Args:
            names: Options by the names of their choices, as a record has them.
        """
        known = {choice.name: {option.name for option in choice.options} for choice in self.open_choices}
        return all(option in known.get(choice, ()) for choice, option in names.items())

    def leaves_out(self, options: Sequence[Option]) -> bool:
        """Whether a combination is not simulated: one of its options is repeated less often than seeds are listed.

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
    """A published statement and what counts as agreement with it.

    Attributes:
        id: Unique among all folders.
        section: Where in the source.
        study: Its cases.
        statement: What the source says.
        quantity: What is measured.
        unit: Of all its numbers; empty for a ratio.
        published: The source's number, or its word.
        low: Least value that agrees.
        high: Greatest value that agrees; `None` is no limit.
        why: Why this range counts as agreement.
        settings: Who fixed which settings.
        reason: What we found where the numbers differ, or what decides them, with the numbers on record.
        wording: The reason as it stands in `claims.toml`.
        measure: From the cases' results to the number.
        share: If the source's settings are lost: the share of all choices tried that must agree for the claim to agree;
            `None` if the verdict rests on the first option of each.
        region: If they are lost and its statements are judged together: the name of the region in which all hold.
        on_record: What a `--full` run measured, for a study that is costly: its entry of `claims.json`.
        made: By what that was measured, and when.
        sign: Of the source's number, if the statement is that one thing is above (1) or below (-1) another: a mean on
            the other side of 0 does not agree, however near it is. 0 if there is no such statement.
        origin: Whose statement it is.
        beside: The claims of its region, itself among them.
        cites: The claims whose numbers on record its reason gives.
        subject: The subject (`ackclock.claims.subjects`) of its record, verdict on record and reason; empty where a
            record does not say it, `None` where there is no record and `verdicts.toml` does not say it either.
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
        """From where to where a value agrees, the source's sign heeded; infinite where there is no limit."""
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        return (max(low, 0.0) if self.sign > 0 else low, min(high, 0.0) if self.sign < 0 else high)

    @property
    def tolerance(self) -> float:
        """How far agreement reaches: half the range, or a limit's distance from 0 where there is one limit."""
        low, high = self.limits
        if math.isfinite(low) and math.isfinite(high):
            return (high - low) / 2
        return abs(low) if math.isfinite(low) else abs(high)

    def verdict(self, value: float | None, interval: Interval | None = None) -> Verdict:
        """Judge a measured value; a claim that nothing was measured for is open.

        Args:
            value: What was measured.
            interval: Where its mean may lie: a verdict is one on all of it. Without one the value alone is judged.
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
    """The claims of one source.

    Attributes:
        path: The folder.
        title: Of the source.
        source: The source, for a list of references.
        about: What was rebuilt, for the head of the page.
        claims: In their order.
        recorded: The verdicts on record.
        pictures: The folder's `pictures.py`, if it has one.
    """

    path: Path
    title: str
    source: str
    about: str
    claims: tuple[Claim, ...]
    recorded: dict[str, Verdict]
    pictures: ModuleType | None = None


def load_folders() -> list[Folder]:
    """Read every folder of claims that is found (`ackclock.claims.locations`)."""
    return [load_folder(path) for path in locations.found()]


def load_folder(path: Path) -> Folder:
    """Read one folder of claims.

    Raises:
        ackclock.ScenarioError: If its `claims.toml` has mistakes; it tells of every one.
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
    """Return the verdict on record of each claim, and of some the subject that it is of: the table `subject`."""
    if not path.exists():
        return {}, {}
    found = dict(input_files.toml(path, remedy='write a line for each claim, such as A1 = "agrees"'))
    subjects = found.pop("subject", {})
    if wrong := mismatch(dict[str, Verdict], found) or mismatch(dict[str, str], subjects):
        raise input_files.InputFileError(f'{path}: {wrong}; write a line for each claim, such as A1 = "agrees"')
    if strange := next((name for name in (*found, *subjects) if name not in ids), None):
        said = unknown("claim", strange, ids, lists=False)
        raise input_files.InputFileError(f"{path}: {said}; take it away, or add the claim to claims.toml")
    return found, subjects


def _listed(module: ModuleType, name: str, kind: type | tuple[type, ...]) -> Any:  # noqa: ANN401
    """What a folder's module has under a name."""
    found = getattr(module, name, None)
    if not isinstance(found, kind):
        wanted = "a dictionary by id" if kind is dict else "a list"
        raise input_files.InputFileError(f"{module.__file__}: {name} must be {wanted}; `ackclock claims new` shows one")
    return found


_PICTURE: Final = ("name", "claims", "study", "title")
"""What every picture says of itself: texts."""


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
    chosen = tuple(choices[name] for name in table["choices"])
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
    """Return what a case comes to: one run, or one on each of two places, or several with a seed each."""
    on, count = case.get("on", study.get("on", "simulator")), case.get("runs", study.get("runs", 0))
    places = _PLACES[on]
    scenario, overrides = path / case.get("scenario", study["scenario"]), tuple(case.get("set", ()))
    runs = []
    for place in places:
        settings = (*overrides, *study.get("set_simulated", ())) if place == "simulator" else overrides
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
    """Load a file of a folder, whose name need not be that of a package.

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
    """Return the claims whose id begins with one of the prefixes, all if there are none.

    Args:
        folders: Where to look.
        prefixes: Such as "O" or "O2", upper or lower case, or the name of a folder such as "rfc".

    Raises:
        LookupError: If a prefix names nothing; the message has the nearest id, and the folders.
    """
    claims = [claim for folder in folders for claim in folder.claims]
    whole = {claim.id for folder in folders if folder.path.name in prefixes for claim in folder.claims}
    named = {folder.path.name for folder in folders}
    ids = [prefix for prefix in prefixes if prefix not in named]
    wanted = [prefix.lower() for prefix in ids]
    strange = [prefix for prefix in ids if not any(_names(prefix.lower(), claim.id) for claim in claims)]
    if strange:
        said = unknown("claim", strange[0], [*named, *(claim.id for claim in claims)], lists=False)
        folders_known = ", ".join(folder.path.name for folder in folders)
        raise LookupError(f"{said}; name an id, such as {claims[0].id}, or a folder: {folders_known}")
    if not prefixes:
        return claims
    return [claim for claim in claims if claim.id in whole or any(_names(prefix, claim.id) for prefix in wanted)]


def _names(prefix: str, claim_id: str) -> bool:
    """`O2` names O2a and O2b but not O20.

    Examples:
        >>> _names("o2", "O2a"), _names("o2", "O20"), _names("o", "O20")
        (True, False, True)
    """
    rest = claim_id.lower().removeprefix(prefix) if claim_id.lower().startswith(prefix) else None
    return bool(prefix) and rest is not None and not (prefix[-1].isdigit() and rest[:1].isdigit())
