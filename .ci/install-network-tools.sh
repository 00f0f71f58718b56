#!/usr/bin/env bash
# iproute2 for the tests whose workers are on hosts of their own (network namespaces). Nothing is done where it is.
set -euo pipefail

command -v ip >/dev/null || bash "$(dirname "${BASH_SOURCE[0]}")/apt-install.sh" iproute2
command -v ip
