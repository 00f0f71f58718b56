"""Checks that the short real run did what it claims. Usage: check_run.py FOLDER, which holds that one run.

The verdict, the counts, the report, and that no process of this clone's runs is left.
"""

import json
import sys
from pathlib import Path

from brokerbench.facts import guarded
from brokerbench.stored_runs import latest

CLONE = Path(__file__).resolve().parents[1]
MAXIMUM_REPORT_BYTES = 1_000_000


def faults_of(run: Path) -> list[str]:
    """Every way in which the run falls short of what was promised."""
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    counts = summary["messages"]
    report = run / "report.html"
    promised = {
        f"verdict is {summary['verdict']}, {summary['reasons']}": summary["verdict"] == "pass",
        f"sent {counts['sent']}, received {counts['received']}": counts["sent"] == counts["received"] > 0,
        f"{counts['lost']} lost, {counts['stranded']} stranded": counts["lost"] == counts["stranded"] == 0,
        "no report.html": report.is_file(),
        f"report.html has {MAXIMUM_REPORT_BYTES:,} bytes or more": report.is_file()
        and report.stat().st_size < MAXIMUM_REPORT_BYTES,
    }
    return [fault for fault, kept in promised.items() if not kept] + [
        f"still running: {line}" for line in guarded(CLONE)
    ]


def main() -> int:
    run = latest(Path(sys.argv[1])).path
    faults = faults_of(run)
    for fault in faults:
        print(f"{run.name}: {fault}", file=sys.stderr)
    if not faults:
        print(f"{run.name}: verdict, counts and report as promised, nothing left running")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
