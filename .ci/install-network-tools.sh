#!/usr/bin/env bash
# iproute2 for the tests whose workers are on hosts of their own (network namespaces). Nothing is done where it is.
set -euo pipefail

if command -v ip >/dev/null; then
  echo "network tools: $(command -v ip)"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "install-network-tools: no ip, and neither root nor sudo to install it" >&2; exit 1; }
  as_root=(sudo --non-interactive)
fi

install() {
  "${as_root[@]}" apt-get update --quiet --quiet &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends iproute2
}

install || { echo "install-network-tools: once more in 10 s" >&2; sleep 10; install; }
command -v ip
