#!/usr/bin/env bash
# e2fsprogs and mount for the tests whose brokers have disks of their own. Nothing is done where they are.
set -euo pipefail

command -v mkfs.ext4 mount >/dev/null || bash "$(dirname "${BASH_SOURCE[0]}")/apt-install.sh" e2fsprogs mount
command -v mkfs.ext4 mount
