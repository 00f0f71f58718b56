"""Runs the benchmarks of one broker: ``python -m benchmarks.NAME [WHAT …] [--pairs N]``, one broker for all of them."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from benchmarks.arguments import Parser
from benchmarks.pairs import conditions
from records.rundir import RunDirectory
from topologies.catalogue.lookup import build
from topologies.runtimes.processes.runtime import ProcessRuntime

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
    parser: Parser,
    entry: str,
    make_bench: Callable[[ProcessRuntime, Path, float], Bench],
    whats: Mapping[str, Callable[[Bench, int], None]],
) -> None:
    """Bring up catalogue entry ``entry``, which has one broker, and run benchmarks on it.

    They are those of ``whats`` that the command line names, or all. Each gets the bench and the requested number of
    pairs. The bench is made for the requested size.
    """
    parser.add_whats(whats)
    parser.add_pairs()
    parser.add_size()
    options = parser.parse_args()
    print(conditions())
    with broker(entry) as (runtime, folder):
        bench = make_bench(runtime, folder, options.size)
        for what in options.whats or whats:
            whats[what](bench, options.pairs)
