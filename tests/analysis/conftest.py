"""One Spark session per test process: starting a session takes longer than most tests of the analysis."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from pyspark.sql import SparkSession

from analysis.spark import session
from topologies.jvm.java import find_java, spark_environment


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with ExitStack() as undo:
        with pytest.MonkeyPatch.context() as patch:  # like the analysis command: the wheel's Java may be the only one
            for name, value in spark_environment(find_java(), tmp_path_factory.mktemp("java")).items():
                patch.setenv(name, value)
            started = undo.enter_context(session("local[2]"))
        yield started
