"""The scenarios, one question each, as locustfiles."""
