#!/usr/bin/env bash
# An OpenTelemetry Collector that writes what it receives to a file, for the nightly test of --otlp. Nothing is done if it
# is there already. Go builds it from otel-collector/, whose go.sum has the checksum of each module, into .venv/bin: two
# to five minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

collector=otel-collector
into=$(realpath -m "${VENV:-.venv}/bin")

if [ -x "$into/$collector" ]; then
  echo "collector: $into/$collector"
  exit 0
fi
command -v go >/dev/null || bash .ci/apt-install.sh golang-go
mkdir -p "$into"
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
for wait_s in 5 0; do
  if (cd .ci/otel-collector && CGO_ENABLED=0 GOFLAGS=-trimpath go build -mod=readonly -o "$built/$collector" .); then
    mv "$built/$collector" "$into/$collector"
    echo "collector: $into/$collector"
    exit 0
  fi
  sleep "$wait_s"
done
echo "collector: could not be built: is there a network, and a Go that its go.mod accepts ($(go version))?" >&2
exit 1
