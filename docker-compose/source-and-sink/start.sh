#!/bin/sh
# The broker reads its passwords from a file in memory; it neither keeps them in its environment
# nor among its arguments.
set -eu
umask 077
{
    printf 'brokerbench.client.username=%s\n' "${BROKERBENCH_CLIENT_USERNAME:?not set in passwords.env}"
    printf 'brokerbench.client.password=%s\n' "${BROKERBENCH_CLIENT_PASSWORD:?not set in passwords.env}"
    printf 'brokerbench.bridge.username=%s\n' "${BROKERBENCH_BRIDGE_USERNAME:?not set in passwords.env}"
    printf 'brokerbench.bridge.password=%s\n' "${BROKERBENCH_BRIDGE_PASSWORD:?not set in passwords.env}"
} >/brokerbench/private/brokers.properties
unset BROKERBENCH_CLIENT_USERNAME BROKERBENCH_CLIENT_PASSWORD BROKERBENCH_BRIDGE_USERNAME BROKERBENCH_BRIDGE_PASSWORD
exec java \
    "-Xms${BROKER_MEMORY_MB}m" \
    "-Xmx${BROKER_MEMORY_MB}m" \
    "-Djava.awt.headless=true" \
    "-Djava.net.preferIPv4Stack=true" \
    "-XX:+DisableAttachMechanism" \
    "-XX:-UsePerfData" \
    "--add-reads=java.xml=java.logging" \
    "--add-opens=java.base/java.security=ALL-UNNAMED" \
    "--add-opens=java.base/java.net=ALL-UNNAMED" \
    "--add-opens=java.base/java.lang=ALL-UNNAMED" \
    "--add-opens=java.base/java.util=ALL-UNNAMED" \
    "--add-opens=java.naming/javax.naming.spi=ALL-UNNAMED" \
    "--add-opens=java.rmi/sun.rmi.transport.tcp=ALL-UNNAMED" \
    "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED" \
    "--add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED" \
    "--add-exports=java.base/sun.net.www.protocol.http=ALL-UNNAMED" \
    "--add-exports=java.base/sun.net.www.protocol.https=ALL-UNNAMED" \
    "--add-exports=java.base/sun.net.www.protocol.jar=ALL-UNNAMED" \
    "-Dactivemq.classpath=/brokerbench/conf" \
    "-Dactivemq.home=${ACTIVEMQ_HOME:-/opt/apache-activemq}" \
    "-Dactivemq.base=${ACTIVEMQ_HOME:-/opt/apache-activemq}" \
    "-Dactivemq.conf=/brokerbench/conf" \
    "-Dactivemq.data=/brokerbench/data" \
    "-Dbrokerbench.store=/brokerbench/store" \
    "-Dlog4j2.configurationFile=/brokerbench/conf/log4j2.properties" \
    "-Dbrokerbench.secrets=/brokerbench/private/brokers.properties" \
    -jar "${ACTIVEMQ_HOME:-/opt/apache-activemq}/bin/activemq.jar" start
