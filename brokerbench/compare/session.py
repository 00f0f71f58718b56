"""Plans the runs of a comparison, and finds the runs that exist already.

A session is a folder with the runs, their logs, and `session.json`, which records the request. A block has one run of
every arm, in random order. The session's name is the seed of the order, so the same command gives the same plan.
"""

import fcntl
import hashlib
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from brokerbench.locustfiles import as_typed, locustfile_of
from records.errors import RunUnreadable
from records.option_roles import ARM_FIELDS
from records.run import RunInfo
from records.store.rundir import RunDirectory
from reports.comparison.statistics import needed_blocks

SESSION_FILE = "session.json"
ANOTHER_SESSION = "choose another session with --session"
MOST_BLOCKS = 1_000
LONGEST_NAME = 200  # characters of a session's name, as file systems allow 255 in a folder's name
LONGEST_STEM = 100  # characters of a locustfile's name in the name of a session
START_TIMEOUT = "--start-timeout"
SET_OF_LOCUST = ("-f", "--locustfile", "--headless")
"""Locust options that are set for each run."""


@dataclass(frozen=True)
class ComparisonRequest:
    """The request on the command line, for one scenario or several.

    ``common_options``: Locust options of every run. ``control``: whether each block has another run of the
    first arm.
    """

    scenario: str
    topologies: str | None
    vary: tuple[str, ...]
    blocks: int | None
    run_time: str | None
    session: str | None
    common_options: tuple[str, ...]
    runs: Path
    control: bool = False


@dataclass(frozen=True)
class Slot:
    """The place of one run: its block, and its ``order`` within the block; both count from 1."""

    block: int
    order: int
    value: str
    control: bool = False

    def __str__(self) -> str:
        return f"block {self.block}, {self.value}{' again' if self.control else ''}"


@dataclass(frozen=True)
class ComparisonSession:
    """The planned runs of a comparison.

    ``values``: the values of ``option``, one per arm. ``common_options``: the options of every run. ``control``:
    whether each block has a further run of the first arm.
    """

    name: str
    locustfile: Path
    option: str
    values: tuple[str, ...]
    common_options: tuple[str, ...]
    blocks: int
    folder: Path
    control: bool = False

    def slots(self) -> Iterator[Slot]:
        """Yield every run of the plan, in the order of execution."""
        for block in range(1, self.blocks + 1):
            runs = [(value, False) for value in self.values] + [(self.values[0], True)] * self.control
            random.Random(f"{self.name} {block}").shuffle(runs)
            yield from (Slot(block, order, *run) for order, run in enumerate(runs, start=1))

    @property
    def run_count(self) -> int:
        return self.blocks * (len(self.values) + self.control)

    def run_arguments(self, value: str) -> list[str]:
        """Return the options that assign a run to this arm."""
        return ["-f", as_typed(self.locustfile), "--headless", *self.common_options, f"--{self.option}={value}"]

    def arguments(self, slot: Slot) -> list[str]:
        """Return all options of one run."""
        place = [f"--session={self.name}", f"--block={slot.block}", f"--order={slot.order}"]
        control = ["--control"] if slot.control else []
        return [*self.run_arguments(slot.value), f"--runs={self.folder}", "--analyse-later", *place, *control]

    def usable_runs(self) -> dict[Slot, RunDirectory]:
        """Return the newest usable run of each slot that has one."""
        by_place = {(slot.block, slot.order): slot for slot in self.slots()}
        runs = {}
        for directory, info in _runs(self.folder):
            slot = by_place.get((info.options.get("block"), info.options.get("order")))  # type: ignore[arg-type]
            if slot is not None and info.state == "ended" and not why_invalid(directory, info):
                runs[slot] = directory
        return runs

    def holds_another(self) -> bool:
        """Whether the folder contains another comparison."""
        path = self.folder / SESSION_FILE
        return path.exists() and path.read_bytes() != self._content().encode()

    def require_own(self) -> None:
        """Raise ValueError if the folder contains another comparison."""
        if self.holds_another():
            raise ValueError(
                f"{self.folder}: contains runs with other options or other file contents: give this comparison another "
                "name with --session"
            )

    def begin(self) -> None:
        """Make the folder, or continue in it after an interruption. ValueError if it contains another comparison."""
        self.require_own()
        (self.folder / "logs").mkdir(parents=True, exist_ok=True)
        (self.folder / SESSION_FILE).write_text(self._content(), encoding="utf-8")

    def _content(self) -> str:
        content: dict[str, object] = {"scenario": str(self.locustfile), "vary": self.option, "values": self.values}
        content |= {"options": without_start_timeout(self.common_options)} | ({"control": True} if self.control else {})
        return json.dumps(content | {"files": self._files()}, indent=2)

    def _files(self) -> dict[str, str]:
        """Return the digest of each file that defines the runs, such as the locustfile and topologies in YAML."""
        words = (*self.values, *self.common_options, *(word.partition("=")[2] for word in self.common_options))
        files = [self.locustfile, *(Path(text) for text in words if text and Path(text).is_file())]
        return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def plan_session(request: ComparisonRequest, tests: int) -> ComparisonSession:
    """Return the requested session. ``tests``: primary figures times arms after the first, over the whole comparison.

    They determine the number of blocks that a verdict needs. ValueError names the option, the value and the rule.
    """
    option, values = arms(request)
    locustfile = locustfile_of(request.scenario)
    common = (*request.common_options, *(("-t", request.run_time) if request.run_time else ()))
    _check_others(option, common)
    text = json.dumps(
        [locustfile.name, option, values, without_start_timeout(common), *(["control"] if request.control else [])]
    )
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    name = request.session or f"{locustfile.stem[:LONGEST_STEM]}-{option}-{digest}"
    if Path(name).name != name or not name.isprintable() or len(name) > LONGEST_NAME:
        rule = f"must be the name of a folder, without slashes, with at most {LONGEST_NAME} characters"
        raise ValueError(f"--session {name}: {rule}")
    if request.runs.exists() and not request.runs.is_dir():
        raise ValueError(f"--runs {request.runs}: is a file; name a folder")
    blocks = request.blocks or needed_blocks(tests)
    return ComparisonSession(
        name, locustfile, option, values, common, blocks, request.runs / f"compare-{name}", request.control
    )


def without_start_timeout(options: Sequence[str]) -> tuple[str, ...]:
    """Return the options of every run without the start timeout, which changes no figure.

    So a comparison whose brokers took too long can continue with a longer timeout.
    """
    words, kept_words = iter(options), []
    for word in words:
        if word == START_TIMEOUT:
            next(words, None)
        elif not word.startswith(f"{START_TIMEOUT}="):
            kept_words.append(word)
    return tuple(kept_words)


def progress(sessions: Sequence[ComparisonSession]) -> str:
    """Return the state after an interruption: ``3 of 14 runs are complete and stored``."""
    runs_made = sum(len(session.usable_runs()) for session in sessions)
    return f"{runs_made} of {sum(session.run_count for session in sessions)} runs are complete and stored"


def why_invalid(directory: RunDirectory, info: RunInfo) -> str:
    """Return why a comparison cannot use a finished run; empty if it can. Decided by the results, if there are any."""
    if info.problems:
        return info.problems[0]
    if not directory.summary_path.exists():
        return ""
    try:
        summary = json.loads(directory.summary_path.read_text(encoding="utf-8"))
        outcome = (summary["verdict"], summary["reasons"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return f"{directory.summary_path} cannot be read"
    verdict, reasons = outcome
    return str([*reasons, "no reason given"][0]) if verdict == "invalid" else ""


def _runs(folder: Path) -> Iterator[tuple[RunDirectory, RunInfo]]:
    """Yield the readable runs of a folder, oldest first. A run killed early can lack a complete run.json."""
    for path in sorted(folder.glob("*/run.json")):
        directory = RunDirectory(path.parent)
        try:
            yield directory, directory.read_run()
        except RunUnreadable:
            continue


@cache
def variable_options() -> tuple[str, ...]:
    """Return the run options that can make the arms, in the order of the pages. A flag has no values."""
    from harness.options.declarations import OPTIONS  # imports requests, and so ssl; nightly imports Locust before

    options = (OPTIONS[field] for field in ARM_FIELDS if field in OPTIONS)
    return tuple(option.name.removeprefix("--") for option in options if option.kind is not bool)


@cache
def options_of_results() -> frozenset[str]:
    """Return the run options about stored results. A comparison sets them itself."""
    from harness.options.declarations import KEPT, OPTIONS  # as above

    return frozenset(option.name for option in OPTIONS.values() if option.section == KEPT)


def arms(request: ComparisonRequest) -> tuple[str, tuple[str, ...]]:
    """Return the varied option and its values. Raises ValueError."""
    variations = [*([f"topology={request.topologies}"] if request.topologies else []), *request.vary]
    if not variations:
        raise ValueError("--scenario: also name the arms: --topologies A,B or --vary OPTION=A,B")
    parted = [text.partition("=") for text in variations]
    options = sorted({option for option, _, _ in parted})
    if len(options) > 1:
        raise ValueError(f"--vary {' and '.join(options)}: arms differ in one condition: vary one option at a time")
    if options[0] not in variable_options():
        raise ValueError(f"--vary {options[0]}: not an option that can be varied: {', '.join(variable_options())}")
    if any(not equals for _, equals, _ in parted):
        raise ValueError(f"--vary {options[0]}: which values? Write --vary {options[0]}=A,B")
    texts = [value for _, _, value in parted]
    values = tuple(split_values(texts[0])) if len(texts) == 1 else tuple(texts)
    if len(values) < 2 or len(set(values)) < len(values) or "" in values:
        raise ValueError(
            f"--vary {options[0]}={','.join(values)}: a comparison needs at least two different values, separated by "
            "commas; if a value contains a comma, repeat --vary for each value"
        )
    return options[0], values


def split_values(text: str) -> Iterable[str]:
    """Split a text at its commas, but not inside brackets: ``mesh(brokers=3,rebalance=true),tree`` has two values."""
    depth, begin = 0, 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            yield text[begin:at].strip()
            begin = at + 1
    yield text[begin:].strip()


def find_unknown_word(options: Sequence[str]) -> str:
    """Return the first word that is neither an option nor an option's value; empty if there is none."""
    before = ""
    for word in options:
        if not word.startswith("-") and (not before.startswith("-") or "=" in before):
            return word
        before = word
    return ""


def _check_others(option: str, options: Sequence[str]) -> None:
    if stray := find_unknown_word(options):
        raise ValueError(f"{stray!r}: is not an option of a run; write --OPTION=VALUE, such as --rate=200")
    if why := explain_forbidden_word(option, options):
        raise ValueError(why)


def explain_forbidden_word(option: str, options: Sequence[str]) -> str:
    """Return which word cannot be an option of every run, and why; empty if all can. ``option``: the varied option."""
    for name in (word.partition("=")[0] for word in options):
        if name == f"--{option}":
            return f"{name}: the arms differ in it, so it cannot be an option of every run: leave it out"
        if name in SET_OF_LOCUST or name in options_of_results():
            return f"{name}: brokerbench sets it itself: leave it out"
    return ""


# -- one command at a time: two would make the same runs twice ---------------------------------------------------------


def require_free(folder: Path, instead: str = ANOTHER_SESSION) -> None:
    """Raise ValueError if another process uses the folder. It does not have to exist."""
    if folder.is_dir():
        with lock_session(folder, instead):
            pass


@contextmanager
def lock_session(folder: Path, instead: str = ANOTHER_SESSION) -> Iterator[None]:
    """Lock the folder for this process.

    ValueError if it is locked. The kernel releases the lock when the process ends.
    """
    with (folder / ".lock").open("w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"{folder}: another command is making these runs: wait until it ends, or {instead}"
            ) from None
        yield
