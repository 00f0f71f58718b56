"""A process that has a JVM inside goes on, and ends, as any other does."""

import subprocess
import sys
from pathlib import Path

import pytest

from topologies.pinned import pinned

pytestmark = pytest.mark.java
ROOT = Path(__file__).parents[3]
ENDS_WHILE_JAVA_COLLECTS = """
from drivers.jvm import vm
from harness.java_parts import find_java_parts
from tests.drivers.java_loading import classes

vm.use(find_java_parts)
collects = classes("openwire")("brokerbench.Collects")()
collects.setDaemon(True)
collects.start()
"""

GROWS = """
import gc
import re
import jpype
from drivers.jvm import vm
from drivers.jvm.hub import hub
from harness.java_parts import find_java_parts

vm.use(find_java_parts)
hub("openwire")
collectors = jpype.JClass("java.lang.management.ManagementFactory").getGarbageCollectorMXBeans()
of_all = next(each for each in collectors if re.search("Old|MarkSweep", str(each.getName())))
before, kept = of_all.getCollectionCount(), []
for _ in range(5):
    kept.append([bytes(4_096) for _ in range(4_000)])
    gc.collect()
print(of_all.getCollectionCount() - before)
"""
COLLECTS = """
import gc
import jpype
from drivers.jvm import vm
from drivers.jvm.hub import hub
from harness.java_parts import find_java_parts

vm.use(find_java_parts)
hub("openwire")
gc.set_threshold(1_000_000_000)
seen = []
gc.callbacks.append(lambda phase, _: seen.append(phase))
lang = jpype.JPackage("java").lang
for _ in range(4):
    kept = lang.ref.WeakReference(lang.Object())
    lang.System.gc()
    assert kept.get() is None
    lang.Thread.sleep(500)
print(seen.count("stop"))
"""
EDITIONS = """
from drivers.jvm.hub import hub
from drivers.jvm.vm import java_class
from harness.java_parts import use_java_clients

hubs = set()
for protocol, jar, version in PARTS:
    use_java_clients(version)
    hubs.add(id(hub(protocol)))
    urls = java_class("Hub", protocol).class_.getClassLoader().getParent().getURLs()
    print(*(each for each in (str(url).rpartition("/")[2] for url in urls) if each.startswith(jar)))
print(len(hubs))
"""


def output_of(program: str) -> str:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, timeout=90).stdout.strip()


def test_java_does_not_collect_all_because_python_did_and_grew() -> None:
    assert output_of(GROWS) == "0"


def test_python_does_not_collect_all_because_java_did() -> None:
    assert int(output_of(COLLECTS)) <= 1, "JPype may do it once, if Java did not collect while it started"


def test_clients_of_two_versions_are_beside_each_other_in_one_process() -> None:
    wanted = [("openwire", ""), ("openwire", "5.16.6"), ("core", "2.40.0"), ("openwire", "")]
    jars = {"openwire": "activemq-client-", "core": "artemis-jms-client-"}
    parts = [(protocol, jars[protocol], version) for protocol, version in wanted]
    default = f"activemq-client-{pinned('activemq-classic').version}.jar"
    assert output_of(EDITIONS.replace("PARTS", repr(parts))).splitlines() == [
        default,
        "activemq-client-5.16.6.jar",
        "artemis-jms-client-2.40.0.jar",
        default,
        "3",
    ]


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
    assert [(process.returncode, process.stderr) for process in ended] == [(0, "")] * 3
