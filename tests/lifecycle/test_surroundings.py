"""Checks that files, variables and the locale of the user's shell do not change a run or its results."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.locust_run import REPOSITORY, LocustRun, Outcome

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


def run_of_own_file(folder: Path, *arguments: str, env: dict[str, str] | None = None) -> Outcome:
    """A run of a locustfile in ``folder``, made there, as a user's is."""
    locustfile = folder / "orders.py"
    shutil.copy(REPOSITORY / "scenarios" / "steady.py", locustfile)
    return LocustRun(str(locustfile), *arguments, runs=folder / "runs", env=env).outcome()


@pytest.mark.spark
def test_no_file_or_variable_changes_a_run(tmp_path: Path) -> None:
    """All at once: each of them alone once ended a passed run without a report, or with another exit status."""
    write(tmp_path, FILES)
    outcome = run_of_own_file(tmp_path, *MEMORY, "--junit", "reports/junit.xml", env=VARIABLES)
    assert (outcome.status, outcome.summary["verdict"]) == (0, "pass"), outcome.output
    assert (outcome.run / "report.html").exists()
    assert (tmp_path / "reports" / "junit.xml").exists()
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("name", ["records.py", "stomp.py", "topologies/__init__.py"])
def test_a_file_that_shadows_a_package_is_named(tmp_path: Path, name: str) -> None:
    write(tmp_path, {name: "x = 1\n"})
    outcome = run_of_own_file(tmp_path, *MEMORY, "--dry-run")
    assert outcome.status == 2
    lines = outcome.output.strip().splitlines()
    assert lines == [
        f"brokerbench: {tmp_path / name}: Python imports this file instead of a package of the same name that a run "
        "needs; rename it, or move it out of the locustfile's folder and the current folder"
    ]


@pytest.mark.spark
@pytest.mark.brokers
@pytest.mark.parametrize("protocol", ["stomp", "openwire"])
def test_real_brokers_start_in_any_locale_and_folder(tmp_path: Path, protocol: str) -> None:
    folder = tmp_path / "größe"
    folder.mkdir()
    quick = ("--topology", "single", "--protocol", protocol, "--warm-up", "1", "-t", "3s")
    outcome = run_of_own_file(folder, *quick, env={"LC_ALL": "C", "_JAVA_OPTIONS": "-Xmx8m"})
    assert (outcome.status, outcome.summary["verdict"]) == (0, "pass"), outcome.output


def test_too_few_open_files_end_a_run_at_once(tmp_path: Path) -> None:
    """Not after its load: a JVM that cannot open its files fails with errors that name something else."""
    run = ["-m", "locust", "-f", "scenarios/steady.py", "--headless", "--runtime", "memory", *MEMORY]
    limited = ["sh", "-c", 'ulimit -n 256 && exec "$0" "$@"', sys.executable, *run, "--runs", str(tmp_path / "runs")]
    ended = subprocess.run(limited, cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 2, ended.stderr
    assert "Failed:  open files: a process may open at most 256 here (ulimit -Hn), but a run with " in ended.stdout
    assert not (tmp_path / "runs").exists()
