"""Clusters by the agreement of many graphs of one view or several."""
