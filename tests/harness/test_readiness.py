"""Checks that a run looks for all tools that its end needs before the load begins."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.options.plan import Plan
from harness.run import readiness
from records.errors import UserError
from topologies.jvm.java import NoJava


def plan(*, analyse_later: bool = False) -> Plan:
    options = SimpleNamespace(analyse_later=analyse_later, runs=Path("runs"))
    return cast(Plan, SimpleNamespace(counts={"P": 8, "C": 4}, options=options))


@pytest.fixture(autouse=True)
def java_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness.java, "find_java", lambda: None)


def test_a_machine_with_everything_is_ready() -> None:
    readiness.require_ready(plan())


@pytest.mark.parametrize("package", readiness.PACKAGES)
def test_a_missing_package_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "find_spec", lambda name: None if name == package else object())
    with pytest.raises(UserError, match=f"after the load needs the Python package {package}, which is missing; run"):
        readiness.require_ready(plan())
    readiness.require_ready(plan(analyse_later=True))


def test_a_missing_java_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any) -> None:
        raise NoJava("no Java 17 or newer was found")

    monkeypatch.setattr(readiness.java, "find_java", none)
    with pytest.raises(UserError, match="no Java 17"):
        readiness.require_ready(plan())
    readiness.require_ready(plan(analyse_later=True))


@pytest.mark.parametrize(
    "check", ["why_too_few_files", "why_too_small_files", "why_no_names", "why_no_temporary_files", "why_full"]
)
def test_what_the_machine_lacks_comes_first(check: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, check, lambda *_: "this is missing; do that")
    with pytest.raises(UserError, match=r"^this is missing; do that$"):
        readiness.require_ready(plan(analyse_later=True))
