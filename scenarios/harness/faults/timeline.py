"""When does each fault begin and end, and did it? Every fault has a thread of its own and leaves one row.

One that never came, was cut short by the end of the load, or could not be applied leaves the reason in its row, which
makes the run invalid: it did not ask what it was meant to ask.
"""

import threading
import time
from collections.abc import Sequence

from records.writer import Recorder
from scenarios.harness.faults.contract import Fault
from topologies.runtimes.contract import Runtime, RuntimeFailed

NS_PER_S = 1_000_000_000


class Timeline:
    """The faults of one run. ``over``: set when the load ends; what is broken by then is mended at once."""

    def __init__(self, faults: Sequence[Fault], runtime: Runtime, recorder: Recorder) -> None:
        self._runtime = runtime
        self._recorder = recorder
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._apply, args=(index, fault), daemon=True) for index, fault in enumerate(faults)
        ]
        self.states = ["planned"] * len(faults)  # or: going on, over, failed: why
        self._load_began_ns = 0

    def start(self, load_began_ns: int) -> None:
        self._load_began_ns = load_began_ns
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Mend what is still broken, and wait until all is recorded. Idempotent, also when never started."""
        self._over.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def _apply(self, index: int, fault: Fault) -> None:
        due_s = (self._load_began_ns - time.perf_counter_ns()) / NS_PER_S + fault.at_s
        began_ns, ended_ns, error = time.perf_counter_ns(), None, None
        if self._over.wait(max(due_s, 0)):
            error = "the load was over before it was due"
        else:
            began_ns = time.perf_counter_ns()
            self.states[index] = "going on"
            try:
                ended_ns, error = self._happen(fault)
            except Exception as failed:
                error = str(failed) if isinstance(failed, RuntimeFailed) else repr(failed)
        self.states[index] = f"failed: {error}" if error else "over"
        self._recorder.fault(fault.kind, fault.target, began_ns, ended_ns, error)

    def _happen(self, fault: Fault) -> tuple[int, str | None]:
        """When it was mended, and whether it was too early."""
        fault.begin(self._runtime)
        cut_short = self._over.wait(fault.for_s)
        fault.end(self._runtime)
        return time.perf_counter_ns(), "the load was over before it was" if cut_short else None
