"""Lists the files of the project: those in git and new ones, but no runs, caches or environments."""

import ast
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("records", "topologies", "drivers", "harness", "scenarios", "analysis", "reports", "brokerbench")


@cache
def files() -> tuple[Path, ...]:
    """Return the files relative to the root. Raises outside a git clone, as the checks would pass without files."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return tuple(Path(name) for name in listed if (ROOT / name).is_file())


def python_files(room: str) -> list[Path]:
    return [path for path in files() if path.suffix == ".py" and path.parts[0] == room]


def parsed(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"), str(path))
