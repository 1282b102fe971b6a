"""Statements of the Vegas study on the kernel's clocks, with what the simulator says of the same scenario beside it."""

from collections.abc import Callable

from ackclock.claims.measured import Measured, Runs
from ackclock.results import Results

OBSERVED = ("A1", "A2")
Measure = Callable[[Callable[[str], Results]], dict[str, float]]
"""From a case's results to numbers, of which the first is the claim's."""


def goodput(results: Results, *flows: str) -> float:
    """Return the goodput of connections together, Mbit/s; of both observed ones if none is named."""
    return sum(float(results.flow(name)["goodput_bps"]) / 1e6 for name in flows or OBSERVED)


def quotient(above: str, below: str) -> Measure:
    """Compare both observed connections in two cases."""

    def measure(case: Callable[[str], Results]) -> dict[str, float]:
        rates = {name: goodput(case(name)) for name in (above, below)}
        return {"quotient": rates[above] / rates[below]} | {f"{name}, Mbit/s": rate for name, rate in rates.items()}

    return measure


def what_is_left(case: Callable[[str], Results]) -> dict[str, float]:
    """The share of goodput that backward congestion leaves of Vegas, divided by the share that it leaves of Reno."""
    vegas = goodput(case("3 Vegas")) / goodput(case("1 Vegas"))
    reno = goodput(case("3 Reno")) / goodput(case("1 Reno"))
    return {"quotient": vegas / reno, "left of Vegas": vegas, "left of Reno": reno}


def gain(modified: str, *flows: str) -> Measure:
    """The least gain in goodput of the modified connections over all of them plain, as a multiple."""

    def measure(case: Callable[[str], Results]) -> dict[str, float]:
        found: dict[str, float] = {}
        for flow in flows:
            plain, now = goodput(case("3 Vegas"), flow), goodput(case(modified), flow)
            found |= {f"{flow}, times": now / plain, f"{flow}, Mbit/s": now, f"{flow} when plain, Mbit/s": plain}
        return {"least gain": min(value for name, value in found.items() if name.endswith("times"))} | found

    return measure


def on_both(measure: Measure) -> Callable[[Runs], Measured]:
    """Judge the kernel's number, unless one of its runs was too late; the simulator's stands beside it."""

    def measured(runs: Runs) -> Measured:
        used: list[Results] = []

        def on_kernel(case: str) -> Results:
            used.append(runs[f"{case}, kernel"])
            return used[-1]

        found = {"kernel": measure(on_kernel), "simulator": measure(lambda case: runs[f"{case}, simulator"])}
        also = {f"{name}, {place}": value for place, values in found.items() for name, value in values.items()}
        told = [results.manifest["kernel"] for results in used]
        also["load"] = max(one.get("load", 0.0) for one in told)
        value = next(iter(found["kernel"].values()))
        return Measured(value if all(one["valid"] for one in told) else None, also)

    return measured


MEASURES: dict[str, Callable[[Runs], Measured]] = {
    "K2-V3a": on_both(quotient("3 Reno", "1 Reno")),
    "K2-V3b": on_both(what_is_left),
    "K2-V3c": on_both(quotient("3 Vegas", "2 Vegas")),
    "K2-V5a": on_both(gain("3 first", "A1")),
    "K2-V5b": on_both(gain("3 second", "A2")),
    "K2-V6a": on_both(gain("3 both", "A1", "A2")),
    "K5-V4a": on_both(quotient("3 Vegas, SGPQ", "3 Vegas")),
    "K5-V4b": on_both(quotient("3 Reno, SGPQ", "3 Reno")),
}
