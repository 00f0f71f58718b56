#!/usr/bin/env bash
# Toxiproxy's server, for links with delay, jitter or bandwidth. Nothing is done where it is there already. It is built by
# Go from its pinned source, whose checksum Go verifies, and lies in .venv/bin beside what else runs a benchmark. It is
# linked statically (CGO_ENABLED=0), so that it runs in a container of any image.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

server=toxiproxy-server version=v2.5.0 # as topologies/runtimes/proxies/toxiproxy.py names it
into=${VENV:-.venv}/bin

if found=$(command -v "$server" || command -v "$into/$server"); then
  echo "toxiproxy: $found"
  exit 0
fi
command -v go >/dev/null || bash .ci/apt-install.sh golang-go
mkdir -p "$into"
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
for wait_s in 5 0; do
  if CGO_ENABLED=0 GOBIN=$built GOFLAGS=-trimpath go install "github.com/Shopify/toxiproxy/v2/cmd/server@$version"; then
    mv "$built/server" "$into/$server"
    echo "toxiproxy: $into/$server"
    exit 0
  fi
  sleep "$wait_s"
done
echo "toxiproxy: could not be built: is there a network, and Go 1.17 or newer ($(go version))?" >&2
exit 1
