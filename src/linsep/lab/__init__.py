"""The lab: every method step by step in a browser, with one's own points."""
