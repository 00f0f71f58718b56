"""Absences of consumers, which close their connections between two stays. They are timed like faults of a broker.

The run then reports the backlog from an absence, and the time in which the network delivered it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import ClassVar

from drivers.users.locust_users import ConsumerUser
from harness.faults.contract import Fault, Probe
from topologies.runtimes.contract import Runtime


@dataclass(frozen=True)
class ConsumersAway(Fault):
    """An absence of a client group (``target``). The users disconnect on their own, so nothing is done to the runtime.

    Only `absences` makes these faults, from the users' stays.
    """

    kind: ClassVar[str] = "away"
    of_link: ClassVar[bool] = False
    mended_as: ClassVar[str] = "come back"
    not_mended_as: ClassVar[str] = "did not come back"

    def begin(self, runtime: Runtime) -> None:
        pass

    def end(self, runtime: Runtime) -> None:
        pass

    def in_effect(self, probe: Probe) -> bool:
        return True

    def mended(self, probe: Probe) -> bool:
        return True


def absences(consuming: Iterable[type[ConsumerUser]], load_s: float | None) -> tuple[ConsumersAway, ...]:
    """Return the absences between two stays, and after a last stay that ends, within a load of ``load_s`` seconds.

    ``load_s`` is None for a load that ends by count: the result is then empty, as the load may end before any absence.
    If absences of a group overlap, only the first is returned.
    """
    apart: list[ConsumersAway] = []
    for absence in sorted(chain(*map(_between_stays, consuming)), key=lambda absence: absence.at_s):
        earlier = [fault for fault in apart if fault.target == absence.target]
        is_new = not earlier or earlier[-1].at_s + earlier[-1].lasts_s < absence.at_s
        if load_s is not None and absence.at_s < load_s and is_new:
            ends_in_load = absence.at_s + absence.lasts_s <= load_s
            apart.append(absence if ends_in_load else replace(absence, for_s=None))
    return tuple(apart)


def _between_stays(user: type[ConsumerUser]) -> Iterator[ConsumersAway]:
    for stay, later in pairwise((*user.stays, None)):
        assert stay is not None
        if stay.until_s is not None and (later is None or later.from_s > stay.until_s):
            for_s = None if later is None else later.from_s - stay.until_s
            yield ConsumersAway(user.group, stay.until_s, for_s)
