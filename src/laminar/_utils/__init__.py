"""What every package needs and no mathematics is in."""
