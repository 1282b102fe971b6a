"""Search for the path whose simulation shows the same observables as a recording.

Method: indirect inference (Gourieroux, Monfort and Renault 1993). The observables of `path_figures` are biased
estimates, each mostly of one parameter; simulations have the same bias. So each parameter is multiplied by the ratio of
its observable in the recording to that in the simulation, until the ratio is one. Rate and queue are then refined
within bounds by golden sections, as long as the overall distance shrinks. The error of a parameter is found by
recovering known ones: paths near the estimate are simulated with other seeds and start times, and estimated alike.

Departures: the search assumes one bottleneck with a DropTail queue in both directions, independent loss, and a flow
that had not ended to send all the time.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ackclock._core import Scenario, ScenarioError
from ackclock.base.printable import amount
from ackclock.base.toml_text import scenario_toml
from ackclock.recording.fit.golden_section import least
from ackclock.recording.fit.path import PAYLOAD, FitError, Path, Sender, document
from ackclock.recording.fit.path_figures import PACKET, Figures, How, figures
from ackclock.recording.fit.residuals import Residual, residuals
from ackclock.running import run
from ackclock.stats.estimates import CONFIDENCE
from ackclock.stats.student_t import quantile

if TYPE_CHECKING:
    from ackclock.results import Results

_ROUNDS: Final = 6
_CLOSE: Final = 0.003
"""Relative difference at which observables count as equal."""

_SEEDS: Final = 2
_KNOWN_PATHS: Final = 12

_RUNS: Final = 6
_REFINEMENTS: Final = 10
_REACH_OF_RATE: Final = 0.03
_REACH: Final = 0.12
"""Range of the final search around its start, as a share of the rate and of the queue."""

_LEAST_LOSSES: Final = 3
_LEAST_SHARE: Final = 0.05
"""Share of the largest flow's payload below which flows are left out."""

_LEAST_SCORE: Final = 0.8
"""Score of a quantity below which a path does not explain the recording."""

_MOSTLY: Final = 0.5
"""Share of time at the receive window above which a flow reveals that window, not the path."""

_WORTH_IT: Final = 0.5
"""Factor by which cross traffic, with its three parameters, must reduce the unexplained distance."""

_SELDOM: Final = 0.15
"""Share of time with a queue below which a faster path would look the same."""

_MOST_STEPS: Final = 2_000_000
"""Largest number of samples, which bounds memory and time."""

_FLAT: Final = 0.3
"""Growth of the observable with a doubled queue below which the queue was never full."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Interval:
    """Parameter with its 95 % confidence interval.

    Attributes:
        name: Description with unit.
        value: Estimate.
        low: Lower bound.
        high: Upper bound; infinite where the recording sets none.
    """

    name: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Fit:
    """Estimated path.

    Attributes:
        path: The path.
        parameters: Estimates with their intervals.
        residuals: Comparison of the recording with the scenario's runs.
        notes: Limits of the estimate, in words.
        scenario: The scenario.
        text: Text of its file.
        results: Results of one run.
    """

    path: Path
    parameters: tuple[Interval, ...]
    residuals: tuple[Residual, ...]
    notes: tuple[str, ...]
    scenario: Scenario
    text: str
    results: "Results"


@dataclass(frozen=True, slots=True)
class _Task:
    """Constants of a search."""

    name: str
    senders: tuple[Sender, ...]
    duration_s: float
    profile: str
    how: How

    def scenario(self, path: Path, seed: int = 1, jitter_s: float = 0.0) -> Scenario:
        tree = document(self.name, path, self.senders, self.duration_s, self.profile, jitter_s)
        return Scenario.parse(json.dumps(tree | {"seed": seed}), "<fit>.json")

    def seen(self, path: Path, seed: int = 1, jitter_s: float = 0.0) -> Figures:
        return figures(run(self.scenario(path, seed, jitter_s)), self.how, path.burst)

    def mean(self, path: Path, seeds: Sequence[int]) -> Figures:
        every = [self.seen(path, seed, jitter_s=_jitter(path, seed)) for seed in seeds]
        return _mean(every)


def _jitter(path: Path, seed: int) -> float:
    """Return a random start delay within a round trip."""
    return float(np.random.default_rng(seed).uniform(0, float(path.rtt_s.min()))) if seed > 1 else 0.0


def _mean(every: Sequence[Figures]) -> Figures:
    first = every[0]
    mean: dict[str, Any] = {
        key: _average([getattr(one, key) for one in every])
        for key in (
            "rate_bps",
            "depth_s",
            "early_loss",
            "waiting",
            "rtt_mean_s",
            "rtt_p95_s",
            "cwnd_bytes",
            "retransmitted",
        )
    }
    bursts = [one.burst.rate_bps for one in every if one.burst is not None]
    burst = None if first.burst is None else replace(first.burst, rate_bps=float(np.mean(bursts)))
    base = np.mean([one.base_s for one in every], axis=0)
    goodput = np.mean([one.goodput_bps for one in every], axis=0)
    return replace(first, base_s=base, goodput_bps=goodput, burst=burst, **mean)


def _average(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan


def fit(
    recording: "Results",
    *,
    controller: str | None = None,
    profile: str | None = None,
    name: str | None = None,
    say: Say = lambda _: None,
) -> Fit:
    """Estimate the path of a recording.

    Args:
        recording: Recording of connections that filled their path for a while; or a run, treated alike.
        controller: Controller for all flows, in place of the recorded ones.
        profile: Stack profile of the hosts; by default the run's own, or `linux-6.x` for a recording.
        name: Name of the scenario.
        say: Called with progress messages.

    Raises:
        FitError: If the recording does not determine a path.
    """
    task, notes = _task(recording, controller, profile, name or f"{recording.name}, fitted")
    say("simulating first estimates")
    recorded, path, simulated = _first_path(task, recording)
    unbounded = _unbounded(task, path, recorded, simulated, notes)
    say("searching nearby")
    refined = _refined(task, path, recorded)
    say("finding known paths again")
    parameters = _intervals(task, refined, path, unbounded)
    if refined.loss == 0:
        parameters.append(Interval("random loss (%)", 0.0, 0.0, 100 * _most_loss(recorded)))
    say("running the scenario")
    scenario = task.scenario(refined)
    runs = [run(task.scenario(refined, seed, _jitter(refined, seed))) for seed in range(1, 1 + _RUNS)]
    around = [task.seen(near, seed, _jitter(near, seed)) for seed, near in _drawn(refined, parameters)]
    seen = [figures(one, task.how, refined.burst) for one in runs]
    found = residuals(recorded, seen, around, task.how.flows)
    tree = document(task.name, refined, task.senders, task.duration_s, task.profile)
    notes += _unexplained(found)
    comments = _comments(recording, parameters, notes)
    return Fit(refined, tuple(parameters), tuple(found), tuple(notes), scenario, scenario_toml(tree, comments), runs[0])


def _first_path(task: _Task, recording: "Results") -> tuple[Figures, Path, Figures]:
    """Return the observables of the recording, a path that reproduces them, and those of its simulation.

    A drop of the arrival rate may be the flow's own doing: as the most significant of all intervals is searched, some
    stand out by chance. Cross traffic is kept only if a path without it explains the recording much worse.
    """
    plain = figures(recording, task.how)
    path, simulated = _calibrated(task, _first(plain), plain)
    recorded = figures(recording, task.how, searches=True)
    if recorded.burst is None:
        return plain, path, simulated
    crossed, seen = _calibrated(task, _first(recorded), recorded)
    if _distance(recorded, seen) < _WORTH_IT * _distance(plain, simulated):
        return recorded, crossed, seen
    return plain, path, simulated


def _unbounded(task: _Task, path: Path, recorded: Figures, simulated: Figures, notes: list[str]) -> tuple[str, ...]:
    """Return the parameters for which the recording sets no upper bound, whatever a simulation would show."""
    found = []
    is_limited = recorded.limited > _MOSTLY
    if is_limited:
        share = f"{100 * recorded.limited:.0f} %"
        notes.append(
            f"the receiver's window limited a flow for {share} of the time: the path may have a larger queue and rate"
        )
    elif recorded.waiting < _SELDOM:
        notes.append("packets seldom queued: the rate is uncertain, and the path may be faster")
    if is_limited or recorded.waiting < _SELDOM:
        found.append("rate")
    if found or not _was_full(recorded) or not _is_queue_seen(task, path, simulated):
        found.append("queue")
        notes.append("the queue was never full: its size is a lower bound")
    return tuple(found)


def _was_full(recorded: Figures) -> bool:
    """Return whether packets were lost while others queued; without a list of episodes, whether any were lost."""
    return recorded.full_losses > 0 or (recorded.early_losses == 0 and recorded.retransmitted > 0)


def _drawn(path: Path, parameters: Sequence[Interval]) -> list[tuple[int, Path]]:
    """Draw paths from the intervals of the parameters, each with a seed, as a run is as uncertain as its path."""
    t = quantile(_KNOWN_PATHS - 1, CONFIDENCE)
    draws = np.random.default_rng(2)
    keys = {"rate": "rate", "round": "rtt", "queue": "queue", "random": "loss", "cross": "cross"}
    widths = {keys[one.name.split()[0]]: math.log(one.value / one.low) / t for one in parameters if one.low > 0}
    found = []
    for seed in range(101, 101 + _RUNS):
        factors = {key: float(np.exp(width * draws.standard_normal())) for key, width in widths.items()}
        found.append((seed, path.scaled(**factors)))
    return found


def _task(recording: "Results", controller: str | None, profile: str | None, name: str) -> tuple[_Task, list[str]]:
    told = recording.recording
    if told is not None and len(told["sources"]) > 1:
        raise FitError(
            f"the recording is of {len(told['sources'])} files, the times of each of which begin at 0: which of their "
            "flows shared the path is not known; import one file, or join captures with mergecap"
        )
    flows = recording.summary["flows"]
    most = max((flow["delivered_bytes"] or 0 for flow in flows), default=0)
    if most == 0:
        raise FitError("no flow of the recording delivered any data")
    kept = [flow for flow in flows if (flow["delivered_bytes"] or 0) >= _LEAST_SHARE * most]
    notes = [f"left out: {amount(len(flows) - len(kept), 'flow')} with little data"] if len(kept) < len(flows) else []
    senders = []
    for flow in kept:
        chosen = controller or flow["controller"]
        if not chosen:
            chosen = "cubic"
            notes.append(f"the controller of {flow['name']} is not recorded: cubic is assumed (--controller)")
        size = flow["delivered_bytes"] if flow["completion_s"] is not None else None
        senders.append(Sender(flow["name"], chosen, max(flow["start_s"], 0.0), size))
    chosen_profile = profile or kept[0].get("profile") or "linux-6.x"
    how = _how(recording, tuple(flow["name"] for flow in kept))
    task = _Task(name, tuple(senders), recording.summary["duration_s"], chosen_profile, how)
    _check(task)
    return task, notes


def _unexplained(found: "Sequence[Residual]") -> list[str]:
    """Return the quantities that the path does not explain, which make its intervals meaningless."""
    far = [one.name for one in found if not one.is_within and one.score < _LEAST_SCORE]
    if not far:
        return []
    return [
        f"runs of this path differ from the recording by more than a fifth in {', '.join(far)}: if that matters, ask "
        "whether the controller is the right one (--controller) and the path has one DropTail queue; the intervals "
        "presume both"
    ]


def _check(task: _Task) -> None:
    """Check that controllers and profile exist."""
    path = Path(1e7, np.full(len(task.senders), 0.05), 50, 0.0, None)
    try:
        task.scenario(path)
    except ScenarioError as error:
        first = error.diagnostics[0]
        remedy = first["remedy"] or "name a controller with --controller"
        raise FitError(f"the fitted scenario would be wrong: {first['field']} {first['message']}; {remedy}") from error


def _how(recording: "Results", flows: tuple[str, ...]) -> How:
    table = recording.flows.filter(recording.flows["flow"].is_in(flows))
    columns = [name for name in table.columns if table[name].count()]
    rtt = next((name for name in ("rtt_sample_s", "srtt_s") if name in columns), None)
    rate = next((name for name in ("goodput_bps", "throughput_bps") if name in columns), None)
    if rtt is None or rate is None:
        remedy = "record the sender, or a capture both ways" if recording.is_recorded else "run it with its trace"
        raise FitError(f"the recording has no round trips, or no rates, of its flow: {remedy}")
    if table.height < 20:
        raise FitError(f"the recording has {table.height} samples of its flows; record for longer, or more often")
    known = table.filter(table[rtt].is_not_null())
    gap_s = float(np.median(np.diff(known["time_s"].unique().sort().to_numpy()))) if known.height > 1 else 0.1
    least_s = float(known[rtt].min())  # type: ignore[arg-type]
    known = table.filter(table[rate].is_not_null())
    apart_s = float(np.median(np.diff(known["time_s"].unique().sort().to_numpy()))) if known.height > 1 else 0.1
    window_s = max(0.25, 2 * apart_s, 3 * least_s)
    step_s, duration_s = max(0.01, gap_s), recording.summary["duration_s"]
    if duration_s > _MOST_STEPS * step_s:
        raise FitError(
            f"the recording lasts {duration_s:,.0f} s, in steps of {1e3 * step_s:.0f} ms; cut it where nothing was "
            "sent, or the clock was set"
        )
    return How(flows, rtt, rate, step_s, window_s, duration_s)


def _first(seen: Figures) -> Path:
    """Return the path that the observables suggest directly."""
    if math.isnan(seen.rate_bps) or seen.rate_bps <= 0 or np.isnan(seen.base_s).any():
        raise FitError("the recording shows no rate, or no round trip; record the sending end for some seconds")
    rate_bps = seen.rate_bps / PAYLOAD
    burst = seen.burst
    if burst is not None:
        burst = replace(burst, rate_bps=burst.rate_bps / PAYLOAD)
    loss = seen.early_loss if seen.early_losses >= _LEAST_LOSSES else 0.0
    queue = max(seen.depth_s, 1e-4) * rate_bps / 8 / PACKET
    return Path(rate_bps, seen.base_s.copy(), max(queue, 4.0), loss, burst)


def _ratio(wanted: float, got: float) -> float:
    if not (wanted > 0 and got > 0):
        return 1.0
    return min(max(wanted / got, 0.5), 2.0)


def _next(path: Path, wanted: Figures, got: Figures) -> tuple[Path, float]:
    """Update every parameter by the ratio of its observable; also return the largest deviation from 1."""
    rate = _ratio(wanted.rate_bps, got.rate_bps)
    queue = _ratio(wanted.depth_s, got.depth_s) * rate
    loss = _ratio(wanted.early_loss, got.early_loss) if path.loss > 0 else 1.0
    cross = 1.0
    if path.burst is not None and wanted.burst is not None and got.burst is not None:
        cross = _ratio(wanted.burst.rate_bps, got.burst.rate_bps)
    rtts = wanted.base_s / got.base_s
    moved = path.scaled(rate=rate, queue=queue, loss=loss, cross=cross)
    moved = replace(moved, rtt_s=np.maximum(path.rtt_s * rtts, 1e-5))
    off = max(abs(math.log(factor)) for factor in (rate, queue, cross, *rtts))
    return moved, max(off, abs(math.log(loss)) / 10)


def _calibrated(task: _Task, path: Path, wanted: Figures) -> tuple[Path, Figures]:
    seeds = range(1, 1 + (_SEEDS if path.loss == 0 else 2 * _SEEDS))
    best: tuple[float, Path, Figures] | None = None
    for _ in range(_ROUNDS):
        got = task.mean(path, seeds)
        moved, off = _next(path, wanted, got)
        if best is None or off < best[0]:
            best = off, path, got
        if off < _CLOSE:
            break
        path = moved
    assert best is not None
    return best[1], best[2]


def _most_loss(seen: Figures) -> float:
    """Return the upper 95 % bound of the loss probability if losses are rare, by the Poisson distribution."""
    return min(1.0, most_expected(seen.early_losses) / max(seen.sent * seen.quiet, 1.0))


def most_expected(count: int) -> float:
    """Return the Poisson mean at which a count this low has a probability of 5 %.

    Args:
        count: Observed count.

    Examples:
        The rule of three, and further values from tables of the distribution.

        >>> [round(most_expected(count), 3) for count in range(3)]
        [2.996, 4.744, 6.296]
    """
    low, high = 0.0, 10.0 + 3.0 * count
    for _ in range(60):
        mean = (low + high) / 2
        chance = math.exp(-mean) * sum(mean**one / math.factorial(one) for one in range(count + 1))
        low, high = (mean, high) if chance > 0.05 else (low, mean)
    return low


def _is_queue_seen(task: _Task, path: Path, seen: Figures) -> bool:
    """Return whether a longer queue would have been noticed."""
    longer = task.mean(path.scaled(queue=2.0), range(1, 1 + _SEEDS))
    return bool(seen.depth_s > 0 and math.log(max(longer.depth_s, 1e-9) / seen.depth_s) / math.log(2) > _FLAT)


def _distance(wanted: Figures, got: Figures) -> float:
    """Return the sum over all observables of squared differences of logarithms."""
    pairs = [
        (wanted.rate_bps, got.rate_bps),
        (wanted.depth_s, got.depth_s),
        (wanted.rtt_mean_s, got.rtt_mean_s),
        (wanted.rtt_p95_s, got.rtt_p95_s),
        (wanted.cwnd_bytes, got.cwnd_bytes),
        *zip(wanted.base_s, got.base_s, strict=True),
        *zip(wanted.goodput_bps, got.goodput_bps, strict=True),
    ]
    known = [(a, b) for a, b in pairs if a > 0 and b > 0]
    # Losses are few: their share counts less, and no share not at all.
    lost = math.log((wanted.retransmitted + 1e-4) / (got.retransmitted + 1e-4)) / 4
    return sum(math.log(a / b) ** 2 for a, b in known) + (0.0 if math.isnan(lost) else lost**2)


def _refined(task: _Task, path: Path, wanted: Figures) -> Path:
    """Refine the queue, the rate and the queue again, as long as the distance shrinks."""
    seeds = range(1, 1 + _SEEDS)
    before = _distance(wanted, task.mean(path, seeds))
    # Where losses are random, two runs differ by more than what there is to be won.
    if path.loss > 0 or before < len(task.senders) * _CLOSE**2:
        return path
    steps, distance = {"queue": 0.0, "rate": 0.0}, before

    def moved(name: str, step: float) -> Path:
        return path.scaled(**{key: math.exp(value) for key, value in (steps | {name: step}).items()})

    def distance_at(name: str, step: float) -> float:
        return _distance(wanted, task.mean(moved(name, step), seeds))

    for name, reach in (("queue", _REACH), ("rate", _REACH_OF_RATE), ("queue", _REACH / 2)):
        middle = steps[name]
        step, found = least(partial(distance_at, name), middle - reach, middle + reach, _REFINEMENTS)
        if found < distance:
            steps[name], distance = step, found
    return moved("queue", steps["queue"]) if distance < 0.8 * before else path


def _intervals(task: _Task, path: Path, calibrated: Path, unbounded: tuple[str, ...]) -> list[Interval]:
    """Estimate intervals by recovering known paths around this one; some parameters have no upper bound."""
    at = task.mean(path, range(1, 1 + _SEEDS))
    errors: dict[str, list[float]] = {}
    draws = np.random.default_rng(1)
    for number in range(_KNOWN_PATHS):
        rate, rtt, queue, loss, cross = np.exp(draws.uniform(-1, 1, 5) * (0.05, 0.05, 0.1, 0.3, 0.1))
        known = path.scaled(rate=rate, rtt=rtt, queue=queue, loss=loss, cross=cross)
        got = task.seen(known, seed=100 + number, jitter_s=_jitter(known, 100 + number))
        again, _ = _next(path, got, at)
        for key, (one, other) in _pairs(again, known).items():
            errors.setdefault(key, []).append(math.log(one / other))
    found = []
    for key, (value, before) in _pairs(path, calibrated).items():
        spread = quantile(_KNOWN_PATHS - 1, CONFIDENCE) * float(np.sqrt(np.mean(np.square(errors[key])))) + 0.005
        # Where the last search moved it, the two ways differ by that much.
        spread = math.hypot(spread, math.log(value / before))
        high = math.inf if key.startswith(unbounded) else value * math.exp(spread)
        found.append(Interval(key, value, value * math.exp(-spread), high))
    return found


def _pairs(path: Path, other: Path) -> dict[str, tuple[float, float]]:
    pairs = {"rate (Mbit/s)": (path.rate_bps / 1e6, other.rate_bps / 1e6)}
    for number, (one, two) in enumerate(zip(path.rtt_s, other.rtt_s, strict=True), start=1):
        of = f" of flow {number}" if path.rtt_s.size > 1 else ""
        pairs[f"round trip{of} (ms)"] = (1e3 * one, 1e3 * two)
    pairs["queue (packets)"] = (path.queue_packets, other.queue_packets)
    if path.loss > 0 and other.loss > 0:
        pairs["random loss (%)"] = (100 * path.loss, 100 * other.loss)
    if path.burst is not None and other.burst is not None and path.burst.rate_bps > 0 and other.burst.rate_bps > 0:
        pairs["cross traffic (Mbit/s)"] = (path.burst.rate_bps / 1e6, other.burst.rate_bps / 1e6)
    return pairs


def _comments(recording: "Results", parameters: Sequence[Interval], notes: Sequence[str]) -> list[str]:
    lines = [f"The path that explains {recording.name} best, as `ackclock fit` found it; with 95 % confidence:"]
    for one in parameters:
        most = "any more" if math.isinf(one.high) else f"{one.high:.4g}"
        lines.append(f"{one.name}: {one.value:.4g}, from {one.low:.4g} to {most}")
    return [*lines, *notes]
