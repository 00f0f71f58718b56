"""Writes the script that starts a Classic broker of a rendered folder."""

from topologies.classic.launch import IMAGE, OPENED
from topologies.classic.render.broker_xml import LOG4J2_PROPERTIES
from topologies.render import site as names
from topologies.render.log4j import LOG_CONFIG_PROPERTY
from topologies.render.start_script import CONF, HEAD, INSIDE, PRIVATE, STORE, home_of, java, needed

DATA = INSIDE / "data"


def start_script() -> str:
    secrets, home = PRIVATE / "brokers.properties", home_of(IMAGE)
    wanted = "\n".join(f"    printf '{key}=%s\\n' \"{needed(key)}\"" for key in names.SECRET_KEYS)
    options = (
        *OPENED,
        f"-Dactivemq.classpath={CONF}",
        f"-Dactivemq.home={home}",
        f"-Dactivemq.base={home}",
        f"-Dactivemq.conf={CONF}",
        f"-D{names.DATA_PROPERTY}={DATA}",
        f"-D{names.STORE_PROPERTY}={STORE}",
        f"-D{LOG_CONFIG_PROPERTY}={CONF}/{LOG4J2_PROPERTIES}",
        f"-D{names.SECRETS_PROPERTY}={secrets}",
    )
    return f"{HEAD}{{\n{wanted}\n}} >{secrets}\n" + java(*options) + f'    -jar "{home}/bin/activemq.jar" start\n'
