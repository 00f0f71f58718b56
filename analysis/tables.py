"""Reads an event table as a DataFrame, by a stated schema."""

import re
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from records.schemas import EVENT_TABLES

_TYPES: dict[pa.DataType, T.DataType] = {
    pa.string(): T.StringType(),
    pa.int32(): T.IntegerType(),
    pa.int64(): T.LongType(),
    pa.bool_(): T.BooleanType(),
}


def spark_schema(schema: pa.Schema) -> T.StructType:
    """The same columns as Spark names them. KeyError for a type that no event table has."""
    return T.StructType([T.StructField(field.name, _TYPES[field.type], field.nullable) for field in schema])


def read_events(spark: SparkSession, table: str, path: Path) -> DataFrame:
    """One event table; without rows when nothing of its kind was recorded. Files that are no Parquet are left alone."""
    schema = spark_schema(EVENT_TABLES[table])
    if not path.exists():
        return spark.createDataFrame([], schema)
    # stated, as a cluster's own file system may be another one
    reader = spark.read.schema(schema).option("pathGlobFilter", "*.parquet")
    return reader.parquet(f"file://{_literal(path.resolve())}")


def _literal(path: Path) -> str:
    """Spark takes a path for a pattern, which other folders may match too; a backslash before a character ends that."""
    return re.sub(r"([\\*?\[\]{},])", r"\\\1", str(path))
