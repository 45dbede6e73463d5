"""X as the engine sees it: products by blocks of rows, in unit scale."""
