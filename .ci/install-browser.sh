#!/usr/bin/env bash
# Chromium for the tests that open a report. Nothing is done where one is on PATH already.
set -euo pipefail

for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null; then
    echo "browser: $(command -v "$name")"
    exit 0
  fi
done
bash "$(dirname "${BASH_SOURCE[0]}")/apt-install.sh" chromium
command -v chromium
