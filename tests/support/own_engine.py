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
    """``folder``: holds its images, containers, socket and log. ``host`` is what DOCKER_HOST takes."""

    def __init__(self, folder: Path, place: Host) -> None:
        self.folder, self.place = folder, place
        self.host = f"unix://{folder}/sock"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def inside(self) -> Sequence[str]:
        """To be put before a command line, which then runs where the engine publishes its containers' ports."""
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
        """Kill the engine (SIGKILL); the processes that it has started keep running."""
        self._signal((self.folder / "pid").read_text(encoding="ascii"), signal.SIGKILL)
        if self._process is not None:
            self._process.wait(END_LIMIT_S)

    def end(self) -> None:
        """In order, with all its containers; it is started for that if it has to be."""
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
    """An engine without images; nothing of it is left afterwards, whatever happened. ``disk_mb``: the size of a disk
    of its own, if it is to have one."""
    with ExitStack() as undo:
        # not in a test's own folder: the path of a socket file has room for a hundred letters
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
