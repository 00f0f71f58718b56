"""Helps the tests of both runtimes to look at a run's brokers, whether in containers or as processes."""

import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

from topologies.management.jolokia import Jolokia
from topologies.model.management import ManagementFailed
from topologies.runtimes.managed import ManagedRuntime

GONE_WITHIN_S = 30.0


def eventually(condition: Callable[[], bool], within_s: float = GONE_WITHIN_S, every_s: float = 0.05) -> bool:
    end = time.monotonic() + within_s
    while not (is_so := condition()) and time.monotonic() < end:
        time.sleep(every_s)
    return is_so


def private_folder(runtime: ManagedRuntime[Any]) -> Path:
    assert runtime._prepared is not None
    return runtime._prepared.private.path


def secrets_of(runtime: ManagedRuntime[Any], broker: str = "broker-1") -> list[str]:
    """Return every password of the run, including the passwords of bridges."""
    secrets = [
        line.partition("=")[2]
        for file in private_folder(runtime).iterdir()
        if file.suffix != ".p12"
        for line in file.read_text().splitlines()
        if "password=" in line
    ]
    assert {runtime.credentials().password, runtime.management(broker).password} < set(secrets)
    return secrets


def answers(runtime: ManagedRuntime[Any], broker: str) -> bool:
    """Whether the broker answers within half a second. It may sometimes take longer: use `eventually`."""
    try:
        Jolokia(runtime.management(broker), 0.5).read("java.lang:type=Runtime", "Uptime")
    except ManagementFailed:
        return False
    return True


def gone(pid: int | None) -> bool:
    """Whether the process has ended, reaped or not."""
    assert pid is not None
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def stores_in(folder: Path) -> list[Path]:
    """Return the stores of the brokers of runs in a folder. Does not open them, as they may be deleted at any time."""
    return list(folder.glob("*/brokers/*/data"))


def published(uri: str) -> bytes:
    """Return the address that a broker announces to OpenWire clients. Its first command has its capabilities. We send
    them back as ours, and the next command has the address."""
    where = urlsplit(uri)
    with socket.create_connection((where.hostname, where.port), timeout=60) as client:
        size = client.recv(4, socket.MSG_WAITALL)
        client.sendall(size + client.recv(struct.unpack(">I", size)[0], socket.MSG_WAITALL))
        frame = b""
        while b"tcp://" not in frame:
            chunk = client.recv(4096)
            assert chunk, f"the broker hung up after {frame!r}"
            frame += chunk
        return frame
