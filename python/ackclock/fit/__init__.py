"""Finding the path that explains a recording: rate, delay, queue, loss, cross traffic; as a scenario."""

from ackclock.fit.path import FitError
from ackclock.fit.search import Fit, fit

__all__ = ["Fit", "FitError", "fit"]
