"""The report in a cell of a notebook: the page's plots, linked in time, as a widget (anywidget)."""

from typing import Any

import anywidget
import traitlets

from ackclock.plotting.pages import render
from ackclock.plotting.report import report_page
from ackclock.plotting.report.page_content import Window, content
from ackclock.results import Results


class ReportWidget(anywidget.AnyWidget):
    """Plots of runs over one time, with their tables.

    Attributes:
        window_s: The time shown, from and to. It follows what is dragged and typed in the notebook, and the plots
            follow what is set here.
    """

    _esm = report_page.module()
    _style = traitlets.Unicode().tag(sync=True)
    _body = traitlets.Unicode().tag(sync=True)
    _content = traitlets.Unicode().tag(sync=True)
    window_s = traitlets.Tuple(traitlets.Float(), traitlets.Float()).tag(sync=True)

    def __init__(self, results: list[Results], window: Window | None = None) -> None:
        """Prepare what the notebook draws; nothing is simulated.

        Args:
            results: One run or several; several are drawn into the same plots.
            window: The part of the runs that there is to see; by default all.
        """
        found = content(results, window or Window())
        super().__init__(
            _style=report_page.style(),
            _body=render("report_plots.html", **report_page.shown(results, found)),
            _content=report_page.as_json(found),
            window_s=(found["window"]["from"], found["window"]["to"]),
        )

    @traitlets.validate("window_s")
    def _ascends(self, proposal: Any) -> tuple[float, float]:  # noqa: ANN401  what traitlets hands over
        begin_s, end_s = proposal["value"]
        if not begin_s < end_s:
            raise traitlets.TraitError(
                f"window_s = ({begin_s:g}, {end_s:g}): the time shown has to begin before it ends"
            )
        return begin_s, end_s
