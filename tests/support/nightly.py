"""Keeps what the parts of the nightly tests came to, and adds them up for the commit that they ran on."""

import json
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.support.parts import RECORDED

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "nightly"
UNKNOWN = "unknown"


def commit() -> str:
    """The commit that is checked out; "unknown" where there is no git."""
    line = ["git", "rev-parse", "HEAD"]
    try:
        return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return UNKNOWN


def keep(part: str, counts: Mapping[str, Any], good: bool, folder: Path = KEPT, at: str | None = None) -> list[str]:
    """Writes ``part-2-of-4.json`` and says what the parts so far add up to."""
    folder.mkdir(parents=True, exist_ok=True)
    number, _, parts = part.partition("/")
    result = {**counts, "commit": at or commit(), "part": int(number), "parts": int(parts), "good": good}
    (folder / f"part-{number}-of-{parts}.json").write_text(json.dumps(result, indent=1), encoding="utf-8")
    return sums(results(folder), result["commit"], int(parts))


def results(folder: Path = KEPT) -> list[dict[str, Any]]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("part-*-of-*.json"))]


def sums(kept: Iterable[Mapping[str, Any]], at: str, parts: int) -> list[str]:
    """The last line of a part: what ran so far, of this commit and this number of parts."""
    here = [each for each in kept if (each["commit"], each["parts"]) == (at, parts)]
    passed = sum(each["passed"] for each in here)
    bad = sum(each["failed"] + each["error"] + each["skipped"] for each in here)
    took_min = sum(each["took_s"] for each in here) / 60
    missing = sorted(set(range(1, parts + 1)) - {each["part"] for each in here})
    rest = (
        f"still to run: PART={', PART='.join(f'{number}/{parts}' for number in missing)}"
        if missing
        else "all parts ran"
    )
    return [
        f"Nightly tests on {at[:12]}, {len(here)} of {parts} parts: {passed:,} passed, {bad:,} did not,"
        f" {took_min:.0f} min; {rest}."
    ]


def mean_s(kept: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Mean seconds of a test, by test file: what `tests.support.parts` cuts the parts by."""
    found: dict[str, list[float]] = defaultdict(list)
    for each in kept:
        for nodeid, seconds in each["seconds"].items():
            found[nodeid.partition("::")[0]].append(seconds)
    return {file: round(sum(values) / len(values), 1) for file, values in sorted(found.items())}


if __name__ == "__main__":  # after all parts: python -m tests.support.nightly
    RECORDED.write_text(json.dumps(mean_s(results()), indent=1) + "\n", encoding="utf-8")
