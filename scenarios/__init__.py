"""Scenarios as locustfiles. Each answers one question."""
