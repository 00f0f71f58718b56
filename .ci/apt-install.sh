#!/usr/bin/env bash
# Debian packages, as root or by sudo, with one more try where an archive does not answer: apt-install.sh PACKAGE...
set -euo pipefail

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "apt-install: neither root nor sudo to install $*" >&2; exit 1; }
  as_root=(sudo --non-interactive)
fi

install() {
  "${as_root[@]}" apt-get update --quiet --quiet &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --quiet --no-install-recommends "$@" >/dev/null
}

install "$@" || { echo "apt-install: $* once more in 10 s" >&2; sleep 10; install "$@"; }
