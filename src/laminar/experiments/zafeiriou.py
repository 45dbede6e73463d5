"""Zafeiriou, Nikitidis, Zafeiriou and Pantic, Slow features nonnegative matrix factorization."""
