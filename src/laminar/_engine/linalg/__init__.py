"""Linear algebra on arrays: no X, labels or models."""
