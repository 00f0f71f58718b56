"""Checks that files, variables and the locale of the user's shell do not change a run or its results."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.locust_run import REPOSITORY, LocustRun, RunOutcome, as_a_user_has_it

MEMORY = ("--topology", "single", "--protocol", "memory", "--warm-up", "1", "-t", "3s")
VARIABLES = {
    "JAVA_TOOL_OPTIONS": "-XX:+NoSuchFlag",
    "JDK_JAVA_OPTIONS": "--no-such-option",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "SPARK_HOME": "/nonexistent/spark",
    "SPARK_CONF_DIR": "conf",
    "SPARK_LOCAL_IP": "203.0.113.9",
    "PYSPARK_PYTHON": "/nonexistent/python",
    "PYSPARK_SUBMIT_ARGS": "--master yarn pyspark-shell",
    "HADOOP_CONF_DIR": "conf",
    "PYTHONIOENCODING": "ascii",
    "PYTHONOPTIMIZE": "2",
    "PATH": "/nonexistent",
    "LC_ALL": "C",
}
EXECUTED = "open('executed', 'w')\n"
FILES = {
    "reports.py": EXECUTED,
    "reports/__init__.py": EXECUTED,
    "analysis.py": EXECUTED,
    "records/notes.txt": "",
    "scenarios/notes.txt": "",
    "matplotlibrc": "backend: nonsense\nfont.size: 40\n",
    "conf/spark-defaults.conf": "spark.master spark://nowhere:7077\nspark.jars /nonexistent.jar\n",
    "conf/core-site.xml": "<configuration><property><name>fs.defaultFS</name><value>hdfs://nowhere:1</value></property>"
    "</configuration>",
}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def run_of_own_file(folder: Path, *arguments: str, env: dict[str, str] | None = None) -> RunOutcome:
    """Make a run of a locustfile in ``folder``, with that as the current folder, like a user."""
    locustfile = folder / "orders.py"
    shutil.copy(REPOSITORY / "scenarios" / "steady.py", locustfile)
    return LocustRun(str(locustfile), *arguments, runs=folder / "runs", env=env).outcome()


@pytest.mark.spark
def test_no_file_or_variable_changes_a_run(tmp_path: Path) -> None:
    """All are set at once: each of them once ended a passed run without a report, or with another exit status."""
    write(tmp_path, FILES)
    outcome = run_of_own_file(tmp_path, *MEMORY, "--junit", "reports/junit.xml", env=VARIABLES)
    assert (outcome.status, outcome.summary["verdict"]) == (0, "pass"), outcome.output
    assert (outcome.run / "report.html").exists()
    assert (tmp_path / "reports" / "junit.xml").exists()
    assert not (tmp_path / "executed").exists()


def assert_names_file(outcome: RunOutcome, file: Path) -> None:
    """One sentence, and no stack trace of Python."""
    assert outcome.status == 2, outcome.output
    assert outcome.output.strip().splitlines() == [
        f"brokerbench: {file}: Python imports this file instead of a module of the same name that a run needs; rename "
        "it, or move it out of the current folder, the locustfile's folder and PYTHONPATH"
    ]


@pytest.mark.parametrize(
    "name",
    ["records.py", "stomp.py", "topologies/__init__.py", "drivers/__init__.py", "statistics.py", "xml/__init__.py"],
)
def test_a_file_that_shadows_a_module_is_named(tmp_path: Path, name: str) -> None:
    """A package of ours, a library or a module of Python itself."""
    write(tmp_path, {name: "x = 1\n"})
    assert_names_file(run_of_own_file(tmp_path, *MEMORY, "--dry-run"), tmp_path / name)


@pytest.mark.parametrize("name", ["records.py", "statistics.py"])
def test_a_file_in_pythonpath_is_named_too(tmp_path: Path, name: str) -> None:
    write(tmp_path, {f"lib/{name}": "raise KeyError('of the user')\n"})
    outcome = run_of_own_file(tmp_path, *MEMORY, "--dry-run", env={"PYTHONPATH": str(tmp_path / "lib")})
    assert_names_file(outcome, tmp_path / "lib" / name)


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        (
            "PYTHONINSPECT",
            "1",
            "PYTHONINSPECT (or python -i): Python would replace the exit status of the run; leave it out",
        ),
        (
            "LOCUST_SKIP_MONKEY_PATCH",
            "1",
            "LOCUST_SKIP_MONKEY_PATCH: without gevent's patches, clients would wait for each other; unset it",
        ),
        ("GEVENT_RESOLVER", "nonsense", "GEVENT_RESOLVER=nonsense: gevent cannot use it (Cannot import 'nonsense'. "),
    ],
)
def test_a_variable_that_breaks_every_run_is_rejected(tmp_path: Path, variable: str, value: str, sentence: str) -> None:
    outcome = run_of_own_file(tmp_path, *MEMORY, env={variable: value})
    assert outcome.status == 2, outcome.output
    assert f"brokerbench: {sentence}" in outcome.output.strip().splitlines()[-1]
    assert not (tmp_path / "runs").exists()


@pytest.mark.spark
@pytest.mark.brokers
@pytest.mark.parametrize("protocol", ["stomp", pytest.param("openwire", marks=pytest.mark.nightly)])
def test_real_brokers_start_in_any_locale_and_folder(tmp_path: Path, protocol: str) -> None:
    folder = tmp_path / "größe"
    folder.mkdir()
    quick = ("--topology", "single", "--protocol", protocol, "--warm-up", "1", "-t", "3s")
    outcome = run_of_own_file(folder, *quick, env={"LC_ALL": "C", "_JAVA_OPTIONS": "-Xmx8m"})
    assert (outcome.status, outcome.summary["verdict"]) == (0, "pass"), outcome.output


def test_too_few_open_files_end_a_run_at_once(tmp_path: Path) -> None:
    """It must not fail after the load: a JVM that cannot open its files fails with misleading errors."""
    run = ["-m", "locust", "-f", "scenarios/steady.py", "--headless", "--runtime", "memory", *MEMORY]
    limited = ["sh", "-c", 'ulimit -n 256 && exec "$0" "$@"', sys.executable, *run, "--runs", str(tmp_path / "runs")]
    shell = {"cwd": REPOSITORY, "env": as_a_user_has_it(), "capture_output": True, "text": True, "timeout": 120}
    ended = subprocess.run(limited, **shell, check=False)
    assert ended.returncode == 2, ended.stderr
    assert "Failed:  open files: a process may open at most 256 here (ulimit -Hn), but a run with " in ended.stdout
    assert not (tmp_path / "runs").exists()
