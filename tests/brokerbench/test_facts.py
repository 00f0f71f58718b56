"""Checks the facts that `brokerbench doctor` gathers about this machine."""

import hashlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from brokerbench import facts
from brokerbench.doctor import WANTED_PORTS
from topologies.jvm.distribution import CACHE_VARIABLE
from topologies.pinned import PINNED
from topologies.runtimes.processes import guard

ENGINE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 21\r\n\r\n"


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A socket's path may have about a hundred characters, which pytest's own folders can pass."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def answer_once(listener: socket.socket, answer: bytes) -> None:
    def serve() -> None:
        peer, _ = listener.accept()
        with peer:
            peer.recv(4096)
            peer.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        (ENGINE + b'{"Version": "27.1.0"}', "27.1.0"),
        (ENGINE + b'["no such an object"]', None),
        (b"SSH-2.0-OpenSSH_9.2\r\n", None),
        (b"", None),
    ],
)
def test_a_docker_engine_is_whoever_tells_its_version(short_folder: Path, answer: bytes, version: str | None) -> None:
    path = short_folder / "docker.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen(1)
        answer_once(listener, answer)
        engine, problem = facts.docker_engine(f"unix://{path}")
    assert engine == version
    assert bool(problem) == (version is None)


def test_an_engine_over_tcp_is_asked_too() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        answer_once(listener, ENGINE + b'{"Version": "27.1.0"}')
        assert facts.docker_engine(f"tcp://127.0.0.1:{listener.getsockname()[1]}") == ("27.1.0", "")


def test_no_engine_is_told_with_its_address(tmp_path: Path) -> None:
    assert facts.docker_engine(f"unix://{tmp_path}/none.sock") == (
        None,
        f"unix://{tmp_path}/none.sock does not answer: No such file or directory",
    )
    assert facts.docker_engine("ssh://somewhere")[1] == "ssh://somewhere: only unix:// and tcp:// are supported here"


def test_an_empty_cache_is_neither_filled_nor_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    assert [facts.cached(distribution) for distribution in PINNED] == [None] * len(PINNED)
    assert list(tmp_path.iterdir()) == []


def test_the_doctor_asks_only_for_the_versions_of_a_run_without_options(tmp_path: Path) -> None:
    named = list(facts.gather(tmp_path).distributions)
    assert named[:2] == ["activemq-classic 5.18.3", "activemq-artemis 2.44.0"]
    assert not [name for name in named if name.endswith(("5.16.6", "2.40.0"))]


def test_a_cached_distribution_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    jar = replace(PINNED[-1], sha512=hashlib.sha512(b"jar").hexdigest())
    cached_file = tmp_path / jar.sha512[:16] / jar.filename
    cached_file.parent.mkdir()
    cached_file.write_bytes(b"jar")
    assert facts.cached(jar) == str(cached_file)
    cached_file.write_bytes(b"damaged")
    assert facts.cached(jar) is None
    assert facts.cached(PINNED[1]) is None


def test_ports_and_disk_are_counted_even_where_the_folder_is_still_to_be_made(tmp_path: Path) -> None:
    assert facts.free_ports(WANTED_PORTS) == WANTED_PORTS
    assert facts.free_bytes(tmp_path / "not" / "yet") > 0


def test_a_process_under_the_watchdog_is_listed_until_it_ends(tmp_path: Path) -> None:
    sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
    guarded = subprocess.Popen(guard.command_line(sleeper), start_new_session=True)
    try:
        mine = _wait_for_child(guarded.pid)
        assert any(line.startswith(f"pid {mine} (") for line in facts.guarded())
        assert any(line.startswith(f"pid {mine} (") for line in facts.guarded(Path(guard.__file__).parents[2]))
        assert list(facts.guarded(tmp_path)) == []
    finally:
        guarded.terminate()
        guarded.wait(timeout=60)
    assert not any(line.startswith(f"pid {mine} (") for line in facts.guarded())


def _wait_for_child(parent: int) -> int:
    import psutil

    for _ in range(1_200):
        if children := psutil.Process(parent).children():
            return children[0].pid
        time.sleep(0.05)
    raise AssertionError(f"process {parent} has started no child within a minute")


def test_everything_is_gathered_on_this_machine(tmp_path: Path) -> None:
    gathered = facts.gather(tmp_path / "runs")
    assert gathered.python == sys.version_info[:3]
    assert gathered.java is not None
    assert gathered.libraries["pyspark"]
    assert gathered.cores >= 1
    assert set(gathered.disk_free_bytes) == {"runs", "cache"}
    assert not (tmp_path / "runs").exists()
