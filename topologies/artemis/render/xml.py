"""Makes elements of broker.xml of the model's values, over lxml: nothing is escaped by hand."""

from collections.abc import Mapping

from lxml import etree

CONFIGURATION, CORE = "urn:activemq", "urn:activemq:core"


def element(namespace: str, tag: str) -> etree._Element:
    """An element without a parent. Its namespace is the default below it."""
    prefixes: dict[str | None, str] = {None: namespace}
    return etree.Element(f"{{{namespace}}}{tag}", nsmap=prefixes)  # type: ignore[arg-type]


def add(
    parent: etree._Element, tag: str, attributes: Mapping[str, str] | None = None, text: str | None = None
) -> etree._Element:
    """A child of ``parent`` in the namespace of ``core``."""
    child = etree.SubElement(parent, f"{{{CORE}}}{tag}", dict(attributes or {}))
    child.text = text
    return child


def add_all(parent: etree._Element, values: Mapping[str, str]) -> None:
    """A child for each entry: tag to text."""
    for tag, value in values.items():
        add(parent, tag, {}, value)
