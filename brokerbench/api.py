"""The public API: the names that a locustfile imports from `brokerbench`. Everything else is internal.

`brokerbench` loads this module when a locustfile imports the first of these names. The commands do not need it, so they
start quickly.
"""

from drivers.users import ConsumerUser, ProducerUser, Stay
from harness import checks, faults
from harness.checks import *  # noqa: F403 - its `__all__`
from harness.faults import *  # noqa: F403 - its `__all__`
from harness.lifecycle import run
from harness.locustfile_errors import install_exception_hook
from harness.scenario import (
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
from records.figures.checks import Check
from topologies.model.impairment import Impairment

__all__ = [
    "ANY_LINK",
    "BETWEEN_REGIONS",
    "MIRROR",
    "PARALLEL",
    "TO_A_PAIR",
    "TO_FAR_CONSUMERS",
    "AddClients",
    "Check",
    "ConsumerUser",
    "Hold",
    "Impairment",
    "NeededLink",
    "ProducerUser",
    "Scenario",
    "Search",
    "Stay",
    "Steps",
    "run",
]
__all__ += checks.__all__
__all__ += faults.__all__

install_exception_hook()  # here, as Locust imports locustfiles before it calls our code
