"""Makes XML elements from the model's values with lxml, which escapes all text.

A broker's names for the model's fields follow a rule, with exceptions. A field's name ends with its unit, which the
broker's name lacks: ``cleanup_interval_ms`` is ``cleanupInterval``.
"""

import dataclasses
from collections.abc import Callable, Mapping

from lxml import etree

from topologies.model.explicit_fields import Written, write_all

SPRING = "http://www.springframework.org/schema/beans"
ACTIVEMQ = "http://activemq.apache.org/schema/core"
XSI = "http://www.w3.org/2001/XMLSchema-instance"
SCHEMA_LOCATION = f"{{{XSI}}}schemaLocation"
"""Spring checks a file against the schemas named here, and finds them in the broker's jars: nothing is downloaded."""


def root_of(namespace: str, tag: str, attributes: Mapping[str, str] | None = None) -> etree._Element:
    """Create an element without a parent. Its namespace is the document's default namespace."""
    prefixes: dict[str | None, str] = {None: namespace, "xsi": XSI}
    return etree.Element(f"{{{namespace}}}{tag}", dict(attributes or {}), nsmap=prefixes)  # type: ignore[arg-type]


def add(parent: etree._Element, tag: str, attributes: Mapping[str, str] | None = None) -> etree._Element:
    """Add a child of ``parent`` in ActiveMQ's namespace."""
    return etree.SubElement(parent, f"{{{ACTIVEMQ}}}{tag}", dict(attributes or {}))


def attributes_of(value: object, table: Mapping[str, str], written: Written = write_all) -> dict[str, str]:
    """Return the fields of ``value`` in ``table`` as attributes. ``table``: model field to XML attribute."""
    return {attribute: text(getattr(value, field)) for field, attribute in table.items() if written(value, field)}


def text(value: object) -> str:
    """Return a value in the format of the brokers' property editors."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def to_text(root: etree._Element) -> str:
    """Serialize with indentation and an XML declaration; equal trees give equal texts."""
    etree.indent(root, space="  ")
    body: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8")
    return body.decode() + "\n"


UNITS = ("_ms", "_ns", "_s", "_bytes", "_percent", "_pages")
ACRONYMS = {"dlq": "DLQ", "gc": "GC", "jms": "JMS", "ttl": "TTL"}


def camel_case(field: str) -> str:
    """Return ``max_page_size`` as ``maxPageSize``."""
    first_word, *later_words = _without_unit(field).split("_")
    return first_word + "".join(ACRONYMS.get(word, word.capitalize()) for word in later_words)


def hyphenated(field: str) -> str:
    """Return ``max_page_size`` as ``max-page-size``."""
    return _without_unit(field).replace("_", "-")


def spelled(rule: Callable[[str], str], fields: str, **exceptions: str) -> dict[str, str]:
    """Map each of the space-separated ``fields`` to the broker's name for it, in their order."""
    return {field: exceptions.get(field) or rule(field) for field in fields.split()}


def every_field_spelled(
    rule: Callable[[str], str], model: type, without: str = "", **exceptions: str
) -> dict[str, str]:
    """Map the fields of a dataclass like `spelled`, except the space-separated fields in ``without``."""
    fields = (field.name for field in dataclasses.fields(model) if field.name not in without.split())
    return spelled(rule, " ".join(fields), **exceptions)


def _without_unit(field: str) -> str:
    return next((field.removesuffix(unit) for unit in UNITS if field.endswith(unit)), field)
