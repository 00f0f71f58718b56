"""Our Java classes as one library's clients see them, and beside them those of tests/drivers/java."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jpype

from drivers.jvm.vm import SOURCES, java_class

OF_TESTS = Path(__file__).parent / "java"


def classes(library: str) -> Callable[[str], Any]:
    """``openwire`` or ``core`` -> what gives a class by its whole name, compiled anew."""
    parent = java_class("Hub", library).class_.getClassLoader().getParent()
    file = jpype.JClass("java.io.File")
    folders = jpype.JArray(file)([file(str(each)) for each in (SOURCES, SOURCES / library, OF_TESTS)])
    loader = jpype.JClass("org.codehaus.janino.JavaSourceClassLoader")(parent, folders, "UTF-8")
    return lambda name: jpype.JClass(name, loader=loader)
