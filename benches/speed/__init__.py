"""Benchmarks of the engine on fixed scenarios: packets and events per second of CPU, and peak memory."""

from .calls import CallCost, call_cost, queue_call_cost
from .cases import CASES, Case
from .learning import LearningCost, learning_cost
from .measure import Measurement, measure, peak_memory_bytes

__all__ = [
    "CASES",
    "CallCost",
    "Case",
    "LearningCost",
    "Measurement",
    "call_cost",
    "learning_cost",
    "measure",
    "peak_memory_bytes",
    "queue_call_cost",
]
