#!/usr/bin/env bash
# Debian's Prometheus, for the test of the Grafana dashboard's queries. Nothing is done if it is there already. Only its
# program is unpacked, into .venv/bin: an installed package would start a server on every address of this machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=prometheus
into=${VENV:-.venv}/bin

if found=$(command -v "$program" || command -v "$into/$program"); then
  echo "prometheus: $found"
  exit 0
fi
mkdir -p "$into"
fetched=$(mktemp -d)
trap 'rm -rf "$fetched"' EXIT
# Without a package, apt-install.sh only reads the archive's lists, which may be missing or old.
(cd "$fetched" && apt-get download --quiet --quiet "$program") || {
  bash .ci/apt-install.sh
  (cd "$fetched" && apt-get download --quiet --quiet "$program")
}
dpkg-deb --extract "$fetched"/"$program"_*.deb "$fetched"
mv "$fetched/usr/bin/$program" "$into/$program"
echo "prometheus: $into/$program"
