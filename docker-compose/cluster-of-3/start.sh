#!/bin/sh
# The broker reads its passwords from a file in memory; it neither keeps them in its environment
# nor among its arguments.
set -eu
umask 077
: "${BROKERBENCH_CLIENT_USERNAME:?not set in passwords.env}"
: "${BROKERBENCH_CLIENT_PASSWORD:?not set in passwords.env}"
: "${BROKERBENCH_BRIDGE_USERNAME:?not set in passwords.env}"
: "${BROKERBENCH_BRIDGE_PASSWORD:?not set in passwords.env}"
. /brokerbench/conf/secrets.sh
unset BROKERBENCH_CLIENT_USERNAME BROKERBENCH_CLIENT_PASSWORD BROKERBENCH_BRIDGE_USERNAME BROKERBENCH_BRIDGE_PASSWORD
exec java \
    "-Xms${BROKER_MEMORY_MB}m" \
    "-Xmx${BROKER_MEMORY_MB}m" \
    "-Djava.awt.headless=true" \
    "-Djava.net.preferIPv4Stack=true" \
    "-XX:+DisableAttachMechanism" \
    "-XX:-UsePerfData" \
    "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED" \
    "-Djava.security.auth.login.config=/brokerbench/conf/login.config" \
    "-Dlog4j2.configurationFile=/brokerbench/conf/log4j2.properties" \
    "-Dlog4j2.disableJmx=true" \
    "-Dactivemq.data=/var/lib/artemis-instance" \
    "-Dbrokerbench.store=/brokerbench/store" \
    "-Dartemis.home=${ARTEMIS_HOME:-/opt/activemq-artemis}" \
    "-Dartemis.instance=/var/lib/artemis-instance" \
    "-Dartemis.instance.etc=/brokerbench/conf" \
    "-Dartemis.instance.etc.uri=file:///brokerbench/conf" \
    "-Dbrokerbench.secrets=/brokerbench/private" \
    "-classpath" "/brokerbench/conf:${ARTEMIS_HOME:-/opt/activemq-artemis}/lib/artemis-boot.jar" "org.apache.activemq.artemis.boot.Artemis" "run" "--properties" "/brokerbench/private/broker.properties"
