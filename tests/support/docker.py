"""Lists the containers and networks on the Docker engine, and disconnects the engine on request."""

import os
import socket
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from topologies.runtimes.containers.engine import client_of, find

REAPER = "testcontainers-ryuk-"  # Testcontainers' own clean-up: one per process, which outlives it by ten seconds


def on_engine(runs: Path | None = None, *, reapers: bool = False) -> set[str]:
    """Return the names of all containers and networks, without the runs outside this test.

    ``runs``: the folder of this test's runs. ``reapers``: include Testcontainers' reapers.
    """
    own = {folder.name for folder in runs.iterdir()} if runs and runs.exists() else set()
    with client_of(find().host) as client:
        resources = [*client.api.containers(all=True), *client.api.networks()]
    named = {str(resource.get("Names") or resource["Name"]): (resource.get("Labels") or {}) for resource in resources}
    return {
        name
        for name, labels in named.items()
        if labels.get("brokerbench.run-id") in {None, *own} and (reapers or REAPER not in name)
    }


@contextmanager
def severable_engine(folder: Path) -> Iterator["SeverableEngine"]:
    """Provide the engine behind a separate socket file, which can be removed."""
    engine = SeverableEngine(folder / "engine.sock", urlsplit(find().host).path)
    before = os.environ.get("DOCKER_HOST")
    os.environ["DOCKER_HOST"] = f"unix://{engine.path}"
    try:
        yield engine
    finally:
        engine.sever()
        os.environ.pop("DOCKER_HOST")
        if before is not None:
            os.environ["DOCKER_HOST"] = before


class SeverableEngine:
    """Forwards bytes between a socket file and the engine's. Once severed, no process listens there."""

    def __init__(self, path: Path, engine: str) -> None:
        self.path = path
        self._open: set[socket.socket] = set()
        outer = self

        class DockerHandler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                outer._relay(self.request, engine)

        self._server = socketserver.ThreadingUnixStreamServer(str(path), DockerHandler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def sever(self) -> None:
        if self.path.exists():
            self.path.unlink()
            self._server.shutdown()
            self._server.server_close()
            for connection in list(self._open):
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def _relay(self, client: socket.socket, engine: str) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as upstream:
            upstream.connect(engine)
            pair = {client, upstream}
            self._open |= pair
            back = threading.Thread(target=_copy, args=(upstream, client), daemon=True)
            back.start()
            _copy(client, upstream)
            back.join()
            self._open -= pair


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def docker(*arguments: str, stdin: bytes = b"") -> str:
    """Run the docker command."""
    process = subprocess.run(["docker", *arguments], input=stdin, capture_output=True, check=True)
    return process.stdout.decode().strip()
