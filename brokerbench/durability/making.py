"""Makes the runs of the durability table, one after the other. The same command goes on where it was stopped."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from brokerbench.durability.cells import Cell
from brokerbench.durability.table import DECIDED, Round, rounds_in
from brokerbench.interrupts import run_guarded
from brokerbench.locustfiles import as_typed, locustfile_of

Say = Callable[[str], None]
FOLDER = "durability"


def missing(rounds: Sequence[Round], wanted: int) -> list[int]:
    """The numbers of the rounds to make: until ``wanted`` have an answer, in at most twice as many rounds. Pure."""
    decided = [round.number for round in rounds if round.outcome in DECIDED]
    tried = {round.number for round in rounds}
    still = max(0, wanted - len(decided))
    return [number for number in range(1, 2 * wanted + 1) if number not in tried][:still]


def make(
    cells: Sequence[Cell], wanted: int, runs: Path, further: Sequence[str], say: Say
) -> Mapping[Cell, list[Round]]:
    """The rounds of each cell, made where they are missing. ``further``: options of every run, as of locust.

    The first round of every cell comes first, so that a run that was stopped has an answer for many cells.
    """
    folders = {cell: runs / FOLDER / cell.slug for cell in cells}
    for cell, folder in folders.items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "overlay.yaml").write_text(cell.overlay, encoding="utf-8")
    while open_cells := [cell for cell in cells if missing(rounds_in(folders[cell]), wanted)]:
        for cell in open_cells:
            number, *others = missing(rounds_in(folders[cell]), wanted)
            say(f"{cell}: round {number}, {len(others)} more to come")
            if not _make_round(cell, number, folders[cell], further):
                say(f"  it was not analysed; see {folders[cell] / f'round-{number}.log'}")
                return {cell: rounds_in(folder) for cell, folder in folders.items()}
    return {cell: rounds_in(folder) for cell, folder in folders.items()}


def _make_round(cell: Cell, number: int, folder: Path, further: Sequence[str]) -> bool:
    """Whether there is an analysed run of the round then."""
    locustfile = as_typed(locustfile_of("durability", "durability"))
    with (folder / f"round-{number}.log").open("w", encoding="utf-8") as log:
        command = [sys.executable, "-m", "locust", "-f", locustfile, *cell.arguments(number, folder, further)]
        run_guarded(command, output=log)
    return number in {round.number for round in rounds_in(folder)}
