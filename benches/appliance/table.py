"""Tables in Markdown, and the picture of `credit`, from what thesis.py has recorded.

    python benches/appliance/table.py [recorded.json] [--picture docs/images/credit-real.png]

Real runs show their median, with the least and the greatest in brackets.
"""

import argparse
import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
Rows = Mapping[str, Any]


def spread(runs: Sequence[Mapping[str, float]], name: str, digits: int = 1) -> str:
    """Return the median of some runs, and their least and greatest."""
    values = [run[name] for run in runs]
    middle, least, most = statistics.median(values), min(values), max(values)
    return f"{middle:.{digits}f} ({least:.{digits}f} to {most:.{digits}f})"


def one_flow(rows: Rows, prefix: str) -> str:
    """Return the table of an experiment with one flow."""
    lines = [
        "| | goodput, Mbit/s | simulated | kept for, mean ms | simulated | p99 ms | simulated | empty, % |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        if name.startswith(prefix) and "real" in row:
            told = row.get("simulated", {})
            cells = [name.removeprefix(prefix).strip(" ,") or name]
            for column in ("goodput_mbps", "added_mean_ms", "added_p99_ms"):
                cells += [spread(row["real"], column), f"{told[column]:.1f}" if told else ""]
            lines.append("| " + " | ".join([*cells, spread(row["real"], "empty_percent", 0)]) + " |")
    return "\n".join(lines)


def eleven(rows: Rows) -> str:
    """Return that of H1."""
    lines = ["| | the old flow, Mbit/s | each of the ten, Mbit/s | simulated: old | the ten |", "|---|---|---|---|---|"]
    for name, row in rows.items():
        if name.startswith("H1") and "real" in row:
            told = row.get("simulated", {})
            cells = [name.removeprefix("H1 ")]
            cells += [spread(row["real"], column) for column in ("old_mbps", "others_mbps")]
            cells += [f"{told[column]:.1f}" if told else "" for column in ("old_mbps", "others_mbps")]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def picture(rows: Rows, path: Path) -> None:
    """Draw goodput and added latency of `credit` over its bound, simulated and real."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    figure, (upper, lower) = plt.subplots(2, 1, figsize=(6.4, 5.6), sharex=True, layout="constrained")
    bounds = sorted(float(name.split()[2]) for name in rows if name.startswith("H5 credit "))
    of = {bound: rows[f"H5 credit {bound:g} ms"] for bound in bounds}
    for axes, column in ((upper, "goodput_mbps"), (lower, "added_p99_ms")):
        runs = [[run[column] for run in of[bound]["real"]] for bound in bounds]
        middle = [statistics.median(values) for values in runs]
        reach = [
            [m - min(v) for m, v in zip(middle, runs, strict=True)],
            [max(v) - m for m, v in zip(middle, runs, strict=True)],
        ]
        axes.errorbar(bounds, middle, yerr=reach, marker="o", capsize=3, color="#1f6fb4", label="real")
        axes.plot(
            bounds, [of[bound]["simulated"][column] for bound in bounds], marker="s", color="#c8553d", label="simulated"
        )
        axes.grid(visible=True, alpha=0.3)
    lower.plot(bounds, bounds, linestyle=":", color="0.4", label="the bound")
    upper.axhline(0.98 * 96.53, linestyle=":", color="0.4", label="98 % of the link's")
    upper.set_ylabel("goodput, Mbit/s")
    lower.set_ylabel("time in the appliance,\n99th percentile, ms")
    lower.set_xlabel("bound of credit (target), ms")
    lower.set_xscale("log")
    lower.set_yscale("log")
    lower.set_xticks(bounds, [f"{bound:g}" for bound in bounds])
    lower.minorticks_off()
    lower.set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
    upper.set_ylim(60, 102)
    for axes in (upper, lower):
        axes.legend(frameon=False)
    figure.savefig(path, dpi=110)


def main() -> None:
    """Print tables, and draw if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, nargs="?", default=HERE / "recorded.json")
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    recorded = json.loads(options.file.read_text())
    rows = recorded["rows"]
    loads = [run["load"] for row in rows.values() for run in row.get("real", [])]
    late = max(run["late_p99_us"] for row in rows.values() for run in row.get("real", []))
    print(f"Linux {recorded['kernel']}; load {min(loads):g} to {max(loads):g}; 99 % at most {late:.0f} us late\n")
    print(eleven(rows))
    for prefix in ("H2", "H34 2 ms", "H34 14 ms", "H5"):
        print(f"\n{prefix}\n\n{one_flow(rows, prefix)}")
    if options.picture:
        picture(rows, options.picture)


if __name__ == "__main__":
    main()
