# Read by start.sh.
cat >/brokerbench/private/broker.properties <<END
clusterUser=${BROKERBENCH_BRIDGE_USERNAME}
clusterPassword=${BROKERBENCH_BRIDGE_PASSWORD}
END
cat >/brokerbench/private/artemis-users.properties <<END
${BROKERBENCH_CLIENT_USERNAME}=${BROKERBENCH_CLIENT_PASSWORD}
${BROKERBENCH_BRIDGE_USERNAME}=${BROKERBENCH_BRIDGE_PASSWORD}
END
cat >/brokerbench/private/artemis-roles.properties <<END
clients=${BROKERBENCH_CLIENT_USERNAME}
bridges=${BROKERBENCH_BRIDGE_USERNAME}
END
