"""Speed and what it costs: `python -m benchmarks` prints one table of ratios."""
