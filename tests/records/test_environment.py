"""Checks which of the user's variables reach a JVM, an analysis and a report."""

import io
import os
import sys
from pathlib import Path

import pytest

import records.environment
from records.environment import JAVA, escape_unprintable, for_java, for_job, without_spark

OWN = {"PATH": "/bin", "HOME": "/home/me", "PYTHONPATH": "/lib", "http_proxy": "http://proxy:3128"}
CLUSTER = {"SPARK_HOME": "/spark", "PYSPARK_SUBMIT_ARGS": "--master yarn", "HADOOP_CONF_DIR": "/hadoop"}


def test_java_takes_no_options_from_variables() -> None:
    assert for_java({**OWN, **dict.fromkeys(JAVA, "-Xmx1m")}).items() >= OWN.items()
    assert not {*JAVA} & {*for_java(dict.fromkeys(JAVA, "-Xmx1m"))}


@pytest.mark.parametrize("locale", ["tr_TR.UTF-8", "C", "POSIX", "de_DE.ISO-8859-1"])
def test_java_always_has_the_same_locale(locale: str) -> None:
    assert for_java({"LC_ALL": locale})["LC_ALL"] == "C.UTF-8"


def test_a_local_job_ignores_spark_variables() -> None:
    job = for_job({**OWN, **CLUSTER}, local=True)
    assert job.items() >= {name: value for name, value in OWN.items() if name not in ("PATH", "PYTHONPATH")}.items()
    assert not {*CLUSTER} & {*job}


def test_a_job_on_a_cluster_keeps_spark_variables() -> None:
    job = for_job({**OWN, **CLUSTER}, local=False)
    assert {**job, "PATH": OWN["PATH"]}.items() >= {**OWN, **CLUSTER}.items()


@pytest.mark.parametrize(
    ("path", "searched"),
    [
        (None, "/usr/local/bin:/usr/bin:/bin"),
        ("/nonexistent", "/nonexistent:/usr/local/bin:/usr/bin:/bin"),
        ("/opt/x:/usr/bin", "/opt/x:/usr/bin:/usr/local/bin:/bin"),
    ],
)
def test_a_job_finds_bash(path: str | None, searched: str) -> None:
    """Spark starts by a bash script. The user's folders stay first."""
    assert for_job({} if path is None else {"PATH": path}, local=True)["PATH"] == searched


def test_a_job_imports_nothing_from_the_current_folder() -> None:
    job = for_job({"PYTHONOPTIMIZE": "2", "PYTHONWARNINGS": "error", "PYTHONIOENCODING": "ascii"}, local=True)
    assert job["PYTHONSAFEPATH"] == "1"
    assert job["PYTHONIOENCODING"] == "utf-8"
    assert not {"PYTHONOPTIMIZE", "PYTHONWARNINGS"} & {*job}


def test_a_local_job_imports_nothing_from_pythonpath() -> None:
    """It may contain another polars or matplotlib, or a sitecustomize that prints while Spark reads a port."""
    assert "PYTHONPATH" not in for_job(OWN, local=True)
    assert for_job(OWN, local=False)["PYTHONPATH"] == "/lib"


def test_brokerbench_may_itself_be_on_pythonpath() -> None:
    home = str(Path(records.environment.__file__).parents[1])
    on_path = {"PYTHONPATH": os.pathsep.join(("/lib", home, ""))}
    assert for_job(on_path, local=True)["PYTHONPATH"] == on_path["PYTHONPATH"]


@pytest.mark.parametrize("local", [False, True])
def test_a_job_ignores_variables_of_its_tools(*, local: bool) -> None:
    """With the first variable, polars cannot be imported. With the others, an analysis is slow or prints pages."""
    tools = {"POLARS_MAX_THREADS": "0", "PYTHONVERBOSE": "1", "PYTHONTRACEMALLOC": "5", "PYTHONPROFILEIMPORTTIME": "1"}
    assert not tools.keys() & for_job({**OWN, **tools}, local=local).keys()


def test_only_spark_variables_are_removed() -> None:
    assert without_spark({**OWN, **CLUSTER}) == OWN


def test_a_terminal_without_arrows_gets_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    escape_unprintable()
    print("due → received", end="")
    terminal.flush()
    assert terminal.buffer.getvalue() == b"due \\u2192 received"  # type: ignore[attr-defined]
