"""Scenarios as locustfiles. Each scenario answers one question."""
