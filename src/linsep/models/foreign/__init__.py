"""Models of other libraries: what they minimise, and how far they are from it."""
