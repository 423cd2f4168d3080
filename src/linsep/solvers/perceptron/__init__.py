"""Rules that learn from mistakes."""
