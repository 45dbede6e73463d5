"""Arrays in, arrays out; nothing here knows X, labels or models."""
