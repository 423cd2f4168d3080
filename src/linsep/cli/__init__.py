"""The command line: results on stdout, narration and progress on stderr."""
