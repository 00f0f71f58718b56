"""Makes the runs of the durability table, one after the other. After an interruption, the same command continues."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from brokerbench.compare.session import lock_session
from brokerbench.durability.cells import DurabilityCell
from brokerbench.durability.table import DECIDED, WITHOUT_LOSS, Round, round_number, rounds_in, runs_in
from brokerbench.interrupts import run_guarded
from brokerbench.locustfiles import as_typed, locustfile_of
from brokerbench.stored_runs import analyse
from records.store.rundir import RunDirectory
from reports.parts.numbers import counted

PrintLine = Callable[[str], None]
FOLDER = "durability"
ENOUGH_LOSSES = 3  # rounds with losses after which a cell's answer is known
MOST_TRIES = 2  # attempts for a round whose run fails
BATCH = 6  # runs analyzed per Spark session: starting a session takes as long as analyzing many runs
ELSEWHERE = "choose other cells with --only, or another folder with --runs"


def missing(rounds: Sequence[Round], wanted: int) -> list[int]:
    """Return the numbers of the rounds to make. Does no I/O.

    A cell is complete once ``wanted`` rounds have an answer, once `ENOUGH_LOSSES` rounds lost messages or ended without
    a broker, or after twice ``wanted`` rounds.
    """
    decided = [round for round in rounds if round.outcome in DECIDED]
    losses = sum(round.outcome not in WITHOUT_LOSS for round in decided)
    still = max(0, min(wanted - len(decided), ENOUGH_LOSSES - losses if losses == len(decided) else wanted))
    tried = {round.number for round in rounds}
    return [number for number in range(1, 2 * wanted + 1) if number not in tried][:still]


def make(
    cells: Sequence[DurabilityCell], wanted: int, runs: Path, further: Sequence[str], print_line: PrintLine
) -> Mapping[DurabilityCell, list[Round]]:
    """Make the missing rounds of each cell, and return all rounds. ``further``: Locust options of every run.

    The first rounds of all cells come first, so that a command that is stopped early has answers for many cells. Raises
    ValueError if another command is making rounds of the same cells.
    """
    folders = {cell: runs / FOLDER / cell.slug for cell in cells}
    with ExitStack() as locks:
        for cell, folder in folders.items():
            folder.mkdir(parents=True, exist_ok=True)
            locks.enter_context(lock_session(folder, ELSEWHERE))
            (folder / "overlay.yaml").write_text(cell.overlay, encoding="utf-8")
        _Maker(folders, wanted, further, print_line).make_all()
    return {cell: rounds_in(folder) for cell, folder in folders.items()}


class _Maker:
    """Makes the missing rounds of cells, and analyzes them in batches."""

    def __init__(
        self, folders: Mapping[DurabilityCell, Path], wanted: int, further: Sequence[str], print_line: PrintLine
    ) -> None:
        self._folders, self._wanted, self._further, self._print_line = folders, wanted, further, print_line
        self._failed = Counter[tuple[DurabilityCell, int]]()
        self._took_s: list[float] = []
        self._left = 0
        self._unreadable: set[Path] = set()

    def make_all(self) -> None:
        self._analyse()  # runs that an earlier command left
        while to_make := self._next_round_of_each():
            for first in range(0, len(to_make), BATCH):
                for cell, number in to_make[first : first + BATCH]:
                    self._make(cell, number)
                self._analyse()

    def _missing(self, cell: DurabilityCell) -> list[int]:
        """Return the missing rounds of a cell; empty if the first of them failed too often."""
        numbers = missing(rounds_in(self._folders[cell]), self._wanted)
        return [] if numbers and self._failed[cell, numbers[0]] >= MOST_TRIES else numbers

    def _next_round_of_each(self) -> list[tuple[DurabilityCell, int]]:
        missing_rounds = {cell: self._missing(cell) for cell in self._folders}
        self._left = sum(map(len, missing_rounds.values()))
        return [(cell, numbers[0]) for cell, numbers in missing_rounds.items() if numbers]

    def _make(self, cell: DurabilityCell, number: int) -> None:
        left = f", about {self._left * sum(self._took_s) / len(self._took_s) / 60:.0f} min" if self._took_s else ""
        self._print_line(f"{cell}: round {number} ({counted(self._left, 'round')} left{left})")
        folder, began_s = self._folders[cell], time.monotonic()
        before = {run.path for run in runs_in(folder)}
        locustfile = as_typed(locustfile_of("durability", "durability"))
        log_path = folder / f"round-{number}.log"
        with log_path.open("w", encoding="utf-8") as log:
            command = [sys.executable, "-m", "locust", "-f", locustfile, *cell.arguments(number, folder, self._further)]
            run_guarded(command, output=log)
        self._took_s.append(time.monotonic() - began_s)
        self._left -= 1
        if before == {run.path for run in runs_in(folder)}:
            self._failed[cell, number] += 1
            self._print_line(f"  the run could not be made; see {log_path}")

    def _analyse(self) -> None:
        """Analyse runs that have no analysis yet, and report the result of each round."""
        waiting = [
            (cell, run)
            for cell, folder in self._folders.items()
            for run in runs_in(folder)
            if not run.is_analysed and run.path not in self._unreadable
        ]
        if not waiting:
            return
        with (next(iter(self._folders.values())).parent / "analysis.log").open("a", encoding="utf-8") as log:
            analyse([run for _, run in waiting], None, log)
        self._unreadable.update(run.path for _, run in waiting if not run.is_analysed)
        for cell, run in waiting:
            self._print_line(f"  {cell}, {self._outcome(cell, run)}")

    def _outcome(self, cell: DurabilityCell, run: RunDirectory) -> str:
        number = round_number(run)
        rounds = {round.number: str(round) for round in rounds_in(self._folders[cell])}
        if number not in rounds:
            self._failed[cell, number] += 1
        return rounds.get(number, f"round {number}: no result; see {run.path}")
