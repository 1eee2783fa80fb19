#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# starters.sh PREFIX COMPILER [FLAGS...] writes each kind of project by the `peal new` of the installation in PREFIX. It
# builds, tests and runs the project against that installation. It also configures a project with peal's sources as a
# part of it, and one that cannot find peal. All of this happens in a folder "starters" that it makes beside PREFIX.
set -euo pipefail
prefix="$(realpath "$1")"
compiler="$2"
read -ra flags <<<"${*:3}"
here="$(realpath "$(dirname "${BASH_SOURCE[0]}")")"
root="$(realpath "$here/../..")"
outer="$(dirname "$prefix")"
scratch="$outer/starters"
mkdir "$scratch"
trap 'rm -rf "$scratch"' EXIT
# ccache finds what another run has compiled, because the projects lie at the same place beside the installation.
launcher=()
if command -v ccache >/dev/null; then
  export CCACHE_BASEDIR="$outer" CCACHE_NOHASHDIR=1
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi

fail() {
  echo "starters: $*" >&2
  exit 1
}

# configure PROJECT [ARGUMENT...] is the first of the two commands that README.md of a project names.
configure() {
  cmake -G Ninja -S "$scratch/$1" -B "$scratch/$1/build" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_CXX_FLAGS="${flags[*]} -O0 -g0" -DCMAKE_BUILD_TYPE=None "${launcher[@]}" "${@:2}" 2>&1
}

cd "$scratch"
for kind in tcp http rpc; do
  echo "starters: $kind"
  "$prefix/bin/peal" new "$kind-starter" "--$kind" >said || fail "peal new fails"
  option="$(sed -nE 's/^  cmake -B build (-D.*)$/\1/p' said)"
  [ "$option" = "-DCMAKE_PREFIX_PATH=$prefix" ] || fail "peal new does not say where it is installed: $(cat said)"
  # The sources of a target are compiled together, which takes half the time.
  configure "$kind-starter" "$option" -DCMAKE_UNITY_BUILD=ON >said || fail "$kind: cmake fails: $(cat said)"
  cmake --build "$kind-starter/build" -j 2 >said || fail "$kind: the build fails: $(cat said)"
  ctest --test-dir "$kind-starter/build" --output-on-failure >said || fail "$kind: the test fails: $(cat said)"
  if "$kind-starter/build/${kind}_starter" --listen nonsense --inspect 127.0.0.1:0 2>said; then
    fail "$kind: the service listens on nonsense"
  fi
  grep -q "^${kind}_starter: cannot listen on nonsense: " said || fail "$kind: it does not say what is wrong"
  /usr/bin/python3 "$here/drive_starter.py" "$kind" "$prefix" "$kind-starter/build/${kind}_starter" ||
    fail "$kind: the service does not do what it should"
done

echo "starters: peal's sources as a part of a project"
for kind in tcp rpc; do
  "$prefix/bin/peal" new "fetched-$kind" "--$kind" >said
  configure "fetched-$kind" -DPEAL_SOURCE="$root" >said || fail "cmake fails with PEAL_SOURCE: $(cat said)"
  ninja -C "fetched-$kind/build" -t targets all >targets
  grep -qE '/libpeal\.a: ' targets || fail "peal is not a part of the project"
  # Only a project that asks for the component builds it.
  built="$(grep -cE '/libpeal_protobuf\.a: ' targets || true)"
  if [ "$kind" = rpc ]; then wanted=1; else wanted=0; fi
  [ "$built" = "$wanted" ] || fail "$kind: libpeal_protobuf.a is built $built times, not $wanted"
done

echo "starters: a project that does not find peal says what to do"
"$prefix/bin/peal" new lost --tcp >said
PATH="/usr/bin:/bin" configure lost -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF >said && fail "cmake finds peal nowhere"
for words in "peal 0.1 was not found" "DCMAKE_PREFIX_PATH=" "DPEAL_SOURCE="; do
  grep -qF -- "$words" said || fail "the message lacks $words: $(cat said)"
done
