"""Chooses what broker processes are started from: a version of their product, or the user's own build."""

from pathlib import Path

from records.errors import UserError
from topologies.model.launch import Release
from topologies.model.topology import Topology
from topologies.products import PRODUCTS


def release_of(topology: Topology, version: str | None = None, path: Path | None = None) -> Release:
    """Choose the release. ``version``: None for the default; ``path``: a build. Raises UserError."""
    if version and path:
        rule = "a distribution has its own version; leave one out"
        raise UserError(f"--broker-version {version} --distribution {path}: {rule}")
    others = [product.launch for product in PRODUCTS.values() if product is not topology.product]
    release = topology.product.launch.release(topology.name, version, path, others)
    if lacking := list(topology.product.lacks(topology, release.version)):
        raise UserError(
            f"{f'--distribution {path}' if path else f'--broker-version {version}'}: {'; '.join(lacking)}, but this is "
            f"{release.version}; leave the setting out, or choose a later version"
        )
    return release
