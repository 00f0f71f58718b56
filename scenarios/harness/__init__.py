"""Everything that a locustfile needs beside its users."""

from scenarios.harness import checks
from scenarios.harness.checks import *  # noqa: F403 - its `__all__`
from scenarios.harness.lifecycle import run
from scenarios.harness.locustfile_errors import use_status_of_a_run_that_cannot_be_made
from scenarios.harness.scenario import (
    ANY_LINK,
    BETWEEN_REGIONS,
    MIRROR,
    PARALLEL,
    TO_A_PAIR,
    TO_FAR_CONSUMERS,
    AddClients,
    Hold,
    NeededLink,
    Scenario,
    Search,
    Steps,
)

__all__ = [
    "ANY_LINK",
    "BETWEEN_REGIONS",
    "MIRROR",
    "PARALLEL",
    "TO_A_PAIR",
    "TO_FAR_CONSUMERS",
    "AddClients",
    "Hold",
    "NeededLink",
    "Scenario",
    "Search",
    "Steps",
    "run",
]
__all__ += checks.__all__

use_status_of_a_run_that_cannot_be_made()  # here, as Locust imports locustfiles before it calls anything of ours
