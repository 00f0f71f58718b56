"""Says whether golden files are written anew: BROKERBENCH_REGENERATE=1 makes pytest do so. Then read the diff."""

import os

REGENERATE = os.environ.get("BROKERBENCH_REGENERATE") == "1"
