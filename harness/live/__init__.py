"""Shows the current run to others: a page, JSON, and metrics for Prometheus.

This package cannot start, stop or change a run. `harness.web` adds these pages to Locust's web UI.
`harness.live.server` serves them alone, for a run without a web UI.
"""
