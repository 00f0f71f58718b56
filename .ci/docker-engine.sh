#!/usr/bin/env bash
# A Docker engine and the brokers' images for the tests on containers, on a machine with apt and root (or sudo).
#
#   docker-engine.sh engine [PID]  nothing where an engine answers; else installed and started. It ends with process PID
#                                  (default: the caller), and with `docker-engine.sh stop`
#   docker-engine.sh image         upstream's images, or where they cannot be pulled ours, on a base made by debootstrap
#   docker-engine.sh stop [PID]    ends the engine that was started here, if any; with PID only one that was started for it
#
# What is made is kept beside the brokers' distributions, so that only the first time takes minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

upstreams=(apache/activemq-classic:5.18.3 apache/activemq-artemis:2.44.0)
base=brokerbench/base-java:17
cache=${BROKERBENCH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/brokerbench}
folder=$cache/docker-engine
no_registry=build/no-registry

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  as_root=(sudo --non-interactive)
fi

say() { echo "docker-engine: $*"; }

fail() {
  say "$*" >&2
  exit 1
}

answers() { docker version --format '{{.Server.Version}}' 2>/dev/null; }

installed() { bash .ci/apt-install.sh "$@"; }

engine() {
  local parent=$1 began=$SECONDS
  if answers >/dev/null; then
    say "engine $(answers) answers"
    return
  fi
  command -v dockerd >/dev/null && command -v docker >/dev/null && command -v iptables >/dev/null || installed docker.io iptables
  answers >/dev/null || start "$parent"
  say "engine $(answers) after $((SECONDS - began)) s"
}

start() {
  local parent=$1
  mkdir -p "$folder"
  echo "$parent" >"$folder/started-for"
  "${as_root[@]}" rm -f "$folder/pid" # of an engine that was killed
  "${as_root[@]}" setsid dockerd --data-root "$folder/data" --exec-root "$folder/exec" --pidfile "$folder/pid" \
    --host unix:///var/run/docker.sock --group "$(id -gn)" >"$folder/log" 2>&1 </dev/null &
  for _ in $(seq 60); do
    answers >/dev/null && break
    sleep 0.5
  done
  answers >/dev/null || { tail -n 20 "$folder/log" >&2; fail "dockerd did not start; its log is $folder/log"; }
  setsid bash "$0" follow "$parent" >/dev/null 2>&1 </dev/null &
}

follow() {
  while kill -0 "$1" 2>/dev/null && [ -e "$folder/pid" ]; do sleep 1; done
  stop "$1" # only its own: another script may have started one meanwhile
}

stop() {
  [ -e "$folder/pid" ] || return 0
  [ -z "${1:-}" ] || [ "$(cat "$folder/started-for" 2>/dev/null)" = "$1" ] || return 0
  "${as_root[@]}" kill "$(cat "$folder/pid")" 2>/dev/null || return 0
  for _ in $(seq 60); do
    [ -e "$folder/pid" ] || return 0
    sleep 0.5
  done
  fail "the engine of process $(cat "$folder/pid") does not end; its log is $folder/log"
}

image() {
  local began=$SECONDS name
  mkdir -p build
  rm -f "$no_registry"
  for name in "${upstreams[@]}"; do
    docker image inspect "$name" >/dev/null 2>&1 || timeout 600 docker pull --quiet "$name" || break
    say "image $name after $((SECONDS - began)) s"
    [ "$name" != "${upstreams[-1]}" ] || return 0
  done
  touch "$no_registry" # .ci/run then does without Ryuk, whose image cannot be pulled either
  docker image inspect "$base" >/dev/null 2>&1 || make_base
  for name in classic artemis; do
    .venv/bin/python -m topologies.runtimes.containers.image --base "$base" --of "$name"
  done
  say "images of our own after $((SECONDS - began)) s"
}

make_base() {
  local suite mirror components=main root
  # shellcheck source=/dev/null
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  grep --quiet '^ID=ubuntu' /etc/os-release && components=main,universe
  command -v debootstrap >/dev/null || installed debootstrap
  # shellcheck disable=SC2016
  mirror=$(apt-get indextargets --format '$(SITE) $(CODENAME)' 'Created-By: Packages' | awk -v suite="$suite" '$2 == suite { print $1; exit }')
  [ -n "$mirror" ] || fail "apt knows no mirror of $suite to make a base image from"
  root=$(mktemp -d)
  say "making $base from $suite (a minute)"
  "${as_root[@]}" debootstrap --variant=minbase --components="$components" --include=openjdk-17-jre-headless,ca-certificates \
    "$suite" "$root/base" "$mirror" >"$root/log" 2>&1 || { tail -n 20 "$root/log" >&2; fail "debootstrap failed"; }
  "${as_root[@]}" tar -C "$root/base" -c . | docker import - "$base"
  "${as_root[@]}" rm -rf "$root"
}

case ${1:-} in
  engine) engine "${2:-$PPID}" ;;
  image) image ;;
  stop) stop "${2:-}" ;;
  follow) follow "$2" ;;
  *) fail "usage: docker-engine.sh engine [PID] | image | stop [PID]" ;;
esac
