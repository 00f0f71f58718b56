#!/usr/bin/env bash
# An S3 server, Versity's gateway to a folder, for the nightly test of an analysis of a run in S3. Nothing is done if it is
# there already. Go builds it from its pinned source, whose checksum Go verifies, into .venv/bin: two to five minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=versitygw version=v1.8.0 # as tests/support/s3_server.py names it
into=$(realpath -m "${VENV:-.venv}/bin")

if found=$(command -v "$into/$program"); then
  echo "s3 server: $found"
  exit 0
fi

build() {
  CGO_ENABLED=0 GOBIN=$built GOFLAGS=-trimpath go install "github.com/versity/versitygw/cmd/versitygw@$version"
}

# shellcheck source=.ci/go-program.sh
source .ci/go-program.sh
build_with_go "s3 server" "a Go that its go.mod accepts"
