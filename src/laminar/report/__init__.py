"""Reports: a fitted model as one HTML file."""
