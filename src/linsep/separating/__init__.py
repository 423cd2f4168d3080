"""From a verdict to its numbers: planes, margins, weak separators."""
