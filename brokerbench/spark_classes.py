"""Creates a class data sharing (CDS) archive of the classes that Spark loads: each analysis starts seconds earlier.

`make` runs ``python -m brokerbench.spark_classes`` once after it has installed Spark. It takes 20 s, and 160 MB in
.venv. The analysis ignores the archive if it is missing, or was made with another Java or Spark
(`analysis.spark.CLASSES`).
"""

import os
import subprocess
import sys
from pathlib import Path

from analysis.spark import CLASSES
from records.environment import for_job
from records.errors import UserError
from records.temporary import temporary_folder
from topologies.jvm.java import find_java, spark_environment

JAVAS_OWN = Path("lib", "server", "classes.jsa")
TIMEOUT_S = 300.0
LOAD_THEM = """
import sys
from pathlib import Path
import analysis.jobs, analysis.spark
from records.run import Phases, ProcessInfo, RunInfo
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from records.tables.schemas import ReceiptRow, SendRow
analysis.spark.shared_classes = lambda: [sys.argv[1]]  # Java reads this archive, or writes it
run = RunDirectory.create(Path(sys.argv[2]), "smallest")
process = ProcessInfo("one", 0, "", 0, 0)
run.write_run(RunInfo("smallest", "", "", "", "", phases=Phases(0, 0, 1, 1, 1), processes=(process,)))
recorder = Recorder(run, "one")
recorder.send(SendRow(1, 0, 1, "queue://q", "b", 0, 0, 0, 0, "acked", 1, False))
recorder.receipt(ReceiptRow(2, "q", 1, 0, 1, "queue://q", "b", 0, False, "intact", 0))
recorder.close()
with analysis.spark.session("local[2]"):
    analysis.jobs.analyse(run.path, progress=lambda line: None)
"""


def make(archive: Path) -> None:
    """Write the classes of a Spark session to ``archive``. Raises UserError."""
    java = find_java()
    if not (java.home / JAVAS_OWN).exists():
        raise UserError(
            f"Java {java.version} of {java.source} has no class archive, so it cannot add Spark's classes: "
            "every analysis starts about two seconds later than with a JDK that has one"
        )
    archive.parent.mkdir(parents=True, exist_ok=True)
    draft = archive.with_name(f"{archive.name}.{os.getpid()}")
    with temporary_folder("brokerbench-java-") as folder:
        keeping = f'"-XX:ArchiveClassesAtExit={draft}"'
        environment = for_job(os.environ, local=True) | spark_environment(java, folder)
        # Java ends after Python and shares its output, so both have ended once the output has.
        session = subprocess.run(
            [sys.executable, "-c", LOAD_THEM, keeping, str(folder)],
            env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
    if session.returncode or not draft.exists():
        draft.unlink(missing_ok=True)
        output = (session.stderr or session.stdout).strip().splitlines()
        raise UserError(
            f"Java {java.version} of {java.source} did not write the archive of Spark's classes: "
            f"{output[-1] if output else f'its session ended with status {session.returncode}'}"
        )
    draft.replace(archive)


if __name__ == "__main__":
    try:
        make(CLASSES)
    except (UserError, OSError, subprocess.TimeoutExpired) as error:
        sys.exit(f"brokerbench.spark_classes: {error}")
