#!/usr/bin/env bash
# Docker Compose for the nightly tests that bring rendered folders up. Nothing is done where it is there already: the
# engine's own `docker compose` or the program `docker-compose`.
set -euo pipefail

if docker compose version >/dev/null 2>&1; then
  echo "compose: docker compose"
  exit 0
fi
command -v docker-compose >/dev/null || bash "$(dirname "${BASH_SOURCE[0]}")/apt-install.sh" docker-compose
command -v docker-compose
