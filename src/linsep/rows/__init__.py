"""Reading data: passes over the rows of a table, dense or sparse, by threads, in a fixed order."""
