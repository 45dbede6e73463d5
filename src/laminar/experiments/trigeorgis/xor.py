"""Two attributes that no linear model separates (arXiv:1509.03248, Figs. 4 and 5)."""
