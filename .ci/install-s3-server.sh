#!/usr/bin/env bash
# An S3 server, Versity's gateway to a folder, for the nightly test of an analysis of a run in S3. Nothing is done if it is
# there already. Go builds it from its pinned source, whose checksum Go verifies, into .venv/bin: two to five minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

server=versitygw version=v1.8.0 # as tests/support/s3_server.py names it
into=$(realpath -m "${VENV:-.venv}/bin")

if found=$(command -v "$into/$server"); then
  echo "s3 server: $found"
  exit 0
fi
command -v go >/dev/null || bash .ci/apt-install.sh golang-go
mkdir -p "$into"
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
for wait_s in 5 0; do
  if CGO_ENABLED=0 GOBIN=$built GOFLAGS=-trimpath go install "github.com/versity/versitygw/cmd/versitygw@$version"; then
    mv "$built/$server" "$into/$server"
    echo "s3 server: $into/$server"
    exit 0
  fi
  sleep "$wait_s"
done
echo "s3 server: could not be built: is there a network, and a Go that its go.mod accepts ($(go version))?" >&2
exit 1
