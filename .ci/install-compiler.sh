#!/usr/bin/env bash
# What python-qpid-proton is built with, so that AMQP's tests run. Nothing is done where it is there already.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")

for python in "${PYTHON:-python3}" python3; do
  if command -v "$python" >/dev/null && bash "$here/build-amqp.sh" check "$python"; then
    echo "compiler: there, with the headers of $(command -v "$python")"
    exit 0
  fi
done
bash "$here/apt-install.sh" gcc libc6-dev python3-dev
