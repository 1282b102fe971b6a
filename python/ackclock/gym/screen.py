"""Picture of an environment: window, rates and queue over time."""

import copy
import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ackclock._core import Scenario
from ackclock.gym.history import STEPS, Floats, History, Look
from ackclock.plotting.figures.theme import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

SHOWN_S = 30.0
"""Time span of the picture, seconds; less for a shorter scenario."""

_SIZE_INCHES, _DPI = (8.0, 6.0), 100
_RATE_UNITS = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"))
_GREY = "#7f7f7f"


class Screen:
    """Picture of an environment, drawn on request."""

    def __init__(self, scenario: Scenario, flow: str, *, show: bool) -> None:
        """Prepare the picture; nothing is drawn yet."""
        self._flow, self._show = flow, show
        self._shown_s = min(SHOWN_S, scenario.duration_s)
        self._link_names: list[str] = []
        self._has_others = len(scenario.flow_names) > 1
        self.history: History = History(0, 0, self._shown_s)
        self._figure: Figure | None = None
        self._lines: dict[str, Line2D] = {}
        self._drawn_s = -np.inf

    def twin(self) -> "Screen":
        """Return an independent copy with the same history."""
        twin = copy.copy(self)
        twin.history, twin._figure, twin._lines = copy.deepcopy(self.history), None, {}
        return twin

    def begin(self, core: Look) -> None:
        """Discard the last episode, and keep the window open.

        Args:
            core: The environment, with flows and links as drawn for this episode.
        """
        summary = json.loads(core.outcome().summary_json())
        flow_names = [flow["name"] for flow in summary["flows"]]
        self._link_names = [link["name"] for link in summary["links"]]
        self._has_others |= len(flow_names) > 1
        self.history = History(flow_names.index(self._flow), len(self._link_names), self._shown_s)
        self._drawn_s = -np.inf
        self.note(core)

    def note(self, core: Look) -> None:
        """Record the current state."""
        self.history.note(core)

    def draw(self, core: Look) -> NDArray[np.uint8] | None:
        """Return the picture, or show it in the window.

        A window is redrawn once enough simulated time has passed for a visible change.

        Raises:
            RuntimeError: If there is no display for a window.
        """
        if not self._link_names:
            self.begin(core)
        if self._show and 0 <= core.now_s - self._drawn_s < self.history.shown_s / STEPS:
            return None
        self.history.note(core, must=True)
        self._drawn_s = core.now_s
        if self._figure is None:
            self._figure = _window() if self._show else _sheet()
            self._lines = _lines(self._figure, self._flow, has_others=self._has_others)
        self._fill(self._figure)
        if self._show:
            _update(self._figure)
            return None
        return _pixels(self._figure)

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._figure is not None and self._show:
            import matplotlib.pyplot as plt

            plt.close(self._figure)
        self._figure = None

    def _fill(self, figure: "Figure") -> None:
        history, (above, between, below) = self.history, figure.axes
        times, ssthresh = history.column("time_s"), history.column("ssthresh_segments")
        link, waiting = history.longest_queue()
        self._draw_line("cwnd", times, history.column("cwnd_segments"))
        self._draw_line("ssthresh", times, np.where(ssthresh > 0, ssthresh, np.nan))
        self._draw_line("queue", times, waiting)
        unit = self._draw_rates(times)
        between.set_ylabel(f"rate ({unit})")
        below.set_title(f"queue of {self._link_names[link]}", **_TITLE)
        _set_limits(above, self._top("cwnd"), beside=self._top("ssthresh"))
        _set_limits(between, max(self._top("rate"), self._top("others")), beside=self._top("pacing"))
        _set_limits(below, self._top("queue"))
        end_s = max(float(times[-1]), history.shown_s)
        below.set_xlim(end_s - history.shown_s, end_s)
        below.set_xlabel(f"time (s); now {times[-1]:.2f} s")

    def _draw_rates(self, times: Floats) -> str:
        rates = {"rate": self.history.rate_bps("read_bytes"), "others": self.history.rate_bps("others_bytes")}
        factor, unit = _unit(max(float(rate.max(initial=0)) for _, rate in rates.values()))
        for name, (ends, rate) in rates.items():
            self._lines[name].set_data(ends, rate / factor)
        pacing = self.history.column("pacing_rate_bps")
        self._draw_line("pacing", times, np.where(pacing > 0, pacing, np.nan) / factor)
        return unit

    def _draw_line(self, name: str, times: Floats, values: Floats) -> None:
        breaks = np.flatnonzero(self.history.is_unseen())
        self._lines[name].set_data(np.insert(times, breaks, times[breaks]), np.insert(values, breaks, np.nan))

    def _top(self, name: str) -> float:
        values = np.asarray(self._lines[name].get_ydata())
        return float(values[np.isfinite(values)].max(initial=0.0))


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
    lines: dict[str, Line2D] = {}

    def line(axes: "Axes", name: str, label: str, colour: str, **style: Any) -> None:
        (lines[name],) = axes.plot([], [], label=label, color=colour, **{"linewidth": 1.4, **style})

    line(above, "ssthresh", "ssthresh", _GREY, linestyle=":", linewidth=1.2)
    line(above, "cwnd", "cwnd", COLOURS[0])
    line(between, "pacing", "rate set", _GREY, linestyle=":", linewidth=1.2)
    # A rate is the mean over the step that ends there.
    line(between, "others", "other flows" if has_others else "", COLOURS[1], drawstyle="steps-pre", visible=has_others)
    line(between, "rate", "goodput", COLOURS[0], drawstyle="steps-pre")
    line(below, "queue", "", COLOURS[2], linewidth=1.0)
    above.set_title(f"window of {flow}", **_TITLE)
    above.set_ylabel("segments")
    between.set_title("rates", **_TITLE)
    below.set_ylabel("packets")
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


def _set_limits(axes: "Axes", top: float, beside: float = 0.0) -> None:
    # What stands beside the main lines may be as high as twice them; what is higher is left outside.
    reach = max(top, min(beside, 2 * top))
    axes.set_ylim(0, 1.08 * reach if reach > 0 else 1)


def _unit(most_bps: float) -> tuple[float, str]:
    return next((unit for unit in _RATE_UNITS if most_bps >= unit[0]), _RATE_UNITS[-1])


def _pixels(figure: "Figure") -> NDArray[np.uint8]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = figure.canvas
    assert isinstance(canvas, FigureCanvasAgg), "a sheet is drawn by Agg"
    canvas.draw()  # type: ignore[no-untyped-call]
    return np.array(canvas.buffer_rgba(), np.uint8)[..., :3].copy()  # type: ignore[no-untyped-call]


def _update(figure: "Figure") -> None:
    import matplotlib.pyplot as plt

    if plt.fignum_exists(figure.number):  # the user may have closed it
        figure.canvas.draw_idle()
        plt.pause(0.001)
