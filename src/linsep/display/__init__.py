"""Pictures of data, planes, weights, hulls, costs and recorded runs."""
