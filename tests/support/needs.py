"""Declares the requirements of tests besides Python and Java, and detects which requirements this machine meets.

A need is a marker. A test gets it from ``pytest.mark``, or from a rule below: by its file, a fixture or a parameter.
"""

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.support.prometheus import find_prometheus
from topologies.products import PRODUCTS
from topologies.runtimes.containers import image
from topologies.runtimes.containers.engine import FAILURES, EngineTrouble, client_of, find
from topologies.runtimes.processes.cpu_groups import why_no_quota_here
from topologies.runtimes.processes.disks import why_no_disks_here
from topologies.runtimes.proxies.toxiproxy import ToxiproxyUnavailable, find_toxiproxy

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
ENGINE_TIMEOUT_S = 10


@dataclass(frozen=True)
class MachineNeed:
    """A requirement. ``missing``: describes its absence. ``there``: detects it, without side effects."""

    marker: str
    missing: str
    there: Callable[[], bool]


def _images() -> bool:
    """Whether Docker's program and engine are there, with an image of each product, as a test run pulls no image."""
    if shutil.which("docker") is None:
        return False
    try:
        with client_of(find().host, ENGINE_TIMEOUT_S) as client:
            return all(
                image.is_here(client, image.wanted(product, None, lambda name: image.is_here(client, name)))
                for product in PRODUCTS.values()
            )
    except (EngineTrouble, *FAILURES):
        return False


def _toxiproxy() -> bool:
    try:
        return find_toxiproxy("any").exists()
    except ToxiproxyUnavailable:
        return False


def _namespaces() -> bool:
    """Whether iproute2 is installed, and the user is root or has sudo without a password."""
    if shutil.which("ip") is None:
        return False
    if os.geteuid() == 0:
        return True
    sudo = shutil.which("sudo")
    return sudo is not None and subprocess.run([sudo, "-n", "true"], capture_output=True, check=False).returncode == 0


AMQP = MachineNeed(
    "amqp", "no python-qpid-proton, which takes a C compiler", lambda: bool(importlib.util.find_spec("proton"))
)
NEEDS = (
    MachineNeed("containers", "no Docker engine with the brokers' images", _images),
    MachineNeed("browser", "no Chromium", lambda: any(map(shutil.which, CHROMIUM))),
    MachineNeed("links", "no Toxiproxy", _toxiproxy),
    MachineNeed("prometheus", "no Prometheus", lambda: find_prometheus() is not None),
    AMQP,
    MachineNeed("namespaces", "no root or no iproute2", _namespaces),
    MachineNeed("disks", "no root, no mkfs.ext4 or no loop devices", lambda: not why_no_disks_here()),
    MachineNeed("quotas", "no root or no control groups with the cpu controller", lambda: not why_no_quota_here()),
)

FILES = {
    "tests/topologies_runtime/test_far_links.py": "links",
    "tests/topologies_runtime/test_far_clusters.py": "links",
    "tests/lifecycle/test_far_links.py": "links",
    "tests/drivers/amqp/": "amqp",
    "tests/drivers/differential/test_": "amqp",
    "tests/topologies_runtime/test_real_router.py": "amqp",
    "tests/containers/test_own_engine.py": "namespaces",
    "tests/distributed/test_workers.py::test_other_hosts": "namespaces",
    "tests/lifecycle/test_bad_input.py::test_a_full_disk": "namespaces",
    "tests/lifecycle/test_durability.py": "disks",
}
"""Needs of all tests in a file or folder."""

FIXTURES = {"up": "links", "lan": "namespaces"}
"""Needs of fixtures. `tests/topologies_runtime/conftest.py` and `tests/distributed/test_workers.py` have them."""

PARAMETERS = {"amqp": "amqp"}
"""Needs of tests that have this word in a parameter."""


def needs_of(item: pytest.Item) -> set[str]:
    """Return the markers that the rules give a test, in addition to its explicit markers."""
    by_file = {need for start, need in FILES.items() if item.nodeid.startswith(start)}
    by_fixture = {FIXTURES[name] for name in getattr(item, "fixturenames", ()) if name in FIXTURES}
    return by_file | by_fixture | {PARAMETERS[word] for word in _words(item) if word in PARAMETERS}


def _words(item: pytest.Item) -> set[str]:
    """Split a parameter: ``stomp-on-artemis:amqp`` has the words stomp, on, artemis and amqp."""
    _, _, inside = item.nodeid.partition("[")
    return set(inside.rstrip("]").replace(":", "-").replace(",", "-").replace(" ", "-").split("-"))


def is_file_of(path: str, need: str) -> bool:
    """Whether every test of a file has the need. If it is missing, the file's imports fail."""
    return any(path.startswith(start) for start, marker in FILES.items() if marker == need and "::" not in start)


def missing_here() -> list[MachineNeed]:
    """Return the needs that this machine lacks."""
    return [need for need in NEEDS if not need.there()]
