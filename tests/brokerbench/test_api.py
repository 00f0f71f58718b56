"""Checks the names that a locustfile imports from `brokerbench`, and that nothing is loaded before their use."""

import subprocess
import sys

import pytest

import brokerbench
from brokerbench import api
from harness.locustfile_errors import sentence


def modules_after(statement: str) -> str:
    code = f"import sys\n{statement}\nprint(*sorted({{'locust', 'brokerbench.api'}} & set(sys.modules)))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("name", api.__all__)
def test_each_public_name_comes_from_the_package(name: str) -> None:
    assert getattr(brokerbench, name) is getattr(api, name)


def test_the_package_alone_loads_no_locust() -> None:
    assert modules_after("import brokerbench; from brokerbench import errors") == ""


def test_the_first_name_loads_all_of_them() -> None:
    assert modules_after("from brokerbench import Hold") == "brokerbench.api locust"


def test_an_unknown_name_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(ImportError) as raised:
        exec("from brokerbench import Scenarioo")
    assert sentence(raised.value, raised.value.__traceback__).endswith(
        "brokerbench has no name Scenarioo; did you mean 'Scenario'?"
    )


def test_an_internal_name_is_not_public() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'plan'"):
        _ = brokerbench.plan  # type: ignore[attr-defined]
