"""Load tests and benchmarks of networks of message brokers.

A locustfile imports everything it needs from this package: ``from brokerbench import ProducerUser, Scenario, run``.
docs/api.md lists the names. They are imported on first use (PEP 562).
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brokerbench.api import *  # noqa: F403

API = "brokerbench.api"


def __getattr__(name: str) -> Any:
    if name.startswith("__") or find_spec(f"{__name__}.{name}"):  # Python looks up a submodule before it imports it
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from brokerbench.shadowing import import_or_exit

    api = import_or_exit(API)
    if name not in api.__all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_nearest(name, api.__all__)}", name=name)
    return getattr(api, name)


def _nearest(name: str, known: list[str]) -> str:
    from topologies.model.spelling import nearest

    return nearest(name, known) or "; docs/api.md lists its names"
