"""A backend of Matplotlib for tests: a window system that draws into memory."""

from typing import Any

from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg


class FigureCanvas(FigureCanvasAgg):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.required_interactive_framework = "stub"  # of this window only: there is nothing to load


FigureManager = FigureManagerBase
