"""The Java virtual machine of a broker: its heap and further options."""

from dataclasses import dataclass
from typing import ClassVar

from topologies.model.validity import TopologyInvalid, require_plain

LEAST_HEAP_MB = 64
KINDS = ("-X", "-D")
HEAP = "set the heap by heap_mb; leave it out"
OURS = "a run sets this option itself; leave it out"
REFUSED = {
    "-Xms": HEAP,
    "-Xmx": HEAP,
    "-XX:MaxHeapSize": HEAP,
    "-XX:InitialHeapSize": HEAP,
    "-XX:MaxRAM": HEAP,
    "-XX:MinRAM": HEAP,
    "-XX:InitialRAM": HEAP,
    "-XX:AutoBoxCacheMax": OURS,
    "-XX:ErrorFile": OURS,
    "-XX:+UsePerfData": OURS,
    "-XX:-DisableAttachMechanism": OURS,
    "-XX:Flags": "write the flags themselves",
    "-XX:VMOptionsFile": "write the options themselves",
    "-Dactivemq.": OURS,
    "-Dartemis.": OURS,
    "-Dbrokerbench.": OURS,
    "-Djava.awt.headless": OURS,
    "-Djava.io.tmpdir": OURS,
    "-Djava.library.path": OURS,
    "-Djava.net.preferIPv4Stack": OURS,
    "-Djava.security.auth.login.config": OURS,
    "-Djdk.net.hosts.file": OURS,
    "-Dlog4j2.configurationFile": OURS,
}
"""The beginning of an option to the reason why it is rejected, with the next step."""


@dataclass(frozen=True)
class Jvm:
    """A JVM. ``heap_mb``: initial and maximum heap size; 0: the value of ``--broker-memory``."""

    section: ClassVar[str] = "jvm"

    heap_mb: int = 0
    options: tuple[str, ...] = ()  # -XX:+UseZGC

    @property
    def arguments(self) -> list[str]:
        """The arguments for the Java command."""
        return [*([f"-Xms{self.heap_mb}m", f"-Xmx{self.heap_mb}m"] if self.heap_mb else []), *self.options]

    def __post_init__(self) -> None:
        if self.heap_mb and self.heap_mb < LEAST_HEAP_MB:
            rule = f"it must be at least {LEAST_HEAP_MB}, or 0 for the value of --broker-memory"
            raise TopologyInvalid(f"jvm: heap_mb={self.heap_mb}, but {rule}", field="heap_mb")
        for option in self.options:
            require_plain("jvm", options=option)
            if why := _why_refused(option):
                raise TopologyInvalid(f"jvm: option {option!r}: {why}", field="options")


def _why_refused(option: str) -> str:
    if not option.startswith(KINDS) or any(letter.isspace() for letter in option):
        return "it must be one option that begins with -XX:, -X or -D, e.g. -XX:+UseParallelGC"
    if option.startswith("-D") and "password" in option.partition("=")[0].lower():
        return "every user of this machine can read a process's arguments, so a password cannot be one; leave it out"
    return next((why for begin, why in REFUSED.items() if option.startswith(begin)), "")
