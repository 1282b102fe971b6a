"""Notebook widget of a study: its figures, each drawn when chosen, and its tables (anywidget)."""

from importlib.resources import files
from typing import Any

import anywidget
import traitlets

from ackclock.base.printable import plain
from ackclock.experiments.studies.study_folder import Study
from ackclock.plotting.figures import encode
from ackclock.plotting.pages import picture, render
from ackclock.plotting.tables import html


def _file(name: str) -> str:
    return files("ackclock.plotting.pages").joinpath(name).read_text(encoding="utf-8")


class StudyWidget(anywidget.AnyWidget):
    """Widget with a selectable figure and the tables of a study.

    Attributes:
        figure: Name of the figure shown, as that of its file in the study's folder; empty if the study has none.
    """

    _esm = f"{_file('theme.js')}\n{_file('study_widget.js')}"
    _style = traitlets.Unicode().tag(sync=True)
    _body = traitlets.Unicode().tag(sync=True)
    _picture = traitlets.Dict().tag(sync=True)
    figure = traitlets.Unicode().tag(sync=True)

    def __init__(self, study: Study) -> None:
        """Prepare the widget, drawing the first figure only."""
        self._drawn = {drawn.name: drawn for drawn in study.figures()}
        self._pictures: dict[str, dict[str, str]] = {}
        first = next(iter(self._drawn), "")
        super().__init__(
            _style=render("widget.css", library_style="", style=_file("study_widget.css")),
            _body=render(
                "study_widget.html",
                title=plain(study.plan.name),
                about=plain(study.about),
                figures=list(self._drawn.values()),
                means=html(study.table),
                differences=html(study.differences) if study.differences.rows else "",
            ),
            _picture=self._of(first) if first else {},
            figure=first,
        )

    @traitlets.validate("figure")
    def _is_known(self, proposal: Any) -> str:  # noqa: ANN401  what traitlets hands over
        name: str = proposal["value"]
        if name not in self._drawn and (name or self._drawn):
            known = ", ".join(self._drawn) or "none"
            raise traitlets.TraitError(f"figure = {name!r}: the study has no such figure; it has {known}")
        return name

    @traitlets.observe("figure")
    def _show(self, change: Any) -> None:  # noqa: ANN401  what traitlets hands over
        if change["new"]:
            self._picture = self._of(change["new"])

    def _of(self, name: str) -> dict[str, str]:
        """Return the content of a figure for the notebook, drawn once."""
        if name not in self._pictures:
            drawn = self._drawn[name]
            shown = picture(name, drawn.caption, encode(drawn.draw(), "svg"), "svg")
            source = f"data:image/{shown['form']};base64,{shown['content']}"
            self._pictures[name] = {"name": name, "caption": drawn.caption, "source": source}
        return self._pictures[name]
