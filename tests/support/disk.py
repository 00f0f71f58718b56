"""Provides a disk that is soon full: a small file system in memory. It needs root, or sudo without a password."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.network import AS_ROOT


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """``folder`` is on a disk of ``size``, such as ``2m``; as it was before, afterwards."""
    options = f"mode=777,size={size}"
    subprocess.run([*AS_ROOT, "mount", "-t", "tmpfs", "-o", options, "none", folder], check=True)
    try:
        yield
    finally:
        subprocess.run([*AS_ROOT, "umount", "--lazy", folder], check=True)
