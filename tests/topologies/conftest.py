"""Provides the brokers' schemas from the distributions that the process runtime uses."""

import zipfile
from io import BytesIO

import pytest
from lxml import etree

from topologies.jvm.distribution import ensure
from topologies.pinned import pinned


def activemq_xsd(version: str | None = None) -> etree.XMLSchema:
    """Return the schema of a pinned version (default: the default version)."""
    distribution = pinned("activemq-classic", version)
    jar = ensure(distribution) / "lib" / f"activemq-spring-{distribution.version}.jar"
    with zipfile.ZipFile(jar) as archive:
        return etree.XMLSchema(etree.parse(BytesIO(archive.read("activemq.xsd"))))


def artemis_configuration_xsd(version: str | None = None) -> etree.XMLSchema:
    """Return the schema of the ``core`` element in a pinned version (default: the default version)."""
    home = ensure(pinned("activemq-artemis", version))
    return etree.XMLSchema(etree.parse(home / "schema" / "artemis-configuration.xsd"))


@pytest.fixture(scope="session")
def classic_schema() -> etree.XMLSchema:
    return activemq_xsd()


@pytest.fixture(scope="session")
def artemis_schema() -> etree.XMLSchema:
    return artemis_configuration_xsd()
