r"""Figures as code of pgfplots, so that LaTeX sets their text in the paper's own font.

The file is for `\input`; it needs `\usepackage{pgfplots}` and `\usepgfplotslibrary{groupplots}`. It has the numbers of
each curve, with error bars and bands, but no matrices: those are pictures.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon

from ackclock.plotting.tables.table_formats import for_latex

_MARKS: Final = {
    "o": "*", "s": "square*", "^": "triangle*", "D": "diamond*", "v": "triangle*,mark options={rotate=180}", "P": "+",
    "X": "x", "<": "triangle*,mark options={rotate=90}", ".": "*,mark size=0.6pt",
}  # fmt: skip
_DASHES: Final = {"-": "solid", "--": "dashed", ":": "dotted", "-.": "dashdotted", "None": "only marks"}


def pgfplots(figure: Figure, about: str = "") -> str:
    """Return a figure as code of pgfplots.

    Args:
        figure: The figure.
        about: Description of the runs, which becomes a comment.

    Raises:
        ValueError: If it is a picture, such as a matrix, or has steps other than `steps-post`.
    """
    drawn = [axes for axes in figure.axes if axes.get_visible()]
    if any(axes.images for axes in drawn):
        raise ValueError("a matrix is not drawn by pgfplots; name a .pdf file")
    grid = drawn[0].get_subplotspec()
    columns = grid.get_gridspec().ncols if grid else 1
    rows = -(-len(drawn) // columns)
    width, height = figure.get_size_inches()
    small = ",".join(rf"{part} style={{font=\footnotesize}}" for part in ("tick label", "label", "title"))
    spaced = f"group size={columns} by {rows},horizontal sep=0.45in,vertical sep=0.6in"
    legend = {text.get_text(): None for box in figure.legends for text in box.texts}
    lines = [
        *(f"% {line}" for line in about.splitlines()),
        r"% \usepackage{pgfplots} \usepgfplotslibrary{groupplots} \pgfplotsset{compat=1.16}",
        r"\begin{tikzpicture}",
        rf"\begin{{groupplot}}[group style={{{spaced}}},width={width / columns:.3g}in,height={height / rows:.3g}in,",
        rf"  grid=major,{small},legend style={{font=\footnotesize,draw=none,at={{(0,1.25)}},anchor=south west}},",
        rf"  legend columns={max(1, min(len(legend), 4))}]",
    ]
    for place, axes in enumerate(drawn):
        lines += [rf"\nextgroupplot[{_settings(figure, axes, place, columns, rows)}]", *_content(axes)]
        lines += _legend(drawn) if place == 0 and legend else []
    return "\n".join([*lines, r"\end{groupplot}", r"\end{tikzpicture}", ""])


def _settings(figure: Figure, axes: Axes, place: int, columns: int, rows: int) -> str:
    """Return the settings of a panel; labels stand at the left and at the bottom."""
    x = axes.get_xlabel() or (figure.get_supxlabel() if place // columns == rows - 1 else "")
    y = axes.get_ylabel() or (figure.get_supylabel() if place % columns == 0 else "")
    named = {"title": axes.get_title(loc="left"), "xlabel": x, "ylabel": y}
    found = [f"{key}={{{_text(text)}}}" for key, text in named.items() if text]
    for name, axis, scale in (("x", axes.xaxis, axes.get_xscale()), ("y", axes.yaxis, axes.get_yscale())):
        low, high = sorted(axis.get_view_interval())
        found += [f"{name}min={low:.6g}", f"{name}max={high:.6g}"]
        if axis.get_inverted():
            found.append(f"{name} dir=reverse")
        if scale == "log":
            ticks = ",".join(f"{tick:g}" for tick in axis.get_majorticklocs() if low <= tick <= high)
            found += [f"{name}mode=log", f"{name}tick={{{ticks}}}", "log ticks with fixed point"]
    return ",".join(found)


def _content(axes: Axes) -> Iterator[str]:
    barred = {id(box.lines[0]): box for box in axes.containers if isinstance(box, ErrorbarContainer)}
    for shape in (*axes.collections, *axes.patches):
        yield from _area(shape)
    for line in axes.lines:
        if line.get_marker() in ("_", "|"):
            continue  # caps of error bars, which pgfplots draws itself
        x, y = np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float)
        if len(set(y)) == 1 and list(x) == [0, 1] and str(line.get_label()).startswith("_"):
            x = np.asarray(sorted(axes.get_xlim()))  # a line across all of the panel
        halves = _halves(barred.get(id(line)), len(x))
        bars = ["error bars/.cd", "y dir=both", "y explicit"] if halves is not None else []
        how = "[y error index=2]" if bars else ""
        yield from _plot(
            [_look(line), *_steps(line), "forget plot", *bars], [x, y, *([] if halves is None else [halves])], how
        )


def _legend(drawn: Sequence[Axes]) -> Iterator[str]:
    """Yield an entry for each label of all panels."""
    known: dict[str, str] = {}
    for axes in drawn:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            line = handle.lines[0] if isinstance(handle, ErrorbarContainer) else handle
            if isinstance(line, Line2D):
                known.setdefault(str(label), _look(line))
    for label, shown in known.items():
        yield rf"\addlegendimage{{{shown}}} \addlegendentry{{{_text(label)}}}"


def _look(line: Line2D) -> str:
    mark = _MARKS.get(str(line.get_marker()), "none")
    return ",".join((_colour(line.get_color()), _DASHES.get(str(line.get_linestyle()), "dashed"), f"mark={mark}"))


def _steps(line: Line2D) -> list[str]:
    style = line.get_drawstyle()
    if style not in ("default", "steps-post"):
        raise ValueError(f"a line of {style} is not drawn by pgfplots; name a .pdf file")
    return ["const plot"] if style == "steps-post" else []


def _halves(bars: ErrorbarContainer | None, count: int) -> np.ndarray[Any, Any] | None:
    """Return half the length of each error bar."""
    if bars is None or not bars.has_yerr:
        return None
    segments = bars.lines[2][-1].get_segments()
    found = np.array([(part[1][1] - part[0][1]) / 2 if len(part) else 0.0 for part in segments])
    return np.nan_to_num(found) if len(found) == count else None


def _area(shape: object) -> Iterator[str]:
    """Yield the lines of a band or an ellipse."""
    if isinstance(shape, PolyCollection):
        outlines, colour, alpha = [path.vertices for path in shape.get_paths()], shape.get_facecolor()[0], 0.18
    elif isinstance(shape, Polygon):
        outlines, colour, alpha = [shape.get_xy()], shape.get_facecolor(), 0.16
    else:
        return
    for outline in outlines:
        points = np.asarray(outline, dtype=float)
        options = [_colour(colour).replace("color=", "fill="), f"fill opacity={alpha}", "draw=none", "forget plot"]
        yield from _plot(options, [points[:, 0], points[:, 1]], "")


def _plot(options: Iterable[str], columns: Sequence[Any], how: str) -> Iterator[str]:
    yield rf"\addplot[{','.join(options)}] table{how} {{"
    for row in zip(*columns, strict=True):
        yield "  " + " ".join(f"{value:.6g}" for value in row)
    yield "};"


def _colour(colour: Any) -> str:  # noqa: ANN401  whatever Matplotlib takes
    red, green, blue = (round(255 * part) for part in to_rgb(colour))
    return f"color={{rgb,255:red,{red};green,{green};blue,{blue}}}"


def _text(text: str) -> str:
    return for_latex(text.strip().replace(r"\$", "$")).replace("\n", " ")
