#!/usr/bin/env bash
# An OpenTelemetry Collector that writes what it receives to a file, for the nightly test of --otlp. Nothing is done if it
# is there already. Go builds it from otel-collector/, whose go.sum has the checksum of each module, into .venv/bin: two
# to five minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=otel-collector
into=$(realpath -m "${VENV:-.venv}/bin")

if [ -x "$into/$program" ]; then
  echo "collector: $into/$program"
  exit 0
fi

build() {
  (cd .ci/otel-collector && CGO_ENABLED=0 GOFLAGS=-trimpath go build -mod=readonly -o "$built/$program" .)
}

# shellcheck source=.ci/go-program.sh
source .ci/go-program.sh
build_with_go collector "a Go that its go.mod accepts"
