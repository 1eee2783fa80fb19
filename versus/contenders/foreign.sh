#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# foreign.sh SOURCE_FOLDER WORK_FOLDER BIN_FOLDER: builds the contenders in Go and Rust whose toolchain is installed. It
# never fails: if a contender cannot be built, BIN_FOLDER/NAME.missing says why, and the lab repeats that sentence. The
# Go programs need only Go's own library. The crates of hyper and rustls come from crates.io, in the versions of
# Cargo.lock.
set -uo pipefail
source="$1" work="$2" bin="$3"
limit_s=600
mkdir -p "$work" "$bin"

# attempt NAME TOOL COMMAND...: builds NAME with COMMAND if TOOL is installed; otherwise writes NAME.missing.
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
  echo "contender $name is not built: $(cat "$bin/$name.missing")"
}

# build_go NAME: builds one Go program.
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
