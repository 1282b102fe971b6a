"""Benchmarks of the engine on fixed scenarios: packets and events per second of CPU, and peak memory."""

from ackclock.bench.calls import CallCost, call_cost, queue_call_cost
from ackclock.bench.cases import CASES, Case
from ackclock.bench.learning import LearningCost, learning_cost
from ackclock.bench.measure import Measurement, measure, peak_memory_bytes

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
