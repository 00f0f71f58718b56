#!/usr/bin/env bash
# AMQP's library comes as a source archive. It is built where there is a C compiler with Python's headers, and elsewhere
# one line says what to install: everything but AMQP works without. Its TLS is Python's, so OpenSSL's headers are not asked
# for. Exit status 0: it is there, or need not be; 1: it could have been built, and was not.
#   build-amqp.sh check PYTHON  only says whether it could be built
#   build-amqp.sh VENV          builds it into an environment
set -euo pipefail

buildable() {
  local compiler include
  compiler=${CC:-$("$1" -c 'import sysconfig; print(sysconfig.get_config_var("CC") or "cc")')}
  include=$("$1" -c 'import sysconfig; print(sysconfig.get_path("include"))')
  # shellcheck disable=SC2086  # CC may have options
  $compiler -I "$include" -fsyntax-only -x c - 2>/dev/null <<<$'#include <stdio.h>\n#include <Python.h>'
}

if [ "$1" = check ]; then
  buildable "$2"
elif buildable "$1/bin/python"; then
  echo "Building python-qpid-proton, for AMQP clients (half a minute)"
  install=("$1/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes)
  "${install[@]}" --requirement requirements-amqp-build.lock
  "${install[@]}" --use-pep517 --no-build-isolation --requirement requirements-amqp.lock
  touch "$1/.installed-amqp"
else
  echo "AMQP clients are left out: no C compiler with Python's headers (apt-get install gcc libc6-dev python3-dev," \
    "then make install). All else works." >&2
fi
