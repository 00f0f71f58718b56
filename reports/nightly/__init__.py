"""The results of a nightly benchmark: gates judged, a page, files for CI, and a history with its trend."""
