"""Loss functions of the margin: value, derivative, conjugate."""
