"""Does a process that had a JVM inside end as any other does?"""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.brokers  # it needs their client's archives
ROOT = Path(__file__).parents[2]
ENDS_WHILE_JAVA_COLLECTS = """
import jpype
from drivers import java_vm
from drivers.java_hub import hub
from scenarios.java_parts import find_java_parts

java_vm.use(find_java_parts)
hub("openwire")
compiler = jpype.JClass("org.codehaus.janino.SimpleCompiler")()
compiler.cook("public class Collects extends Thread { public void run() { for (;;) { System.gc(); } } }")
collects = jpype.JClass("Collects", loader=compiler.getClassLoader())()
collects.setDaemon(True)
collects.start()
"""


def test_a_process_ends_well_in_the_midst_of_javas_collections() -> None:
    ended = [
        subprocess.run(
            [sys.executable, "-c", ENDS_WHILE_JAVA_COLLECTS],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=90,
        )
        for _ in range(3)
    ]
    assert [(each.returncode, each.stderr) for each in ended] == [(0, "")] * 3
