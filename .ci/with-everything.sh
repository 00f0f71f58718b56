#!/usr/bin/env bash
# Gets everything that a test may need, as .ci/run does, then runs a command: with-everything.sh [compose] COMMAND...
# compose: Docker Compose too, which only nightly tests take. It needs apt, and root or a sudo that asks nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=.ci/steps.sh
source .ci/steps.sh

everything
if [ "$1" = compose ]; then
  shift
  step compose bash .ci/install-compose.sh
fi
step "$*" "$@"
how_long
