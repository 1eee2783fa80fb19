#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# foreign.sh SOURCE_FOLDER WORK_FOLDER BIN_FOLDER: builds the contenders of other languages, each where its toolchain is
# found. Never a failure: who could not be built has a BIN_FOLDER/NAME.missing that says why, which the lab repeats.
# Go needs nothing but its own library; hyper's and rustls's crates come from crates.io at the versions of Cargo.lock.
set -uo pipefail
source="$1" work="$2" bin="$3"
limit_s=600
mkdir -p "$work" "$bin"

# attempt NAME TOOL COMMAND...
attempt() {
  local name="$1" tool="$2" log="$work/$1.log"
  shift 2
  if ! command -v "$tool" >/dev/null; then
    echo "$tool is not installed" >"$bin/$name.missing"
  elif ! timeout "$limit_s" "$@" >"$log" 2>&1 </dev/null; then
    echo "$tool could not build it: $(grep -m 1 -i error "$log" || tail -n 1 "$log")" >"$bin/$name.missing"
  else
    rm -f "$bin/$name.missing"
    return 0
  fi
  rm -f "$bin/$name"
  echo "contender $name left out: $(cat "$bin/$name.missing")"
}

# build_go NAME
build_go() (
  cd "$source/$1" &&
    GOTOOLCHAIN=local GOPROXY=off GOFLAGS=-mod=mod CGO_ENABLED=0 go build -buildvcs=false -o "$bin/$1" .
)

build_hyper() (
  CARGO_TARGET_DIR="$work/cargo" cargo build --release --locked --manifest-path "$source/http_hyper/Cargo.toml" &&
    cp "$work/cargo/release/http_hyper" "$bin/http_hyper"
)

if [ $# -gt 3 ]; then
  "build_$4" "${@:5}"
  exit
fi
attempt http_go go "$0" "$source" "$work" "$bin" go http_go
attempt go_tls go "$0" "$source" "$work" "$bin" go go_tls
attempt http_hyper cargo "$0" "$source" "$work" "$bin" hyper
exit 0
