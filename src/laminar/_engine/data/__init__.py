"""X: products by blocks of rows, in unit scale."""
