"""Which run is meant? ``latest``, or a folder, whole or by its name below ``runs/``."""

from pathlib import Path

from records.errors import RunUnreadable
from records.rundir import RunDirectory

LATEST = "latest"


def find_run(text: str, parent: Path) -> RunDirectory:
    """The run that ``text`` names. Raises RunUnreadable."""
    if text == LATEST:
        return latest(parent)
    below = parent / text
    return RunDirectory.open(below if below.is_dir() and not Path(text).is_dir() else Path(text))


def latest(parent: Path) -> RunDirectory:
    """The newest run below ``parent``: run ids begin with their time. Raises RunUnreadable when there is none."""
    runs = sorted(file.parent for file in parent.glob("*/run.json"))
    if not runs:
        raise RunUnreadable(f"{parent}: holds no run yet: make one with `make bench`, or name its folder by --runs")
    return RunDirectory(runs[-1])
