"""Pages and tables from results; nothing is simulated here."""

from ackclock.report.comparison import compare
from ackclock.report.page import write_report

__all__ = ["compare", "write_report"]
