"""What topics ask of the parts of a run, and how the answers of the parts become one.

An answer has few rows for any number of messages, and is added up in memory as the parts answer. One with many rows
is divided into ranges, which wait on disk until all parts have answered, and are added up one after the other.
"""

import io
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import polars as pl

from records.analysis_command import SCRATCH
from records.errors import RunUnwritable, explained

Range = tuple[str, ...]
Packed = Mapping[Range, bytes]
"""What one part answers to one question: its rows by range, in Arrow's format."""
MOST_PENDING_ROWS = 2_000_000
COMPRESSED_FROM_ROWS = 1_000


@dataclass(frozen=True)
class Question:
    """What each part of a run answers, and how the answers of several parts become one.

    Both are functions of modules, or partials of such, as they are sent to other processes. ``of_part`` is given an
    `analysis.messages.part.Part`. ``of_run`` is given rows of any number of parts, and takes its own result for such.
    ``ranges``: of an answer with many rows, the columns of names whose values have a range each. ``of_run`` is given
    the rows of one range.
    """

    of_part: Callable[[Any], pl.DataFrame]
    of_run: Callable[[pl.DataFrame], pl.DataFrame]
    ranges: Sequence[str] = ()

    def packed(self, part: Any) -> Packed:
        """What one part answers. This runs in a process of an executor."""
        rows = self.of_part(part)
        if not self.ranges:
            return {(): _packed(rows)}
        if rows.is_empty():
            return {("",) * len(self.ranges): _packed(rows.drop(self.ranges))}
        by_range = rows.partition_by(self.ranges, as_dict=True, include_key=False)
        return {tuple(map(str, names)): _packed(rows_of_range) for names, rows_of_range in by_range.items()}


def counts(of_part: Callable[[Any], pl.DataFrame], *key: str) -> Question:
    """A question whose answers are counts: they add up to one row a key, or to one row without a key."""
    return Question(of_part, partial(_added_up, key=key))


def _added_up(rows: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    return rows.group_by(key).agg(pl.all().sum()) if key else rows.sum()


def same(rows: pl.DataFrame) -> pl.DataFrame:
    """The answer to a question whose parts have different rows."""
    return rows


class Answers:
    """The answers of all parts that were added so far, by the name of their question."""

    def __init__(self, questions: Mapping[str, Question]) -> None:
        self._answers: dict[str, _Answer] = {
            name: _OnDisk(question) if question.ranges else _InMemory(question) for name, question in questions.items()
        }

    def add(self, of_part: Mapping[str, Packed]) -> None:
        """The answers of one more part to all questions."""
        for name, answer in self._answers.items():
            answer.add(of_part[name])

    def __getitem__(self, name: str) -> pl.DataFrame:
        """The answer of the run. Of one with ranges, all of them: see `ranges`."""
        return pl.concat(self._answers[name].ranges())

    def ranges(self, name: str) -> Iterator[pl.DataFrame]:
        """The answer of the run, range by range, in the order of their names: at least one, which may be empty."""
        return self._answers[name].ranges()


class _Answer(Protocol):
    def add(self, packed: Packed) -> None: ...

    def ranges(self) -> Iterator[pl.DataFrame]: ...


@dataclass
class _InMemory:
    """Fewer rows wait to be added up than half of those there are, or a few."""

    question: Question
    pending: list[pl.DataFrame] = field(default_factory=list)

    def add(self, packed: Packed) -> None:
        self.pending.append(_unpacked(packed[()]))
        waiting = sum(rows.height for rows in self.pending[1:])
        if waiting > max(MOST_PENDING_ROWS, self.pending[0].height // 2):
            next(self.ranges())

    def ranges(self) -> Iterator[pl.DataFrame]:
        self.pending = [self.question.of_run(pl.concat(self.pending))]
        yield from self.pending


class _OnDisk:
    """Rows as they came, in a file that goes with this object."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._file = tempfile.TemporaryFile(prefix=SCRATCH)  # noqa: SIM115 - it is closed as this object goes
        self._places: dict[Range, list[tuple[int, int]]] = {}
        """Where the file has rows of a range: from which byte on, and how many bytes."""

    def add(self, packed: Packed) -> None:
        """RunUnwritable if the disk does not take them."""
        try:
            self._file.seek(0, os.SEEK_END)
            for names, rows in packed.items():
                self._places.setdefault(names, []).append((self._file.tell(), len(rows)))
                self._file.write(rows)
        except OSError as error:
            why, next_step = explained(error)
            folder = tempfile.gettempdir()
            raise RunUnwritable(f"{folder}: no room for the analysis to work in: {why}: {next_step}") from None

    def ranges(self) -> Iterator[pl.DataFrame]:
        for names, places in sorted(self._places.items()):
            rows = pl.concat(_unpacked(self._read(begin, size)) for begin, size in places)
            named = (pl.lit(name).alias(column) for column, name in zip(self._question.ranges, names, strict=True))
            yield self._question.of_run(rows.with_columns(named))

    def _read(self, begin: int, size: int) -> bytes:
        self._file.seek(begin)
        return self._file.read(size)


def _packed(rows: pl.DataFrame) -> bytes:
    packed = io.BytesIO()
    rows.write_ipc(packed, compression="lz4" if rows.height > COMPRESSED_FROM_ROWS else "uncompressed")
    return packed.getvalue()


def _unpacked(rows: bytes) -> pl.DataFrame:
    return pl.read_ipc(io.BytesIO(rows))
