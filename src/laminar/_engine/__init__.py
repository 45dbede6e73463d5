"""How anything is minimised: data, terms, constraints, updates, the loop. Private."""
