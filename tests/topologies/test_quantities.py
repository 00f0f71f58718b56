"""Checks that a number with a unit in a field for plain numbers is rejected, and the error has the plain number."""

import pytest

from topologies.catalogue.yaml_words import unit_and_number


@pytest.mark.parametrize(
    ("field", "text", "unit_with_number"),
    [
        ("memory_limit_bytes", "32mb", " of bytes: write 33554432"),
        ("memory_limit_bytes", "32 MiB", " of bytes: write 33554432"),
        ("memory_limit_bytes", "1g", " of bytes: write 1073741824"),
        ("memory_limit_bytes", "512", " of bytes: write 512"),
        ("heap_mb", "2GB", " of MiB: write 2048"),
        ("cleanup_interval_ms", "30s", " of milliseconds: write 30000"),
        ("memory_limit_bytes", "32 furlongs", " of bytes"),
        ("memory_limit_bytes", "", " of bytes"),
        ("message_ttl", "3s", ""),
    ],
)
def test_a_field_tells_its_unit_and_the_number_that_a_text_means(field: str, text: str, unit_with_number: str) -> None:
    assert unit_and_number(field, text) == unit_with_number
