"""Samples on the workers of a dask cluster: blocks of rows of X and of tall factors, and functions run on them."""
