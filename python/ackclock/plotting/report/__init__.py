"""Pages and tables from results; nothing is simulated here."""

from ackclock.plotting.report.report_page import write_report
from ackclock.plotting.report.run_comparison import compare

__all__ = ["compare", "write_report"]
