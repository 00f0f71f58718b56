# Sourced by scripts that build a program with Go.

# build_with_go LABEL NEEDED: calls the script's function build, which puts $program into the folder $built, twice if it
# must, and moves $program into $into. NEEDED: which Go it takes.
build_with_go() {
  local label=$1 needed=$2 wait_s
  command -v go >/dev/null || bash .ci/apt-install.sh golang-go
  mkdir -p "$into"
  built=$(mktemp -d)
  trap 'rm -rf "$built"' EXIT
  for wait_s in 5 0; do
    if build; then
      mv "$built/$program" "$into/$program"
      echo "$label: $into/$program"
      return
    fi
    sleep "$wait_s"
  done
  echo "$label: could not be built: is there a network, and $needed ($(go version))?" >&2
  exit 1
}
