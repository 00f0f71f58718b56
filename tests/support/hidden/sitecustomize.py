"""Hides modules and programs from this Python process; the variables below list them. `tests.support.hiding` sets both.

Python imports a file of this name when it starts, so it works in each process that a test starts.
"""

import os
import shutil
import sys
from typing import Any

MODULES = "BROKERBENCH_TESTS_HIDE_MODULES"
PROGRAMS = "BROKERBENCH_TESTS_HIDE_PROGRAMS"  # beside this Python, where no PATH hides them; absolute paths

_find_program = shutil.which


def which(*arguments: Any, **options: Any) -> Any:
    program = _find_program(*arguments, **options)
    return None if program in os.environ.get(PROGRAMS, "").split(os.pathsep) else program


shutil.which = which
for module in os.environ.get(MODULES, "").split():
    sys.modules[module] = None  # type: ignore[assignment]  # an import then says that there is none
