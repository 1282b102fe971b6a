"""Report in a notebook cell: the page's plots, linked in time, as a widget (anywidget)."""

from typing import Any

import anywidget
import traitlets

from ackclock.plotting.pages import render
from ackclock.plotting.report import report_page
from ackclock.plotting.report.page_content import Window, content
from ackclock.results import Results


class ReportWidget(anywidget.AnyWidget):
    """Widget with plots of runs over a common time, and their tables.

    Attributes:
        window_s: Beginning and end of the time shown. It follows the notebook's controls, and setting it updates the
            plots.
    """

    _esm = report_page.module()
    _style = traitlets.Unicode().tag(sync=True)
    _body = traitlets.Unicode().tag(sync=True)
    _content = traitlets.Unicode().tag(sync=True)
    window_s = traitlets.Tuple(traitlets.Float(), traitlets.Float()).tag(sync=True)

    def __init__(self, results: list[Results], window: Window | None = None) -> None:
        """Prepare the widget; nothing is simulated.

        Args:
            results: One run or several; several are drawn into the same plots.
            window: Part of the runs that is available; by default all.
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
