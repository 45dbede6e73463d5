"""Claims of the papers that stand in sentences, not in tables: one line, one number, one verdict each."""

from . import ledger

__all__ = ["ledger"]
