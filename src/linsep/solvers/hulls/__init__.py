"""Nearest points of convex hulls and cones: separation and maximum margins."""
