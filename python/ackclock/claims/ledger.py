"""From claims to findings: the necessary simulations, each run once, and the verdicts."""

import itertools
import math
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any

from ackclock._core import Scenario
from ackclock.base.user_code import UserCodeError, blamed
from ackclock.claims.file_types import Verdict
from ackclock.claims.folder import Case, Choice, Claim, Key, Option, Place, Study
from ackclock.claims.intervals import Interval, of_ends, of_mean, of_spread
from ackclock.claims.measured import Measured, Runs, mean
from ackclock.claims.origin import Made, now
from ackclock.claims.region import Region
from ackclock.claims.run_store import run_or_load, run_or_load_on_kernel
from ackclock.claims.subjects import has_edited, is_edited, subject_of
from ackclock.experiments.backends import threads
from ackclock.results import Results
from ackclock.results.manifests import VirtualTime
from ackclock.running import kernel
from ackclock.running.kernel import RefusedError
from ackclock.running.linux_kernels import Kernel
from ackclock.scenario.module_closure import identity

Choices = tuple[Option, ...]
"""Options of a study's choices, one each in order; in findings, of its open choices."""

_Run = tuple[Place, str]
"""Run: its place, and an identity of its scenario."""

_Measurements = dict[tuple[Key, str], list[tuple[Choices, Measured]]]
"""Measurements of a claim of a study by setting, beginning with the setting of the verdict."""

FEW = 3
"""Number of seeds that a laboratory begins with if it may add more."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Finding on one claim.

    Attributes:
        claim: The claim.
        measured: Measurement under the first option of every choice, on which the verdict rests; for a mean of seeds,
            on its whole interval.
        verdict: Verdict on `measured`; for a claim over a grid, on the share of choices that agree.
        first_verdict: Verdict on `measured`.
        recorded: Verdict in the folder's `verdicts.toml`, None for a new claim.
        others: Measurements under other choices, with the verdict on each.
        simulated: Whether this was simulated now; if not, it is a recorded measurement.
        region: Region where all claims hold, for a claim judged with others.
        is_edited: Whether record, recorded verdict and reason are of another scenario, and thus ignored.
        on: Kernel in virtual time that it was measured on, if it was one.
    """

    claim: Claim
    measured: Measured
    verdict: Verdict
    first_verdict: Verdict
    recorded: Verdict | None
    others: tuple[tuple[Choices, Measured, Verdict], ...]
    simulated: bool = True
    region: Region | None = None
    is_edited: bool = False
    on: VirtualTime | None = None

    @property
    def is_on_record(self) -> bool:
        """Whether this is a recorded measurement."""
        return not self.simulated and self.claim.on_record is not None and not self.is_edited

    @property
    def reason(self) -> str:
        """Explanation of the verdict; empty if it is of another scenario."""
        return "" if self.is_edited else self.claim.reason

    @property
    def tried(self) -> int:
        """Number of combinations of choices under which the question arises, including undecided ones."""
        return sum(verdict != "open" for verdict in self._verdicts)

    @property
    def agreeing(self) -> int:
        """Number of combinations under which the claim agrees; if fewer than `tried`, our choices matter."""
        return self._verdicts.count("agrees")

    @property
    def _verdicts(self) -> list[Verdict]:
        return [self.first_verdict, *(verdict for _, _, verdict in self.others)]

    @property
    def made(self) -> Made:
        """Origin of the measurement: this run, or that of the record."""
        return now() if self.simulated else (self.is_on_record and self.claim.made) or Made()

    @property
    def seeds(self) -> int:
        """Number of repetitions in the measured mean; 1 for a single run."""
        interval = self.measured.interval
        return 1 if interval is None else interval.freedom + 1

    @property
    def is_settled(self) -> bool:
        """Whether more seeds are useless: the interval is at most a third of the tolerance, or has no width."""
        if self.claim.share is not None or self.region is not None or self.measured.value is None:
            return True
        measured = [self.measured, *(other for _, other, _ in self.others)]
        halves = [found.interval.half for found in measured if found.interval is not None]
        return all(half <= self.claim.tolerance / 3 for half in halves)

    def as_dict(self) -> dict[str, Any]:
        """Return the claim's entry of `claims.json`."""
        claim, subject = self.claim, subject_of(self.claim)
        first = [choice.options[0] for choice in claim.study.open_choices]
        return {
            **{name: getattr(claim, name) for name in _AS_WRITTEN},
            "why_this_range": claim.why,
            "settings": claim.settings,
            "subject": subject(first) if self.simulated or self.is_on_record else None,
            **_numbers(self.measured),
            "simulated": self.simulated,
            "made": self.made.as_dict() | ({} if self.on is None else {"on": self.on}),
            "verdict": decisive(self).verdict,
            "verdict_of_these": self.verdict,
            "recorded_verdict": self.recorded,
            "reason": self.reason,
            "choices_agreeing": self.agreeing,
            "choices_tried": self.tried,
            "share_wanted": claim.share,
            "region": str(self.region or ""),
            "other_choices": [_other(claim.study, subject(other[0]), *other) for other in self.others],
        }


_AS_WRITTEN = ("id", "origin", "section", "statement", "quantity", "unit", "published", "low", "high", "sign")
"""Attributes of a claim that its entry takes from `claims.toml`."""


def _other(study: Study, subject: str, choices: Choices, measured: Measured, verdict: Verdict) -> dict[str, Any]:
    names = {choice.name: option.name for choice, option in zip(study.open_choices, choices, strict=True)}
    return {"choices": names, "subject": subject, **_numbers(measured), "verdict": verdict}


def _numbers(measured: Measured) -> dict[str, Any]:
    """Return the numbers that `_entry` reads again; infinite ones, such as the interval of one seed, are not JSON."""
    interval, value = measured.interval, measured.value
    known = interval is not None and math.isfinite(interval.low) and math.isfinite(interval.high)
    return {
        "measured": value if value is not None and math.isfinite(value) else None,
        "interval": [interval.low, interval.high] if interval is not None and known else None,
        "seeds": 1 if interval is None else interval.freedom + 1,
        "values": list(measured.values) if all(map(math.isfinite, measured.values)) else [],
        "also": {name: number for name, number in measured.also.items() if math.isfinite(number)},
    }


class Laboratory:
    """Simulator of studies, which runs each distinct scenario once, on all cores."""

    def __init__(
        self,
        *,
        full: bool = False,
        seeds: int | None = None,
        settle: bool = False,
        kept: Path | None = None,
        on_done: Callable[[int, int], None] | None = None,
        on: Kernel | None = None,
    ) -> None:
        """Prepare; nothing is simulated yet.

        Args:
            full: Try every combination of every choice instead of the quick ones, and simulate costly studies.
            seeds: Largest number of repetitions; all listed ones by default.
            settle: Begin with a few repetitions and add more, up to `seeds`, until every interval is at most a third of
                its claim's tolerance. Widths decide, never verdicts, so stopping early favours none.
            kept: Folder that caches results; they are then read on access, and not held in memory.
            on_done: Called after each simulation with the finished and the total number.
            on: Kernel in virtual time for runs on the kernel; this machine's by default. Simulated hosts beside it
                have no noise, as its hosts have none.
        """
        self._full = full
        self._seeds = seeds
        self._begun: dict[Key, int] = {}
        self.settles = settle
        self._kept = kept
        self._on_done = on_done
        self._on = on
        self._refused: set[Key] = set()
        self._results: dict[_Run, Callable[[], Results]] = {}
        self._runs: dict[tuple[Key, Choices, str], _Run] = {}

    def simulate(self, studies: Iterable[Study]) -> None:
        """Run everything that these studies need: simulations on all cores, then runs on the kernel.

        Runs on this machine's kernel follow one another with nothing beside them, since they are in real time. A study
        of which a kernel in virtual time refuses a run is left out, with a warning.
        """
        studies = list(studies)
        wanted: dict[_Run, Scenario] = {}
        for study in filter(self.simulates, studies):
            for choices, case in itertools.product(self.grid(study), study.cases):
                is_quiet = self._on is not None and study.is_on_kernel and case.on == "simulator"
                scenario = _scenario(case, choices, _QUIET if is_quiet else ())
                key = self._runs[study.key, choices, case.name] = case.on, identity(scenario)
                if key not in self._results:
                    wanted[key] = scenario
        done = self._told(len(wanted))
        simulated = [item for item in wanted.items() if item[0][0] == "simulator"]
        with closing(threads(simulated, lambda item: self._simulated(item[1]))) as runs:
            for (key, _), results in runs:
                done(key, results)
        on_kernel = [item for item in wanted.items() if item[0][0] == "kernel"]
        jobs = 1 if self._on is None else None
        with closing(threads(on_kernel, lambda item: self._ran_on_kernel(item[1]), jobs)) as runs:
            for (key, _), results in runs:
                done(key, results)
        self._leave_out(studies)

    def _ran_on_kernel(self, scenario: Scenario) -> Callable[[], Results]:
        """Run on the kernel, and return a function that gives the results; it raises the refusal if there is one."""
        try:
            there = run_or_load_on_kernel(scenario, self._kept, self._on)
        except RefusedError as error:
            if self._on is None:
                raise
            return partial(_refuse, error)
        return lambda: there

    def _leave_out(self, studies: Iterable[Study]) -> None:
        """Leave out the studies of which a kernel in virtual time has refused a run."""
        for study in filter(self.simulates, studies):
            cases = [case.name for case in study.cases if case.on == "kernel"]
            try:
                for choices, case in itertools.product(self.grid(study), cases):
                    self._results[self._runs[study.key, choices, case]]()
            except RefusedError as error:
                self._refused.add(study.key)
                said = str(error).partition("\n")[0].removeprefix("error: ")
                warnings.warn(f"{study.title} is left out: {said}", stacklevel=2)

    def _simulated(self, scenario: Scenario) -> Callable[[], Results]:
        """Simulate, and return a function that gives the results, loading them if they are cached."""
        results = run_or_load(scenario, self._kept)
        return (lambda: results) if self._kept is None else partial(run_or_load, scenario, self._kept)

    def _told(self, count: int) -> Callable[[_Run, Callable[[], Results]], None]:
        """Return a function that stores results and reports progress out of `count`."""
        numbers = itertools.count(1)

        def done(key: _Run, results: Callable[[], Results]) -> None:
            self._results[key] = results
            if self._on_done:
                self._on_done(next(numbers), count)

        return done

    def grid(self, study: Study) -> list[Choices]:
        """Return the combinations of choices to try, beginning with the one of the verdict."""
        every = itertools.product(*[self._tried(study, choice) for choice in study.choices])
        return [choices for choices in every if not study.leaves_out(choices)]

    def _tried(self, study: Study, choice: Choice) -> tuple[Option, ...]:
        if not choice.repeats:
            return choice.options if self._full else choice.options[: choice.quick]
        if self.settles:
            return self._listed(choice)[: self._begun.get(study.key, min(choice.quick, FEW))]
        return self._listed(choice) if self._full else self._listed(choice)[: choice.quick]

    def _listed(self, choice: Choice) -> tuple[Option, ...]:
        return choice.options[: self._seeds]

    def add_seeds(self, study: Study) -> bool:
        """Increase the repetitions of a study by half, and return whether seeds were left."""
        for choice in study.choices:
            count = len(self._tried(study, choice))
            if choice.repeats and self.settles and self.simulates(study) and count < len(self._listed(choice)):
                self._begun[study.key] = count + max(count // 2, 1)
                return True
        return False

    def settings(self, study: Study) -> dict[Choices, list[Choices]]:
        """Return the combinations of the open choices with their repetitions, beginning with the one of the verdict."""
        settings: dict[Choices, list[Choices]] = {}
        for choices in self.grid(study):
            chosen = zip(study.choices, choices, strict=True)
            settings.setdefault(tuple(option for choice, option in chosen if not choice.repeats), []).append(choices)
        return settings

    def simulates(self, study: Study) -> bool:
        """Return whether a study is run: a costly one needs `--full`, others their files or kernel."""
        has_files = all(os.environ.get(name) for name in study.needs)
        has_kernel = not study.is_on_kernel or (
            not kernel.missing() if self._on is None else study.key not in self._refused
        )
        return (self._full or not study.costly) and has_files and has_kernel

    def kernel_of(self, finding: Finding) -> VirtualTime | None:
        """Return the kernel in virtual time that a finding was measured on, if it was one."""
        is_there = self._on is not None and finding.simulated and finding.claim.study.is_on_kernel
        return self._on.identity if self._on is not None and is_there else None

    def runs(self, study: Study, choices: Choices | None = None) -> dict[str, Results]:
        """Return the results of a study's cases."""
        chosen = choices or self.grid(study)[0]
        return {case.name: self._results[self._runs[study.key, chosen, case.name]]() for case in study.cases}

    def __len__(self) -> int:
        """Return the number of simulations run."""
        return len(self._results)


_QUIET = ("tcp.host_noise=0 ns",)
"""Settings of simulated hosts beside those of a kernel in virtual time, which takes no time for anything."""


def _refuse(error: RefusedError) -> Results:
    raise error


def _scenario(case: Case, choices: Choices, last: Sequence[str] = ()) -> Scenario:
    chosen = [override for option in choices for override in option.on(case.scenario)]
    texts = (*chosen, *case.overrides, *last)
    return Scenario.load(str(case.scenario), [os.path.expandvars(text) for text in texts])


def judge(claims: Sequence[Claim], laboratory: Laboratory, recorded: dict[str, Verdict]) -> list[Finding]:
    """Simulate the studies of claims, and judge each claim."""
    studies = {claim.study.key: claim.study for claim in claims}
    edited = {_named(each) for claim in claims for each in (claim, *claim.beside) if is_edited(each)}
    claims = [replace(each, reason="") if any(map(has_edited, each.cites)) else each for each in claims]
    while True:
        laboratory.simulate(studies.values())
        simulated = _measured(claims, laboratory)
        regions = _regions(claims, simulated)
        findings = [
            _of_another(found) if _named(found.claim) in edited else found
            for found in (
                _finding(each, simulated, recorded.get(each.id), regions.get(_of_region(each))) for each in claims
            )
        ]
        unsettled = {f.claim.study.key: f.claim.study for f in findings if not f.is_settled}
        studies = {key: study for key, study in unsettled.items() if laboratory.add_seeds(study)}
        if not studies:
            return [_at(laboratory.kernel_of(found), found) for found in findings]


def _at(on: VirtualTime | None, found: Finding) -> Finding:
    """Return a finding with the kernel that it was measured on; records are of other kernels, in real time."""
    return found if on is None else replace(found, on=on, recorded=None)


def _of_another(found: Finding) -> Finding:
    """Return a finding without records of another scenario; numbers of unedited choices may remain."""
    return replace(found, is_edited=True, recorded=None, verdict=found.verdict if found.simulated else "open")


def _measured(claims: Sequence[Claim], laboratory: Laboratory) -> _Measurements:
    """Measure everything that was simulated, including the claims judged together with these.

    Settings of a study are processed one after the other, so that only one setting's results are in memory.
    """
    wanted = {_named(each): each for claim in claims for each in (claim, *claim.beside)}
    found: _Measurements = {}
    for study in {each.study.key: each.study for each in wanted.values()}.values():
        of_study = [each for each in wanted.values() if each.study.key == study.key]
        if not laboratory.simulates(study):
            continue
        for setting, repetitions in laboratory.settings(study).items():
            runs = [laboratory.runs(study, choices) for choices in repetitions]
            for claim in of_study:
                measured = _repeated(study, mean([measured_of(claim, each) for each in runs]))
                found.setdefault(_named(claim), []).append((setting, measured))
    return found


def measured_of(claim: Claim, runs: Runs) -> Measured:
    """Measure a claim, using the folder's own code.

    Raises:
        UserCodeError: If the code fails, or does not return a measurement of numbers.
    """
    file = claim.study.folder / "measure.py"
    with blamed(file):
        found = claim.measure(runs)
    if not isinstance(found, Measured):
        raise UserCodeError(f"{file}: the measure of {claim.id} must return a Measured, and returns {found!r:.60}")
    if wrong := _mistake(found):
        raise UserCodeError(f"{file}: the measure of {claim.id}: {wrong}; None says that the question does not arise")
    value = None if found.value is None else _plain(found.value)
    also = {name: _plain(number) for name, number in found.also.items()}
    return replace(found, value=value, also=also, weight=_plain(found.weight))


def _mistake(found: Measured) -> str:
    """Return the mistake of a measurement. Infinity is allowed, such as for a ratio over zero, but not as a weight."""
    if not isinstance(found.also, Mapping):
        return f"also must be a dictionary of numbers, and is {found.also!r:.60}"
    named = [("weight", found.weight), *found.also.items()]
    for name, number in named if found.value is None else [("value", found.value), *named]:
        if not isinstance(number, Real) or math.isnan(number):
            return f"{name} must be a number, and is {number!r:.60}"
    if not 0 <= found.weight < math.inf:
        return f"weight must be finite and not negative, and is {found.weight!r:.60}"
    return ""


def _plain(number: float) -> float:
    """Return a number as a plain Python float, which JSON takes, unlike NumPy's integers and short floats."""
    return number if isinstance(number, int | float) else float(number)


def _named(claim: Claim) -> tuple[Key, str]:
    return claim.study.key, claim.id


def _regions(claims: Sequence[Claim], simulated: _Measurements) -> dict[Key, Region]:
    """Judge the claims of each region, whether or not all were requested, as they share simulations.

    Records are used if they cover all of the grid; a part of it proves nothing.
    """
    found: dict[Key, Region] = {}
    for claim in claims:
        if claim.region and (key := _of_region(claim)) not in found:
            columns = [_judged(other, simulated.get(_named(other)) or _on_record(other)) for other in claim.beside]
            size = math.prod(len(choice.options) for choice in claim.study.open_choices)
            if _named(claim) in simulated or all(len(column) == size for column in columns):
                cells = {rows[0][0]: tuple(verdict for _, _, verdict in rows) for rows in zip(*columns, strict=True)}
                found[key] = Region(claim.region, tuple(other.id for other in claim.beside), cells)
    return found


def _of_region(claim: Claim) -> Key:
    return claim.study.folder, claim.region


def _judged(claim: Claim, measurements: Sequence[tuple[Choices, Measured]]) -> list[tuple[Choices, Measured, Verdict]]:
    return [(choices, found, claim.verdict(found.value, found.interval)) for choices, found in measurements]


def _finding(claim: Claim, simulated: _Measurements, recorded: Verdict | None, region: Region | None) -> Finding:
    measurements = simulated.get(_named(claim))
    is_simulated = measurements is not None
    return _found(claim, measurements or _on_record(claim), recorded, region, simulated=is_simulated)


def _found(
    claim: Claim,
    measurements: Sequence[tuple[Choices, Measured]],
    recorded: Verdict | None,
    region: Region | None,
    *,
    simulated: bool,
) -> Finding:
    judged = _judged(claim, measurements)
    (_, measured, first_verdict), *others = judged
    verdicts = [verdict for _, _, verdict in judged]
    verdict = first_verdict if claim.share is None else over_grid(verdicts, claim.share)
    if claim.region:
        verdict = "open" if region is None else region.verdict
    return Finding(claim, measured, verdict, first_verdict, recorded, tuple(others), simulated, region)


def _repeated(study: Study, measured: Measured) -> Measured:
    """Return a measurement; a single seed among several says nothing about their mean."""
    if not study.repeats or measured.value is None or measured.interval is not None:
        return measured
    return replace(measured, interval=of_mean([measured.value]), values=(measured.value,))


def _on_record(claim: Claim) -> list[tuple[Choices, Measured]]:
    """Return the recorded measurements of the current scenarios; a claim without any is open.

    A record from before a choice was added counts for that choice's first option, if that leaves the scenario
    unchanged.
    """
    choices = claim.study.open_choices
    first = tuple(choice.options[0] for choice in choices)
    entry = claim.on_record
    if entry is None:
        return [(first, Measured(None))]
    subject = subject_of(claim)
    cells = [(first, entry), *((claim.study.combination(other["choices"]), other) for other in entry["other_choices"])]
    kept = [(chosen, cell) for chosen, cell in cells if cell.get("subject") == subject(chosen)]
    found = [(chosen, _entry(claim.study, cell)) for chosen, cell in kept if cell is entry or chosen != first]
    return found if kept[:1] == cells[:1] else [(first, Measured(None)), *found]


def _entry(study: Study, entry: Mapping[str, Any]) -> Measured:
    """Return a recorded measurement with its interval; earlier records have the spread and number of seeds."""
    value, also = entry["measured"], entry["also"]
    if value is None:
        return Measured(None, also)
    values = tuple(entry.get("values", ()))
    interval: Interval | None = None
    if entry.get("interval") is not None:  # as it was: a ratio of sums has another than the mean of its values
        low, high = entry["interval"]
        interval = of_ends(low, high, int(entry["seeds"]))
    elif values:
        interval = of_mean(values)
    elif "seeds" in also:
        interval = of_spread(value, also["deviation"], int(also["seeds"]))
    return _repeated(study, Measured(value, also, interval=interval, values=values))


def decisive(finding: Finding) -> Finding:
    """Return the finding that decides: the new one, or the recorded one if it rests on more data."""
    return recorded_with_more(finding) or finding


def recorded_with_more(finding: Finding) -> Finding | None:
    """Return the recorded finding of a claim that was simulated now, if it rests on more data; it decides.

    More data means more seeds, or for a claim over a grid more of the grid's choices with no fewer seeds.
    """
    claim = finding.claim
    if not finding.simulated or claim.on_record is None or claim.region or finding.is_edited or finding.on is not None:
        return None
    record = _found(claim, _on_record(claim), finding.recorded, None, simulated=False)
    has_more_seeds = claim.study.repeats and record.seeds > finding.seeds
    has_more_choices = claim.share is not None and record.seeds == finding.seeds and record.tried > finding.tried
    return record if has_more_seeds or has_more_choices else None


def over_grid(verdicts: Sequence[Verdict], share: float) -> Verdict:
    """Judge a claim whose settings are lost by the share of choices that agree.

    Args:
        verdicts: Verdict under each combination of choices; open where the question does not arise.
        share: Share that must agree.

    Examples:
        >>> over_grid(["agrees", "agrees", "differs"], 0.6), over_grid(["agrees", "differs"], 0.6)
        ('agrees', 'differs')
        >>> over_grid(["open", "open"], 0.6), over_grid(["agrees", "open"], 0.6)
        ('open', 'agrees')
        >>> over_grid(["agrees", "undecided", "differs"], 0.6)  # a third of them, or two thirds
        'undecided'
        >>> over_grid(["agrees"] * 11 + ["differs"] * 9, 0.55)
        'agrees'
    """
    judged = [verdict for verdict in verdicts if verdict != "open"]
    if not judged:
        return "open"
    wanted, agreeing = math.ceil(round(share * len(judged), 6)), judged.count("agrees")  # 0.55 x 20 is above 11
    if agreeing >= wanted:
        return "agrees"
    return "undecided" if agreeing + judged.count("undecided") >= wanted else "differs"
