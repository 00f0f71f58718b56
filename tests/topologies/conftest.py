"""The broker's own schema, out of the distribution that the process runtime uses."""

import zipfile
from io import BytesIO

import pytest
from lxml import etree

from topologies.runtimes.distribution import ensure, pinned


@pytest.fixture(scope="session")
def classic_schema() -> etree.XMLSchema:
    """activemq.xsd of the pinned version."""
    distribution = pinned("activemq-classic")
    jar = ensure(distribution) / "lib" / f"activemq-spring-{distribution.version}.jar"
    with zipfile.ZipFile(jar) as archive:
        return etree.XMLSchema(etree.parse(BytesIO(archive.read("activemq.xsd"))))


@pytest.fixture(scope="session")
def artemis_schema() -> etree.XMLSchema:
    """artemis-configuration.xsd of the pinned version: what may be in ``core``."""
    return etree.XMLSchema(etree.parse(ensure(pinned("activemq-artemis")) / "schema" / "artemis-configuration.xsd"))
