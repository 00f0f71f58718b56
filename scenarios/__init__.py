"""The scenarios, one question each, as locustfiles."""

import drivers  # noqa: F401 - rejects files that have the names of our packages
