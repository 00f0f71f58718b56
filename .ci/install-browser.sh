#!/usr/bin/env bash
# Chromium for the tests that open a report. Nothing is done where one is on PATH already.
set -euo pipefail

for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null; then
    echo "browser: $(command -v "$name")"
    exit 0
  fi
done

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "install-browser: no chromium, and neither root nor sudo to install it" >&2; exit 1; }
  as_root=(sudo --non-interactive)
fi

install() {
  "${as_root[@]}" apt-get update --quiet --quiet &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends chromium
}

install || { echo "install-browser: once more in 10 s" >&2; sleep 10; install; }
command -v chromium
