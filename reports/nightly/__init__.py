"""Evaluates the gates of a nightly benchmark, and writes its page, its files for CI, and the history with trends."""
