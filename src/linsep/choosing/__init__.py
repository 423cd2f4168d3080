"""Choosing how rich a class of rules should be: too poor, right, too rich."""
