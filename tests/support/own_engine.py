"""Starts a separate Docker engine for a test, so that the test can kill it or fill its disk.

It has a network namespace with separate firewall rules and bridges. It needs root, or sudo without a password.
"""

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.support.disk import small_disk
from tests.support.network import AS_ROOT, Host, other_hosts
from tests.support.waiting import until
from topologies.runtimes.containers.engine import answers

START_LIMIT_S = 60.0
END_LIMIT_S = 30.0


class OwnEngine:
    """A Docker engine. ``folder``: its images, containers, socket and log. ``host``: a value for DOCKER_HOST."""

    def __init__(self, folder: Path, place: Host) -> None:
        self.folder, self.place = folder, place
        self.host = f"unix://{folder}/sock"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def inside(self) -> Sequence[str]:
        """Return the prefix of a command line that runs it where the engine publishes its containers' ports."""
        return (*AS_ROOT, "nsenter", f"--net=/run/netns/{self.place.name}")

    def start(self) -> None:
        (self.folder / "pid").unlink(missing_ok=True)
        places = ("--data-root", "data", "--exec-root", "exec", "--pidfile", "pid")
        named = [str(self.folder / word) if not word.startswith("--") else word for word in places]
        group = ("--group", str(os.getgid()))
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self.inside, "dockerd", *named, "--host", self.host, *group],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until(lambda: answers(self.host) or self._process.poll() is not None, START_LIMIT_S)
        assert self._process.poll() is None, (self.folder / "log").read_text(encoding="utf-8")[-2_000:]

    def kill(self) -> None:
        """Kill the engine (SIGKILL). The processes that it started keep running."""
        self._signal((self.folder / "pid").read_text(encoding="ascii"), signal.SIGKILL)
        if self._process is not None:
            self._process.wait(END_LIMIT_S)

    def end(self) -> None:
        """Stop the engine in order, with all its containers. A dead engine is started for this."""
        if not answers(self.host):
            self.start()
        for container in self.docker("ps", "--all", "--quiet").split():
            self.docker("rm", "--force", container)
        self._signal((self.folder / "pid").read_text(encoding="ascii"), signal.SIGTERM)
        if self._process is not None:
            self._process.wait(END_LIMIT_S)

    def docker(self, *arguments: str) -> str:
        line = ["docker", "--host", self.host, *arguments]
        return subprocess.run(line, capture_output=True, check=True, text=True).stdout.strip()

    def _signal(self, pid: str, number: signal.Signals) -> None:
        subprocess.run([*AS_ROOT, "kill", f"-{number.value}", pid.strip()], check=True)


@contextmanager
def own_engine(disk_mb: int = 0) -> Iterator[OwnEngine]:
    """Start an engine without images, and remove it completely afterwards, even after errors.

    ``disk_mb``: the size of its separate disk; None for no disk.
    """
    with ExitStack() as undo:
        # not in a test's folder: the path of a socket file is limited to about a hundred characters
        folder = Path(tempfile.mkdtemp(prefix="bb-engine-"))
        undo.callback(_remove, folder)
        if disk_mb:
            undo.enter_context(small_disk(folder, f"{disk_mb}m"))
        engine = OwnEngine(folder, undo.enter_context(other_hosts(1)).hosts[0])
        undo.callback(engine.end)
        engine.start()
        yield engine


def _remove(folder: Path) -> None:
    """Remove the folder with everything that a killed engine left mounted there."""
    mounts = (line.split()[1] for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines())
    for place in sorted((place for place in mounts if Path(place).is_relative_to(folder)), reverse=True):
        subprocess.run([*AS_ROOT, "umount", "--lazy", place], check=True)
    subprocess.run([*AS_ROOT, "rm", "-rf", "--one-file-system", str(folder)], check=True)
