"""Looks for leftovers on the queues of all brokers, and looks again while messages move between brokers.

Queues are browsed one after another. A message that crosses a link meanwhile may leave one broker before the look
there, and come to the other after the look there. Then no look shows it, though it is on a queue. So all queues are
browsed again until a pass shows nothing new.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from scenarios.harness.run.leftovers import BROWSE_TIMEOUT_S, Copy, DeadLetterQueues, Leftover, Look
from topologies.management.jolokia import ManagementFailed

log = logging.getLogger("brokerbench")

MOST_PASSES = 4
PAUSE_S = 1.0
"""Between two passes while messages move."""
STILL_MOVED = "messages still moved between brokers during the last look at their queues (number {})"


class Sightings:
    """What the looks at queues showed so far."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], tuple[Leftover, ...]] = {}  # the last look at each queue, by (broker, queue)
        self._gone: dict[tuple[str, Copy], Leftover] = {}  # seen on a queue (by name), and not in the last look there
        self._seen: set[Copy] = set()

    def queues(self, broker: str) -> list[str]:
        """The queues of a broker that were browsed."""
        return [queue for of_broker, queue in self._last if of_broker == broker]

    def take(self, broker: str, look: Look) -> bool:
        """Take one look at a queue. Whether it shows a message that was not on this queue before.

        A dead letter is new only if it was seen nowhere before: otherwise it has only expired meanwhile.
        """
        if look.found is None:
            return False
        before, ours = self._last.get((broker, look.queue), ()), [each for each in look.found if each.is_ours]
        copies = Counter(each.copy for each in ours)
        arrived = copies - Counter(each.copy for each in before)
        self._gone |= {(look.queue, each.copy): each for each in before if each.is_ours and each.copy not in copies}
        self._last[broker, look.queue] = look.found
        dead = any(each.dead_letter for each in ours)
        new = not self._seen.issuperset(arrived) if dead else bool(arrived)
        self._seen.update(arrived)
        return new

    def leftovers(self) -> Iterator[Leftover]:
        """Each message where it was last seen: several times if several queues held it in the last looks.

        A message that the last looks do not show counts where it was seen before. It does not if another broker's queue
        of the same name has it now, or a dead-letter queue.
        """
        last = [each for found in self._last.values() for each in found]
        queued, dead = {(each.queue, each.copy) for each in last}, {each.copy for each in last if each.dead_letter}
        yield from last
        yield from (each for key, each in self._gone.items() if key not in queued and each.copy not in dead)


@dataclass(frozen=True)
class Pass:
    """What one pass showed.

    ``new``: a message on a queue where it was not before. ``grew``: a queue holds more than when it was browsed.
    """

    new: bool
    grew: bool

    @property
    def moving(self) -> bool:
        return self.new or self.grew


class LeftoverSearch:
    """One search of all brokers."""

    def __init__(
        self,
        brokers: Sequence[str],
        depths: Callable[[str], Mapping[str, int]],
        look: Callable[[str, Mapping[str, int]], Iterable[Look]],
        dead_letters: DeadLetterQueues,
        *,
        linked: bool,
        again_within_s: float = BROWSE_TIMEOUT_S,
        pause_s: float = PAUSE_S,
    ) -> None:
        """``depths``: messages by queue of one broker; raises ManagementFailed. ``look``: browses the queues of one
        broker that have these depths, except empty ones. ``linked``: whether messages can cross between brokers; if
        not, one pass is enough. ``again_within_s``: no pass begins later than so long after the first.
        """
        self._brokers, self._depths, self._look, self._dead_letters = brokers, depths, look, dead_letters
        self._linked, self._again_within_s, self._pause_s = linked, again_within_s, pause_s
        self._sightings = Sightings()
        self._doubts: list[str] = []  # of the last pass

    def run(self) -> list[str]:
        """Look until a pass shows nothing new. Returns what could not be established."""
        until_s = time.monotonic() + self._again_within_s
        showed, passes = self._pass(), 1
        moving = showed.grew  # that the first pass shows messages does not mean that they move
        while self._linked and showed.moving and passes < MOST_PASSES and time.monotonic() < until_s:
            if moving:
                time.sleep(self._pause_s)
            showed, passes = self._pass(), passes + 1
            moving = showed.moving
        if self._linked and moving:
            log.warning("%s", text := STILL_MOVED.format(passes))
            self._doubts.append(text)
        return list(dict.fromkeys(self._doubts))

    def leftovers(self) -> Iterator[Leftover]:
        """Every message that was found."""
        return self._sightings.leftovers()

    def _pass(self) -> Pass:
        """Look at all queues once.

        Dead letters last: a message that expires meanwhile goes there from another queue. By then the other queues
        are counted again, so a message that none of them showed is noticed where it came to.
        """
        self._doubts = []
        new, grew = False, False
        counted: dict[str, Mapping[str, int] | None] = {}
        for broker in self._brokers:
            counted[broker] = self._count(broker)
            new |= self._browse(broker, counted[broker], dead=False)
        for broker in self._brokers:
            now = self._count(broker)
            grew |= self._grew(counted[broker], now)
            new |= self._browse(broker, now, dead=True)
        return Pass(new, grew)

    def _count(self, broker: str) -> Mapping[str, int] | None:
        """The depths of its queues; None if it does not say."""
        try:
            return self._depths(broker)
        except ManagementFailed as error:
            self._doubts.append(f"what is left on {broker} is not known: {error}")
            return None

    def _grew(self, before: Mapping[str, int] | None, now: Mapping[str, int] | None) -> bool:
        if before is None or now is None:
            return False
        return any(depth > before.get(queue, 0) for queue, depth in self._dead_letters.to_be_consumed(now).items())

    def _browse(self, broker: str, depths: Mapping[str, int] | None, *, dead: bool) -> bool:
        """Look at the dead-letter queues of one broker, or at its other ones. Whether a message is new there."""
        if depths is None:
            return False
        of_kind = {queue: depth for queue, depth in depths.items() if self._dead_letters.has(queue) is dead}
        looks = {look.queue: look for look in self._look(broker, of_kind)}
        self._doubts += [look.doubt for look in looks.values() if look.doubt]
        browsed_before = (queue for queue in self._sightings.queues(broker) if self._dead_letters.has(queue) is dead)
        emptied = [Look(queue, ()) for queue in browsed_before if queue not in looks]
        return any([self._sightings.take(broker, look) for look in (*looks.values(), *emptied)])
