"""Identifies this build of brokerbench, so that two processes can tell whether they are the same.

The package's version is not enough between two releases, so the id also has a checksum of the code that a worker runs.
"""

from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from records.schemas import SCHEMA_VERSION

ROOT = Path(__file__).resolve().parents[3]
RUN_BY_WORKERS = ("records", "topologies", "drivers", "scenarios/harness")


@cache
def build_id() -> str:
    """``0.1.0 (events 1, source 3f2a9c01)``."""
    try:
        released = version("brokerbench")
    except PackageNotFoundError:
        released = "unreleased"
    return f"{released} (events {SCHEMA_VERSION}, source {_source(ROOT)})"


def another_build(theirs: str, ours: str) -> str:
    """The sentence for a worker that runs ``theirs`` where the master runs ``ours``; nothing if they are the same."""
    if theirs == ours:
        return ""
    return f"it runs brokerbench {theirs}, the master runs {ours}; check out the same commit on both hosts"


def _source(root: Path) -> str:
    """A checksum of the Python files that a worker runs, in eight digits."""
    found = sha256()
    for path in sorted(path for folder in RUN_BY_WORKERS for path in (root / folder).rglob("*.py")):
        found.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:8]
