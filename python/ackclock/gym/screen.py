"""What an environment draws of itself: window, rates and queue as they have unfolded.

Values are taken at decisions, which is when an environment stands still; what lies between two of them is not seen.
"""

import copy
from array import array
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ackclock._core import Environment, Scenario
from ackclock.panels import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

Floats = NDArray[np.float64]

SHOWN_S = 30.0
"""The picture reaches back so far, or over the whole scenario if that is shorter."""

_SAMPLES, _BINS = 3000, 150
"""Most samples kept of what is shown, and steps in which a rate is drawn."""
_SIZE_INCHES, _DPI = (8.0, 6.0), 100
_COLUMNS = ("time_s", "cwnd_segments", "ssthresh_segments", "pacing_rate_bps", "read_bytes", "others_bytes")
_RATE_UNITS = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"))
_GREY = "#7f7f7f"


class Look(Protocol):
    """What is looked at: `_core.Environment`, or what answers alike."""

    @property
    def now_s(self) -> float:
        """Simulated time."""

    def read(self, agent: int, name: str) -> float:
        """Return an observation."""

    def snapshot(self) -> tuple[list[tuple[int, float, int]], list[int]]:
        """Return window, SRTT and what was read of each flow, and what waits at each link."""


class History:
    """What has been seen of an episode, thinned out to what a picture can show."""

    def __init__(self, flow: int, links: int, shown_s: float) -> None:
        """Remember nothing yet.

        Args:
            flow: Place of the agent's flow in the scenario.
            links: How many links there are.
            shown_s: How much time a picture shows.
        """
        self.shown_s = shown_s
        self._flow, self._links = flow, links
        self._columns = {name: array("d") for name in _COLUMNS}
        self._queues = [array("d") for _ in range(links)]

    def clear(self) -> None:
        """Forget all."""
        for column in (*self._columns.values(), *self._queues):
            del column[:]

    def note(self, core: Look, *, must: bool = False) -> None:
        """Look at an environment, unless that was done a moment ago.

        A time before what was seen last means that another past holds now: what came after it is forgotten.

        Args:
            core: The environment.
            must: Look even so.
        """
        now_s, times = core.now_s, self._columns["time_s"]
        while times and times[-1] > now_s:
            self._drop_last()
        if times and now_s - times[-1] < (0 if must else self.shown_s / _SAMPLES):
            return
        if times and times[-1] == now_s:
            self._drop_last()
        flows, queues = core.snapshot()
        read = [flow[2] for flow in flows]
        own = read[self._flow]
        seen = [core.read(0, name) for name in _COLUMNS[1:4]]
        for column, value in zip(self._columns.values(), (now_s, *seen, own, sum(read) - own), strict=True):
            column.append(value)
        for queue, waiting in zip(self._queues, queues, strict=True):
            queue.append(waiting)

    def _drop_last(self) -> None:
        for column in (*self._columns.values(), *self._queues):
            column.pop()

    def column(self, name: str) -> Floats:
        """Return a column of what a picture shows.

        Args:
            name: One of the columns.
        """
        return np.array(self._columns[name][self._first() :])

    def longest_queue(self) -> tuple[int, Floats]:
        """Return the link at which most has waited, by its place, and how many packets waited there."""
        place = max(range(self._links), key=lambda link: sum(self._queues[link]))
        return place, np.array(self._queues[place][self._first() :])

    def rate_bps(self, name: str) -> tuple[Floats, Floats]:
        """Return the ends of steps of time, and the mean rate in each.

        Args:
            name: A column of bytes since the beginning.
        """
        times, total = self.column("time_s"), self.column(name)
        if times.size < 2:
            return np.empty(0), np.empty(0)
        step_s = self.shown_s / _BINS
        # Of each step the last sample, so that a rate is over a step at least, or over the time between two decisions.
        kept = np.flatnonzero(np.append(np.diff(np.floor(times / step_s)) > 0, True))
        kept = kept if kept[0] == 0 else np.insert(kept, 0, 0)
        return times[kept[1:]], 8 * np.diff(total[kept]) / np.diff(times[kept])

    def _first(self) -> int:
        times = self._columns["time_s"]
        return int(np.searchsorted(times, times[-1] - self.shown_s)) if times else 0


class Screen:
    """A picture of an environment, drawn when it is asked for."""

    def __init__(self, scenario: Scenario, flow: str, *, show: bool) -> None:
        """Prepare a picture; nothing is drawn yet.

        Args:
            scenario: Of the environment.
            flow: Name of the agent's flow.
            show: Draw into a window.
        """
        self._flow, self._show = flow, show
        self._link_names = scenario.link_names
        shown_s = min(SHOWN_S, scenario.duration_s)
        self._has_others = len(scenario.flow_names) > 1
        self.history = History(scenario.flow_names.index(flow), len(self._link_names), shown_s)
        self._figure: Figure | None = None
        self._lines: dict[str, Line2D] = {}
        self._drawn_s = -np.inf

    def twin(self) -> "Screen":
        """Return a screen of its own that has seen the same."""
        twin = copy.copy(self)
        twin.history, twin._figure, twin._lines = copy.deepcopy(self.history), None, {}
        return twin

    def clear(self) -> None:
        """Forget the episode; the window stays."""
        self.history.clear()
        self._drawn_s = -np.inf

    def note(self, core: Look) -> None:
        """Remember how things stand.

        Args:
            core: The environment.
        """
        self.history.note(core)

    def draw(self, core: Environment) -> NDArray[np.uint8] | None:
        """Return the picture, or put it into the window.

        A window is drawn again once enough time has been simulated for something to have moved.

        Args:
            core: The environment.

        Raises:
            RuntimeError: If there is no display for a window.
        """
        if self._show and 0 <= core.now_s - self._drawn_s < self.history.shown_s / _BINS:
            return None
        self.history.note(core, must=True)
        self._drawn_s = core.now_s
        if self._figure is None:
            self._figure = _window() if self._show else _sheet()
            self._lines = _lines(self._figure, self._flow, has_others=self._has_others)
        self._fill(self._figure)
        return _shown(self._figure) if self._show else _pixels(self._figure)

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._figure is not None and self._show:
            import matplotlib.pyplot as plt

            plt.close(self._figure)
        self._figure = None

    def _fill(self, figure: "Figure") -> None:
        history = self.history
        times = history.column("time_s")
        above, between, below = figure.axes
        ssthresh = history.column("ssthresh_segments")
        self._lines["cwnd"].set_data(times, history.column("cwnd_segments"))
        self._lines["ssthresh"].set_data(times, np.where(ssthresh > 0, ssthresh, np.nan))
        rates = {
            name: history.rate_bps(column) for name, column in (("rate", "read_bytes"), ("others", "others_bytes"))
        }
        pacing = history.column("pacing_rate_bps")
        rates["pacing"] = times, np.where(pacing > 0, pacing, np.nan)
        factor, unit = _unit(max((float(rate.max(initial=0)) for _, rate in list(rates.values())[:2])))
        for name, (at, rate) in rates.items():
            if name in self._lines:
                self._lines[name].set_data(at, rate / factor)
        link, waiting = history.longest_queue()
        self._lines["queue"].set_data(times, waiting)
        between.set_ylabel(f"rate ({unit})")
        below.set_title(f"queue of {self._link_names[link]}", **_TITLE)
        _set_limits(above, max(self._top("cwnd"), min(self._top("ssthresh"), 2 * self._top("cwnd"))))
        _set_limits(
            between, max(self._top("rate"), self._top("others"), min(self._top("pacing"), 2 * self._top("rate")))
        )
        _set_limits(below, self._top("queue"))
        end_s = max(float(times[-1]), history.shown_s)
        below.set_xlim(end_s - history.shown_s, end_s)
        figure.texts[0].set_text(f"{float(times[-1]):.2f} s")

    def _top(self, name: str) -> float:
        values = np.asarray(self._lines[name].get_ydata()) if name in self._lines else np.empty(0)
        known = values[np.isfinite(values)]
        return float(known.max(initial=0.0))


_TITLE: dict[str, Any] = {"loc": "left", "fontsize": 10, "fontweight": "bold"}


def _sheet() -> "Figure":
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE_INCHES, dpi=_DPI)
    FigureCanvasAgg(figure)
    return figure


def _window() -> "Figure":
    import matplotlib.pyplot as plt

    # Loading a backend by name fails where its window system is missing; choosing one by itself ends at one without.
    try:
        figure = plt.figure(figsize=_SIZE_INCHES, dpi=_DPI)
    except ImportError as error:
        raise RuntimeError(_no_display(str(error))) from error
    if figure.canvas.required_interactive_framework is None:
        plt.close(figure)
        raise RuntimeError(_no_display(f"Matplotlib has only the backend {plt.get_backend()!r}"))
    return figure


def _no_display(why: str) -> str:
    return f'render_mode "human" needs a display ({why}); use render_mode "rgb_array", or set DISPLAY or MPLBACKEND'


def _lines(figure: "Figure", flow: str, *, has_others: bool) -> "dict[str, Line2D]":
    above, between, below = figure.subplots(3, 1, sharex=True, gridspec_kw={"height_ratios": (4, 4, 3)})
    figure.subplots_adjust(left=0.1, right=0.97, top=0.93, bottom=0.09, hspace=0.3)
    figure.text(0.97, 0.965, "", ha="right", va="center", fontsize=10, color=_GREY)
    lines: dict[str, Line2D] = {}

    def line(axes: "Axes", name: str, label: str, colour: str, **style: Any) -> None:
        (lines[name],) = axes.plot([], [], label=label, color=colour, **{"linewidth": 1.4, **style})

    line(above, "ssthresh", "ssthresh", _GREY, linestyle=":", linewidth=1.2)
    line(above, "cwnd", "cwnd", COLOURS[0])
    line(between, "pacing", "rate set", _GREY, linestyle=":", linewidth=1.2)
    if has_others:
        line(between, "others", "other flows", COLOURS[1])
    line(between, "rate", "goodput", COLOURS[0])
    line(below, "queue", "", COLOURS[2], linewidth=1.0)
    above.set_title(f"window of {flow}", **_TITLE)
    above.set_ylabel("segments")
    between.set_title("rates", **_TITLE)
    below.set_ylabel("packets")
    below.set_xlabel("time (s)")
    for axes in (above, between, below):
        axes.grid(alpha=0.3, linewidth=0.5)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in (above, between):
        handles, labels = axes.get_legend_handles_labels()
        axes.legend(
            handles[::-1], labels[::-1], loc="lower right", bbox_to_anchor=(1, 0.98), ncols=3, frameon=False, fontsize=9
        )
    figure.align_ylabels()
    return lines


def _set_limits(axes: "Axes", top: float) -> None:
    axes.set_ylim(0, 1.08 * top if top > 0 else 1)


def _unit(most_bps: float) -> tuple[float, str]:
    return next((unit for unit in _RATE_UNITS if most_bps >= unit[0]), _RATE_UNITS[-1])


def _pixels(figure: "Figure") -> NDArray[np.uint8]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = figure.canvas
    assert isinstance(canvas, FigureCanvasAgg), "a sheet is drawn by Agg"
    canvas.draw()
    return np.array(canvas.buffer_rgba(), np.uint8)[..., :3].copy()


def _shown(figure: "Figure") -> None:
    import matplotlib.pyplot as plt

    if plt.fignum_exists(figure.number):  # the user may have closed it
        figure.canvas.draw_idle()
        plt.pause(0.001)
