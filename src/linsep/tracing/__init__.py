"""Recorded runs: one step for each update."""
