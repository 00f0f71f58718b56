"""Consumers that close their connections for a while, as their stays say. It is no broker's fault, and is timed as one.

So a run tells what piled up meanwhile, and how long the network took to deliver it.
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
    """The users do it themselves. ``target``: their client group.

    Made of users' stays only: `absences`.
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
    """The times between two stays, and after the last one if it has an end, within a load of that length.

    A load that ends by count may end before any of them: None. Of a group's absences that overlap, only the first.
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
