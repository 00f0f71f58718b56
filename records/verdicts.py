"""The verdicts of a run, and the exit statuses for them."""

VERDICTS = ("pass", "fail", "unknown", "invalid", "interrupted")
EXIT_STATUS = {"pass": 0, "fail": 1, "invalid": 3, "unknown": 4, "interrupted": 130}
"""Exit status of a run by its verdict. 2 is a run that could not be made."""
CANNOT_ANALYSE = 2
"""Exit status of an analysis that could not be made."""
GRAVEST_FIRST = (
    CANNOT_ANALYSE,
    *(EXIT_STATUS[verdict] for verdict in ("interrupted", "invalid", "fail", "unknown", "pass")),
)
"""Exit statuses of several runs: the first that occurs is the combined status."""
