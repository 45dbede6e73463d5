"""Reports: a fitted model as one HTML file, which holds all it needs."""

from .report import Report, report

__all__ = ["Report", "report"]
