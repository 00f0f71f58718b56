"""Lists the cells of the durability table, and the options of each cell's runs. Does no I/O."""

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

KILL, POWER, RACK = "SIGKILL", "power", "power of all"
FIRST_S, LAST_S, OFF_S = 4.0, 7.0, 2.0  # the fault's earliest and latest beginning, drawn per round; its duration
DISK_MB = 4096

CLASSIC_JOURNALS = {
    "always": "journal_disk_sync_strategy: always",
    "periodic": "journal_disk_sync_strategy: periodic",
    "never": "journal_disk_sync_strategy: never",
}
WITHOUT_SYNCS = "datasync: false, sync_transactional: false, sync_non_transactional: false, large_message_sync: false"
ARTEMIS_JOURNALS = {
    f"{kind} {word}": f"kind: {kind}{syncs}"
    for kind in ("NIO", "ASYNCIO", "MAPPED")
    for word, syncs in (("synced", ""), ("unsynced", f", {WITHOUT_SYNCS}"))
}


def persistence_overlay(fields: str) -> str:
    """Return the text of an overlay that sets these fields of ``persistence`` in every broker."""
    return f"brokers: {{all: {{persistence: {{{fields}}}}}}}\n"


@dataclass(frozen=True, eq=False)
class Setup:
    """A topology of the table. ``brokers``: the broker that serves producers first. ``journals``: the journal settings
    to try, as fields of ``persistence`` in an overlay. ``protocol``: large messages that are left on a mirror can only
    be browsed with AMQP.
    """

    product: str
    version: str
    topology: str
    brokers: tuple[str, ...]
    journals: Mapping[str, str]
    protocol: str = "stomp"


SETUPS = (
    Setup("classic", "5.18.3", "single", ("broker-1",), CLASSIC_JOURNALS),
    Setup("classic", "5.18.3", "active-standby", ("broker-1", "broker-1-standby"), CLASSIC_JOURNALS),
    Setup("artemis", "2.44.0", "artemis-single", ("broker-1",), ARTEMIS_JOURNALS),
    Setup("artemis", "2.44.0", "live-backup", ("broker-1", "broker-1-backup"), ARTEMIS_JOURNALS),
    Setup("artemis", "2.44.0", "live-backup(ha='replication')", ("broker-1", "broker-1-backup"), ARTEMIS_JOURNALS),
    Setup("artemis", "2.44.0", "mirror", ("broker-1", "broker-2"), ARTEMIS_JOURNALS, "amqp"),
    Setup("classic", "5.16.6", "single", ("broker-1",), CLASSIC_JOURNALS),
    Setup("artemis", "2.40.0", "artemis-single", ("broker-1",), ARTEMIS_JOURNALS),
)


@dataclass(frozen=True)
class DurabilityCell:
    """One row of the table. ``setting``: the name of one of the setup's journal settings."""

    setup: Setup
    setting: str
    fault: str

    @property
    def product(self) -> str:
        return self.setup.product

    @property
    def version(self) -> str:
        return self.setup.version

    @property
    def topology(self) -> str:
        return self.setup.topology

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the cell's name, which `chosen` matches."""
        return (self.product, self.version, self.topology, self.setting, self.fault)

    def __str__(self) -> str:
        return ", ".join(self.parts)

    @property
    def slug(self) -> str:
        """The name of the cell's folder."""
        return re.sub(r"[^a-z0-9]+", "-", str(self).lower()).strip("-")

    @property
    def overlay(self) -> str:
        """The text of the YAML file with the cell's settings."""
        return persistence_overlay(self.setup.journals[self.setting])

    def fault_in(self, number: int) -> str:
        """Return the fault of a round. Cell and round are the seed of its random beginning."""
        at_s = round(random.Random(f"{self} {number}").uniform(FIRST_S, LAST_S), 2)
        kind = "kill" if self.fault == KILL else "power-loss"
        brokers = self.setup.brokers
        target = "+".join(brokers) if self.fault == RACK else brokers[0]
        return f"{kind}({target}, at={at_s:g}, for={OFF_S:g})"

    def arguments(self, number: int, folder: Path, further: Sequence[str] = ()) -> list[str]:
        """Return the Locust options of a round's run. Brokers have separate disks even if they are killed."""
        options = {
            "runtime": "processes",
            "broker-version": self.version,
            "topology": self.topology,
            "protocol": self.setup.protocol,
            "overlay": str(folder / "overlay.yaml"),
            "fault": self.fault_in(number),
            "disks": DISK_MB,
            "seed": number,
            "runs": str(folder),
        }
        settings = [f"--{name}={value}" for name, value in options.items()]
        return ["--headless", "--analyse-later", *settings, *further]


def all_cells() -> Iterator[DurabilityCell]:
    """Yield all cells in the order of the table."""
    for setup in SETUPS:
        for setting in setup.journals:
            for fault in (KILL, POWER) if len(setup.brokers) == 1 else (KILL, POWER, RACK):
                yield DurabilityCell(setup, setting, fault)


def chosen(only: Iterable[str]) -> list[DurabilityCell]:
    """Return the cells whose parts all match a pattern; all cells without a pattern. Raises ValueError.

    ``only``: patterns such as ``classic,single,never,power``. Parts that are left out match everything.
    """
    patterns = [tuple(part.strip() for part in re.split(r",(?![^(]*\))", pattern)) for pattern in only]
    cells = [*all_cells()]
    known = {part for cell in cells for part in cell.parts}
    for pattern in patterns:
        if unknown := [part for part in pattern if part not in known]:
            parts = ", ".join(sorted(known))
            raise ValueError(f"--only {','.join(pattern)}: no cell has {unknown[0]!r}; write some of {parts}")
    return [cell for cell in cells if not patterns or any(_matches(cell, pattern) for pattern in patterns)]


def _matches(cell: DurabilityCell, pattern: Sequence[str]) -> bool:
    return {*pattern} <= {*cell.parts}
