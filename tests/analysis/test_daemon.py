"""Checks the daemon that forks the Python processes of local executors."""

from pathlib import Path

from analysis.daemon import without_archives_of_pyspark


def test_archives_of_the_installed_pyspark_are_left_out(tmp_path: Path) -> None:
    installed = _pyspark(tmp_path / "site-packages")
    path = ["", f"{installed}/python/lib/pyspark.zip", f"{installed}/jars/core.jar", str(installed.parent)]
    assert without_archives_of_pyspark(path) == ["", str(installed.parent)]


def test_archives_of_another_pyspark_stay(tmp_path: Path) -> None:
    """For example with spark-submit of a different Spark installation, or with code in an archive."""
    installed, other = _pyspark(tmp_path / "site-packages"), _pyspark(tmp_path / "spark")
    path = [f"{other}/python/lib/pyspark.zip", str(tmp_path / "ours.zip"), str(installed.parent)]
    assert without_archives_of_pyspark(path) == path


def test_without_an_installed_pyspark_archives_stay(tmp_path: Path) -> None:
    path = [f"{tmp_path}/spark/python/lib/pyspark.zip", str(tmp_path)]
    assert without_archives_of_pyspark(path) == path


def _pyspark(folder: Path) -> Path:
    package = folder / "pyspark"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    return package
