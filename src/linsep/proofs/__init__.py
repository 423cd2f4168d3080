"""Proofs: what can be said about a model or about data, recomputed without trust."""
