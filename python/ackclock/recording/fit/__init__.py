"""Estimation of the path of a recording: rate, delay, queue, loss and cross traffic, as a scenario."""

from ackclock.recording.fit.path import FitError
from ackclock.recording.fit.search import Fit, fit

__all__ = ["Fit", "FitError", "fit"]
