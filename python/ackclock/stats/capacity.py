"""Capacity of the bottleneck over time, from its scenario: a rate, a schedule, or a recorded trace."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ackclock.scenario.quantities import bits_per_second, octets, seconds
from ackclock.stats.metrics import Floats

_BINS = 200
"""Number of bins of a trace over the displayed time."""

_OPPORTUNITY_BYTES = 1500.0
"""Default size of a delivery opportunity, one line of a trace, bytes."""


def over_time(scenario: Mapping[str, Any], end_s: float) -> tuple[Floats, Floats] | None:
    """Return times and rates in bit/s, each rate until the next time; None if no bottleneck has a known rate.

    Args:
        scenario: Scenario with its overrides, as in a manifest.
        end_s: End of the time range.

    Examples:
        >>> link = {"rate": {"schedule": [{"rate": "2 Mbit/s"}, {"at": "3 s", "rate": "1 Mbit/s"}]}}
        >>> over_time({"topology": {"bottleneck": link}}, 5.0)
        (array([0., 3., 5.]), array([2000000., 1000000., 1000000.]))
    """
    rate = _rate(scenario)
    constant = bits_per_second(rate)
    if constant is not None:
        steps = [(0.0, constant), *((at, bps) for at, bps in _changes(scenario) if at < end_s)]
        times, rates = zip(*steps, (end_s, steps[-1][1]), strict=True)
        return np.array(times), np.array(rates)
    if not isinstance(rate, Mapping):
        return None
    return _scheduled(rate, end_s) if "schedule" in rate else _traced(rate, end_s)


def constant_bps(scenario: Mapping[str, Any]) -> float | None:
    """Return the rate of the bottleneck, if it is constant."""
    rate = _rate(scenario)
    entries = rate.get("schedule", ()) if isinstance(rate, Mapping) else [{"rate": rate}]
    rates = {bits_per_second(entry.get("rate")) for entry in entries if isinstance(entry, Mapping)}
    rates |= {bps for _, bps in _changes(scenario)}
    return rates.pop() if len(rates) == 1 else None


def _rate(scenario: Mapping[str, Any]) -> Any:  # noqa: ANN401  a text or a table
    topology = scenario.get("topology")
    link = topology.get("bottleneck") if isinstance(topology, Mapping) else None
    return link.get("rate") if isinstance(link, Mapping) else None


def _changes(scenario: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Return the changes of the bottleneck's rate by `[[change]]`: time and new rate."""
    entries = scenario.get("change")
    found = []
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, Mapping) and entry.get("link") == "bottleneck":
            at, bps = seconds(entry.get("at")), bits_per_second(entry.get("rate"))
            if at is not None and bps is not None:
                found.append((at, bps))
    return sorted(found)


def waits_s(scenario: Mapping[str, Any], link: str, rows: Any) -> Floats | None:  # noqa: ANN401  a table of Polars
    """Return the queueing delay that a packet arriving at each sample would have seen at a link; None if unknown.

    It is the value reported by the discipline, or for a plain queue at a bottleneck of constant rate the queue length
    divided by the rate.

    Args:
        scenario: Scenario with its overrides, as in a manifest.
        link: Name of the link.
        rows: Rows of this link in `Results.links`.
    """
    if "queue_delay_s" in rows.columns and not rows["queue_delay_s"].is_null().all():
        known: Floats = rows["queue_delay_s"].cast(float).to_numpy()
        return known
    rate_bps = constant_bps(scenario) if link == "bottleneck" else None
    if rate_bps is None or "queue_bytes" not in rows.columns:
        return None
    waiting = rows["queue_bytes"].cast(float).to_numpy()
    return np.asarray(waiting * 8 / rate_bps, dtype=np.float64)


def _scheduled(rate: Mapping[str, Any], end_s: float) -> tuple[Floats, Floats] | None:
    entries = [entry for entry in rate["schedule"] if isinstance(entry, Mapping)]
    steps = [(seconds(entry.get("at", "0 s")), bits_per_second(entry.get("rate"))) for entry in entries]
    known = [(at, bps) for at, bps in steps if at is not None and bps is not None]
    if not known or len(known) != len(rate["schedule"]):
        return None
    every = seconds(rate.get("repeat"))
    rounds = int(end_s // every) + 1 if every else 1
    times = [at + number * (every or 0.0) for number in range(rounds) for at, _ in known]
    rates = [bps for _, bps in known] * rounds
    kept = [(at, bps) for at, bps in zip(times, rates, strict=True) if at < end_s]
    kept.append((end_s, kept[-1][1]))
    return np.array([at for at, _ in kept]), np.array([bps for _, bps in kept])


def _traced(rate: Mapping[str, Any], end_s: float) -> tuple[Floats, Floats] | None:
    """Return a trace's rate in bins; differences within a bin would not be visible."""
    text = rate.get("instants")
    if not isinstance(text, str) or not text.split():
        return None
    instants_s = np.array(text.split(), dtype=np.float64) / 1e3
    length_s = float(instants_s[-1]) or 1e-3
    rounds = 1 if rate.get("once") else int(end_s // length_s) + 1
    every = (instants_s[None, :] + length_s * np.arange(rounds)[:, None]).ravel()
    counts, edges = np.histogram(every[every <= end_s], bins=_BINS, range=(0.0, end_s))
    size = octets(rate.get("opportunity")) or _OPPORTUNITY_BYTES
    rates = counts * size * 8 / (end_s / _BINS)
    return edges, np.append(rates, rates[-1])
