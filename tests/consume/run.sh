#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# run.sh BUILD_FOLDER COMPILER [FLAGS...]: installs the build into a folder of its own, moves the tree, which must not
# matter, and proves that a stranger can use it through find_package and through pkg-config and cannot reach what is
# private; and that the sources can be a part of his own, or be built without the lab.
set -euo pipefail
build="$1"
compiler="$2"
read -ra flags <<<"${*:3}"
here="$(realpath "$(dirname "${BASH_SOURCE[0]}")")"
root="$(realpath "$here/../..")"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "consume: $*" >&2
  exit 1
}

# install BUILD NAME: into "$scratch/NAME", by way of another folder.
install() {
  cmake --install "$1" --prefix "$scratch/staged" >/dev/null
  mv "$scratch/staged" "$scratch/$2"
}
# Where the libraries and the package's files of an installation are.
library_folder() {
  dirname "$(find "$1" -name 'libpeal.*' -print -quit)"
}

echo "consume: the library alone is configured without the lab's packages, and is the library alone"
mkdir "$scratch/packages"
for package in liburing libcares libzstd libdeflate; do
  cp "$(pkg-config --variable=pcfiledir "$package")/$package.pc" "$scratch/packages/"
done
mkdir -p "$scratch/peal/sim"
ln -s "$root" "$scratch/peal/sim/tree"  # whatever the folders above the tree are called
PKG_CONFIG_LIBDIR="$scratch/packages" cmake -G Ninja -S "$scratch/peal/sim/tree" -B "$scratch/alone" -DPEAL_LAB=OFF \
  -DPEAL_PRECOMPILE=OFF -DCMAKE_PROJECT_TOP_LEVEL_INCLUDES="$here/poor_machine.cmake" \
  -DCMAKE_CXX_COMPILER="$compiler" >/dev/null
if ninja -C "$scratch/alone" -t targets all | grep '\.o: ' |
  grep -vE '^CMakeFiles/(peal\.dir|peal_(tls|sim|protobuf)\.dir/peal/(tls|sim|protobuf))/'; then
  fail "with PEAL_LAB=OFF more is built than the library, or the library is in its components"
fi

# Where tests are built the libraries are shared ones. These static ones are made of the same objects.
for name in peal peal_tls peal_sim peal_protobuf; do
  find "$build/CMakeFiles/$name.dir" -name '*.o' -print0 | xargs -0 ar qc "$scratch/alone/lib$name.a"
done
install "$build" prefix
install "$scratch/alone" static
prefix="$scratch/prefix"
library="$(library_folder "$prefix")"
if [ -n "$(find "$scratch/static" -name '*.so')" ]; then fail "the libraries are shared ones without being asked"; fi

echo "consume: what is installed is the public API, all of it and nothing else"
(cd "$root" && find peal -name "*.h" -not -path "*/parts/*") | sort >"$scratch/public"
(cd "$prefix/include" && find . -type f -printf '%P\n') | sort >"$scratch/installed"
diff "$scratch/public" "$scratch/installed" || fail "installed headers differ from the public ones under peal/"
if grep -rqF "$root" "$library/cmake" "$library/pkgconfig"; then fail "the package files name the source folder"; fi
if [ -e "$build/bin/peal" ]; then
  "$prefix/bin/peal" --help >/dev/null || fail "the installed program does not start"
fi

cp -r "$here" "$scratch/source"
for kind in static prefix; do
  echo "consume: find_package, $kind"
  cmake -S "$scratch/source" -B "$scratch/cmake-$kind" -DCMAKE_PREFIX_PATH="$scratch/$kind" \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="${flags[*]}" >/dev/null
  cmake --build "$scratch/cmake-$kind" >/dev/null
  for program in consumer http_consumer sim_consumer protobuf_consumer; do
    "$scratch/cmake-$kind/$program" || fail "the $program built through find_package failed"
  done
done

echo "consume: pkg-config"
export PKG_CONFIG_PATH="$(library_folder "$scratch/static")/pkgconfig"
# shellcheck disable=SC2046
for program in consumer:peal http_consumer:peal sim_consumer:peal-sim protobuf_consumer:peal-protobuf; do
  "$compiler" -std=c++23 "${flags[@]}" "$here/${program%:*}.cc" -o "$scratch/consumer" \
    $(pkg-config --static --cflags --libs "${program#*:}") || fail "$program does not build with pkg-config's flags"
  "$scratch/consumer" || fail "$program, built through pkg-config, failed"
done

echo "consume: the project of the guide's first page"
cp -r "$root/examples/guide" "$scratch/guide"
cmake -S "$scratch/guide" -B "$scratch/guide/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS="${flags[*]}" >/dev/null
cmake --build "$scratch/guide/build" >/dev/null || fail "the guide's first server does not build"
if "$scratch/guide/build/notes_server" nonsense 2>"$scratch/said"; then fail "the first server serves nonsense"; fi
grep -q "^cannot listen on nonsense: " "$scratch/said" || fail "the first server does not say what is wrong"

echo "consume: public headers need nothing else"
# shellcheck disable=SC2046
compile=("$compiler" -std=c++23 -fsyntax-only -x c++ $(pkg-config --cflags peal) -)
sed 's/.*/#include <&>/' "$scratch/public" | "${compile[@]}" || fail "a public header includes what is not installed"
# `make lint` compiles each by itself.

echo "consume: private headers are out of reach"
private="$(cd "$root" && find peal -path "*/parts/*.h" -print -quit)"
if echo "#include <$private>" | "${compile[@]}" 2>/dev/null; then
  fail "$private is private, yet a consumer can include it"
fi

# The library is not compiled again: the one that is there takes its place, and the consumer's own commands are carried
# out as CMake wrote them.
for fetch in OFF ON; do
  echo "consume: peal's sources in a parent's project, FetchContent $fetch"
  parent="$scratch/parent-$fetch"
  cmake -G Ninja -S "$here/parent" -B "$parent" -DPEAL_SOURCE="$root" -DFETCH="$fetch" \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="${flags[*]}" >/dev/null || fail "peal is a bad part"
  place="$(ninja -C "$parent" -t targets all | grep -oE '^[^:]*/libpeal\.a')"
  cp "$scratch/alone/libpeal.a" "$parent/$place"
  object="$(ninja -C "$parent" -t targets all | grep -oE '^[^:]*consumer\.dir/[^:]*\.o')"
  mkdir -p "$parent/programs" "$parent/$(dirname "$object")"
  (cd "$parent" && ninja -t commands consumer | grep -F "$object" | bash -e) || fail "the part does not build"
  "$parent/programs/consumer" || fail "the program built with peal as a part failed"
  DESTDIR="$scratch/nothing" cmake --install "$parent" >/dev/null
  if [ -e "$scratch/nothing" ]; then fail "peal as a part installs something"; fi
done
