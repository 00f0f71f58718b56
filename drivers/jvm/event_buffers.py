"""Takes the rows that the JVM's clients recorded, passes them to the recorder unchanged, and counts them.

Java packs rows like the recorder, with the recorder's numbers for texts. Python takes the rows about fifty times per
second, at any message rate. The session's statistics (`drivers.users.locust_stats`) count each batch.

It also takes the times when the JVM stood still, so that messages that its clients read late do not count as slow. A
thread of the JVM (StallSampler.java) sleeps for 2 ms repeatedly. If it wakes more than 3 ms late, something stopped the
whole JVM: its garbage collector, or the machine. No client in it could read then. The thread notes the times itself,
because Python has its own stalls. `drivers.users.stall_sampler` records those.
"""

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from drivers.client.contract import LoadStatistics
from drivers.contract import Outcome
from drivers.jvm.hub import JavaHub
from records.store.packing import packed_dtype
from records.store.writer import Recorder
from records.tables.schemas import RECEIPTS, SENDS

SEND_ROW, RECEIPT_ROW = packed_dtype(SENDS), packed_dtype(RECEIPTS)
ROWS_AHEAD = 65_536  # in each of two buffers per table: several seconds of a load that Python cannot keep up with


class EventBuffers:
    """The rows of all Java clients that share one recorder, and the JVM's stalls while there are any clients."""

    def __init__(
        self,
        hub: JavaHub,
        recorder: Recorder,
        brokers: Mapping[str, str],
        statistics: LoadStatistics,
        process_index: int,
    ) -> None:
        self.names = _names(hub, recorder, brokers)
        self.sends = hub.java_class("SendRows")(hub.java, ROWS_AHEAD)
        self.receipts = hub.java_class("ReceiptRows")(hub.java, ROWS_AHEAD)
        self.recorder, self.statistics, self._hub = recorder, statistics, hub
        self._send_views = [memoryview(self.sends.buffer(half)) for half in (0, 1)]
        self._receipt_views = [memoryview(self.receipts.buffer(half)) for half in (0, 1)]
        self._begun = self._settled = 0
        self._foreign = recorder.number("foreign")
        self._stalls = JvmStallSampler(hub, recorder, process_index)
        self._users = 0
        self._lock = threading.Lock()  # two concurrent calls would read a buffer that is being refilled

    def open(self) -> None:
        """Add a client: rows are taken, and stalls sampled, while there is at least one. Raises DriverError."""
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._hub.take_rows_by(self.take)
                self._stalls.start()

    def close(self) -> None:
        """Remove a client, after taking all rows that it recorded."""
        self.take()
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._hub.stop_taking(self.take)
                self._stalls.stop()

    def take(self) -> None:
        """Record and count all available rows. May be called from any thread."""
        with self._lock:
            self._take()

    def _take(self) -> None:
        settled, begun = (
            int(self.sends.settled()),
            int(self.sends.begun()),
        )  # read before the rows, which are then complete
        if sends := _taken(self.sends, self._send_views):
            self.recorder.packed("sends", sends)
            self.statistics.sends_recorded(np.frombuffer(sends, SEND_ROW))
        if receipts := _taken(self.receipts, self._receipt_views):
            self.recorder.packed("receipts", receipts)
            rows = np.frombuffer(receipts, RECEIPT_ROW)
            self.statistics.receipts_recorded(rows)
            if (rows["integrity"] == self._foreign).any():
                self._take_foreign()
        self.statistics.counted(begun - self._begun, settled - self._settled)
        self._begun, self._settled = begun, settled

    def _take_foreign(self) -> None:
        for message in self.receipts.takeForeign():
            where = self.recorder.text(int(message.destination())), self.recorder.text(int(message.broker()))
            self.statistics.foreign_received(*where, bytes(message.beginning()), int(message.bodyBytes()))


def _taken(rows: Any, views: list[memoryview]) -> bytes:
    size, half = divmod(int(rows.take()), 2)
    return bytes(views[half][:size])


def _names(hub: JavaHub, recorder: Recorder, brokers: Mapping[str, str]) -> Any:
    names = hub.java_class("Names")()
    names.acked, names.failed = recorder.number(Outcome.ACKED), recorder.number(Outcome.FAILED)
    names.inDoubt, names.unconfirmed = recorder.number(Outcome.IN_DOUBT), recorder.number(Outcome.UNCONFIRMED)
    names.intact, names.corrupted = recorder.number("intact"), recorder.number("corrupted")
    names.unreadable, names.foreign = recorder.number("unreadable"), recorder.number("foreign")
    names.nobody = recorder.number("")
    for address, broker in brokers.items():
        names.addBroker(address, recorder.number(broker))
    return names


class JvmStallSampler:
    """Samples the JVM from `start` to `stop`, for the clients of one protocol."""

    def __init__(self, hub: JavaHub, recorder: Recorder, process_index: int) -> None:
        self._hub, self._recorder, self._process_index = hub, recorder, process_index
        self._number = 0
        self._java: Any = None

    def start(self) -> None:
        """Start the thread. Raises DriverError if it cannot be started."""
        self._number = self._hub.listen(lambda *_: self._take())
        self._java = self._hub.make("StallSampler", self._hub.java, self._number)

    def stop(self) -> None:
        """Call before the recorder is closed. Records a stall that has just ended; may be repeated."""
        java = self._java
        if java is not None:
            java.stop()
            self._take()
            self._java = None
        self._hub.forget(self._number)

    def _take(self) -> None:
        """Take the rows after a stall; the hub calls it. The recorder of an abandoned run accepts no more rows."""
        java = self._java
        if java is None:
            return
        if self._recorder.closed:
            java.stop()
            return
        times = [int(time_ns) for time_ns in java.take()]
        for began_ns, ended_ns in zip(times[::2], times[1::2], strict=True):
            self._recorder.stall(self._process_index, self._hub.protocol, began_ns, ended_ns)
