"""Runs the benchmarks of one broker: ``python -m benchmarks.NAME [PAIRS] [WHAT …]``, one broker for all of them."""

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from benchmarks.pairs import conditions
from records.rundir import RunDirectory
from topologies.catalogue.lookup import build
from topologies.runtimes.processes.runtime import ProcessRuntime

PAIRS = 5
Bench = TypeVar("Bench")


@contextmanager
def broker(entry: str) -> Iterator[tuple[ProcessRuntime, Path]]:
    """The one broker of catalogue entry ``entry``, up, and a folder for this benchmark."""
    with tempfile.TemporaryDirectory() as folder:
        runtime = ProcessRuntime(build(entry), RunDirectory.create(Path(folder), "broker"))
        runtime.up(print)
        try:
            yield runtime, Path(folder)
        finally:
            runtime.close()


def run(
    entry: str, make_bench: Callable[[ProcessRuntime, Path], Bench], whats: Mapping[str, Callable[[Bench, int], None]]
) -> None:
    """Bring up catalogue entry ``entry``, which has one broker.

    Run the benchmarks of ``whats`` that the command line names, or all. Each gets the bench and the requested number of
    pairs.
    """
    pairs, named = int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS, sys.argv[2:] or list(whats)
    print(conditions())
    with broker(entry) as (runtime, folder):
        bench = make_bench(runtime, folder)
        for what in named:
            whats[what](bench, pairs)
