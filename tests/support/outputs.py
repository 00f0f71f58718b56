"""Makes every output of a set of runs with this checkout's code, and compares the outputs of two checkouts.

    python -m tests.support.outputs make SET OUT        python -m tests.support.outputs compare ONE OTHER

SET has a folder for each run. The runs of a comparison are below a folder `compare-…`. A folder `night-…` has a
`plan.yaml` and, below `runs/`, the nights that were made of it. All is copied, and SET is not changed. The commands
run inside OUT, so that no output contains its path. All their output is kept, including errors.
``compare`` exits with status 1 if anything differs beyond `NORMALIZED`.
"""

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import chdir
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from records.figures.summary import FIGURES
from reports.other_files import OTHER_FILES

DOCS = Path(__file__).resolve().parents[2] / "docs"
BROKERBENCH = str(Path(sys.executable).with_name("brokerbench"))
MADE_AGAIN = (
    *("results", "summary.json", "analysis.sha256", "report.html"),
    *("first-verdicts.json", "nightly-history", "nightly.html", "nightly.json", "comparison-*.html"),
)
SCHEMAS = {"summary": "summary.json", "comparison": "comparison*.json", "nightly": "nightly.json"}
SESSIONS = 2  # of Spark at once: a single one leaves a third of two cores idle
MUTATIONS, SEED = 2_000, 20_261_126
MOST_LINES, MOST_LETTERS = 5, 300  # of the differences in a JSON file; of a reported line
NORMALIZED: tuple[tuple[str, str], ...] = (
    (r"^analysis: started Spark \(\d+\.\d s\)$", "analysis: started Spark (TIME)"),
)
"""Text that differs in every run: the pattern of a line, and its replacement."""


def make(run_folders: Path, out: Path) -> None:
    """Make every output of the set below ``out``, which must not exist yet."""
    shutil.copytree(run_folders, out / "runs", ignore=shutil.ignore_patterns(*MADE_AGAIN))
    with chdir(out):
        runs = sorted(path.parent for path in Path("runs").glob("**/run.json"))
        with ThreadPoolExecutor() as beside:
            list(beside.map(_analyse, range(SESSIONS), (runs[at::SESSIONS] for at in range(SESSIONS))))
        Path("all").mkdir()
        with ProcessPoolExecutor() as beside:
            list(beside.map(_of_run, runs))
        _of_all([run for run in runs if run.parent == Path("runs") and (run / "summary.json").exists()])
        for folder in sorted(Path("runs").glob("compare-*")):
            _of_comparison(folder)
        for folder in sorted(Path("runs").glob("night-*")):
            _of_nights(folder)
        Path("figures.txt").write_text("\n".join(FIGURES), encoding="utf-8")
        lines = [line for name, files in SCHEMAS.items() for line in mutated(name, sorted(Path().glob(f"**/{files}")))]
        Path("schemas.txt").write_text("\n".join(lines), encoding="utf-8")


def _analyse(number: int, runs: Sequence[Path]) -> None:
    """Analyse the runs in a separate Spark session. A rejected run is reported, and the others continue."""
    _process(f"analysis-{number}", "analyse", *map(str, runs))


def _process(name: str, *arguments: str) -> None:
    """Run a command of `brokerbench`. ``name``: the name of its output file, without ``.txt``."""
    command = [BROKERBENCH, *arguments]
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    Path(f"{name}.txt").write_text(f"{process.stdout}status {process.returncode}\n", encoding="utf-8")


def _command(name: str, *arguments: str) -> None:
    """Like `_process`, but in this process, as starting hundreds takes minutes. For commands without Locust."""
    (entry,) = entry_points(group="console_scripts", name="brokerbench")
    invocation = CliRunner().invoke(entry.load(), arguments)
    error = invocation.exception
    wrong = "" if error is None or isinstance(error, SystemExit) else f"{error!r}\n"
    Path(f"{name}.txt").write_text(f"{invocation.output}{wrong}status {invocation.exit_code}\n", encoding="utf-8")


BESIDE = {"junit": "junit.xml", "markdown": "run.md"}
"""Names of files next to a report. Other files are named by their options."""


def _of_run(run: Path) -> None:
    """Make the run's page in its folder, and its other reports and exports below ``files/``."""
    folder = Path("files", *run.parts[1:])
    folder.mkdir(parents=True)
    beside = [word for name in OTHER_FILES for word in (f"--{name}", f"{folder}/{BESIDE.get(name, name)}")]
    _command(f"{folder}/report", "report", str(run), *beside)
    for form in ("hdr", "csv"):
        _command(f"{folder}/{form}", "export", str(run), "--to", form, "--out", f"{folder}/{form}")


def _of_comparison(folder: Path) -> None:
    """Compare by the default figures, and by two others. The first verdicts are kept."""
    runs = [str(path.parent) for path in sorted(folder.glob("*/run.json"))]
    primaries = ("--primary", "throughput.received_per_s", "--primary", "latency_ms.due_to_received.p50")
    into = Path("groups", folder.name)
    into.mkdir(parents=True)
    for name, options in (
        ("comparison", ()),
        ("comparison-2", primaries),
        ("comparison-3", (*primaries, "--gate", "--strict")),
    ):
        files = ("--out", f"{into}/{name}.html", "--json", f"{into}/{name}.json", "--markdown", f"{into}/{name}.md")
        _command(f"{into}/{name}", "compare", *runs, *files, *options)


def _of_all(runs: Sequence[Path]) -> None:
    """Compare runs that were not made for a comparison, all together and by scenario. Most are rejected."""
    by_scenario: dict[str, list[str]] = {}
    for run in runs:
        by_scenario.setdefault(json.loads((run / "run.json").read_text("utf-8"))["scenario"], []).append(str(run))
    for name, chosen in {"all": [*map(str, runs)], **by_scenario}.items():
        for options in ((), ("--allow-unlike",)):
            _command(f"all/{'-'.join((name, *options))}", "compare", *chosen, *options, "--out", f"all/{name}.html")


def _of_nights(folder: Path) -> None:
    """Judge each night again, in order, as all runs exist."""
    nights = [path.name.removeprefix("nightly-") for path in sorted(folder.glob("runs/nightly-*"))]
    with chdir(folder):
        for night in nights:
            files = ("--junit", f"{night}.xml", "--markdown", f"{night}.md")
            _process(night, "nightly", "plan.yaml", "--night", night, *files)


def mutated(name: str, documents: Sequence[Path]) -> Iterator[str]:
    """Return a line for each mutation of these documents: whether the schema of that ``name`` accepts it.

    One mutation is drawn from similar places, such as all items of an array, and `MUTATIONS` from all places.
    """
    validator = Draft202012Validator(json.loads((DOCS / f"{name}.schema.json").read_text(encoding="utf-8")))
    loaded = {path: json.loads(path.read_text(encoding="utf-8")) for path in documents}
    every = [(path, *mutation) for path, document in loaded.items() for mutation in _mutations(document, ())]
    chance = random.Random(SEED)
    chance.shuffle(every)
    drawn = {(_pattern(place), kind): (path, place, kind) for path, place, kind in every}
    for path, document in loaded.items():
        yield f"{name} {path} as it is: {_answer(validator, document)}"
    for path, place, kind in sorted(chance.sample(list(drawn.values()), min(MUTATIONS, len(drawn))), key=str):
        document = json.loads(path.read_text(encoding="utf-8"))
        _mutate(document, place, kind)
        yield f"{name} {path} {_json_path(place)} {kind}: {_answer(validator, document)}"


def _mutations(value: Any, place: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], str]]:
    if isinstance(value, dict):
        yield place, "key added"
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in inner:
        there = (*place, key)
        if isinstance(value, dict):
            yield there, "removed"
        if isinstance(child, int | float) and not isinstance(child, bool):
            yield from ((there, kind) for kind in ("text", "-1", "null"))
        yield from _mutations(child, there)


def _mutate(document: Any, place: Sequence[Any], kind: str) -> None:
    *outer, last = (*place, "unheard-of") if kind == "key added" else place
    for key in outer:
        document = document[key]
    if kind == "removed":
        del document[last]
    else:
        document[last] = {"text": "1", "-1": -1, "null": None, "key added": 1}[kind]


def _pattern(place: Sequence[Any]) -> str:
    return _json_path("*" if isinstance(key, int) else key for key in place)


def _json_path(place: Any) -> str:
    return "$" + "".join(f".{key}" for key in place)


def _answer(validator: Draft202012Validator, document: Any) -> str:
    return "accepted" if validator.is_valid(document) else "refused"


@dataclass
class Count:
    """The number of compared outputs of ``kind``, and of different ones."""

    compared: int = 0
    differ: int = 0


@dataclass
class PlantedComparison:
    """Compares two folders of outputs. ``lines``: one line per difference."""

    before: Path
    after: Path
    lines: list[str] = field(default_factory=list)
    counts: dict[str, Count] = field(
        default_factory=lambda: {kind: Count() for kind in ("folders", "files", "tables", "rows")}
    )

    def compare(self) -> bool:
        """Compare two folders of outputs. Returns whether they are equal."""
        names = [
            {path.relative_to(top).as_posix() for path in top.rglob("*") if path.is_file() and path.name != ".lock"}
            for top in (self.before, self.after)
        ]
        differing: set[Path] = set()
        everything = sorted(names[0] | names[1])
        for name in everything:
            if name not in names[0] or name not in names[1]:
                differences = [f"only in {self.before if name in names[0] else self.after}"]
            else:
                differences = self._table(name) if name.endswith(".parquet") else self._file(name)
            self._count("files", 1, bool(differences))
            self.lines += [f"{name}: {line}"[:MOST_LETTERS] for line in differences]
            differing |= {Path(name).parent} if differences else set()
        self._count("folders", len({Path(name).parent for name in everything}), len(differing))
        return not self.lines

    def _count(self, kind: str, compared: int, differ: int) -> None:
        self.counts[kind].compared += compared
        self.counts[kind].differ += differ

    def _file(self, name: str) -> list[str]:
        before, after = ((top / name).read_bytes() for top in (self.before, self.after))
        if before == after:
            return []
        try:
            texts = before.decode(), after.decode()
        except UnicodeDecodeError:
            return [f"{len(before)} and {len(after)} bytes, which differ"]
        if name.endswith(".json"):
            differences = _json_differences(json.loads(texts[0]), json.loads(texts[1]), ())
            return [*islice(differences, MOST_LINES)] or ["the same content in another form"]
        ours, theirs = ([normalized(line) for line in text.split("\n")] for text in texts)
        pairs = enumerate(zip([*ours, "(end)"], [*theirs, "(end)"], strict=False), start=1)
        return next(([f"line {at}: {_beside(a, b)}"] for at, (a, b) in pairs if a != b), [])

    def _table(self, name: str) -> list[str]:
        """Compare schemas with their metadata, then rows in order."""
        try:
            before, after = (pq.ParquetFile(top / name).read() for top in (self.before, self.after))
        except (pa.ArrowException, OSError):  # a file that was damaged on purpose
            return self._file(name)
        self._count("tables", 1, 0)
        self._count("rows", max(before.num_rows, after.num_rows), 0)
        if not before.schema.equals(after.schema, check_metadata=True):
            differences = [f"schema: {_beside(before.schema.to_string(), after.schema.to_string())}"]
        elif before.equals(after):
            return []
        else:
            differences = self._rows(before, after)
        self._count("tables", 0, 1)
        return differences

    def _rows(self, before: pa.Table, after: pa.Table) -> list[str]:
        ours, theirs = (Counter(map(repr, table.to_pylist())) for table in (before, after))
        only = [sorted((a - b).elements()) for a, b in ((ours, theirs), (theirs, ours))]
        if not any(only):
            return ["the same rows in another order"]
        self._count("rows", 0, max(map(len, only)))
        example = _beside(*([*rows, "none"][0] for rows in only))
        return [f"of {before.num_rows} and {after.num_rows} rows {len(only[0])} and {len(only[1])} differ: {example}"]


def normalized(line: str) -> str:
    for pattern, text in NORMALIZED:
        line = re.sub(pattern, text, line)
    return line


def _json_differences(before: Any, after: Any, place: tuple[Any, ...]) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        if [*before] != [*after]:
            yield f"{_json_path(place)}: keys {_beside(str([*before]), str([*after]))}"
        for key in (key for key in before if key in after):
            yield from _json_differences(before[key], after[key], (*place, key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for at, (a, b) in enumerate(zip(before, after, strict=True)):
            yield from _json_differences(a, b, (*place, at))
    elif type(before) is not type(after) or before != after:
        yield f"{_json_path(place)}: {_beside(json.dumps(before), json.dumps(after))}"


def _beside(before: str, after: str) -> str:
    """Return both texts from shortly before their first difference."""
    pairs = enumerate(zip(before, after, strict=False))
    at = max(0, next((at for at, (a, b) in pairs if a != b), min(len(before), len(after))) - 30)
    return f"{before[at : at + 120]!r} | {after[at : at + 120]!r}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tests.support.outputs", description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("make", "compare"))
    parser.add_argument("folders", type=Path, nargs=2, metavar="FOLDER")
    options = parser.parse_args(arguments)
    before, after = (folder.resolve() for folder in options.folders)
    if options.what == "make":
        make(before, after)
        return 0
    comparison = PlantedComparison(before, after)
    same = comparison.compare()
    print("\n".join(comparison.lines))
    for kind, count in comparison.counts.items():
        print(f"{kind}: {count.compared} compared, {count.differ} differ")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
