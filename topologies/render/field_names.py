"""Spells the model's fields as a broker spells them: by a rule, with exceptions.

A field's name ends with its unit, which brokers leave out: ``cleanup_interval_ms`` is ``cleanupInterval``.
"""

import dataclasses
from collections.abc import Callable

UNITS = ("_ms", "_ns", "_s", "_bytes", "_percent", "_pages")
ACRONYMS = {"dlq": "DLQ", "gc": "GC", "jms": "JMS", "ttl": "TTL"}


def camel_case(field: str) -> str:
    """``max_page_size`` as ``maxPageSize``."""
    first, *others = _without_unit(field).split("_")
    return first + "".join(ACRONYMS.get(word, word.capitalize()) for word in others)


def hyphenated(field: str) -> str:
    """``max_page_size`` as ``max-page-size``."""
    return _without_unit(field).replace("_", "-")


def spelled(rule: Callable[[str], str], fields: str, **exceptions: str) -> dict[str, str]:
    """Field to the broker's name for it, in the order of ``fields``, which white space separates."""
    return {field: exceptions.get(field) or rule(field) for field in fields.split()}


def every_field_spelled(rule: Callable[[str], str], of: type, without: str = "", **exceptions: str) -> dict[str, str]:
    """The same for all fields of a dataclass, ``without`` those that white space separates there."""
    fields = (field.name for field in dataclasses.fields(of) if field.name not in without.split())
    return spelled(rule, " ".join(fields), **exceptions)


def _without_unit(field: str) -> str:
    return next((field.removesuffix(unit) for unit in UNITS if field.endswith(unit)), field)
