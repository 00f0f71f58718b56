"""Records when the clients of a process stood still, so that messages that were read late do not count as slow.

All Python clients of a process share one gevent loop. While one greenlet keeps it busy, or the machine gives the
process no core, no client reads: a message that has arrived gets its `received_ns` late. The sampler makes the loop
call it every `PERIOD_NS`. If the call is more than `LEAST_STALL_NS` late, the process stood still from the time at
which the call was due.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

import gevent

from drivers.client.client import MakesPythonClients
from drivers.client.contract import ClientConnector
from records.store.writer import Recorder
from records.units import NS_PER_S

PERIOD_NS = 2_000_000
"""A timer of 2 ms uses 1.7 % of a core, one of 5 ms 0.7 %, one of 1 ms 3.2 %."""
LEAST_STALL_NS = 3_000_000
"""A pause of 5 ms or more always has a row, as a pause may begin up to `PERIOD_NS` before the timer is due.

A busy machine causes 10 to 20 rows per second; a million reads then take 0.2 s more in the analysis.
"""


class StallSampler:
    """Samples one process from `start` to `stop`, for the protocols with clients in Python.

    Java clients have their own threads, which continue while the loop is stalled. `drivers.jvm.event_buffers` samples
    them.
    """

    def __init__(
        self,
        recorder: Recorder,
        process_index: int,
        connectors: Mapping[str, ClientConnector],
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self._recorder = recorder
        self._process_index = process_index
        self._protocols = [name for name, connector in connectors.items() if isinstance(connector, MakesPythonClients)]
        self._clock = clock
        self._last_ns = 0  # time of the last call
        self._timer: Any = None

    def start(self) -> None:
        """Start sampling. Does nothing in a process without clients in Python."""
        if self._protocols and self._timer is None:
            self._last_ns = self._clock()
            period_s = PERIOD_NS / NS_PER_S
            self._timer = gevent.get_hub().loop.timer(period_s, period_s, ref=False)
            self._timer.start(self._called)

    def stop(self) -> None:
        """Call before the recorder is closed. Records a stall that has just ended; may be repeated."""
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.stop()
            timer.close()
            self._called()

    def _called(self) -> None:
        """Take a sample; gevent's loop calls it, as a greenlet for it would take twice the CPU."""
        due_ns, self._last_ns = self._last_ns + PERIOD_NS, self._clock()
        if self._recorder.closed:  # also for an abandoned run
            self.stop()
        elif self._last_ns - due_ns > LEAST_STALL_NS:
            for protocol in self._protocols:
                self._recorder.stall(self._process_index, protocol, due_ns, self._last_ns)
