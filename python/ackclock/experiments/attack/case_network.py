"""Network of a case: its scenario, and the same in words."""

from collections.abc import Mapping
from typing import Any, Final

from ackclock._core import Scenario
from ackclock.base.printable import amount
from ackclock.experiments.attack.attack_bounds import PATH, Bounds, Case, rounded
from ackclock.scenario.display_names import displayed
from ackclock.scenario.dumbbells import scenario_text

OWN: Final = "own"
"""Beginning of the names of the controller's flows."""

OTHER: Final = "other"
"""Beginning of the names of CUBIC flows on the same path."""

_PACKET_BYTES: Final = 1500
_LEAST_PACKETS: Final = 4
_STARTS: Final = {"uniform": ["0 ms", "200 ms"]}
"""Start of a group's first flow, and spacing of CUBIC flows: seeds differ even where nothing else is random."""


def scenario(
    case: Case,
    bounds: Bounds,
    controller: Any,  # noqa: ANN401  a name or a table
    seed: int,
    folder: str = ".",
    name: str = "attack",
    trace: Any = False,  # noqa: ANN401  as in a scenario
) -> Scenario:
    """Return the scenario of a case.

    Args:
        case: The case.
        bounds: Bounds of the search.
        controller: Controller of the own flows, as a scenario takes it; None leaves these flows out.
        seed: Seed of the run.
        folder: Folder that is searched first for the controller's files.
        name: Name of the scenario.
        trace: Series to record.

    Raises:
        ScenarioError: If the controller is wrong.
    """
    text = scenario_text({**document(case, bounds, controller, seed, name), "trace": trace})
    return Scenario.from_json(text, (), folder)


def document(case: Case, bounds: Bounds, controller: Any, seed: int, name: str) -> dict[str, Any]:  # noqa: ANN401
    """Return the scenario of a case as tables, without `trace`."""
    use = controller.get("use") if isinstance(controller, Mapping) else None
    plain = {key: value for key, value in controller.items() if key != "use"} if use is not None else controller
    return {
        "name": name,
        "duration": _time(bounds.duration_s),
        "seed": seed,
        "measure": {"from": _time(bounds.measure_from_s)},
        **({} if use is None else {"use": use}),
        **({"tcp": dict(bounds.tcp)} if bounds.tcp else {}),
        "topology": {
            "kind": "dumbbell",
            "access": {"rate": _rate(100 * case[PATH]["rate"]), "delay": "0 ms"},
            "bottleneck": _link(case),
        },
        "flow": _flows(case, plain),
    }


def _link(case: Case) -> dict[str, Any]:
    path = case[PATH]
    link: dict[str, Any] = {"rate": _rate(path["rate"]), "delay": _time(path["rtt"] / 2)}
    # The longest delay of a schedule would count in a limit in bdp.
    in_bdp = _packets(path) > _LEAST_PACKETS and "delay_step" not in case
    limit = f"{path['buffer']:g} bdp" if in_bdp else f"{_packets(path)} packets"
    link["queue"] = {"kind": path["queue"], "limit": limit}
    if steps := case.get("rate_steps"):
        low, at = _rate(path["rate"] * steps["share"]), steps["period"] * (1 - steps["part"])
        schedule = [{"at": "0 s", "rate": _rate(path["rate"])}, {"at": _time(at), "rate": low}]
        link["rate"] = {"schedule": schedule, "repeat": _time(steps["period"])}
    if step := case.get("delay_step"):
        times = ((0.0, path["rtt"]), (step["at"], path["rtt"] + step["by"]), (step["at"] + step["lasts"], path["rtt"]))
        link["delay"] = {"schedule": [{"at": _time(at), "delay": _time(rtt / 2)} for at, rtt in times]}
    if loss := case.get("loss"):
        link["loss"] = {"kind": "random", "p": loss["p"]}
    if loss := case.get("burst_loss"):
        link["loss"] = {"kind": "bursts", **loss}
    if jitter := case.get("jitter"):
        link["jitter"] = {"kind": "uniform", "max": _time(jitter["max"])}
    if held := case.get("reordering"):
        link["reorder"] = {"kind": "probability", "p": held["p"], "extra": _time(held["extra"])}
    return link


def _flows(case: Case, controller: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    path, flows = case[PATH], []
    if controller is not None:
        start = {"first": _STARTS, "spacing": _time(path["gap"])}
        flows.append({"name": OWN, "count": path["flows"], "controller": controller, "start": start})
    beside = {"controller": "cubic", "start": {"first": _STARTS, "spacing": _STARTS}}
    if cubic := case.get("cubic"):
        flows.append({"name": OTHER, "count": cubic["flows"], **beside})
    if reverse := case.get("reverse"):
        flows.append({"name": "reverse", "count": reverse["flows"], "reverse": True, **beside})
    if short := case.get("short_flows"):
        flows.append({"name": "short", "controller": "cubic", "arrivals": {"load": short["load"], "size": "50 kB"}})
    if pulse := case.get("pulse"):
        length = _length(pulse)
        app = {"kind": "on_off", "on": _time(length), "off": _time(pulse["period"] - length)}
        app["rate"] = _rate(pulse["rate"] * path["rate"])
        flows.append({"name": "pulse", "protocol": "udp", "app": app, "start": _STARTS})
    return flows


def _packets(path: Mapping[str, float]) -> int:
    """Return the size of the buffer in packets."""
    return max(_LEAST_PACKETS, round(path["buffer"] * path["rate"] * path["rtt"] / 8 / _PACKET_BYTES))


def _length(pulse: Mapping[str, float]) -> float:
    """Return the length of a pulse, s, which leaves a pause before the next."""
    return min(pulse["length"], rounded(0.9 * pulse["period"], 2))


def _rate(value: float) -> str:
    return f"{rounded(value, 3) / 1e6:.10g} Mbit/s"


def _time(value: float) -> str:
    return f"{value:.6g} s" if value >= 1 or not value else f"{value * 1e3:.6g} ms"


def words(case: Case) -> str:
    """Return the ingredients of a case in words."""
    path = case[PATH]
    queue = "" if path["queue"] == "drop_tail" else f"{displayed(str(path['queue']))}, "
    buffer = f"{path['buffer']:g} BDP" if _packets(path) > _LEAST_PACKETS else amount(_LEAST_PACKETS, "packet")
    parts = [f"{_rate(path['rate'])}, {_time(path['rtt'])}, {queue}buffer {buffer}"]
    if path["flows"] > 1:
        parts.append(f"{path['flows']} flows" + (f", {_time(path['gap'])} apart" if path["gap"] else ""))
    said = {
        "rate_steps": lambda of: (
            f"{_rate(path['rate'] * of['share'])} in the last {of['part'] * 100:g} % of each {_time(of['period'])}"
        ),
        "delay_step": lambda of: f"RTT {_time(of['by'])} longer from {_time(of['at'])} on for {_time(of['lasts'])}",
        "loss": lambda of: f"random loss of {100 * of['p']:g} %" if "burst_loss" not in case else "",
        "burst_loss": lambda of: f"loss of {100 * of['share']:g} % in bursts of {of['length']:g}",
        "jitter": lambda of: f"jitter up to {_time(of['max'])}",
        "reordering": lambda of: f"{100 * of['p']:g} % of packets held back for {_time(of['extra'])}",
        "pulse": lambda of: (
            f"pulse of {_rate(of['rate'] * path['rate'])} for {_time(_length(of))} each {_time(of['period'])}"
        ),
        "cubic": lambda of: f"beside {amount(of['flows'], 'CUBIC flow')}",
        "reverse": lambda of: f"{amount(of['flows'], 'CUBIC flow')} on the way back",
        "short_flows": lambda of: f"short flows, {100 * of['load']:g} % of the load",
    }
    return ", ".join([*parts, *filter(None, (said[name](of) for name, of in case.items() if name != PATH))])
