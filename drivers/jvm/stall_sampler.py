"""Records when the JVM stood still, so that messages that its clients read late do not count as slow.

A thread of the JVM (StallSampler.java) sleeps for 5 ms, again and again. If it wakes more than 10 ms late, then
something stopped the whole JVM: its garbage collector, or the machine. No client there could read meanwhile. The thread
notes the times itself, because Python has stalls of its own. `drivers.users.stall_sampler` records those.
"""

from typing import Any

from drivers.jvm.hub import JavaHub
from records.writer import Recorder


class JvmStallSampler:
    """Samples the JVM from `start` to `stop`, for the clients of one protocol."""

    def __init__(self, hub: JavaHub, recorder: Recorder, process_index: int) -> None:
        self._hub, self._recorder, self._process_index = hub, recorder, process_index
        self._number = 0
        self._java: Any = None

    def start(self) -> None:
        """Raises DriverError where the thread cannot be started."""
        self._number = self._hub.listen(lambda *_: self._take())
        self._java = self._hub.make("StallSampler", self._hub.java, self._number)

    def stop(self) -> None:
        """Before the recorder is closed. Records a stall that has ended just now; may be repeated."""
        java = self._java
        if java is not None:
            java.stop()
            self._take()
            self._java = None
        self._hub.forget(self._number)

    def _take(self) -> None:
        """Called by the hub after a stall. The recorder of a run that was abandoned takes no more rows."""
        java = self._java
        if java is None:
            return
        if self._recorder.closed:
            java.stop()
            return
        times = [int(time_ns) for time_ns in java.take()]
        for began_ns, ended_ns in zip(times[::2], times[1::2], strict=True):
            self._recorder.stall(self._process_index, self._hub.protocol, began_ns, ended_ns)
