"""Result tables in, HTML pages out."""

import os

os.environ["MPLBACKEND"] = "agg"  # figures go to files: Jupyter's or a desktop's backend would fail without a display
