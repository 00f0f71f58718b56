"""The present run as others see it while it goes on: a page, JSON, and metrics for Prometheus.

Nothing here can start, stop or change a run. `harness.web` adds these pages to Locust's web UI. `harness.live.server`
serves them alone, for a run without a web UI.
"""
