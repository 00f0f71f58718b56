"""The brokers' own schema, as the tests of topologies have it."""

from tests.topologies.conftest import classic_schema

__all__ = ["classic_schema"]
