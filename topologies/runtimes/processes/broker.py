"""Controls a broker process: it is started below a guard, and stopped, killed, frozen and thawed by signals."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from topologies.runtimes.handle import BrokerLog, has_ended, pause
from topologies.runtimes.processes import guard
from topologies.runtimes.processes.cpu_groups import CpuGroup, CpuQuota

GUARD_START_LIMIT_S = 10.0
REAP_LIMIT_S = 1.0


class BrokerProcess:
    """A broker of a run; each `start` is a new process with the same command, data and log."""

    def __init__(
        self,
        command: Sequence[str],
        environment: dict[str, str],
        *,
        log: Path,
        pid_file: Path,
        remove: Sequence[Path],
        quota: CpuQuota | None = None,
    ) -> None:
        """Prepare the process without starting it. ``remove``: folders that the guard removes if the harness dies."""
        self._command, self._environment = command, environment
        self._pid_file, self._remove, self._quota = pid_file, remove, quota
        self._group: CpuGroup | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._pid: int | None = None
        self._log = BrokerLog(log)
        self.log = log

    def __repr__(self) -> str:
        return f"<BrokerProcess {self.log.parent.parent.name} pid={self.pid} alive={self.alive}>"

    def start(self) -> None:
        """Return at once; the log and `alive` show what happens to the broker."""
        self._pid = None
        self._pid_file.unlink(missing_ok=True)
        self._group = group = self._quota.new_group() if self._quota else None
        line = guard.command_line(
            self._command,
            pid_file=self._pid_file,
            remove=self._remove,
            group=group.folder if group else None,
            settings=group.settings if group else None,
        )
        self._log.mark_start()
        with self.log.open("ab") as output:
            self._guard = subprocess.Popen(
                line,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._environment,
                cwd=self.log.parent,
                start_new_session=True,
            )

    @property
    def alive(self) -> bool:
        return self._guard is not None and self._guard.poll() is None and not has_ended(self._guard.pid)

    @property
    def exit_status(self) -> int | None:
        """The exit status of an ended process (128 + N for signal N); None if it is running or was never started."""
        if self._guard is None or self.alive:
            return None
        with suppress(subprocess.TimeoutExpired):
            return self._guard.wait(REAP_LIMIT_S)
        return None

    @property
    def pid(self) -> int | None:
        """The broker's pid, not the guard's; None if it is not running or has not started yet."""
        if not self.alive:
            return None
        if self._pid is None:
            with suppress(OSError, ValueError):
                self._pid = int(self._pid_file.read_text(encoding="ascii"))
        return self._pid

    def terminate(self) -> None:
        """Send SIGTERM to the broker. A frozen broker is thawed first, so that it receives the signal."""
        if self._guard is not None and self.alive:
            self.signal(signal.SIGCONT)
            with suppress(ProcessLookupError):
                self._guard.terminate()

    def kill(self) -> None:
        """Send SIGKILL to it and its descendants. Does not wait."""
        if self._guard is None or not self.alive:
            return
        if not self.signal(signal.SIGKILL):
            with suppress(ProcessLookupError):
                self._guard.kill()  # a broker that is not started yet ends with its guard

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal to the broker's process group; return False if that is not possible."""
        pid = self.pid
        if pid is None:
            return False
        try:
            os.killpg(pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def wait_for_pid(self) -> int | None:
        """Return the broker's pid, after the short time that its guard needs; None if there is no pid by then."""
        end = time.monotonic() + GUARD_START_LIMIT_S
        while self.pid is None and self.alive and time.monotonic() < end:
            pause()
        return self.pid

    def wait(self, timeout_s: float) -> bool:
        """Wait until the process has ended; False if it is still running after ``timeout_s``."""
        end = time.monotonic() + timeout_s
        while self.alive:
            if time.monotonic() >= end:
                return False
            pause()
        return True

    def freeze(self) -> bool:
        """Freeze the broker and return True; return False if it is not running."""
        return self.wait_for_pid() is not None and self.signal(signal.SIGSTOP)

    def thaw(self) -> bool:
        return self.wait_for_pid() is not None and self.signal(signal.SIGCONT)

    def discard(self) -> None:
        """End it at once, because it was started while the run was closing."""
        self.kill()

    def remove_group(self) -> None:
        """Remove the control group of an ended broker whose guard was killed before it could do so."""
        if self._group:
            with suppress(OSError):
                self._group.folder.rmdir()

    def log_lines(self, *, of_this_start: bool = False) -> list[str]:
        return self._log.lines(of_this_start=of_this_start)
