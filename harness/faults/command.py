"""Runs a command of the user's own, such as a reboot of an Amazon MQ broker: for brokers that are not ours to break."""

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
FAILS_WITHIN_S = 1.0  # a command that goes on for longer may be waiting for the broker


@dataclass(frozen=True)
class CommandFault(BrokerFault):
    """Starts ``command``; the broker is expected to take no login then, and to take logins again.

    ``expect_s``: how long either may take. ``command``: split as a shell would, but no shell runs it. Its output goes
    to this process's standard error. It ends with this process.
    """

    kind: ClassVar[str] = "command"
    seconds: ClassVar[Mapping[str, str]] = {"expect": "expect_s"}
    texts: ClassVar[tuple[str, ...]] = ("target",)
    does: ClassVar[str] = (
        "a command of your own takes a broker down that runs already (`--runtime external`); the broker comes back by "
        "itself"
    )
    needs: ClassVar[tuple[Capability, ...]] = ()
    takes_down: ClassVar[bool] = True
    look_every_s: ClassVar[float] = 0.25  # each look is a login at somebody else's broker

    command: str = ""
    expect_s: float = EXPECT_S

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.expect_s < math.inf:
            raise ValueError(
                f"fault {self.kind} of {self.target}: expect={self.expect_s:g} must be more than 0 seconds"
            )
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise ValueError(f"fault {self.kind} of {self.target}: {self.command!r} cannot be split: {error}") from None
        if not words:
            raise ValueError(f"fault {self.kind} of {self.target}: there is no command to run")

    @classmethod
    def usage(cls) -> str:
        return f"{cls.kind}(COMMAND, target=BROKER, at=S, expect=S)"

    @classmethod
    def fields_of(cls, argument: str, texts: Mapping[str, str]) -> dict[str, Any]:
        if not texts.get("target"):
            raise ValueError("which broker does it take down? Add target=BROKER")
        return {"command": argument, "target": texts["target"]}

    def why_not_on(self, runtime: str) -> str:
        if can(runtime, Capability.OPERATES_BROKERS):
            rule = "a command is for brokers that run already (--runtime external)"
            return f"{rule}; write kill, stop, restart or freeze"
        return ""

    @property
    def lasts_s(self) -> float:
        """Nothing has to be done to mend it: the command brings the broker back."""
        return 0.0

    @property
    def effect_timeout_s(self) -> float:  # type: ignore[override]
        return self.expect_s

    @property
    def mended_timeout_s(self) -> float:  # type: ignore[override]
        return self.expect_s

    def begin(self, runtime: Runtime) -> None:
        process = subprocess.Popen(
            guard.command_line(shlex.split(self.command)),
            stdin=subprocess.DEVNULL,
            stdout=2,  # standard error: the last line of standard output names the report
            start_new_session=True,
        )
        try:
            status = process.wait(FAILS_WITHIN_S)
        except subprocess.TimeoutExpired:
            threading.Thread(target=self._tell_failure, args=(process,), daemon=True).start()
            return
        if status:
            raise RuntimeFailed(f"the command {self.command!r} ended with status {status}; what it said is above")

    def _tell_failure(self, process: "subprocess.Popen[bytes]") -> None:
        if status := process.wait():
            log.warning("the command %r ended with status %s; what it said is above", self.command, status)

    def end(self, runtime: Runtime) -> None:
        """The broker comes back by itself."""

    def in_effect(self, probe: Probe) -> bool:
        return not probe.serves(self.target)
