"""`ackclock run`: one simulation, from a file or from a few options.

Output modules are imported late, since importing them takes longer than a short run.
"""

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ackclock._core import Scenario, ScenarioError, Simulation
from ackclock.base import storage
from ackclock.cli import check, forecast
from ackclock.cli.answers import is_asked, put
from ackclock.cli.failures import InputError
from ackclock.cli.option_places import SCENARIO, at_options
from ackclock.results import Results, json_bytes
from ackclock.running import run as simulate
from ackclock.scenario.dumbbells import dumbbell

if TYPE_CHECKING:
    from ackclock.running.linux_kernels import Kernel

_SHORT = "Dumbbell without a file"
_DEFAULTS = {"bottleneck": "100 Mbit/s", "rtt": "60 ms", "flows": "cubic", "duration": "50 s", "queue": "1 bdp"}


def _short(flag: str, metavar: str, text: str, default: str = "none") -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        flag,
        metavar=metavar,
        help=f"{text} [dim](default: {_DEFAULTS.get(flag.removeprefix('--'), default)})[/]",
        rich_help_panel=_SHORT,
        show_default=False,
    )
    return option


def run(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Scenario file (.toml).", show_default=False)
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Write the results to a new folder.", show_default=False),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**64 - 1, help="Override the scenario's seed.", show_default=False)
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Override a value, e.g. duration='5 s'. Repeatable."),
    ] = None,
    estimates: Annotated[
        bool,
        typer.Option("--estimate", help="Dry run: simulate for 1 s of wall time and estimate the cost."),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace results that ackclock wrote, and policy files.")
    ] = False,
    save_policy: Annotated[
        list[str] | None,
        typer.Option(
            "--save-policy",
            metavar="FLOW=FILE",
            help="Write a flow's learned policy as ONNX. Repeatable.",
        ),
    ] = None,
    threads: Annotated[
        int,
        typer.Option(
            "--threads",
            min=1,
            max=4096,
            metavar="N",
            help="Simulate on up to N cores; the results do not change.",
        ),
    ] = 1,
    events: Annotated[
        str | None,
        typer.Option(
            "--events",
            metavar="NAMES",
            help="Record events: all, or names such as timed_out,packet_dropped.",
            show_default=False,
        ),
    ] = None,
    qlog: Annotated[
        bool,
        typer.Option("--qlog", help="Also write the events as qlog, one file per flow and link."),
    ] = False,
    perfetto: Annotated[
        bool, typer.Option("--perfetto", help="Also write the events as a trace for ui.perfetto.dev.")
    ] = False,
    on: Annotated[
        str,
        typer.Option(
            "--on",
            metavar="PLACE",
            help="Run in the simulator; on linux or linux:NAME, a kernel of ackclock linux build in virtual time;"
            " or on kernel, this machine's in real time (root).",
        ),
    ] = "simulator",
    trust: check.Trust = False,
    bottleneck: Annotated[str | None, _short("--bottleneck", "RATE", "Bottleneck rate")] = None,
    rtt: Annotated[str | None, _short("--rtt", "TIME", "Two-way propagation delay")] = None,
    flows: Annotated[
        str | None, _short("--flows", "NAMES", "Controllers, one per flow; 'cubic*4,bbr3' is five flows")
    ] = None,
    duration: Annotated[str | None, _short("--duration", "TIME", "Simulated time")] = None,
    queue: Annotated[
        str | None,
        _short("--queue", "NAME|LIMIT", "Queue discipline of the bottleneck, or the limit of a DropTail queue"),
    ] = None,
    buffer: Annotated[str | None, _short("--buffer", "LIMIT", "Queue limit, for any discipline", "its own")] = None,
    loss: Annotated[str | None, _short("--loss", "P", "Loss probability at the bottleneck, e.g. 0.01 or '1 %'")] = None,
    trace: Annotated[
        str | None, _short("--trace", "FILE", "Rate trace in mahimahi format, instead of --bottleneck")
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds",
            min=2,
            max=1_000_000,
            metavar="N",
            help="Repeat with N seeds and random starts; print means with 95 % intervals.",
            rich_help_panel=_SHORT,
            show_default=False,
        ),
    ] = None,
    profile: Annotated[
        str | None, _short("--profile", "NAME", "Stack profile of the hosts; see ackclock list profiles", "linux-6.x")
    ] = None,
) -> None:
    """Simulate a scenario and print the results.

    Without a file, the last group of options defines a dumbbell:

        ackclock run --bottleneck 100M --rtt "60 ms" --flows 'cubic*2,bbr3' --queue fq_codel --seeds 5
    """
    options = {"bottleneck": bottleneck, "rtt": rtt, "flows": flows, "duration": duration, "queue": queue}
    options |= {"profile": profile, "buffer": buffer, "loss": loss, "trace": trace}
    given = {name: value for name, value in options.items() if value is not None}
    if seeds is not None:
        _check_seeds(file, seed, save_policy or events or qlog or perfetto or estimates)
        from ackclock.cli import seed_studies

        seed_studies.run(_DEFAULTS, given, seeds, overrides or [], output, quiet=quiet)
        return
    scenario = _watched(_scenario(file, given, overrides or [], seed, trusts=trust), events)
    if estimates:
        forecast.print_estimate(scenario)
        return
    kernel = _kernel(on)
    if on != "simulator":
        _refuse_with_kernel(on, {"--threads": threads > 1, "--save-policy": bool(save_policy), "--qlog": qlog})
    _check_traces(scenario, output, [name for name, is_on in (("--qlog", qlog), ("--perfetto", perfetto)) if is_on])
    if output is not None:
        storage.check_folder(output, force=force)
    policies = _policies(save_policy or [], scenario)
    for policy in policies.values():
        storage.check_file(policy, force=force)
    if not quiet and on == "simulator":
        forecast.warn(scenario)
    if on != "simulator":
        results = _run_on_kernel(scenario, kernel, file, overrides or [], seed, quiet=quiet)
    else:
        results = _simulate(scenario, policies, threads, quiet=quiet)
    if output is not None:
        with _told_of_writing(output, quiet=quiet):
            results.save(output, force=force, qlog=qlog, perfetto=perfetto)
    _print(results, output, quiet=quiet)


def _check_seeds(file: Path | None, seed: int | None, of_one_run: object) -> None:
    if file is not None:
        raise InputError(f"--seeds makes its own scenarios; ackclock sweep {file} --set seed=1..5 repeats this one")
    if seed is not None or of_one_run:
        raise InputError("--seeds runs several simulations: leave out --seed, --events, --save-policy and --estimate")


def _scenario(
    file: Path | None, given: dict[str, str], overrides: list[str], seed: int | None, *, trusts: bool
) -> Scenario:
    scenario = _from_options(given, overrides) if file is None else _from_file(file, given, overrides, trusts=trusts)
    return scenario if seed is None else scenario.draw(seed)


def _watched(scenario: Scenario, events: str | None) -> Scenario:
    try:
        return scenario if events is None else scenario.with_events([name.strip() for name in events.split(",")])
    except ValueError as error:
        raise InputError(f"--events: {error}") from error


def _check_traces(scenario: Scenario, output: Path | None, wanted: list[str]) -> None:
    """Check before the run that there will be events to write, and a folder for them."""
    if not wanted:
        return
    if output is None:
        raise InputError(f"{wanted[0]} needs a folder of results; name it with -o")
    if not scenario.is_watched:
        raise InputError(f"{wanted[0]} needs events; select some, such as --events all")


def _from_file(file: Path, given: dict[str, str], overrides: list[str], *, trusts: bool) -> Scenario:
    if given:
        names = ", ".join(f"--{name}" for name in given)
        raise InputError(f"{names}: only for a run without a file; with {file}, change values with --set path=value")
    return check.load_trusted(file, overrides, trusts=trusts)


def _from_options(given: dict[str, str], overrides: list[str]) -> Scenario:
    if not given:
        raise InputError("name a scenario file, or describe a dumbbell, such as: ackclock run --flows cubic,reno")
    chosen: dict[str, Any] = _DEFAULTS | given
    if "queue" not in given:
        del chosen["queue"]  # a scenario's own has room for two packets at least
    try:
        return dumbbell(**chosen, overrides=overrides, folder=str(Path.cwd()))
    except ScenarioError as error:
        raise at_options(error, SCENARIO, given) from None
    except ValueError as error:
        raise InputError(f"--{'rtt' if str(error).startswith('rtt ') else 'flows'}: {error}") from error


def _policies(given: list[str], scenario: Scenario) -> dict[str, Path]:
    """Parse `FLOW=FILE` arguments, and check before the run that these flows learn."""
    policies: dict[str, Path] = {}
    wrong: list[str] = []
    for text in given:
        flow, separator, file = text.partition("=")
        if not (flow and separator and file):
            wrong.append(f"--save-policy {text!r} is not FLOW=FILE, such as flow1=policy.onnx")
            continue
        policies[flow] = Path(file)
        try:
            Simulation(scenario).policy(flow)
        except (KeyError, ValueError) as error:
            wrong.append(f"--save-policy {text!r}: {error.args[0]}")
    if wrong:
        raise InputError("\n".join(wrong))
    return policies


def _simulate(scenario: Scenario, policies: dict[str, Path], threads: int, *, quiet: bool) -> Results:
    if not _is_looked_at(quiet=quiet):
        return simulate(scenario, save_policies=policies, threads=threads)
    from ackclock.cli.progress import run_progress

    with run_progress(scenario.name, scenario.duration_s) as on_progress:
        return simulate(scenario, on_progress=on_progress, save_policies=policies, threads=threads)


def _kernel(on: str) -> "Kernel | None":
    """Return the kernel in virtual time that `--on` names; None for the simulator and this machine's kernel."""
    if on in {"simulator", "kernel"}:
        return None
    from ackclock.running import linux_kernels

    found = linux_kernels.at(on)
    if found is None:
        raise InputError(f"--on {on}: must be simulator, kernel, linux or linux:NAME, such as linux:6.12")
    return found


def _refuse_with_kernel(on: str, given: dict[str, bool]) -> None:
    if wrong := [name for name, is_given in given.items() if is_given]:
        raise InputError(f"{', '.join(wrong)}: for the simulator only; leave it out with --on {on}")


def _run_on_kernel(
    scenario: Scenario, on: "Kernel | None", file: Path | None, overrides: list[str], seed: int | None, *, quiet: bool
) -> Results:
    from ackclock.running import kernel

    telling: AbstractContextManager[None] = nullcontext()
    if _is_looked_at(quiet=quiet):
        from ackclock.cli.progress import busy

        place, time = ("the kernel", "real") if on is None else (f"Linux {on.version}", "virtual")
        telling = busy(f"running {scenario.name} on {place}, {scenario.duration_s:g} s in {time} time")
    with telling:
        results = kernel.run(scenario, on=on, file=file, overrides=overrides, seed=seed)
    told = results.kernel
    if told is not None and not told["valid"]:
        from ackclock.cli.failures import errors

        errors().print(f"[bold yellow]the run is not valid:[/] {'; '.join(told['reasons'])}")
    return results


def _told_of_writing(output: Path, *, quiet: bool) -> AbstractContextManager[None]:
    if not _is_looked_at(quiet=quiet):
        return nullcontext()
    from ackclock.cli.progress import busy

    return busy(f"writing {output}")


def _is_looked_at(*, quiet: bool) -> bool:
    return not quiet and sys.stderr.isatty()


def _print(results: Results, output: Path | None, *, quiet: bool) -> None:
    if is_asked():
        put(json_bytes(results.summary).decode())
    elif not quiet:
        from ackclock.cli import tables

        tables.print_results(results)
        if output is not None:
            print(f"results in {output}")
