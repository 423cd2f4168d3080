"""Inner loops over plain arrays: one source, run as Python when tiny, compiled when not."""
