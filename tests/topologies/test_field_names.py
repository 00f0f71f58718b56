"""Checks the rules that convert field names to the brokers' spelling."""

from topologies.render.xml import camel_case, hyphenated, spelled


def test_a_field_loses_its_unit_and_keeps_its_acronyms() -> None:
    assert [camel_case(name) for name in ("max_page_size", "cleanup_interval_ms", "gc_sweep_time_ms", "a_ttl")] == [
        "maxPageSize", "cleanupInterval", "gcSweepTime", "aTTL",
    ]  # fmt: skip
    assert [hyphenated(name) for name in ("retry_interval_ms", "durable", "file_open_timeout_s")] == [
        "retry-interval", "durable", "file-open-timeout",
    ]  # fmt: skip


def test_an_exception_stands_where_its_field_does() -> None:
    assert list(spelled(hyphenated, "one two_bytes\n three", two_bytes="two-bytes").items()) == [
        ("one", "one"), ("two_bytes", "two-bytes"), ("three", "three"),
    ]  # fmt: skip
