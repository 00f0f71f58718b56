#!/usr/bin/env bash
# Toxiproxy's server, for links with delay, jitter or bandwidth. Nothing is done where it is there already. It is built by
# Go from its pinned source, whose checksum Go verifies, and lies in .venv/bin beside what else runs a benchmark. It is
# linked statically (CGO_ENABLED=0), so that it runs in a container of any image.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=toxiproxy-server version=v2.5.0 # as topologies/runtimes/proxies/toxiproxy.py names it
into=${VENV:-.venv}/bin

if found=$(command -v "$program" || command -v "$into/$program"); then
  echo "toxiproxy: $found"
  exit 0
fi

build() {
  CGO_ENABLED=0 GOBIN=$built GOFLAGS=-trimpath go install "github.com/Shopify/toxiproxy/v2/cmd/server@$version" &&
    mv "$built/server" "$built/$program"
}

# shellcheck source=.ci/go-program.sh
source .ci/go-program.sh
build_with_go toxiproxy "Go 1.17 or newer"
