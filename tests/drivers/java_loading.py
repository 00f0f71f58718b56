"""Loads our Java classes for one library's clients, together with the classes of tests/drivers/java."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jpype

from drivers.jvm.packed_rows import PACKED_ROWS
from drivers.jvm.vm import SOURCES, java_class, loader
from harness.java_parts import find_java_parts

OF_TESTS = Path(__file__).parent / "java"


def classes(library: str) -> Callable[[str], Any]:
    """``openwire`` or ``core`` -> what gives a class by its whole name, loaded anew."""
    parent = java_class("Hub", library).class_.getClassLoader().getParent()
    parts = find_java_parts(library)
    compiled = parts.compiler.compiled((SOURCES, SOURCES / library, OF_TESTS), parts.client, PACKED_ROWS)
    own = loader((compiled,), parent)
    return lambda name: jpype.JClass(name, loader=own)


def ask_for_sender(
    java: Callable[[str], Any], client: Any, request: int = 7, *, body: Any = b"", in_flight: int = 1, size: int = 0
) -> None:
    """Ask a client of the JVM for a sender to queue ``orders``. ``size``: of its transactions."""
    headers = java("brokerbench.MessageHeaders")(0, 4, [], [])
    settings = java("brokerbench.ProducerSettings")(True, True, in_flight, size, body, headers)
    client.sender(request, False, "orders", 1, 2, settings, "")
