"""The engine behind all scenarios: options, the steps of a run, faults, worker processes and the web UI.

Locustfiles import from `brokerbench` instead.
"""

import drivers  # noqa: F401 - rejects files that have the names of our packages
