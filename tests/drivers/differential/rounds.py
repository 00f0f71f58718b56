"""Runs every case on all clients, in rounds: all cases at once for the Java client, and all of them for ours.

Each client gets separate ports, which follow the same script. A busy machine makes events late and never early, so a
pause counts as the shortest of all rounds. It is counted from the event that was waited for, since other earlier events
may be late themselves. An event can be so late that a port already listens, which changes the client's next action:
the other rounds outvote that round.
"""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from tests.drivers.differential.cases import JAVA_WORDS, OUR_WORDS, DifferentialCase
from tests.drivers.differential.events import Event, of_java, waited_for
from tests.drivers.differential.ours import OurSide
from tests.drivers.differential.ports import World

WARM_UP_S = 0.5


@dataclass
class RoundResult:
    """The actions of one client in one case: its events, and the time that its send was blocked, by round."""

    rounds: list[list[Event]] = field(default_factory=list)
    blocked_ms: list[float] = field(default_factory=list)

    def sequence(self, events: int) -> list[str]:
        """Return the client's actions in more than half of the rounds; [] if no sequence occurred that often."""
        begins = [tuple(event.told for event in each[:events]) for each in self.rounds]
        (usual, times) = Counter(begins).most_common(1)[0]
        return list(usual) if 2 * times > len(begins) else []

    def alike(self, events: int) -> list[list[Event]]:
        """Return the events of all rounds with that sequence."""
        usual = self.sequence(events)
        return [each for each in self.rounds if [event.told for event in each[:events]] == usual]

    def pauses_ms(self, events: int) -> list[float]:
        """Return the client's shortest wait of these rounds before each event of the sequence; 0 if it did not wait."""
        pauses = [_pauses_ms(each[:events]) for each in self.alike(events)]
        return [min(of_all) for of_all in zip(*pauses, strict=True)]


def _pauses_ms(events: Sequence[Event]) -> list[float]:
    told = [event.told for event in events]
    begun = [waited_for(told, at) for at in range(len(events))]
    return [0.0 if at is None else events[n].at_ms - events[at].at_ms for n, at in enumerate(begun) if n]


class JavaSide:
    """The process with the Java client. A context manager."""

    def __init__(self, folder: Path) -> None:
        self._log, self._logged_before = folder / "java.log", 0
        command = [sys.executable, "-m", "tests.drivers.differential.java_side", str(self._log)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> "JavaSide":
        """Wait until the classes of a failing transport are loaded, so that the first round is like the others."""
        self.play({"warm-up": "failover:(tcp://127.0.0.1:1)?maxReconnectAttempts=3"}, {}, WARM_UP_S)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()

    def refuses(self, uri: str) -> bool:
        """Whether the Java client rejects the URI."""
        return "refused" in self._asked({"refuses": uri})

    def settable(self) -> set[str]:
        """Return the options that a URI can set."""
        return set(self._asked({"settable": True}))

    def play(self, uris: dict[str, str], sends: dict[str, float], for_s: float) -> dict[str, float]:
        """Play one round, and return the time that each send was blocked, in ms."""
        self._logged_before = self._log.stat().st_size if self._log.exists() else 0
        return self._asked({"uris": uris, "sends": sends, "for_s": for_s})

    def _asked(self, question: dict[str, object]) -> dict[str, float]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the Java client's process ended: see its errors above"
        result: dict[str, float] = json.loads(answer)
        return result

    def log(self) -> str:
        """Return the events of the last round only, as other rounds may have had the same ports."""
        with self._log.open() as log:
            log.seek(self._logged_before)
            return log.read()


def uri_of(case: DifferentialCase, addresses: dict[str, str], scheme: str, file: Path) -> str:
    """Return the case's URI for these ports, and write its file of brokers."""
    letters = {letter: f"{scheme}://{address}" for letter, address in addresses.items()}
    file.write_text(case.file.format(**letters))
    words = JAVA_WORDS if scheme == "tcp" else OUR_WORDS[scheme]
    return case.uri.format(**letters, **words, file=file.as_uri())


def play_java(
    java: JavaSide, cases: Sequence[DifferentialCase], for_s: float, folder: Path, seen: dict[str, RoundResult]
) -> None:
    """Play one round of the Java client over all cases."""
    with ExitStack() as stack:
        worlds = {case.name: stack.enter_context(World(case.ports)) for case in cases}
        uris = {
            case.name: uri_of(case, worlds[case.name].addresses, "tcp", folder / f"java-{number}.txt")
            for number, case in enumerate(cases)
        }
        for world in worlds.values():
            world.begin()
        sends = {case.name: case.send_at_s for case in cases if case.send_at_s is not None}
        blocked = java.play(uris, sends, for_s)
        ports = {
            address.rpartition(":")[2]: (name, letter)
            for name, world in worlds.items()
            for letter, address in world.addresses.items()
        }
    for name, events in of_java(java.log(), ports).items():
        seen[name].rounds.append(events)
    for name, ms in blocked.items():
        seen[name].blocked_ms.append(ms)


def play_ours(
    protocol: str,
    cases: Sequence[DifferentialCase],
    for_s: float,
    folder: Path,
    seen: dict[str, RoundResult],
    seed: int,
) -> None:
    """Play one round of our client over all cases, by one protocol."""
    with ExitStack() as stack:
        worlds = {case.name: stack.enter_context(World(case.ports)) for case in cases}
        clients: dict[str, OurSide] = {}
        for number, case in enumerate(cases):
            addresses = worlds[case.name].addresses
            uri = uri_of(case, addresses, protocol, folder / f"{protocol}-{number}.txt")
            brokers = {address: letter for letter, address in addresses.items()}
            clients[case.name] = OurSide(protocol, uri, brokers, case.connect_timeout_s, seed)
        for case in cases:
            worlds[case.name].begin()
            clients[case.name].begin()
            if case.send_at_s is not None:
                clients[case.name].send(case.send_at_s)
        time.sleep(for_s)
        for client in clients.values():
            client.end()
    for name, client in clients.items():
        seen[name].rounds.append(client.events())
        if client.blocked_ms is not None:
            seen[name].blocked_ms.append(client.blocked_ms)
