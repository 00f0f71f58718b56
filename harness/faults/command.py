"""Runs a command of the user, such as a reboot of an Amazon MQ broker, for brokers that brokerbench does not start."""

import logging
import math
import shlex
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from harness.faults.contract import BrokerFault, Probe
from topologies.runtimes.capabilities import Capability, can
from topologies.runtimes.contract import Runtime, RuntimeFailed
from topologies.runtimes.processes import guard

log = logging.getLogger("brokerbench")

EXPECT_S = 60.0
FAILS_WITHIN_S = 1.0  # a command that runs longer may be waiting for the broker


@dataclass(frozen=True)
class CommandFault(BrokerFault):
    """Runs ``command``. The broker is expected to stop accepting logins, and later to accept them again.

    ``expect_s``: the time limit for each of the two. ``command``: split like in a shell, but run without one. Its
    output goes to this process's standard error. The command is ended with this process. A broker that it has started
    in the background keeps running.
    """

    kind: ClassVar[str] = "command"
    seconds: ClassVar[Mapping[str, str]] = {"expect": "expect_s"}
    texts: ClassVar[tuple[str, ...]] = ("target",)
    does: ClassVar[str] = (
        "your command takes down a broker that brokerbench did not start (`--runtime external`); the broker comes back "
        "on its own"
    )
    needs: ClassVar[tuple[Capability, ...]] = ()
    takes_down: ClassVar[bool] = True
    look_every_s: ClassVar[float] = 0.25  # each look is a login to a broker that is not ours

    command: str = ""
    expect_s: float = EXPECT_S

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.expect_s < math.inf:
            raise ValueError(
                f"fault {self.kind} of {self.target}: expect={self.expect_s:g} must be greater than 0 seconds"
            )
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise ValueError(f"fault {self.kind} of {self.target}: {self.command!r} cannot be split: {error}") from None
        if not words:
            raise ValueError(f"fault {self.kind} of {self.target}: the command is empty")

    @classmethod
    def usage(cls) -> str:
        return f"{cls.kind}(COMMAND, target=BROKER, at=S, expect=S)"

    @classmethod
    def fields_of(cls, argument: str, texts: Mapping[str, str]) -> dict[str, Any]:
        if not texts.get("target"):
            raise ValueError("the broker that the command takes down is missing; add target=BROKER")
        return {"command": argument, "target": texts["target"]}

    def why_not_on(self, runtime: str) -> str:
        if can(runtime, Capability.OPERATES_BROKERS):
            rule = "command is for brokers that run already (--runtime external)"
            return f"{rule}; use kill, stop, restart or freeze"
        return ""

    @property
    def lasts_s(self) -> float:
        """0: there is nothing to mend, as the command brings the broker back."""
        return 0.0

    @property
    def effect_timeout_s(self) -> float:  # type: ignore[override]
        return self.expect_s

    @property
    def mended_timeout_s(self) -> float:  # type: ignore[override]
        return self.expect_s

    def begin(self, runtime: Runtime) -> None:
        process = subprocess.Popen(
            guard.command_line(shlex.split(self.command), leaves_processes=True),
            stdin=subprocess.DEVNULL,
            stdout=2,  # standard error: the last line of standard output names the report
            start_new_session=True,
        )
        try:
            status = process.wait(FAILS_WITHIN_S)
        except subprocess.TimeoutExpired:
            threading.Thread(target=self._log_failure, args=(process,), daemon=True).start()
            return
        if status:
            raise RuntimeFailed(f"command {self.command!r} exited with status {status}; its output is above")

    def _log_failure(self, process: "subprocess.Popen[bytes]") -> None:
        if status := process.wait():
            log.warning("command %r exited with status %s; its output is above", self.command, status)

    def end(self, runtime: Runtime) -> None:
        """Do nothing: the broker comes back on its own."""

    def in_effect(self, probe: Probe) -> bool:
        return not probe.serves(self.target)
