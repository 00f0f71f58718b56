# Sourced by .ci/run and .ci/with-everything.sh: steps that say how long they took, and those that get what tests need.
durations=()

# step NAME COMMAND...: the first step that fails ends the script, with its own exit status.
step() {
  local name=$1 began=$SECONDS
  shift
  printf '\n== %s: %s\n' "$name" "$*"
  "$@"
  durations+=("$(printf '%5d s  %s' $((SECONDS - began)) "$name")")
}

# Installs and starts everything that a test may need. The engine, if it was started here, ends with the script.
everything() {
  step browser bash .ci/install-browser.sh
  step "network tools" bash .ci/install-network-tools.sh
  step "disk tools" bash .ci/install-disk-tools.sh
  trap 'bash .ci/docker-engine.sh stop "$$"' EXIT
  step "docker engine" bash .ci/docker-engine.sh engine "$$"
  step compiler bash .ci/install-compiler.sh
  step setup make setup
  step toxiproxy bash .ci/install-toxiproxy.sh
  step prometheus bash .ci/install-prometheus.sh
  step "broker image" bash .ci/docker-engine.sh image
}

how_long() {
  printf '\n== how long\n'
  printf '%s\n' "${durations[@]}"
}
