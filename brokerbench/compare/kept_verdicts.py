"""Stores the first verdicts of a comparison in the runs' folder, so that more blocks do not change them."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from brokerbench.compare.session import SESSION_FILE
from reports.comparison.comparison import Comparison, newly_decided
from reports.comparison.verdicts import FirstVerdict
from reports.parts.formats import write_whole

FIRST_VERDICTS_FILE = "first-verdicts.json"


def kept_verdicts(runs: Sequence[Path]) -> tuple[FirstVerdict, ...]:
    """Return the verdicts in the folders of these runs. ValueError for a file that cannot be read."""
    return tuple(verdict for folder in _sessions(runs) for verdict in verdicts_in(folder))


def verdicts_in(session: Path) -> tuple[FirstVerdict, ...]:
    """Return the verdicts stored in the folder of a session. ValueError for a file that cannot be read."""
    path = session / FIRST_VERDICTS_FILE
    if not path.exists():
        return ()
    try:
        return tuple(map(FirstVerdict.from_json, json.loads(path.read_text(encoding="utf-8"))))
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(
            f"{path}: cannot be read ({error}), and it contains the first verdicts: restore it, or make a separate "
            "comparison with --session NAME"
        ) from None


def keep(comparisons: Sequence[Comparison], runs: Sequence[Path]) -> None:
    """Store new verdicts in the run folders of each scenario. Raises RunUnwritable."""
    for session in _sessions(runs):
        names = {run.name for run in runs if run.parent.resolve() == session.resolve()}
        of_session = [
            comparison
            for comparison in comparisons
            if names >= {run.name for arm in comparison.design.arms for run in arm.runs}
        ]
        earlier = verdicts_in(session)
        if added := newly_decided(of_session, earlier):
            text = json.dumps(
                [asdict(verdict) for verdict in (*earlier, *added)], indent=2, ensure_ascii=False, allow_nan=False
            )
            write_whole(session / FIRST_VERDICTS_FILE, f"{text}\n")


def _sessions(runs: Sequence[Path]) -> list[Path]:
    return [folder for folder in dict.fromkeys(run.parent for run in runs) if (folder / SESSION_FILE).exists()]
