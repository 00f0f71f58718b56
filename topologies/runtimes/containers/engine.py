"""Finds the Docker engine, and explains its errors.

Only a local engine works: containers mount the run's files and publish ports on this machine's loopback.
"""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

import docker
import requests
from docker.errors import APIError, DockerException
from testcontainers.core.docker_client import get_docker_host

from records.errors import innermost_reason
from topologies.runtimes.containers.guard import connection_to
from topologies.runtimes.contract import RuntimeFailed

DEFAULT_HOST = "unix:///var/run/docker.sock"
ASK_TIMEOUT_S = 5.0
OPERATE_TIMEOUT_S = 60
LOOPBACKS = ("127.0.0.1", "localhost", "::1")
CONNECTION_FAILURES = (requests.ConnectionError, ConnectionError, FileNotFoundError)
FAILURES = (DockerException, requests.RequestException, OSError)

SIGNS = (  # part of an engine's message in lowercase, and the next step
    ("no space left on device", "the engine's disk is full: free some space; docker system df shows its use"),
    ("port is already allocated", "end the process that holds the port, or choose other ports"),
    ("address already in use", "end the process that holds the port, or choose other ports"),
    ("address pool", "the engine has no subnet left for another network: docker network prune removes unused ones"),
    ("already in use by container", "another run still uses it: end that run, or docker rm --force that container"),
    ("already exists", "another run still uses it: end that run, or remove it"),
    ("permission denied", "this user has no access to the engine: join its group (docker), or use a rootless engine"),
    ("executable file not found", "the image lacks what a broker needs: /bin/sh and java on its PATH"),
    ("no such file or directory: unknown", "the image lacks what a broker needs: /bin/sh and java on its PATH"),
)


class EngineTrouble(RuntimeFailed):
    """The engine is missing, unusable, or rejected a request: one sentence with the object, reason and next step."""


@dataclass(frozen=True)
class Engine:
    """An engine that answered. ``user``: the user as whom a container can read and write this user's files."""

    host: str  # unix:///var/run/docker.sock
    version: str
    user: str  # "1000:1000"
    userns_mode: str | None = None
    kernel: str = ""  # "6.1.0-32-amd64": the kernel of its containers

    def differing_kernel(self, here: str) -> str:
        """Return the containers' kernel if it differs from this machine's, as in a virtual machine; else empty."""
        return "" if self.kernel == here else self.kernel or "it does not report which"


def find() -> Engine:
    """Find the engine from DOCKER_HOST, the docker context or the default socket. Raises EngineTrouble."""
    host = get_docker_host() or os.environ.get("DOCKER_HOST") or DEFAULT_HOST
    if why := _not_local(host):
        raise EngineTrouble(f"the Docker engine at {host} cannot be used: {why}")
    try:
        with client_of(host, ASK_TIMEOUT_S) as client:
            version, info = client.version(), client.info()
    except FAILURES as error:
        raise EngineTrouble(f"no Docker engine answers at {host} ({reason(error)}); {_step(error)}") from error
    user, userns_mode = _user(info.get("SecurityOptions") or ())
    return Engine(host, str(version.get("Version", "?")), user, userns_mode, str(info.get("KernelVersion", "")))


@contextmanager
def client_of(host: str, timeout_s: float = OPERATE_TIMEOUT_S) -> Iterator[docker.DockerClient]:
    """Open a separate client, which is closed at the end."""
    client = docker.DockerClient(base_url=host, timeout=timeout_s, version="auto")
    try:
        yield client
    finally:
        client.close()


def answers(host: str) -> bool:
    """Return whether the engine is reachable; a slow engine counts as busy, not as gone."""
    try:
        with closing(connection_to(host, ASK_TIMEOUT_S)) as connection:
            connection.request("GET", "/_ping")
            connection.getresponse().read()
    except (ConnectionError, FileNotFoundError):
        return False
    except (OSError, HTTPException):
        return True
    return True


def is_gone(error: BaseException) -> bool:
    """Return whether the error means that no engine listens. docker-py wraps it several times."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, CONNECTION_FAILURES) and not isinstance(cause, requests.Timeout):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def explain_failure(error: Exception, host: str = "") -> str:
    """Explain an engine's error in one sentence, with the next step. Pure."""
    if not isinstance(error, APIError) and is_gone(error):
        return f"the Docker engine at {host} no longer answers ({reason(error)}): start it again"
    return f"{reason(error)}; {_step(error)}"


def reason(error: BaseException) -> str:
    """Return the engine's message, or the innermost cause of a failed connection, on one line."""
    text = str(error.explanation or error) if isinstance(error, APIError) else innermost_reason(error)
    return " ".join(text.split()).rstrip(".")


def _step(error: BaseException) -> str:
    if step := step_for(reason(error)):
        return step
    if is_gone(error):
        return "start one, or use --runtime processes"
    return "see the engine's log"


def step_for(message: str) -> str:
    """Return the next step after an engine's error; '' if it is unknown. Pure."""
    return next((step for sign, step in SIGNS if sign in message.lower()), "")


def _not_local(host: str) -> str:
    """Return why the engine is not on this machine; '' if it is. Pure."""
    where = urlsplit(host)
    if where.scheme == "unix":
        return ""
    if where.scheme in ("tcp", "http") and where.hostname in LOOPBACKS and not os.environ.get("DOCKER_TLS_VERIFY"):
        return ""
    return "brokers mount files of this machine, so use a local engine (unix://…), or --runtime processes"


def _user(options: Any) -> tuple[str, str | None]:
    """Return the user for containers: root in a rootless engine, which maps it to this user; otherwise this user."""
    names = {part for option in options for part in str(option).split(",")}
    if "name=rootless" in names:
        return "0:0", None
    return f"{os.getuid()}:{os.getgid()}", "host" if "name=userns" in names else None
