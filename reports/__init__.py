"""Turns result tables into HTML pages."""

import os

os.environ["MPLBACKEND"] = "agg"  # figures go to files: Jupyter's or a desktop's backend would fail without a display
