#!/usr/bin/env bash
# What python-qpid-proton is built with, so that AMQP's tests run. Nothing is done where it is there already.
set -euo pipefail

for python in "${PYTHON:-python3}" python3; do
  if command -v "$python" >/dev/null && bash "$(dirname "${BASH_SOURCE[0]}")/build-amqp.sh" check "$python"; then
    echo "compiler: there, with the headers of $(command -v "$python")"
    exit 0
  fi
done

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "install-compiler: no C compiler, and neither root nor sudo to install it" >&2; exit 1; }
  as_root=(sudo --non-interactive)
fi

install() {
  "${as_root[@]}" apt-get update --quiet --quiet &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends \
      gcc libc6-dev python3-dev
}

install || { echo "install-compiler: once more in 10 s" >&2; sleep 10; install; }
