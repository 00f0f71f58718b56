"""Provides other hosts for a test: network namespaces on a bridge to this machine, removed after the test.

Each host has a separate address, host name and loopback, and reaches only this machine's end of the bridge. Needs root,
or sudo without a password.
"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.distributed.secret import SECRET_FILE

AS_ROOT = () if os.geteuid() == 0 else ("sudo", "--non-interactive", f"--preserve-env={SECRET_FILE}")
BACK_TO_OURSELVES = ("setpriv", f"--reuid={os.geteuid()}", f"--regid={os.getegid()}", "--keep-groups")
PREFIX_BITS = 24
REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Host:
    """A network namespace that acts as a host of this name."""

    name: str
    link: str  # our end of its cable

    def wrapper(self, hidden: Path | None = None, tree: Path = REPOSITORY) -> Sequence[str]:
        """Return the prefix of a command line that runs it on this host.

        ``hidden``: a folder whose content it cannot see. ``tree``: the clone that its Python imports from.
        """
        hide = f'mount -t tmpfs -o mode=777 none "{hidden}"; ' if hidden else ""
        inside = f'hostname {self.name}; {hide}exec {" ".join(BACK_TO_OURSELVES)} env "PYTHONPATH=$0" "$@"'
        elsewhere = ("ip", "netns", "exec", self.name, "unshare", "--uts", "--mount")
        return (*AS_ROOT, *elsewhere, "bash", "-c", inside, str(tree))


@dataclass(frozen=True)
class Bridged:
    """A bridge to other hosts. ``address``: this machine's, for the hosts."""

    address: str
    bridge: str
    hosts: tuple[Host, ...]


@contextmanager
def other_hosts(count: int) -> Iterator[Bridged]:
    """Provide ``count`` other hosts, and remove them afterwards, even after errors."""
    unique = os.getpid() % 50_000  # unique per test process, so that several can run at once
    subnet, bridge = f"10.{200 + unique // 250 % 50}.{unique % 250}", f"bb{unique}"
    hosts = tuple(Host(f"bb-{unique}-{n}", f"bb{unique}v{n}") for n in range(1, count + 1))
    bridged = Bridged(f"{subnet}.1", bridge, hosts)
    with ExitStack() as undo:
        _ip("link", "add", bridge, "type", "bridge")
        undo.callback(_ip, "link", "del", bridge)
        _ip("address", "add", f"{bridged.address}/{PREFIX_BITS}", "dev", bridge)
        _ip("link", "set", bridge, "up")
        for number, host in enumerate(hosts, start=2):
            _ip("netns", "add", host.name)
            undo.callback(_remove, host)
            _ip("link", "add", host.link, "type", "veth", "peer", "name", "eth0", "netns", host.name)
            _ip("link", "set", host.link, "master", bridge, "up")
            _ip("-n", host.name, "address", "add", f"{subnet}.{number}/{PREFIX_BITS}", "dev", "eth0")
            _ip("-n", host.name, "link", "set", "lo", "up")
            _ip("-n", host.name, "link", "set", "eth0", "up")
        yield bridged


def running_on(host: Host) -> list[str]:
    """Return the pids of the processes on the host. Misses processes that are just starting."""
    return _ip("netns", "pids", host.name).split()


def left_of(bridged: Bridged) -> list[str]:
    """Return the names of the remaining hosts and links."""
    listing = _ip("-brief", "link", "show") + _ip("netns", "list")
    names = [bridged.bridge, *(name for host in bridged.hosts for name in (host.name, host.link))]
    return [name for name in names if name in listing]


def _remove(host: Host) -> None:
    """Remove the host with its processes, which would otherwise keep the unnamed namespace."""
    if pids := running_on(host):
        subprocess.run([*AS_ROOT, "kill", "-KILL", *pids], check=False)
    _ip("netns", "del", host.name)
    # The cable is deleted with the host, but maybe later, and possibly before this call. `left_of` reports a leftover.
    subprocess.run([*AS_ROOT, "ip", "link", "del", host.link], capture_output=True, check=False)


def _ip(*arguments: str) -> str:
    process = subprocess.run([*AS_ROOT, "ip", *arguments], capture_output=True, text=True, check=False)
    assert process.returncode == 0, f"ip {' '.join(arguments)}: {process.stderr.strip()}"
    return process.stdout
