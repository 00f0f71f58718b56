"""Texts that tests hold against files. BROKERBENCH_REGENERATE=1 makes pytest write them anew: then read the diff."""

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"


def assert_golden(name: str, text: str) -> None:
    """``text`` is what the file ``golden/name`` holds."""
    path = FOLDER / name
    if os.environ.get("BROKERBENCH_REGENERATE") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"no golden file {name}: run with BROKERBENCH_REGENERATE=1, then read what it wrote"
    assert text == path.read_text(encoding="utf-8")
