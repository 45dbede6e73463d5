"""Number of layers against accuracy (arXiv:1509.03248, Fig. 6)."""
