"""Minimisation: data, terms, constraints, updates, the loop. Private."""
