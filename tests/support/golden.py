"""Makes tests write golden files again if BROKERBENCH_REGENERATE=1 is set. Then read the diff."""

import os

REGENERATE = os.environ.get("BROKERBENCH_REGENERATE") == "1"
