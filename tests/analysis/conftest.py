"""One Spark session for all tests of the analysis: starting one takes longer than most of them together."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from analysis.spark import session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with session("local[2]") as started:
        yield started
