"""Checks that each row of the JVM's clients is recorded exactly once."""

import threading

import numpy as np
import pytest

from drivers.jvm import vm
from drivers.jvm.event_buffers import SEND_ROW, EventBuffers
from drivers.jvm.hub import hub
from harness.java_parts import find_java_parts
from tests.support.event_rows import packed_values, send_row

pytestmark = pytest.mark.java
vm.use(find_java_parts)
ROWS = 5_000
TAKERS = 3


class Keeps:
    """Replaces a recorder and the statistics."""

    def __init__(self) -> None:
        self.seqs: list[int] = []
        self.numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))

    def packed(self, table: str, rows: bytes) -> None:
        assert table == "sends"
        self.seqs += np.frombuffer(rows, SEND_ROW)["seq"].tolist()

    def sends_recorded(self, rows: object) -> None: ...

    def counted(self, begun: int, settled: int) -> None: ...


def test_rows_that_several_threads_take_come_out_once_each() -> None:
    keeper = Keeps()
    books = EventBuffers(hub("openwire"), keeper, {}, keeper, 0)  # type: ignore[arg-type]
    added = threading.Event()

    def take() -> None:
        while not added.is_set():
            books.take()

    takers = [threading.Thread(target=take) for _ in range(TAKERS)]
    for taker in takers:
        taker.start()
    for seq in range(ROWS):
        books.sends.add(*packed_values(send_row(seq, 0), keeper.number))
    added.set()
    for taker in takers:
        taker.join()
    books.take()
    assert sorted(keeper.seqs) == list(range(ROWS))
