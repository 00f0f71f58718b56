#!/usr/bin/env bash
# Qpid Dispatch's router for the topology router-peer, from its sources: Debian has no package of it, only of the library
# that it is built on. Nothing is done where it is there already. It lies in .venv/bin beside what else runs a benchmark.
#   build-router.sh SOURCES   a folder with Qpid Dispatch 1.19.0: its release archive unpacked, or a checkout of that tag
set -euo pipefail
sources=${1:+$(realpath --canonicalize-missing "$1")} # as the caller means it, who may be in another folder
cd "$(dirname "${BASH_SOURCE[0]}")/.."

router=qdrouterd version=1.19.0 # as topologies/artemis/router.py names them
venv=$(realpath --no-symlinks "${VENV:-.venv}")
home=$venv/lib/qpid-dispatch # its Python modules; the path is compiled in

if found=$(command -v "$router" || command -v "$venv/bin/$router") && "$found" --version >/dev/null 2>&1; then
  echo "router: $found"
  exit 0
fi
fail() {
  echo "build-router: $*" >&2
  exit 1
}
step="name the folder of its release archive, unpacked, or of a checkout of its tag $version"
[ -n "$sources" ] || fail "SOURCES is missing: it builds Qpid Dispatch $version; $step"
[ -f "$sources/VERSION.txt" ] || fail "$sources has no VERSION.txt, which sources of Qpid Dispatch $version have; $step"
found=$(tr -d '[:space:]' <"$sources/VERSION.txt")
[ "$found" = "$version" ] || fail "$sources holds Qpid Dispatch '$found' by its VERSION.txt, and $version is needed; $step"
bash .ci/apt-install.sh cmake gcc g++ libc6-dev make python3-dev libqpid-proton11-dev
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
library() { gcc -print-file-name="$1"; } # Debian has no CMake configuration of it
cat >"$built/FindProton.cmake" <<END
set(Proton_FOUND TRUE)
set(Proton_VERSION 0.37.0)
set(Proton_Core_LIBRARIES $(library libqpid-proton-core.so.10))
set(Proton_Proactor_LIBRARIES $(library libqpid-proton-proactor.so.1))
END
cd "$built" # its CMake writes a file into the folder where it is called
cmake -S "$sources" -B "$built/router" -DCMAKE_MODULE_PATH="$built" -DCMAKE_BUILD_TYPE=Release -DUSE_LIBWEBSOCKETS=OFF \
  -DUNITTEST_MISSING=ON -DCMAKE_INSTALL_PREFIX="$venv" -DPython_EXECUTABLE=/usr/bin/python3 >"$built/log" &&
  make --directory "$built/router" --jobs "$(nproc)" "$router" >>"$built/log" 2>&1 || {
  tail -n 20 "$built/log" >&2
  fail "$sources cannot be built here"
}
mkdir -p "$home" "$venv/bin"
cp -R "$sources/python" "$home"
cp "$built/router/python/qpid_dispatch_site.py" "$home/python"
install "$built/router/router/$router" "$venv/bin"
"$venv/bin/$router" --version >/dev/null
echo "router: $venv/bin/$router"
