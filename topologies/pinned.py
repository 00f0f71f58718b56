"""All artifacts that are pinned: the distributions of the products, the agent in their brokers, and a compiler."""

from topologies.jvm.distribution import PinnedArtifact
from topologies.jvm.launch import JOLOKIA_AGENT, JvmLaunch
from topologies.products import PRODUCTS

ECLIPSE_COMPILER = PinnedArtifact(
    name="eclipse-compiler",
    group="org.eclipse.jdt",
    artifact="ecj",
    version="3.38.0",
    packaging="jar",
    classifier="",
    sha512="8937dede817b8c37f23e0b42162bdd0f722e34e40f75a35b9ca45a17bc78c1a0"
    "d65ddaa81b5e6916c7cd8895023a04dd6112031c952ab4584e72e6a1f35f1608",
)
"""Compiles the Java clients of this project, without a JDK."""
PINNED = (
    *(
        distribution
        for product in PRODUCTS.values()
        if isinstance(product.launch, JvmLaunch)
        for distribution in product.launch.distributions
    ),
    JOLOKIA_AGENT,
    ECLIPSE_COMPILER,
)


def pinned(name: str, version: str | None = None) -> PinnedArtifact:
    """Return the pinned distribution of that name: the first listed, or that version.

    Raises KeyError, which lists them.
    """
    for distribution in PINNED:
        if distribution.name == name and version in (None, distribution.version):
            return distribution
    versions = ", ".join(f"{d.name} {d.version}" for d in PINNED)
    raise KeyError(f"no pinned distribution {name} {version or ''}: the pinned versions are {versions}")


def pinned_versions(name: str) -> tuple[str, ...]:
    """Return all pinned versions; the default is the first."""
    return tuple(distribution.version for distribution in PINNED if distribution.name == name)
