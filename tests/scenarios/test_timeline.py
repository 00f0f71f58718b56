"""Does every fault leave one true row: when it began, when it was mended, or why it could not be applied?"""

import time
from dataclasses import dataclass

from scenarios.harness.faults import FreezeBroker
from scenarios.harness.faults.timeline import Timeline
from tests.support.waiting import until
from topologies.runtimes.contract import RuntimeFailed

S = 1_000_000_000


class Notebook:
    def __init__(self) -> None:
        self.rows: list[tuple[str, str, int, int | None, str | None]] = []

    def fault(self, *row: object) -> None:
        self.rows.append(row)  # type: ignore[arg-type]


@dataclass
class Brokers:
    """A runtime that only freezes."""

    frozen: bool = False
    refuses: bool = False

    def pause(self, broker: str) -> None:
        if self.refuses:
            raise RuntimeFailed(f"broker {broker} does not run")
        self.frozen = True

    def resume(self, broker: str) -> None:
        self.frozen = False


def timeline(brokers: Brokers, notebook: Notebook, *, at_s: float, for_s: float) -> Timeline:
    line = Timeline((FreezeBroker("b", at_s=at_s, for_s=for_s),), brokers, notebook)  # type: ignore[arg-type]
    line.start(time.perf_counter_ns())
    return line


def test_a_fault_begins_and_ends_when_it_is_due() -> None:
    brokers, notebook = Brokers(), Notebook()
    began_ns = time.perf_counter_ns()
    line = timeline(brokers, notebook, at_s=0.1, for_s=0.2)
    until(lambda: notebook.rows)
    line.end()
    ((kind, target, fault_began_ns, ended_ns, error),) = notebook.rows
    assert (kind, target, error, brokers.frozen) == ("freeze", "b", None, False)
    assert fault_began_ns - began_ns >= 0.1 * S
    assert ended_ns is not None
    assert ended_ns - fault_began_ns >= 0.2 * S


def test_what_is_still_broken_when_the_load_ends_is_mended_at_once() -> None:
    brokers, notebook = Brokers(), Notebook()
    line = timeline(brokers, notebook, at_s=0, for_s=60)
    while not brokers.frozen:
        time.sleep(0.01)
    line.end()
    assert not brokers.frozen
    assert [row[4] for row in notebook.rows] == ["the load was over before it was"]


def test_a_fault_that_was_never_due_says_so() -> None:
    notebook = Notebook()
    timeline(Brokers(), notebook, at_s=60, for_s=1).end()
    assert [(row[3], row[4]) for row in notebook.rows] == [(None, "the load was over before it was due")]


def test_a_fault_of_our_own_is_a_fault_that_could_not_be_applied() -> None:
    class Broken(Brokers):
        def pause(self, broker: str) -> None:
            raise OSError("no such process")

    notebook = Notebook()
    line = timeline(Broken(), notebook, at_s=0, for_s=0)
    until(lambda: notebook.rows)
    line.end()
    assert [row[4] for row in notebook.rows] == ["OSError('no such process')"]


def test_a_fault_that_cannot_be_applied_says_why() -> None:
    notebook = Notebook()
    line = timeline(Brokers(refuses=True), notebook, at_s=0, for_s=1)
    until(lambda: notebook.rows)
    line.end()
    assert [(row[3], row[4]) for row in notebook.rows] == [(None, "broker b does not run")]
