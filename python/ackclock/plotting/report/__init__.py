"""Pages and tables from results; nothing is simulated here."""

from ackclock.plotting.report.report_page import write_report

__all__ = ["write_report"]
